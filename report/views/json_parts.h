/* SPDX-License-Identifier: Apache-2.0 */
/* Parts shared by several JSON outputs.  Each function returns a new reference. */
#ifndef TH_REPORT_VIEWS_JSON_PARTS_H
#define TH_REPORT_VIEWS_JSON_PARTS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/heap_names.h"
#include "report/leaks/causes.h"
#include "report/profile/profile.h"
#include "report/profile/values.h"

/* A new object of `expression` for each `heap`. */
#define th_json_heaps(heap, expression)                                             \
	({                                                                          \
		json_t *heap##_object = json_object();                              \
		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)     \
			th_json_put(heap##_object, th_heap_word(heap), expression); \
		heap##_object;                                                      \
	})

/* The frames of a path, root first; of a path of the profile, by its number. */
json_t *th_json_frames(const struct th_frames *frames, struct th_path path);
json_t *th_json_path(const struct th_profile *profile, uint32_t path);

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

/* Prints `before` and the JSON, and drops the caller's reference. */
void th_json_write(FILE *file, const char *before, json_t *json, size_t flags);

/* Marks a leak that is a part of another one: verdict "part", and its index. */
void th_json_set_part(json_t *json, const struct th_leaks *leaks, uint32_t number);

/*
 * {"verdict", "leaks", "growth_bytes_per_s", "detection_limits_bytes_per_s", "reason", "advice"}
 * and, with --limit, "limit_bytes_per_s" and "limit_reached". Reason and advice are null if there is
 * nothing to say. "headline": the sentence that `leaks` begins with.
 */
json_t *th_json_outcome(const struct th_leaks *leaks, bool with_headline);

/*
 * The JSON text of each frame, built once and reused: stacks refer to a frame about a hundred
 * times.
 */
struct th_frame_texts {
	const struct th_frames *frames;
	/* Frames are printed as these numbers; NULL: as objects. */
	uint32_t (*number_of)(void *data, uint32_t frame);
	void *data;              /* of number_of */
	TH_ARRAY(char *, items); /* by frame number; NULL: not built yet */
};

/* `frames` must outlive `texts`. */
void th_frame_texts_init(struct th_frame_texts *texts, const struct th_frames *frames);
void th_frame_texts_deinit(struct th_frame_texts *texts);

/*
 * A string that stands for the frames of a path, separated by commas, until it is written; a new reference.
 * It begins with a control character, which no text of a log has.
 */
json_t *th_frame_texts_mark(const uint32_t *frames, uint32_t count);

/* Prints `before` and `json` with the frames of marks; drops the caller's reference. */
void th_frame_texts_write(
	struct th_frame_texts *texts, FILE *file, const char *before, json_t *json);

#endif
