/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces that all JSON outputs share.  Each function returns a new reference.
 */
#ifndef TH_REPORT_VIEWS_JSON_PARTS_H
#define TH_REPORT_VIEWS_JSON_PARTS_H

#include <jansson.h>
#include <stdint.h>

#include "report/statistics/estimate.h"
#include "report/symbols/frames.h"
#include "report/profile/options.h"
#include "report/log/recording.h"

/* null for an empty text. */
json_t *th_json_text_or_null(const char *text);

/* Text from a log, made printable. */
json_t *th_json_log_text(struct th_text text);

/* {"estimate", "ci95", "samples"} and, where it was counted, "exact". */
json_t *th_json_estimate(const struct th_estimate *estimate);

/* {"name", "kind", "module", "file", "line"} of a function at a place in it. */
json_t *th_json_function(
	const struct th_frames *frames, uint32_t function, const char *file, uint32_t line);
json_t *th_json_frame(const struct th_frames *frames, uint32_t frame);

/* {"class": "byte", "focus": "decode"}: the filters that options have. */
json_t *th_json_filters(const struct th_options *options);

/*
 * Which part of the process's life the recording has: heaps and threads that were sampled, pauses,
 * changes of the two, seconds that each heap was sampled, and when it was stopped.
 */
json_t *th_json_recorded(const struct th_recording *recording);

/* The text of `json`, whose reference it takes; the caller frees it. */
char *th_json_dump(json_t *json, size_t flags);

#endif
