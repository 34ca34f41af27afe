/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/frame_texts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
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

/* The number, or the text of th_json_frame(); owned by `texts`. */
static const char *
get(struct th_frame_texts *texts, uint32_t frame)
{
	while (texts->items_count <= frame)
		th_array_append(texts, items, NULL);
	if (!texts->items[frame])
		texts->items[frame] = th_json_dump(
			texts->number_of ? json_integer(texts->number_of(texts->data, frame))
					 : th_json_frame(texts->frames, frame),
			0);
	return texts->items[frame];
}

void
th_frame_texts_print(struct th_frame_texts *texts, FILE *file, const struct th_path *path)
{
	for (uint32_t i = 0; i < path->count; i++) {
		if (i)
			putc_unlocked(',', file);
		fputs_unlocked(get(texts, path->frames[i]), file);
	}
}

/* The beginning of a mark, in JSON. */
static const char mark_text[] = "\"\\u0001";

json_t *
th_frame_texts_mark(const uint32_t *frames, uint32_t count)
{
	struct th_line line;

	th_line_begin(&line);
	for (uint32_t i = 0; i < count; i++)
		fprintf(line.stream, "%c%u", i ? ',' : '\1', frames[i]);
	char *text = th_line_end(&line);
	json_t *json = json_string(text);
	free(text);
	return json;
}

/* Prints the frames of the mark at `at`; returns what follows it. */
static const char *
print_mark(struct th_frame_texts *texts, FILE *file, const char *at)
{
	char *end = (char *)(uintptr_t)at + sizeof(mark_text) - 2;

	do {
		uint32_t frame = (uint32_t)strtoul(end + 1, &end, 10);

		fputs_unlocked(get(texts, frame), file);
		if (*end == ',')
			putc_unlocked(',', file);
	} while (*end == ',');
	return end + 1;
}

void
th_frame_texts_write(struct th_frame_texts *texts, FILE *file, const char *before, json_t *json)
{
	char *text = th_json_dump(json, 0);
	const char *at = text;
	const char *mark;

	fputs(before, file);
	while ((mark = strstr(at, mark_text))) {
		fwrite(at, 1, (size_t)(mark - at), file);
		at = print_mark(texts, file, mark);
	}
	fputs(at, file);
	free(text);
}
