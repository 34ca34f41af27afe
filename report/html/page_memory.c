/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html/page_memory.h"

#include <math.h>
#include <stdlib.h>

#include "report/html/page_columns.h"
#include "report/rss/rss.h"
#include "report/views/json_parts.h"

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
		json_array_append_new(
			list, json_string(th_breakdown_label((enum th_breakdown_kind)kind)));
	return list;
}

/* For each breakdown: its time, and its lines in the order of the labels. */
static json_t *
accounts(const struct th_rss *rss)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rss->moments_count; i++) {
		const struct th_rss_moment *moment = &rss->moments[i];
		json_t *lines = json_array();

		for (int kind = 0; kind < TH_BREAKDOWN_KINDS; kind++)
			json_array_append_new(lines, json_real(round(moment->lines[kind])));
		json_array_append_new(list,
			json_pack("{s:f, s:o}", "seconds", moment->seconds, "lines", lines));
	}
	return list;
}

static json_t *
points(const struct th_rss *rss)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rss->points_count; i++)
		json_array_append_new(list,
			json_pack("[f, f]", rss->points[i].seconds, rss->points[i].bytes));
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
	th_page_print_json(file, json_pack("{s:s, s:f, s:o, s:o, s:o}", "verdict", verdict,
					 "limit", rss.facts.group_limit, "labels", labels(),
					 "accounts", accounts(&rss), "points", points(&rss)));
	free(verdict);
	th_rss_deinit(&rss);
}
