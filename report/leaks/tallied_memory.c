/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines that leaked threads and classes belong to, and the memory that they hold.  A sample of the
 * C heap belongs to threads or classes if the VM allocated it for these below the same line, or on a
 * new thread before its Java code ran.
 */
#include "report/leaks/tallied.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

/* Lines */

/* Without application code: the Java method at the leaf that started the thread. */
static uint32_t
runtime_frame(const struct th_profile *profile, struct th_path path)
{
	for (uint32_t i = path.count; i-- > 0;) {
		const char *name = th_frames_function_name(profile->frames,
			th_frames_function_at(profile->frames, path.frames[i]));

		if (th_frames_kind(profile->frames, path.frames[i]) == TH_KIND_JAVA &&
			!th_text_begins(name, "java.lang.Thread."))
			return path.frames[i];
	}
	return path.frames[path.count - 1];
}

struct th_tallied_line
th_tallied_line(struct th_tallies *tallies, struct th_leak_sites *places, uint32_t path)
{
	const struct th_profile *profile = places->profile;
	struct th_path frames = th_paths_get(profile->paths, path);
	uint32_t length = th_leak_sites_creator_length(profile, &frames);
	struct th_tallied_line line = {
		.user = TH_NO_FRAME,
		.is_application = length > 0,
	};
	uint32_t prefix;

	line.frame = length ? frames.frames[length - 1] : runtime_frame(profile, frames);
	if (length)
		line.user = th_leak_sites_user_of(profile, &frames);
	th_path_prefixes_add(&places->ways, path, length ? length : frames.count, &prefix);
	line.key = th_id_map_intern(&tallies->line_ids,
		(uint64_t)prefix << 32 | th_frames_get(profile->frames, line.frame)->line,
		NULL);
	return line;
}

/* The C heap */

/* What a sample of the C heap was allocated for: 0 if for neither threads nor classes. */
static enum th_tally_kind
purpose_of(struct th_leak_sites *places, size_t index, uint32_t *path_ret)
{
	const struct th_profile *profile = places->profile;
	const struct th_recording *recording = profile->recording;
	const struct th_sample *sample = &recording->samples[TH_HEAP_NATIVE].items[index];
	const struct th_row *row = &profile->rows[profile->sample_rows[TH_HEAP_NATIVE][index]];
	const char *internal =
		places->items[th_leak_sites_of(places, TH_HEAP_NATIVE, index)].internal;
	uint32_t starter = recording->threads[th_recording_thread(recording, sample)].starter;

	if (!internal)
		return 0;
	*path_ret = row->path;
	struct th_path path = th_paths_get(profile->paths, row->path);
	if (th_path_last_java(profile->frames, &path) < path.count)
		return th_text_begins(internal, TH_PURPOSE_THREADS)   ? TH_TALLY_THREADS
		       : th_text_begins(internal, TH_PURPOSE_CLASSES) ? TH_TALLY_LOADERS
								      : 0;
	if (!starter || !recording->stacks[starter - 1].stack)
		return 0;
	*path_ret = th_paths_resolve(profile->paths, starter - 1, TH_HEAP_NATIVE);
	return TH_TALLY_THREADS;
}

static struct th_tallied *
find_item(struct th_tallies *tallies, enum th_tally_kind kind, uint32_t key)
{
	for (size_t i = 0; i < tallies->items_count; i++) {
		struct th_tallied *item = &tallies->items[i];

		if (item->kind == kind && item->key == key)
			return item;
	}
	return NULL;
}

static void
add_blocks(struct th_tallies *tallies, struct th_leak_sites *places, struct th_estimator *sums)
{
	const struct th_profile *profile = places->profile;
	const struct th_samples *samples = &profile->recording->samples[TH_HEAP_NATIVE];

	for (size_t i = 0; i < samples->items_count; i++) {
		uint32_t path;

		if (profile->sample_rows[TH_HEAP_NATIVE][i] == TH_NO_ROW ||
			!th_lifetimes_is_live(
				&profile->lifetimes, TH_HEAP_NATIVE, i, &profile->end))
			continue;
		enum th_tally_kind kind = purpose_of(places, i, &path);
		struct th_tallied *item =
			kind ? find_item(tallies, kind,
				       th_tallied_line(tallies, places, path).key)
			     : NULL;
		if (item)
			th_lifetimes_add(&profile->lifetimes, &profile->heaps[TH_HEAP_NATIVE],
				TH_HEAP_NATIVE, i, &profile->end, &sums[item - tallies->items]);
	}
}

static void
measure_blocks(struct th_tallies *tallies, struct th_leak_sites *places)
{
	const struct th_profile *profile = places->profile;
	struct th_estimator *sums = th_allocate(tallies->items_count, sizeof(*sums));

	add_blocks(tallies, places, sums);
	for (size_t i = 0; i < tallies->items_count; i++) {
		struct th_calibration calibration = th_lifetimes_calibration(
			&profile->lifetimes, &profile->heaps[TH_HEAP_NATIVE], TH_HEAP_NATIVE,
			&profile->end, sums[i].samples);

		tallies->items[i].vm = th_estimate_bytes(&sums[i], NULL, calibration.gap);
	}
	free(sums);
}

/* Resident memory */

struct resident {
	double stacks;
	double stack_count;
	double metaspace;
};

/* Without the stack of the main thread, which is no mapping of a thread. */
static struct resident
read_breakdown(const struct th_recording *recording, uint64_t time)
{
	const struct th_decoded_account *account = th_recording_account_at(recording, time);
	struct resident resident = {0};

	for (size_t i = 0; account && i < recording->account_rows_count; i++) {
		const struct th_decoded_account_row *row = &recording->account_rows[i];

		if (row->account != account->account)
			continue;
		if (row->category == TH_MEMORY_STACK && !th_text_equals(row->name, "main")) {
			resident.stacks += (double)row->resident;
			resident.stack_count += row->mappings;
		} else if (row->category == TH_MEMORY_METASPACE ||
			   row->category == TH_MEMORY_CLASS_SPACE) {
			resident.metaspace += (double)row->resident;
		}
	}
	return resident;
}

/* Stacks of equal size each; the metaspace cannot hold more than is resident of it. */
static double
resident_of(const struct th_tallied *item, const struct resident *resident)
{
	if (item->kind == TH_TALLY_LOADERS)
		return resident->metaspace > 0 ? fmin(item->bytes, resident->metaspace)
					       : item->bytes;
	if (!resident->stack_count)
		return 0;
	return fmin(resident->stacks, resident->stacks * item->alive / resident->stack_count);
}

void
th_tallied_measure(struct th_tallies *tallies, struct th_leak_sites *places, uint64_t time)
{
	struct resident resident = read_breakdown(places->profile->recording, time);

	measure_blocks(tallies, places);
	for (size_t i = 0; i < tallies->items_count; i++)
		tallies->items[i].resident = resident_of(&tallies->items[i], &resident);
}
