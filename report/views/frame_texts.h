/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON text of each frame, built once and reused: stacks refer to a frame about a hundred
 * times.
 */
#ifndef TH_REPORT_VIEWS_FRAME_TEXTS_H
#define TH_REPORT_VIEWS_FRAME_TEXTS_H

#include <jansson.h>
#include <stdio.h>

#include "report/symbols/call_paths.h"
#include "report/symbols/frames.h"

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

/* Prints the frames of a path, separated by commas. */
void th_frame_texts_print(struct th_frame_texts *texts, FILE *file, const struct th_path *path);

/*
 * A string that stands for the frames of a path, separated by commas, until it is written; a new reference.
 * It begins with a control character, which no text of a log has.
 */
json_t *th_frame_texts_mark(const uint32_t *frames, uint32_t count);

/* Prints `before` and `json` with the frames of marks; drops the caller's reference. */
void th_frame_texts_write(
	struct th_frame_texts *texts, FILE *file, const char *before, json_t *json);

#endif
