/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format jfr: one chunk of a flight recording, version 2.1, as HotSpot writes it and the
 * JDK's `jfr`, JDK Mission Control and async-profiler's converter read it.
 *
 * A chunk is a header of 68 bytes, events, the constant pools and the metadata.  Each sample is an
 * event whose weight or size is what the sample represents, so that sums are our figures; what
 * was allocated and what is live at the time of the view are events of different types.  Ticks
 * are nanoseconds of CLOCK_MONOTONIC.
 *
 * Readers need every pool to have an entry, every method a descriptor with parentheses, and every
 * frame a type.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/profile/values.h"
#include "report/views/export_part.h"
#include "report/views/jfr_types.h"
#include "unify/shared/clock.h"

#define HEADER_BYTES 68
#define COMPRESSED_NUMBERS 1

/* Entries of the pool of frame types, with the names of HotSpot and of async-profiler. */
enum frame_type { FRAME_COMPILED = 1, FRAME_INLINED, FRAME_NATIVE, FRAME_CPP };

/* Entries of the pool of times of a heap summary. */
enum { WHEN_BEFORE = 1, WHEN_AFTER };

/* A constant pool: its entries in a row, each with its number before it. */
struct pool {
	struct th_bytes entries;
	struct th_id_map ids; /* by key of the pool; the entry's number is the index + 1 */
	size_t count;
};

struct jfr {
	const struct th_profile *profile;
	struct th_bytes events;
	struct pool pools[TH_JFR_POOL_END];
	struct th_strings symbols;
	double sums[TH_HEAPS][TH_MEASURES]; /* of the weights so far, bytes */
};

/* Pools */

/* The number of the entry with this key; true in *added_ret: it is to be written. */
static uint64_t
pool_id(struct jfr *jfr, enum th_jfr_type type, uint64_t key, bool *added_ret)
{
	return th_id_map_intern(&jfr->pools[type].ids, key, added_ret) + (uint64_t)1;
}

/* Begins the next entry; its fields follow. */
static struct th_bytes *
pool_entry(struct jfr *jfr, enum th_jfr_type type, uint64_t id)
{
	jfr->pools[type].count++;
	th_jfr_number(&jfr->pools[type].entries, id);
	return &jfr->pools[type].entries;
}

/* An entry with one string, keyed by it. */
static uint64_t
named(struct jfr *jfr, enum th_jfr_type type, const char *text)
{
	bool added;
	uint64_t id = pool_id(jfr, type, th_strings_intern(&jfr->symbols, text), &added);

	if (added)
		th_jfr_string(pool_entry(jfr, type, id), text);
	return id;
}

static uint64_t
symbol(struct jfr *jfr, const char *text)
{
	return named(jfr, TH_JFR_SYMBOL, text);
}

/* A class by its name in the form of the class file, "java/lang/String" or "[B". */
static uint64_t
class_named(struct jfr *jfr, const char *name)
{
	uint64_t name_id = symbol(jfr, name);
	bool added;
	uint64_t id = pool_id(jfr, TH_JFR_CLASS, name_id, &added);

	/* Class loader, name, package, modifiers. */
	if (added)
		th_jfr_numbers(pool_entry(jfr, TH_JFR_CLASS, id), 1, name_id, 0, 0);
	return id;
}

/* 0: not known. */
static uint64_t
class_of(struct jfr *jfr, uint32_t index)
{
	const struct th_decoded_class *class = &jfr->profile->recording->classes[index];

	if (!class->class)
		return 0;
	char *name = th_text_clean(class->signature);
	size_t length = strlen(name);
	bool is_object = length > 2 && name[0] == 'L' && name[length - 1] == ';';

	if (is_object)
		name[length - 1] = '\0';
	uint64_t id = class_named(jfr, is_object ? name + 1 : name);
	free(name);
	return id;
}

