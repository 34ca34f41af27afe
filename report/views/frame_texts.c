/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/frame_texts.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/views/json_parts.h"

void
th_frame_texts_init(struct th_frame_texts *texts, const struct th_frames *frames)
{
	*texts = (struct th_frame_texts){.frames = frames};
}

void
th_frame_texts_deinit(struct th_frame_texts *texts)
{
	for (size_t i = 0; i < texts->items_count; i++)
		free(texts->items[i]);
	free(texts->items);
}

const char *
th_frame_texts_get(struct th_frame_texts *texts, uint32_t frame)
{
	while (texts->items_count <= frame)
		th_array_append(texts, items, NULL);
	if (!texts->items[frame])
		texts->items[frame] = th_json_dump(th_json_frame(texts->frames, frame), 0);
	return texts->items[frame];
}

void
th_frame_texts_print(struct th_frame_texts *texts, FILE *file, const struct th_path *path)
{
	for (uint32_t i = 0; i < path->count; i++) {
		if (i)
			putc_unlocked(',', file);
		fputs_unlocked(th_frame_texts_get(texts, path->frames[i]), file);
	}
}
