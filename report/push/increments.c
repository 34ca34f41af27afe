/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/increments.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

/* Values in a row, in the order of `sent`. */
static const enum th_export_value kinds[TH_INCREMENT_VALUES] = {
	TH_EXPORT_ALLOC_OBJECTS, TH_EXPORT_ALLOC_SPACE};

/* FNV-1a with 64 bits: the keys are kept in files, so the hash must not be that of a process. */
#define HASH_START 0xcbf29ce484222325u
#define HASH_FACTOR 0x100000001b3u

void
th_increments_deinit(struct th_increments *increments)
{
	th_id_map_deinit(&increments->keys);
	free(increments->hashes);
	free(increments->items);
	*increments = (struct th_increments){0};
}

/* The text's NUL included, so that "ab", "c" differs from "a", "bc". */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * HASH_FACTOR;
	while (*text++);
	return hash;
}

static uint64_t
hash_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * HASH_FACTOR;
}

static uint64_t
hash_frame(uint64_t hash, const struct th_frames *frames, uint32_t index)
{
	const struct th_frame *frame = th_frames_get(frames, index);
	const struct th_function *function = th_frames_function(frames, frame->function);

	hash = hash_text(hash, th_frames_string(frames, function->name));
	hash = hash_text(hash, th_frames_string(frames, function->module));
	hash = hash_text(hash, th_frames_string(frames, frame->file));
	return hash_number(hash, frame->line);
}

static uint64_t
hash_row(const struct th_profile *profile, const struct th_row *row)
{
	const struct th_frames *frames = profile->frames;
	struct th_path path = th_paths_get(profile->paths, row->path);
	uint64_t hash = hash_number(HASH_START, row->heap);

	hash = hash_text(hash, th_frames_function_name(frames, row->thread));
	hash = hash_text(hash, th_frames_string(frames, row->class_name));
	for (uint32_t i = 0; i < path.count; i++)
		hash = hash_frame(hash, frames, path.frames[i]);
	/* The word 0 is not used, so that a map of small words stays small. */
	return hash ? hash : 1;
}

static struct th_increment *
find(struct th_increments *increments, uint64_t hash)
{
	bool added;
	uint32_t number = th_id_map_intern(&increments->keys, hash, &added);

	if (added) {
		th_array_append(increments, hashes, hash);
		th_array_append(increments, items, (struct th_increment){.row = TH_NO_ROW});
	}
	return &increments->items[number];
}

/* Adds up the rows by key; their allocated values become 0. */
static void
sum_rows(
	struct th_increments *increments, const struct th_profile *profile, th_export_row *rows)
{
	for (size_t i = 0; i < increments->items_count; i++) {
		memset(increments->items[i].total, 0, sizeof(increments->items[i].total));
		increments->items[i].row = TH_NO_ROW;
	}
	for (size_t i = 0; i < profile->rows_count; i++) {
		if (!rows[i][kinds[0]] && !rows[i][kinds[1]])
			continue;
		struct th_increment *item = find(
			increments, hash_row(profile, &profile->rows[i]));

		item->heap = (uint8_t)profile->rows[i].heap;
		if (item->row == TH_NO_ROW)
			item->row = (uint32_t)i;
		for (int kind = 0; kind < TH_INCREMENT_VALUES; kind++) {
			item->total[kind] += rows[i][kinds[kind]];
			rows[i][kinds[kind]] = 0;
		}
	}
}

/*
 * Takes the increments of one value of one heap. Where reductions exceed them, everything waits
 * for a later window.
 */
static bool
take_value(struct th_increments *increments, int heap, int kind, th_export_row *rows)
{
	double growth = 0, reduction = 0, exact = 0;
	int64_t taken = 0;

	for (size_t i = 0; i < increments->items_count; i++) {
		const struct th_increment *item = &increments->items[i];
		double change = (double)(item->total[kind] - item->sent[kind]);

		if (item->heap != heap)
			continue;
		growth += fmax(change, 0);
		reduction += fmax(-change, 0);
	}
	if (growth <= reduction)
		return false;
	for (size_t i = 0; i < increments->items_count; i++) {
		struct th_increment *item = &increments->items[i];
		int64_t change = item->total[kind] - item->sent[kind];

		if (item->heap != heap)
			continue;
		item->staged[kind] = item->total[kind];
		if (change <= 0)
			continue;
		/* Rounded so that the parts add up. */
		exact += (double)change * (1 - reduction / growth);
		rows[item->row][kinds[kind]] = llround(exact) - taken;
		taken = llround(exact);
	}
	return taken > 0;
}

bool
th_increments_take(
	struct th_increments *increments, const struct th_profile *profile, th_export_row *rows)
{
	bool any = false;

	sum_rows(increments, profile, rows);
	for (size_t i = 0; i < increments->items_count; i++)
		memcpy(increments->items[i].staged, increments->items[i].sent,
			sizeof(increments->items[i].sent));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (int kind = 0; kind < TH_INCREMENT_VALUES; kind++)
			any |= take_value(increments, heap, kind, rows);
	}
	return any;
}

void
th_increments_commit(struct th_increments *increments)
{
	for (size_t i = 0; i < increments->items_count; i++)
		memcpy(increments->items[i].sent, increments->items[i].staged,
			sizeof(increments->items[i].sent));
}

void
th_increments_write(const struct th_increments *increments, FILE *file)
{
	for (size_t i = 0; i < increments->items_count; i++) {
		const struct th_increment *item = &increments->items[i];

		if (item->sent[0] || item->sent[1])
			fprintf(file, "%016" PRIx64 " %u %" PRId64 " %" PRId64 "\n",
				increments->hashes[i], item->heap, item->sent[0],
				item->sent[1]);
	}
	fputs("end\n", file);
}

bool
th_increments_read(struct th_increments *increments, FILE *file)
{
	char line[128];

	while (fgets(line, sizeof(line), file)) {
		uint64_t hash;
		unsigned heap;
		int64_t sent[TH_INCREMENT_VALUES];

		if (!strcmp(line, "end\n"))
			return true;
		if (sscanf(line, "%" SCNx64 " %u %" SCNd64 " %" SCNd64, &hash, &heap, &sent[0],
			    &sent[1]) != 4 ||
			!hash || heap >= TH_HEAPS)
			return false;
		struct th_increment *item = find(increments, hash);
		item->heap = (uint8_t)heap;
		memcpy(item->sent, sent, sizeof(sent));
	}
	return false;
}