static void
put_thread(struct th_bytes *entry, const char *name, uint64_t tid, const char *java_name,
	uint64_t java_id)
{
	th_jfr_string(entry, name);
	th_jfr_number(entry, tid);
	th_jfr_string(entry, java_name);
	th_jfr_number(entry, java_id);
}

static uint64_t
thread_of(struct jfr *jfr, uint32_t name_index)
{
	const struct th_recording *recording = jfr->profile->recording;
	const struct th_thread_name *name = &recording->thread_names[name_index];
	bool added;
	uint64_t id = pool_id(jfr, TH_JFR_THREAD, name_index, &added);

	if (added) {
		uint32_t tid = recording->threads[name->thread].tid;
		const char *text = name->text.length ? th_printed("{}", name->text)
						     : th_printed("thread {}", tid);

		put_thread(pool_entry(jfr, TH_JFR_THREAD, id), text, tid,
			name->is_of_java ? text : "",
			name->is_of_java ? name->thread + (uint64_t)1 : 0);
	}
	return id;
}

/* Class and method of a Java function's name, "pkg.Class.method"; the parts are to be freed. */
static void
split_java_name(const char *name, char **class_ret, char **method_ret)
{
	const char *end = strrchr(name, '.');

	*class_ret = th_format_new("%.*s", end ? (int)(end - name) : 0, name);
	*method_ret = th_format_new("%s", end ? end + 1 : name);
	for (char *at = *class_ret; *at; at++) {
		if (*at == '.')
			*at = '/';
	}
}

/* A native function belongs to the class that its library is here. */
static uint64_t
method_of(struct jfr *jfr, uint32_t function)
{
	const struct th_frames *frames = jfr->profile->frames;
	bool added;
	uint64_t id = pool_id(jfr, TH_JFR_METHOD, function, &added);
	char *class, *method;

	if (!added)
		return id;
	if (th_frames_function(frames, function)->kind == TH_KIND_JAVA) {
		split_java_name(th_frames_function_name(frames, function), &class, &method);
	} else {
		class = th_format_new("%s", th_frames_library(frames, function));
		method = th_format_new("%s", th_frames_function_name(frames, function));
	}
	uint64_t class_id = class_named(jfr, class);
	uint64_t name_id = symbol(jfr, method);
	uint64_t descriptor_id = symbol(jfr, "()V");
	/* The last ones: modifiers, hidden. */
	th_jfr_numbers(
		pool_entry(jfr, TH_JFR_METHOD, id), class_id, name_id, descriptor_id, 0, 0);
	free(class);
	free(method);
	return id;
}

static enum frame_type
type_of(const struct th_frame *frame)
{
	switch (frame->kind) {
	case TH_KIND_JAVA:
		return frame->is_inlined ? FRAME_INLINED : FRAME_COMPILED;
	case TH_KIND_VM:
		return FRAME_CPP;
	default:
		return FRAME_NATIVE;
	}
}

static void
put_frames(struct jfr *jfr, struct th_bytes *bytes, uint32_t path)
{
	const struct th_frames *frames = jfr->profile->frames;
	struct th_path chosen = th_paths_get(jfr->profile->paths, path);

	th_jfr_number(bytes, chosen.count);
	for (uint32_t i = chosen.count; i-- > 0;) {
		const struct th_frame *frame = th_frames_get(frames, chosen.frames[i]);

		/* The zero: index in the bytecode. */
		th_jfr_numbers(
			bytes, method_of(jfr, frame->function), frame->line, 0, type_of(frame));
	}
}

static uint64_t
stack_of(struct jfr *jfr, uint32_t path)
{
	bool added;
	uint64_t id = pool_id(jfr, TH_JFR_STACK_TRACE, path, &added);

	if (added) {
		struct th_bytes *entry = pool_entry(jfr, TH_JFR_STACK_TRACE, id);

		th_jfr_number(entry, 0); /* truncated */
		put_frames(jfr, entry, path);
	}
	return id;
}

