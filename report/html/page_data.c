/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the data object of the page together from its parts: names, rows, timeline, leaks,
 * memory.  The leaks are computed by a worker thread in the meantime.
 */
#include "report/html/page_data.h"

#include <jansson.h>
#include <stdlib.h>

#include "report/html/page_base.h"
#include "report/html/page_columns.h"
#include "report/html/page_leaks.h"
#include "report/html/page_memory.h"
#include "report/html/page_names.h"
#include "report/html/page_rows.h"
#include "report/html/page_timeline.h"
#include "report/views/json_parts.h"
#include "report/views/values.h"
#include "report/views/view.h"

static void
print_process(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_text version = recording->jvm.version;
	char *filters = th_options_filters_text(profile->options);
	char *sampling = th_view_sampling_text(recording);

	fputs("{\"version\":\"" TH_VERSION "\",\"process\":", file);
	th_page_print_json(file, th_json("pid command jvm complete seconds sampling",
					 recording->process.pid, recording->process.command,
					 recording->has_jvm ? th_json_text(version) : NULL,
					 (bool)recording->is_complete,
					 th_recording_duration(recording), sampling));
	free(sampling);
	fputs(",\"judged\":", file);
	th_page_print_json(file, th_json_moment(profile));
	fputs(",\"filters\":", file);
	th_page_print_json(file, json_string(filters));
	free(filters);
}

void
th_page_data_print(FILE *file, const struct th_profile *profile, const struct th_profile *base)
{
	struct th_page_names names;
	struct th_page_leaks leaks;

	struct th_moment peak = th_profile_peak(profile);
	th_page_names_init(&names, profile);
	th_page_leaks_begin(&leaks, &names);
	print_process(file, profile);
	th_page_names_print(file, &names);
	th_page_rows_print(file, &names, &peak);
	th_page_timeline_print(file, profile, &peak);
	th_page_leaks_wait(&leaks);
	th_page_memory_print(file, profile, &leaks.leaks);
	th_page_leaks_print(file, &names, &leaks);
	th_page_leaks_end(&leaks);
	if (base)
		th_page_base_print(file, base);
	fputs("}\n", file);
	th_page_names_deinit(&names);
}
