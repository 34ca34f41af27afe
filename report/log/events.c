/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most events are kept in the layout of the log. Definitions go to the entry of their id;
 * samples and their ends, of which there may be millions, are stored in a compact form.
 */
#include "report/log/recording.h"

#include <ctype.h>

#include "report/base/allocate.h"
#include "report/log/limits.h"

/* The index of `id` in a table of the recording, which gets an empty entry if it is new. */
#define intern(recording, table, id)                                     \
	th_id_map_enter(&(recording)->table##_ids, id, recording, table, \
		((__typeof__(*(recording)->table)){0}))

/* Stores a definition in the entry of its id. */
#define define(recording, table, event, id)                               \
	({                                                                \
		/* First: the table may move. */                          \
		uint32_t entry_ = intern((recording), table, (event).id); \
                                                                          \
		(recording)->table[entry_] = (event);                     \
		true;                                                     \
	})

/* Higher levels are damage: no process makes that many things. */
#define TALLY_LEVEL_MAX 32
/* A lower probability of being kept is damage: a weight fits into an address space as well. */
#define KEEP_MIN 0x1p-40

/* Definitions */

/* The index of a thread; a new one has a name without text. */
static uint32_t
intern_thread(struct th_recording *recording, uint32_t id)
{
	size_t before = recording->threads_count;
	uint32_t index = intern(recording, threads, id);

	if (recording->threads_count > before) {
		recording->threads[index].name = (uint32_t)recording->thread_names_count;
		th_array_append(
			recording, thread_names, (struct th_thread_name){.thread = index});
	}
	return index;
}

/* The index of the name that a thread has at this offset of the log. */
static uint32_t
intern_thread_name(struct th_recording *recording, uint32_t id)
{
	uint32_t index = intern_thread(recording, id);

	return recording->threads[index].name;
}

/* Rejects invalid build ids, because they become parts of paths and of server URLs. */
static struct th_text
build_id_of(struct th_text text)
{
	for (uint32_t i = 0; i < text.length; i++) {
		if (!isxdigit((unsigned char)text.bytes[i]))
			return (struct th_text){"", 0};
	}
	return text;
}

static void
add_thread(struct th_recording *recording, const struct th_decoded_thread *event)
{
	uint32_t index = intern_thread(recording, event->thread);
	struct th_thread_info *thread = &recording->threads[index];
	struct th_thread_name *now = &recording->thread_names[thread->name];
	struct th_thread_name name = {
		.text = event->name,
		.thread = index,
		.is_of_java = event->flags & TH_THREAD_JAVA_NAME,
	};

	if (!thread->is_known || (name.is_of_java && !now->is_of_java)) {
		*now = name;
	} else if (!th_text_same(now->text, name.text)) {
		thread->name = (uint32_t)recording->thread_names_count;
		th_array_append(recording, thread_names, name);
	}
	thread->is_known = true;
	thread->tid = event->tid;
	if (event->starter)
		thread->starter = intern(recording, stacks, event->starter) + 1;
}

/*
 * The frames of an address are consecutive; false: this one is out of order, which is damage.
 */
static bool
on_native_frame(struct th_recording *recording, const struct th_decoded_native_frame *frame)
{
	uint32_t index = intern(
		recording, named_words, th_frame_native(frame->module, frame->offset));
	struct th_named_word *word = &recording->named_words[index];

	if (!word->count)
		word->first = (uint32_t)recording->named_frames_count;
	if (frame->index != word->count ||
		word->first + word->count != recording->named_frames_count)
		return false;
	word->count++;
	return true;
}

/* The functions below return false for an invalid event; those of kept events may change it. */

static bool
on_process(struct th_recording *recording, const struct th_decoded_process *process)
{
	struct th_text command = process->command;

	recording->process = *process;
	/* A bundle without the command line has zeros instead. */
	while (command.length && !command.bytes[command.length - 1])
		command.length--;
	if (!command.length)
		recording->process.command = process->executable;
	return true;
}

static bool
on_counter_name(struct th_recording *recording, const struct th_decoded_counter_name *name)
{
	if (name->index >= recording->counters_count)
		return false;
	recording->counters[name->index].name = name->name;
	recording->counters[name->index].description = name->description;
	return true;
}

/* Samples */

/* The probability of a sample must be above 0, or its weight would be infinite. */
static bool
is_possible(const struct th_recording *recording, uint64_t size, uint64_t interval)
{
	return recording->keep >= KEEP_MIN && size <= TH_SIZE_MAX && interval <= TH_SIZE_MAX &&
	       (size || !interval);
}

uint32_t
th_recording_intern_interval(struct th_recording *recording, uint64_t interval)
{
	return th_id_map_enter(
		&recording->interval_ids, interval, recording, intervals, interval);
}