static uint64_t
old_object_of(struct jfr *jfr, uint64_t class_id)
{
	bool added;
	uint64_t id = pool_id(jfr, TH_JFR_OLD_OBJECT, class_id, &added);

	if (added) {
		struct th_bytes *entry = pool_entry(jfr, TH_JFR_OLD_OBJECT, id);

		th_jfr_numbers(entry, 0, class_id); /* address, class */
		th_jfr_string(entry, "");
	}
	return id;
}

/* Entries that have fixed numbers, and one for each pool that would be empty. */
static void
fill_pools(struct jfr *jfr)
{
	static const char *const frame_types[] = {"JIT compiled", "Inlined", "Native", "C++"};
	bool added;

	for (size_t i = 0; i < sizeof(frame_types) / sizeof(frame_types[0]); i++)
		th_jfr_string(
			pool_entry(jfr, TH_JFR_FRAME_TYPE, i + FRAME_COMPILED), frame_types[i]);
	th_jfr_string(pool_entry(jfr, TH_JFR_GC_WHEN, WHEN_BEFORE), "Before GC");
	th_jfr_string(pool_entry(jfr, TH_JFR_GC_WHEN, WHEN_AFTER), "After GC");
	/* The boot loader has no class. */
	th_jfr_numbers(pool_entry(jfr, TH_JFR_CLASS_LOADER, 1), 0, symbol(jfr, "bootstrap"));
	th_jfr_number(pool_entry(jfr, TH_JFR_PACKAGE, 1), symbol(jfr, ""));
	if (!jfr->pools[TH_JFR_GC_NAME].count)
		named(jfr, TH_JFR_GC_NAME, "");
	if (!jfr->pools[TH_JFR_GC_CAUSE].count)
		named(jfr, TH_JFR_GC_CAUSE, "");
	old_object_of(jfr, class_named(jfr, ""));
	if (!jfr->pools[TH_JFR_METHOD].count)
		method_of(jfr, 0);
	if (!jfr->pools[TH_JFR_STACK_TRACE].count)
		th_jfr_numbers(pool_entry(jfr, TH_JFR_STACK_TRACE,
				       pool_id(jfr, TH_JFR_STACK_TRACE, 0, &added)),
			0, 0);
	if (!jfr->pools[TH_JFR_THREAD].count)
		put_thread(pool_entry(jfr, TH_JFR_THREAD, 1), "", 0, "", 0);
}

/* Events */

/* What a sample represents; rounded so that the sum of all is the rounded sum. */
static uint64_t
weigh(struct jfr *jfr, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *estimator)
{
	double *sum = &jfr->sums[heap][measure];
	double before = round(*sum);

	*sum += fmin(th_sums_point(&estimator->bytes), 0x1p53);
	return (uint64_t)(round(*sum) - before);
}

/* Time, thread and stack of a sample. */
static void
begin_sample(
	struct jfr *jfr, struct th_bytes *body, uint64_t time, enum th_heap heap, size_t index)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];
	uint32_t row = profile->sample_rows[heap][index];

	th_jfr_numbers(body, time, thread_of(jfr, sample->name),
		stack_of(jfr, profile->rows[row].path));
}

static void
put_allocation(struct jfr *jfr, enum th_heap heap, size_t index)
{
	static const enum th_jfr_type types[TH_HEAPS] = {
		[TH_HEAP_JAVA] = TH_JFR_ALLOCATION_SAMPLE,
		[TH_HEAP_NATIVE] = TH_JFR_MALLOC,
		[TH_HEAP_MAPPED] = TH_JFR_MAPPED,
	};
	const struct th_recording *recording = jfr->profile->recording;
	const struct th_sample *sample = &recording->samples[heap].items[index];
	struct th_estimator sum = {0};
	struct th_bytes body = {0};

	th_calibration_add(&jfr->profile->heaps[heap], recording, sample, &sum);
	begin_sample(jfr, &body, sample->time, heap, index);
	if (heap == TH_HEAP_JAVA)
		th_jfr_number(&body, class_of(jfr, sample->class));
	if (heap == TH_HEAP_NATIVE)
		th_jfr_number(&body, th_recording_address(recording, sample));
	th_jfr_number(&body, weigh(jfr, heap, TH_MEASURE_ALLOC, &sum));
	th_jfr_event(&jfr->events, types[heap], &body);
}

