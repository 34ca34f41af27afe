/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON text of frames, made once for each and repeated: a log has a hundred times as many
 * frames in its stacks as it has frames.
 */
#ifndef TH_REPORT_VIEWS_FRAME_TEXTS_H
#define TH_REPORT_VIEWS_FRAME_TEXTS_H

#include <stdio.h>

#include "report/symbols/frames.h"
#include "report/symbols/call_paths.h"

struct th_frame_texts {
	const struct th_frames *frames;
	TH_ARRAY(char *, items); /* by number of the frame; NULL: not asked for yet */
};

/* The frames must outlive their texts. */
void th_frame_texts_init(struct th_frame_texts *texts, const struct th_frames *frames);
void th_frame_texts_deinit(struct th_frame_texts *texts);

/* What th_json_frame() says. */
const char *th_frame_texts_get(struct th_frame_texts *texts, uint32_t frame);

/* Prints the frames of a path, commas between them. */
void th_frame_texts_print(struct th_frame_texts *texts, FILE *file, const struct th_path *path);

#endif