static bool
add_sample(struct th_recording *recording, enum th_heap heap, struct th_sample sample,
	uint64_t interval)
{
	struct th_samples *samples = heap == TH_HEAP_MAPPED ? &recording->mappings
							    : &recording->samples[heap];
	uint32_t index = th_recording_intern_interval(recording, interval);

	if (index >> 23)
		return false;
	sample.interval = index & 0x7fffff;
	recording->gaps[heap] += (double)interval;
	th_array_append(samples, items, sample);
	return true;
}

/* Members of a sample that events of all heaps share. */
#define COMMON_MEMBERS(recording, alloc, offset)                                             \
	.time = (alloc)->time, .size = (alloc)->size, .record = (offset),                    \
	.stack = intern((recording), stacks, (alloc)->stack),                                \
	.name = intern_thread_name((recording), (alloc)->thread), .keep = (recording)->keep, \
	.flags = (alloc)->flags & 15

static bool
on_native_alloc(struct th_recording *recording, const struct th_decoded_native_alloc *alloc,
	uint32_t record)
{
	if (!is_possible(recording, alloc->size, alloc->interval))
		return false;
	struct th_sample sample = {
		COMMON_MEMBERS(recording, alloc, record),
		.thread_bytes = alloc->thread_bytes,
		.function = alloc->function & 15,
	};
	return add_sample(recording, TH_HEAP_NATIVE, sample, alloc->interval);
}

static bool
on_java_alloc(struct th_recording *recording, const struct th_decoded_java_alloc *alloc,
	uint32_t record)
{
	if (!is_possible(recording, alloc->size, alloc->interval))
		return false;
	struct th_sample sample = {
		COMMON_MEMBERS(recording, alloc, record),
		.thread_bytes = alloc->thread_bytes,
		.class = intern(recording, classes, alloc->class),
	};
	return add_sample(recording, TH_HEAP_JAVA, sample, alloc->interval);
}

/* The number of the reservation that contains the new one. */
static uint32_t
outer_of(const struct th_recording *recording, const struct th_decoded_mapped_alloc *alloc)
{
	uint32_t number = th_reservations_find(&recording->reserved, alloc->address);

	if (!number)
		return 0;
	const struct th_reservation_info *outer = &recording->reservations[number - 1];
	uint64_t room = outer->bytes - (alloc->address - outer->address);
	return alloc->size <= room ? number : 0;
}

/*
 * Not a sample: reservations are in the sums of MAPPED_USE, but name what is mapped into them.
 */
static bool
add_reservation(struct th_recording *recording, const struct th_decoded_mapped_alloc *alloc)
{
	struct th_reservation_info reservation = {
		.address = alloc->address,
		.bytes = alloc->size,
		.stack = intern(recording, stacks, alloc->stack),
		.outer = outer_of(recording, alloc),
	};

	th_array_append(recording, reservations, reservation);
	th_reservations_add(&recording->reserved, alloc->address, alloc->size);
	return true;
}

static bool
on_mapped_alloc(struct th_recording *recording, const struct th_decoded_mapped_alloc *alloc,
	uint32_t record)
{
	if (!is_possible(recording, alloc->size, alloc->interval))
		return false;
	if (alloc->flags & TH_MAPPED_RESERVED)
		return add_reservation(recording, alloc);
	struct th_sample sample = {
		COMMON_MEMBERS(recording, alloc, record),
		.thread_bytes = alloc->total_bytes,
		.class = (alloc->flags &
				 (TH_MAPPED_SHARED | TH_MAPPED_FILE | TH_MAPPED_ARENA)) |
			 th_reservations_find(&recording->reserved, alloc->address)
				 << TH_MAPPED_PLACE_SHIFT,
		.function = alloc->function & 15,
	};
	return add_sample(recording, TH_HEAP_MAPPED, sample, alloc->interval);
}

/* Ends of samples */

static bool
on_native_free(struct th_recording *recording, const struct th_decoded_native_free *event)
{
	struct th_free_info freed = {
		.time = event->time,
		.record = th_recording_record(recording, event->sample),
		.thread = intern_thread(recording, event->thread),
	};

	th_array_append(recording, frees, freed);
	return true;
}

static bool
on_java_death(struct th_recording *recording, const struct th_decoded_java_death *event)
{
	struct th_free_info end = {
		.time = event->time,
		.record = th_recording_record(recording, event->sample),
		.thread = TH_ID_MAP_NONE,
	};

	th_array_append(recording, deaths, end);
	return true;
}

/* Figures */

/* Stack and type become indices; type 0 stays, others are indices plus one. */
static void
to_indices(struct th_recording *recording, uint32_t *stack, uint32_t *type)
{
	*stack = intern(recording, stacks, *stack);
	if (*type)
		*type = intern(recording, classes, *type) + 1;
}

