/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html/page_memory.h"

#include <math.h>
#include <stdlib.h>

#include "report/html/page_columns.h"
#include "report/rss/rss.h"
#include "report/views/values.h"

static bool
is_filtered(const struct th_profile *profile)
{
	const struct th_options *options = profile->options;

	return th_options_filter_stacks(options) || options->from > 0 ||
	       isfinite(options->to) || !(options->heaps & 1u << TH_HEAP_NATIVE);
}

static json_t *
labels(void)
{
	json_t *list = json_array();

	for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
		th_json_append(list, th_breakdown_label((enum th_breakdown_kind)kind));
	return list;
}

void
th_page_memory_print(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks)
{
	struct th_rss rss;

	fputs(",\"memory\":", file);
	if (!profile->recording->accounts_count || is_filtered(profile)) {
		fputs("null", file);
		return;
	}
	th_rss_init(&rss, profile, leaks);
	char *verdict = th_rss_verdict_text(&rss.verdict, &rss.facts);
	th_page_print_json(file,
		th_json("verdict limit labels accounts points", verdict, rss.facts.group_limit,
			labels(),
			th_json_map(moment, rss.moments, rss.moments_count,
				th_json("seconds lines", moment->seconds,
					th_json_map(line, moment->lines, TH_BREAKDOWN_KINDS,
						json_real(round(*line))))),
			th_json_map(point, rss.points, rss.points_count,
				th_json_list(point->seconds, point->bytes))));
	free(verdict);
	th_rss_deinit(&rss);
}
