/* SPDX-License-Identifier: Apache-2.0 */
/* From a log that a test built to what the tool makes of it. */
#ifndef TH_TESTS_VIEW_HELPER_H
#define TH_TESTS_VIEW_HELPER_H

#include <jansson.h>

#include "report/profile/profile.h"
#include "report/views/view.h"
#include "tests/unit/log/log_builder.h"

/* A log, loaded, seen through options given as on the command line (without the log). */
struct shown {
	struct th_options options;
	struct th_recording *recording;
	struct th_health health;
	struct th_profile *profile;
};

/* Options end with NULL; any error fails the test.  They may be of any verb. */
void show(struct shown *shown, const struct log_builder *log, ...) __attribute__((sentinel));
void show_end(struct shown *shown);

/* What a view prints; the caller frees it. */
char *show_text(
	const struct shown *shown, void (*view)(FILE *file, const struct th_profile *profile));
char *show_summary(const struct shown *shown, bool brief);

/* Fails the test unless the text holds that part. */
void expect_text(const char *text, const char *part);

/* The parsed output of th_view_json(). */
json_t *show_json(const struct shown *shown);

/* The row of the JSON with a frame of that name, NULL if there is none. */
json_t *row_with_frame(json_t *root, const char *name);

/* An estimate's member: "estimate"; `index` 0 and 1 of ci95. */
double estimate_of(json_t *row, const char *key);
double limit_of(json_t *row, const char *key, size_t index);
bool is_exact(json_t *row, const char *key);

/* The names of a row's frames, separated by blanks, root first; the caller frees it. */
char *frame_names(json_t *row);

#endif
