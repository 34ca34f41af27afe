/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html/page_base.h"

#include <jansson.h>

#include "report/html/page_columns.h"
#include "report/html/page_names.h"
#include "report/html/page_rows.h"
#include "report/views/values.h"

void
th_page_base_print(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	struct th_page_names names;
	struct th_moment peak = th_profile_peak(profile);

	fputs(",\n\"base\":{\"command\":", file);
	th_page_print_json(file, th_json_text(recording->process.command));
	fprintf(file, ",\"seconds\":%.9g,\"at_s\":%.9g", th_recording_duration(recording),
		th_profile_seconds(profile, profile->at.time));
	th_page_names_init(&names, profile);
	th_page_names_print(file, &names);
	th_page_rows_print(file, &names, &peak);
	th_page_names_deinit(&names);
	fputc('}', file);
}
