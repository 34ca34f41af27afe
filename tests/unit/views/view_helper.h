/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a log built by a test into the output of the tool. */
#ifndef TH_TESTS_VIEW_HELPER_H
#define TH_TESTS_VIEW_HELPER_H

#include <jansson.h>

#include "report/profile/profile.h"
#include "report/views/view.h"
#include "tests/unit/log/log_builder.h"

/* A loaded log and its profile, with options as on the command line (without the log). */
struct shown {
	struct th_options options;
	struct th_recording *recording;
	struct th_health health;
	struct th_profile *profile;
};

/* Options of any command, ended by NULL.  An error fails the test. */
void show(struct shown *shown, const struct log_builder *log, ...) __attribute__((sentinel));
void show_end(struct shown *shown);

/* The output of a view; the caller frees it. */
char *show_text(
	const struct shown *shown, void (*view)(FILE *file, const struct th_profile *profile));
char *show_summary(const struct shown *shown, bool brief);

/* Fails the test unless `text` contains `part`. */
void expect_text(const char *text, const char *part);

/* The parsed output of th_view_json(). */
json_t *show_json(const struct shown *shown);

/* The row of the JSON with a frame named `name`; NULL if there is none. */
json_t *row_with_frame(json_t *root, const char *name);

/* The member "estimate" of an estimate, and entry `index` (0 or 1) of its "ci95". */
double estimate_of(json_t *row, const char *key);
double limit_of(json_t *row, const char *key, size_t index);
bool is_exact(json_t *row, const char *key);

/* The names of a row's frames, separated by blanks, root first; the caller frees it. */
char *frame_names(json_t *row);

#endif
