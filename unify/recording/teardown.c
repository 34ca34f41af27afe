/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/recording/teardown.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/mapped/mapping.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/thread_starts.h"
#include "unify/shared/clock.h"

static uint32_t seen[TH_TEARDOWN_CAUSES]; /* atomic: 1 = the log has this cause */

/* After exit() the destructor that sees the return of main runs as well. */
static bool
is_known(enum th_teardown_cause cause)
{
	return cause == TH_TEARDOWN_MAIN_RETURNED && th_load_relaxed(&seen[TH_TEARDOWN_EXIT]);
}

static bool
is_first(enum th_teardown_cause cause)
{
	uint32_t not_yet = 0;

	return cause == TH_TEARDOWN_SIGNAL || th_cas_acq_rel(&seen[cause], &not_yet, 1);
}

void
th_teardown_begins(enum th_teardown_cause cause, const char *detail)
{
	struct th_log_part part = th_log_text(detail);

	/* Keeps the log from being closed meanwhile. */
	if (!th_in_flight_begin())
		return;
	if (!is_known(cause) && is_first(cause)) {
		struct th_event_teardown event = {.cause = cause};

		th_mapping_log_use();
		th_thread_starts_log();
		event.time = th_clock_now();
		th_log_append(TH_EVENT_TEARDOWN, &event, &part, 1);
	}
	th_in_flight_end();
}

void
th_teardown_reset(void)
{
	for (int i = 0; i < TH_TEARDOWN_CAUSES; i++)
		seen[i] = 0;
}