static bool
on_tally(struct th_recording *recording, struct th_decoded_tally *tally)
{
	if (!tally->kind || tally->kind >= TH_TALLY_KINDS || tally->level > TALLY_LEVEL_MAX)
		return false;
	to_indices(recording, &tally->stack, &tally->type);
	if (tally->starter)
		tally->starter = intern(recording, stacks, tally->starter) + 1;
	return true;
}

static bool
on_ledger_take(
	struct th_recording *recording, struct th_decoded_ledger_take *take, uint32_t record)
{
	if (!take->kind || take->kind >= TH_LEDGER_KINDS || take->keep < KEEP_MIN)
		return false;
	to_indices(recording, &take->stack, &take->type);
	th_array_append(recording, take_records, record);
	return true;
}

static bool
on_ledger_long(struct th_recording *recording, struct th_decoded_ledger_long *item)
{
	if (!item->kind || item->kind >= TH_LEDGER_KINDS)
		return false;
	to_indices(recording, &item->stack, &item->type);
	return true;
}

static bool
on_ledger_count(struct th_recording *recording, const struct th_decoded_ledger_count *count)
{
	if (!count->kind || count->kind >= TH_LEDGER_KINDS)
		return false;
	recording->ledger_counts[count->kind] = *count;
	return true;
}

/* The library's own references are not the program's. */
static bool
on_jni_references(struct th_decoded_jni_references *event)
{
	event->weaks -= event->own < event->weaks ? event->own : event->weaks;
	return true;
}

static bool
on_undetached(struct th_recording *recording, struct th_decoded_undetached *event)
{
	event->thread = intern_thread(recording, event->thread);
	return true;
}

static bool
on_thread_bytes(struct th_recording *recording, struct th_decoded_thread_bytes *event)
{
	if (event->heap != TH_HEAP_JAVA && event->heap != TH_HEAP_NATIVE)
		return false;
	event->thread = event->thread ? intern_thread(recording, event->thread)
				      : TH_ID_MAP_NONE;
	return true;
}

/* Dispatch */

static void
to_record(const struct th_recording *recording, uint64_t *id)
{
	*id = th_recording_record(recording, *id);
}

/* Makes a kept event what recording.h says; false: it is invalid. */
static bool
adapt(struct th_recording *recording, uint32_t type, union th_decoded *event, uint32_t record)
{
	switch (type) {
	case TH_EVENT_NATIVE_FRAME:
		return on_native_frame(recording, &event->native_frame);
	case TH_EVENT_THREAD_BYTES:
		return on_thread_bytes(recording, &event->thread_bytes);
	case TH_EVENT_MAPPED_END:
		to_record(recording, &event->mapped_end.sample);
		return true;
	case TH_EVENT_JAVA_LOST:
		to_record(recording, &event->java_lost.sample);
		return true;
	case TH_EVENT_JAVA_FOLLOWED:
		to_record(recording, &event->java_followed.sample);
		return true;
	case TH_EVENT_LEDGER_TAKE:
		return on_ledger_take(recording, &event->ledger_take, record);
	case TH_EVENT_LEDGER_GIVE:
		to_record(recording, &event->ledger_give.sample);
		return event->ledger_give.how && event->ledger_give.how < TH_LEDGER_ENDS;
	case TH_EVENT_TALLY:
		return on_tally(recording, &event->tally);
	case TH_EVENT_JNI_REFERENCES:
		return on_jni_references(&event->jni_references);
	case TH_EVENT_UNDETACHED:
		return on_undetached(recording, &event->undetached);
	case TH_EVENT_LEDGER_LONG:
		return on_ledger_long(recording, &event->ledger_long);
	case TH_EVENT_HOLDER_STEP:
		return event->holder_step.kind && event->holder_step.kind < TH_HOLDER_KINDS;
	case TH_EVENT_HOLDER_LOADERS:
		to_indices(
			recording, &event->holder_loaders.stack, &event->holder_loaders.type);
		return true;
	case TH_EVENT_ACCOUNT_ROW:
		return event->account_row.category &&
		       event->account_row.category < TH_MEMORY_CATEGORIES;
	case TH_EVENT_TOUCHED:
		return event->touched.blocks.count % 2 == 0;
	case TH_EVENT_MALLOC_HEAPS:
		return event->malloc_heaps.stretches.count % 3 == 0;
	case TH_EVENT_BUFFERS:
		return event->buffers.kind && event->buffers.kind < TH_BUFFERS_KINDS;
	default:
		return true;
	}
}