/* Java heap in use at a time, bytes, as known from the last collection before; 0 = not known. */
static uint64_t
heap_use_at(const struct th_recording *recording, uint64_t time)
{
	uint64_t used = 0;

	for (size_t i = 0; i < recording->heap_uses_count; i++) {
		if (recording->heap_uses[i].time <= time)
			used = recording->heap_uses[i].used;
	}
	return used;
}

static void
put_old_object(struct jfr *jfr, size_t index, uint64_t heap_use)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_sample *sample =
		&profile->recording->samples[TH_HEAP_JAVA].items[index];
	struct th_estimator sum = {0};
	struct th_bytes body = {0};
	uint64_t now = profile->at.time < profile->end.time ? profile->at.time
							    : profile->end.time;

	th_lifetimes_add(lifetimes, &profile->heaps[TH_HEAP_JAVA], TH_HEAP_JAVA, index, sample,
		th_lifetimes_keep(lifetimes, TH_HEAP_JAVA, &profile->at), &sum);
	begin_sample(jfr, &body, now, TH_HEAP_JAVA, index);
	/* The zero: elements of an array, not known. */
	th_jfr_numbers(&body, sample->time, sample->size,
		now > sample->time ? now - sample->time : 0, heap_use,
		old_object_of(jfr, class_of(jfr, sample->class)), 0,
		weigh(jfr, TH_HEAP_JAVA, TH_MEASURE_LIVE, &sum));
	th_jfr_event(&jfr->events, TH_JFR_OLD_OBJECT_SAMPLE, &body);
}

static void
put_samples(struct jfr *jfr, enum th_heap heap)
{
	const struct th_profile *profile = jfr->profile;
	uint64_t heap_use = heap_use_at(profile->recording, profile->at.time);

	for (size_t i = 0; i < profile->recording->samples[heap].items_count; i++) {
		uint32_t row = profile->sample_rows[heap][i];

		if (row == TH_NO_ROW || th_profile_contents(profile, &profile->rows[row]))
			continue;
		put_allocation(jfr, heap, i);
		if (heap == TH_HEAP_JAVA &&
			th_lifetimes_is_live(&profile->lifetimes, heap, i, &profile->at))
			put_old_object(jfr, i, heap_use);
	}
}

static void
put_frees(struct jfr *jfr)
{
	const struct th_profile *profile = jfr->profile;
	const struct th_recording *recording = profile->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_NATIVE];
	size_t index = 0;

	for (size_t i = 0; i < recording->frees_count && profile->sample_rows[TH_HEAP_NATIVE];
		i++) {
		const struct th_free_info *end = &recording->frees[i];
		index = th_samples_find(samples, end->record, index);
		struct th_bytes body = {0};

		if (index == SIZE_MAX ||
			profile->sample_rows[TH_HEAP_NATIVE][index] == TH_NO_ROW ||
			end->time > profile->at.time)
			continue;
		/* The stack of free() is not recorded. */
		th_jfr_numbers(&body, end->time, thread_of(jfr, samples->items[index].name), 0,
			th_recording_address(recording, &samples->items[index]));
		th_jfr_event(&jfr->events, TH_JFR_FREE, &body);
	}
}

