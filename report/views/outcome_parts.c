/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/outcome_parts.h"

#include <stdlib.h>

#include "report/base/heap_names.h"
#include "report/leaks/outcome.h"

/* The detection limits of judged heaps; null: not judged, 0: every allocation was recorded. */
static json_t *
limits_json(const struct th_outcome *outcome)
{
	json_t *json = json_object();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		json_object_set_new(json, th_heap_word((enum th_heap)heap),
			outcome->is_judged[heap] ? json_real(outcome->limits[heap])
						 : json_null());
	return json;
}

static json_t *
text_or_null(char *text)
{
	json_t *json = text ? json_string(text) : json_null();

	free(text);
	return json;
}

json_t *
th_outcome_json(const struct th_leaks *leaks)
{
	struct th_outcome outcome = th_outcome_find(leaks);
	json_t *json = json_pack("{s:s, s:I, s:f, s:o, s:o, s:o}", "verdict",
		th_outcome_name(outcome.verdict), "leaks", (json_int_t)outcome.leaks,
		"growth_bytes_per_s", outcome.growth, "detection_limits_bytes_per_s",
		limits_json(&outcome), "reason",
		text_or_null(th_outcome_reason(leaks, &outcome)), "advice",
		text_or_null(th_outcome_advice(leaks, &outcome)));

	if (outcome.asked > 0) {
		json_object_set_new(json, "limit_bytes_per_s", json_real(outcome.asked));
		json_object_set_new(json, "limit_reached", json_boolean(outcome.is_reached));
	}
	return json;
}

json_t *
th_outcome_headline_json(const struct th_leaks *leaks)
{
	struct th_outcome outcome = th_outcome_find(leaks);

	return text_or_null(th_outcome_headline(leaks, &outcome));
}