static bool
add_possible(
	struct th_recording *recording, uint32_t type, union th_decoded *event, uint32_t record)
{
	if (!adapt(recording, type, event, record))
		return false;
	switch ((enum th_event_type)type) {
#define X(TYPE, name, items)                                    \
	case TH_EVENT_##TYPE:                                   \
		th_array_append(recording, items, event->name); \
		return true;
		TH_KEPT_EVENTS(X)
#undef X
	case TH_EVENT_PROCESS:
		return on_process(recording, &event->process);
	case TH_EVENT_JVM:
		recording->has_jvm = true;
		recording->jvm = event->jvm;
		return true;
	case TH_EVENT_BUNDLE:
		/*
		 * A bundle contains one log: that log's end and holes have been counted
		 * already.
		 */
		recording->is_bundle = true;
		recording->bundle = event->bundle;
		return true;
	case TH_EVENT_END:
		recording->is_complete = true;
		return true;
	case TH_EVENT_RATE: /* the effect of rate control is in every sample */
		return true;
	case TH_EVENT_COUNTER_NAME:
		return on_counter_name(recording, &event->counter_name);

	case TH_EVENT_MODULE:
		event->module.build_id = build_id_of(event->module.build_id);
		return define(recording, modules, event->module, module);
	case TH_EVENT_THREAD:
		add_thread(recording, &event->thread);
		return true;
	case TH_EVENT_METHOD:
		return define(recording, methods, event->method, method);
	case TH_EVENT_CLASS:
		return define(recording, classes, event->class, class);
	case TH_EVENT_STACK:
		return define(recording, stacks, event->stack, stack);

	case TH_EVENT_NATIVE_ALLOC:
		return on_native_alloc(recording, &event->native_alloc, record);
	case TH_EVENT_NATIVE_FREE:
		return on_native_free(recording, &event->native_free);
	case TH_EVENT_MAPPED_ALLOC:
		return on_mapped_alloc(recording, &event->mapped_alloc, record);
	case TH_EVENT_JAVA_ALLOC:
		return on_java_alloc(recording, &event->java_alloc, record);
	case TH_EVENT_JAVA_DEATH:
		return on_java_death(recording, &event->java_death);
	case TH_EVENT_LEDGER_COUNT:
		return on_ledger_count(recording, &event->ledger_count);

	case TH_EVENT_KEPT:       /* the reader passes its records */
	case TH_EVENT_EVENT_TYPE: /* th_schema_learn() */
	case TH_EVENT_EVENT_FIELD:
	case TH_EVENT_NUMBERS:
		break;
	}
	return false;
}

/* The time up to which an event extends the recording, `time` being its own. */
static uint64_t
end_of(uint32_t type, const union th_decoded *event, uint64_t time)
{
	if (type == TH_EVENT_COLLECTION)
		return event->collection.end;
	return type == TH_EVENT_PROCESS || type == TH_EVENT_JVM || type == TH_EVENT_NOTE ? 0
											 : time;
}

static bool
add(struct th_recording *recording, uint32_t type, union th_decoded *event, uint32_t record)
{
	struct th_limits limits = {.start = recording->start};

	if (!th_limits_apply(&limits, type, event))
		return false;
	recording->early += limits.is_early;
	if (!add_possible(recording, type, event, record))
		return false;
	uint64_t time = end_of(type, event, limits.time);
	if (time > recording->end)
		recording->end = time;
	return true;
}

static bool
is_sample(uint32_t type)
{
	return type == TH_EVENT_NATIVE_ALLOC || type == TH_EVENT_JAVA_ALLOC ||
	       type == TH_EVENT_MAPPED_ALLOC || type == TH_EVENT_LEDGER_TAKE;
}

/* The `record` of a sample, or anything for another event. */
static uint32_t
enter_id(struct th_recording *recording, const struct th_record *record)
{
	if (recording->is_ring && is_sample(record->type) &&
		(!recording->ids_count ||
			recording->ids[recording->ids_count - 1] < record->offset))
		th_array_append(recording, ids, record->offset);
	return th_recording_record(recording, record->offset);
}

void
th_recording_add_event(struct th_recording *recording, const struct th_record *record)
{
	uint32_t number = enter_id(recording, record);
	union th_decoded event;

	recording->records++;
	if (th_schema_learn(recording->schema, record))
		return;
	if (!th_schema_is_known(record->type)) {
		recording->unknown++;
		return;
	}
	if (!th_schema_decode(recording->schema, record, &event)) {
		recording->undecodable++;
		return;
	}
	recording->keep = record->thinned > 0 ? (float)record->thinned : 1;
	if (!add(recording, record->type, &event, number))
		recording->undecodable++;
	else if (recording->is_ring && !recording->whole_from && is_sample(record->type) &&
		 record->offset >= th_reader_ring_from(recording->reader))
		/* All events of samples begin with the time. */
		recording->whole_from = event.native_alloc.time;
}