/* "Collector (Cause)" as the log has it. */
static void
put_collection(struct jfr *jfr, const struct th_decoded_collection *collection)
{
	char *name = th_text_clean(collection->kind);
	char *cause = strstr(name, " (");
	uint64_t length = collection->end > collection->start
				  ? collection->end - collection->start
				  : 0;
	struct th_bytes body = {0};

	if (cause) {
		*cause = '\0';
		cause += 2;
		cause[strcspn(cause, ")")] = '\0';
	}
	th_jfr_numbers(&body, collection->start, length, collection->number,
		named(jfr, TH_JFR_GC_NAME, name),
		named(jfr, TH_JFR_GC_CAUSE, cause ? cause : ""), length, length);
	th_jfr_event(&jfr->events, TH_JFR_GARBAGE_COLLECTION, &body);
	free(name);
}

/* The start of the heap is not known: sizes alone. */
static void
put_heap_use(struct jfr *jfr, const struct th_decoded_heap_use *use)
{
	struct th_bytes body = {0};

	th_jfr_numbers(&body, use->time, use->collections, WHEN_AFTER, 0, use->committed,
		use->committed, use->committed, use->committed, use->used);
	th_jfr_event(&jfr->events, TH_JFR_HEAP_SUMMARY, &body);
}

static void
put_events(struct jfr *jfr)
{
	const struct th_recording *recording = jfr->profile->recording;

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (jfr->profile->sample_rows[heap])
			put_samples(jfr, heap);
	}
	put_frees(jfr);
	for (size_t i = 0; i < recording->collections_count; i++)
		put_collection(jfr, &recording->collections[i]);
	for (size_t i = 0; i < recording->heap_uses_count; i++)
		put_heap_use(jfr, &recording->heap_uses[i]);
}

/* The chunk */

/* The event with all constant pools. */
static void
put_pools(struct jfr *jfr, struct th_bytes *chunk)
{
	struct th_bytes body = {0};

	/* Start, duration, no pools before these, flush, number of pools. */
	th_jfr_numbers(
		&body, jfr->profile->recording->start, 0, 0, 1, TH_JFR_POOL_END - TH_JFR_CLASS);
	for (int type = TH_JFR_CLASS; type < TH_JFR_POOL_END; type++) {
		th_jfr_numbers(&body, (uint64_t)type, jfr->pools[type].count);
		th_bytes_move(&body, &jfr->pools[type].entries);
		th_id_map_deinit(&jfr->pools[type].ids);
	}
	th_jfr_event(chunk, TH_JFR_POOLS, &body);
}

static void
put_word(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = bytes; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
}

static void
write_header(FILE *file, const struct th_recording *recording, uint64_t size, uint64_t pools,
	uint64_t metadata)
{
	uint8_t header[HEADER_BYTES] = {'F', 'L', 'R', 0};
	const uint64_t words[] = {
		size, pools, metadata, th_export_time(recording, recording->start),
		recording->end - recording->start, recording->start,
		TH_NS_PER_S, /* ticks per second */
	};

	put_word(header + 4, 2, 2); /* version 2.1 */
	put_word(header + 6, 1, 2);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(header + 8 + 8 * i, words[i], 8);
	put_word(header + HEADER_BYTES - 4, COMPRESSED_NUMBERS, 4);
	fwrite(header, 1, sizeof(header), file);
}

void
th_view_jfr(FILE *file, const struct th_profile *profile)
{
	struct jfr jfr = {.profile = profile};
	const struct th_recording *recording = profile->recording;

	th_strings_init(&jfr.symbols);
	put_events(&jfr);
	fill_pools(&jfr);
	uint64_t pools = HEADER_BYTES + jfr.events.items_count;
	put_pools(&jfr, &jfr.events);
	uint64_t metadata = HEADER_BYTES + jfr.events.items_count;
	th_jfr_metadata(&jfr.events, recording->start, recording->end - recording->start);
	write_header(file, recording, HEADER_BYTES + jfr.events.items_count, pools, metadata);
	fwrite(jfr.events.items, 1, jfr.events.items_count, file);
	free(jfr.events.items);
	th_strings_deinit(&jfr.symbols);
}
