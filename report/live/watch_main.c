/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of `live`: updates once per second; between updates, keys act on the last
 * figures.
 */
#include "report/live/watch_main.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/end_signals.h"
#include "report/control/running.h"
#include "report/live/watch.h"
#include "report/live/watch_screen.h"
#include "report/live/watch_view.h"
#include "report/symbols/debuginfod.h"
#include "unify/shared/clock.h"

#define REFRESH_NS TH_NS_PER_S

static void
look(struct th_watch_view *view)
{
	uint64_t next = th_clock_now() + REFRESH_NS;

	while (!view->is_done && !th_end_signals_came() && !th_watch_screen_is_gone()) {
		th_watch_screen_draw(view);
		uint64_t now = th_clock_now();
		int key = now < next ? th_watch_screen_key((int)((next - now) / 1000000) + 1)
				     : th_watch_screen_key(0);

		if (key >= 0)
			th_watch_view_key(view, key);
		if (th_clock_now() < next)
			continue;
		th_watch_view_update(view);
		next = th_clock_now() + REFRESH_NS;
	}
}

struct th_error *
th_watch_run(const struct th_options *options)
{
	struct th_watch watch;
	struct th_watch_view view;
	char *path;

	struct th_error *error = th_running_find(options->log, &path);

	if (error)
		return error;
	/* Downloads of debug information would block the screen. */
	th_debuginfod_disable();
	error = th_watch_open(path, NULL, &watch);
	free(path);
	if (error)
		return error;
	if (options->no_command)
		th_recording_hide_command(watch.recording);
	error = th_watch_screen_begin();
	if (!error) {
		th_end_signals_catch("twinheap: the log was truncated while it was read\n",
			th_watch_screen_end);
		th_watch_view_init(&view, &watch);
		view.table.heaps = options->heaps;
		th_watch_table_update(&view.table, &watch);
		look(&view);
		th_watch_view_deinit(&view);
		th_watch_screen_end();
	}
	th_watch_close(&watch);
	return error;
}
