/* SPDX-License-Identifier: Apache-2.0 */
/* Parts shared by all JSON outputs.  Each function returns a new reference. */
#ifndef TH_REPORT_VIEWS_JSON_PARTS_H
#define TH_REPORT_VIEWS_JSON_PARTS_H

#include <jansson.h>
#include <stdint.h>

#include "report/leaks/causes.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"
#include "report/statistics/estimate.h"
#include "report/symbols/frames.h"

/* null for an empty string. */
json_t *th_json_text_or_null(const char *text);

/* Text from a log, with unprintable characters replaced. */
json_t *th_json_log_text(struct th_text text);

/* {"estimate", "ci95", "samples"} and, if counted, "exact". */
json_t *th_json_estimate(const struct th_estimate *estimate);

/* {"name", "kind", "module", "file", "line"} of a function; `file` may be "" and `line` 0. */
json_t *th_json_function(
	const struct th_frames *frames, uint32_t function, const char *file, uint32_t line);
json_t *th_json_frame(const struct th_frames *frames, uint32_t frame);

/* {"class": "byte", "focus": "decode"}: the filters given in the options. */
json_t *th_json_filters(const struct th_options *options);

/*
 * The part of the process's life that was recorded: sampled heaps and threads, changes of both,
 * pauses, seconds for which each heap was sampled, and when recording was stopped.
 */
json_t *th_json_recorded(const struct th_recording *recording);

/*
 * The time at which live values are taken, in seconds since the start, and what the process's end
 * begins with after it; null: it is not the last time before the end.
 */
json_t *th_json_moment(const struct th_profile *profile);

/* Serializes `json` and drops the caller's reference; the caller frees the text. */
char *th_json_dump(json_t *json, size_t flags);

/* Marks a leak that is a part of another one: verdict "part", and its index. */
void th_json_set_part(json_t *json, const struct th_leaks *leaks, uint32_t number);

#endif
