/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is copied of each type of record to the next chunk (enum rule); samples: ring_samples.c.
 *
 * The order of records in the file is not that of time: copies stand behind the first new records of
 * a chunk.  What has to be known of the whole chunk is collected in the first pass, in `facts`.
 */
#include <stddef.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/log/log.h"
#include "unify/log/log_events.h"
#include "unify/log/ring_private.h"
#include "unify/log/stack_log.h"

#define FEW_MAX 4096
#define BREAKDOWNS 16
/* Slots of a series: at most twice as many records of 100 bytes stay. */
#define SLOT_BYTES (64u << 10)
#define SLOTS_MIN 128
#define SLOTS_MAX 1024

enum rule {
	FEW,   /* what is rare, and types without a rule: up to FEW_MAX of a type */
	NEVER, /* it is in the metadata; of RATE the effect is in every sample */
	ALL,   /* definitions whose tables are bounded */
	USED, /* stacks and threads: those to which the chunk refers, and those that may be used by now */
	LAST,   /* counts that only grow: the last record of each key */
	SERIES, /* the last, and one in each slot of time, whose length doubles with the time */
	/* The last, and whole numbers of a power of two, so that at most BREAKDOWNS stay. */
	BREAKDOWN,
};

static const uint8_t rules[TH_EVENT_NUMBERS] = {[TH_EVENT_EVENT_TYPE] = NEVER,
	[TH_EVENT_EVENT_FIELD] = NEVER,
	[TH_EVENT_COUNTER_NAME] = NEVER,
	[TH_EVENT_RATE] = NEVER,
	[TH_EVENT_PROCESS] = ALL,
	[TH_EVENT_SETTING] = ALL,
	[TH_EVENT_JVM] = ALL,
	[TH_EVENT_MODULE] = ALL,
	[TH_EVENT_METHOD] = ALL,
	[TH_EVENT_CLASS] = ALL,
	[TH_EVENT_CODE_SOURCE] = ALL,
	[TH_EVENT_SYMBOL] = ALL,
	[TH_EVENT_STACK] = USED,
	[TH_EVENT_THREAD] = USED,
	[TH_EVENT_THREAD_BYTES] = LAST,
	[TH_EVENT_TALLY] = LAST,
	[TH_EVENT_LEDGER_COUNT] = LAST,
	[TH_EVENT_COLLECTION] = SERIES,
	[TH_EVENT_HEAP_USE] = SERIES,
	[TH_EVENT_JAVA_JUDGED] = SERIES,
	[TH_EVENT_MAPPED_USE] = SERIES,
	[TH_EVENT_JNI_REFERENCES] = SERIES,
	[TH_EVENT_RESIDENT] = SERIES,
	[TH_EVENT_BUFFERS] = SERIES,
	[TH_EVENT_ACCOUNT] = BREAKDOWN,
	[TH_EVENT_ACCOUNT_ROW] = BREAKDOWN,
	[TH_EVENT_TOUCHED] = BREAKDOWN,
	[TH_EVENT_MALLOC_HEAPS] = BREAKDOWN,
	[TH_EVENT_POOL] = BREAKDOWN,
	[TH_EVENT_ALLOCATOR] = BREAKDOWN,
	[TH_EVENT_CGROUP] = BREAKDOWN};

/* The bytes of a record that are its key, or the number of its breakdown; others have one key. */
#define FIELDS(event, first, last)                                  \
	{                                                           \
		offsetof(struct th_event_##event, first),           \
			offsetof(struct th_event_##event, last) + 4 \
	}
static const struct {
	uint8_t from, to;
} keys[TH_EVENT_NUMBERS] = {
	[TH_EVENT_STACK] = FIELDS(stack, stack, stack),
	[TH_EVENT_THREAD] = FIELDS(thread, thread, thread),
	[TH_EVENT_THREAD_BYTES] = FIELDS(thread_bytes, thread, heap),
	[TH_EVENT_TALLY] = FIELDS(tally, stack, kind),
	[TH_EVENT_LEDGER_COUNT] = FIELDS(ledger_count, kind, kind),
	/* The kind: the last collection of a kind may be the last that judged old objects. */
	[TH_EVENT_COLLECTION] = {sizeof(struct th_event_collection), UINT8_MAX},
	[TH_EVENT_ACCOUNT] = FIELDS(account, account, account),
	[TH_EVENT_ACCOUNT_ROW] = FIELDS(account_row, account, account),
	[TH_EVENT_TOUCHED] = FIELDS(touched, account, account),
	[TH_EVENT_MALLOC_HEAPS] = FIELDS(malloc_heaps, account, account),
	[TH_EVENT_POOL] = FIELDS(pool, account, account),
	[TH_EVENT_ALLOCATOR] = FIELDS(allocator, account, account),
	[TH_EVENT_CGROUP] = FIELDS(cgroup, account, account),
};

/* The first number in the key. */
static uint32_t
id_of(const struct th_ring_record *record)
{
	return (uint32_t)th_ring_field(record, keys[record->type].from, sizeof(uint32_t));
}

/* Facts */

/* Kinds of facts besides the types of events: the offset of the last record of a key. */
enum {
	REFERENCE = TH_EVENT_NUMBERS, /* by type of contents: to a stack or thread */
	SLOT = 2 * TH_EVENT_NUMBERS,  /* by type of event: the time of the record that stays */
};

static uint64_t
fact(uint32_t kind, uint64_t value)
{
	return th_hash_mix(value ^ th_hash_mix(kind)) | 1;
}

static uint64_t
last_of_key(const struct th_ring_record *record)
{
	uint32_t to = keys[record->type].to < record->size ? keys[record->type].to
							   : record->size;
	uint32_t from = keys[record->type].from < to ? keys[record->type].from : to;

	return fact(
		record->type, th_hash_bytes(TH_HASH_START, record->bytes + from, to - from));
}

static void
note_last(const struct th_ring_record *record)
{
	struct th_id_entry *entry = th_id_table_add(&th_ring.facts, last_of_key(record));

	if (entry && entry->place < record->offset)
		entry->place = record->offset;
}

static void
note_references(const struct th_ring_record *record)
{
	const struct th_log_field *field = th_log_events[record->type].fields;
	uint32_t at = sizeof(struct th_log_record);

	for (uint32_t bytes; (bytes = th_log_data_bytes((enum th_data_type)field->data));
		field++) {
		at = (uint32_t)th_align_up(at, bytes);
		if (field->content == TH_CONTENT_STACK ||
			(field->content == TH_CONTENT_THREAD && at != keys[record->type].from))
			th_id_table_add(
				&th_ring.facts, fact(REFERENCE + field->content,
							th_ring_field(record, at, bytes)));
		at += bytes;
	}
}

static bool
is_referred_to(enum th_content_type content, uint32_t id)
{
	return th_id_table_find(&th_ring.facts, fact(REFERENCE + content, id));
}

/* Rules */

static bool
is_last(const struct th_ring_record *record)
{
	const struct th_id_entry *entry = th_id_table_find(&th_ring.facts, last_of_key(record));

	return entry && entry->place == record->offset;
}

static uint64_t
slot_length(void)
{
	uint64_t slots = th_ring.bytes / SLOT_BYTES;
	uint64_t length = 1;

	slots = slots < SLOTS_MIN ? SLOTS_MIN : slots > SLOTS_MAX ? SLOTS_MAX : slots;
	while (length < (th_ring.time - th_ring.origin) / slots)
		length *= 2;
	return length;
}

/*
 * Whether its slot has no record yet, or one of the same time: these belong together, as the kinds
 * of a count of buffers do.
 */
static bool
is_first_of_slot(const struct th_ring_record *record)
{
	uint64_t slot = (th_ring_time(record) - th_ring.origin) / slot_length();
	struct th_id_entry *entry = th_id_table_add(
		&th_ring.facts, fact(SLOT + record->type, slot));

	if (entry && !entry->place)
		entry->place = th_ring_time(record);
	return !entry || entry->place == th_ring_time(record);
}

/* Rows of one that is not complete yet have a higher number than the last one. */
static bool
is_breakdown_needed(uint32_t account)
{
	uint32_t step = 1;

	while (th_ring.account / step > BREAKDOWNS)
		step *= 2;
	return account >= th_ring.account || account % step == 0;
}

/*
 * A stack that was used while the full chunk was the present one stays: a thread may have checked
 * that the log has it, and append its sample only now.
 */
static bool
is_stack_needed(const struct th_ring_record *record)
{
	const uint32_t at = sizeof(struct th_event_stack);
	uint32_t count = (uint32_t)th_ring_field(record, at, sizeof(count));
	const uint64_t *frames = (const uint64_t *)(const void *)(record->bytes + at + 8);
	uint32_t flags = (uint32_t)th_ring_field(
		record, offsetof(struct th_event_stack, flags), sizeof(flags));

	return is_referred_to(TH_CONTENT_STACK, id_of(record)) || record->size < at + 8 ||
	       count > (record->size - at - 8) / 8 ||
	       !th_stack_table_forget(frames, count, flags, th_ring.chunk - 1);
}

/* The last records of a thread are in the full chunk only if it was dead before it was full. */
static bool
is_thread_needed(uint32_t thread)
{
	if (!thread || !th_ring_is_alive || th_ring_is_alive(thread))
		return true;
	th_id_table_add(&th_ring.dead[th_ring.chunk % 2], thread);
	return !th_id_table_find(&th_ring.dead[(th_ring.chunk + 1) % 2], thread) ||
	       is_referred_to(TH_CONTENT_THREAD, thread);
}

/* The bytes of threads that have ended, and of which no sample is left, are only counted. */
static bool
is_count_needed(const struct th_ring_record *record)
{
	struct th_event_thread_bytes count = {.heap = 0};

	if (!is_last(record) || is_thread_needed(id_of(record)))
		return is_last(record);
	memcpy(&count, record->bytes,
		record->size < sizeof(count) ? record->size : sizeof(count));
	th_ring.left_bytes[count.heap == TH_HEAP_JAVA] += count.bytes;
	/* Once, if the copying is repeated. */
	th_id_table_find(&th_ring.facts, last_of_key(record))->place = 0;
	return false;
}

static bool
is_needed(const struct th_ring_record *record)
{
	switch ((enum rule)rules[record->type]) {
	case NEVER:
		return false;
	case ALL:
		return true;
	case USED:
		return record->type == TH_EVENT_STACK ? is_stack_needed(record)
						      : is_thread_needed(id_of(record));
	case LAST:
		return record->type == TH_EVENT_THREAD_BYTES ? is_count_needed(record)
							     : is_last(record);
	case SERIES:
		return is_first_of_slot(record) || is_last(record);
	case BREAKDOWN:
		return is_breakdown_needed(id_of(record));
	default:
		if (th_ring.few[record->type]++ < FEW_MAX)
			return true;
		th_log_count(TH_COUNTER_RING_LOST, 1);
		return false;
	}
}

/* The passes */

void
th_ring_begin_rules(void)
{
	/* The older chunk has gone, with what was not copied. */
	th_log_count(TH_COUNTER_RING_NATIVE_BYTES, th_ring.left_bytes[false]);
	th_log_count(TH_COUNTER_RING_JAVA_BYTES, th_ring.left_bytes[true]);
	memset(th_ring.left_bytes, 0, sizeof(th_ring.left_bytes));
	memset(th_ring.few, 0, sizeof(th_ring.few));
	th_id_table_deinit(&th_ring.facts);
	th_id_table_deinit(&th_ring.dead[th_ring.chunk % 2]);
	th_ring.others = 0;
}

bool
th_ring_look(const struct th_ring_record *record)
{
	enum rule rule = record->type < TH_EVENT_NUMBERS ? (enum rule)rules[record->type]
							 : NEVER;

	if (rule == NEVER)
		return true;
	if (record->type != TH_EVENT_STACK)
		note_references(record);
	if (th_ring_look_at_sample(record))
		return true;
	if (rule == LAST || rule == SERIES)
		note_last(record);
	if (record->type == TH_EVENT_ACCOUNT && id_of(record) > th_ring.account)
		th_ring.account = id_of(record);
	/* What was copied before is probably copied again. */
	if (record->is_copy || rule == ALL || rule == USED)
		th_ring.others += record->size + 8;
	return true;
}

bool
th_ring_keep(const struct th_ring_record *record)
{
	double part;

	if (record->type >= TH_EVENT_NUMBERS)
		return true;
	if (th_ring_is_of_sample(record, &part))
		return part <= 0 || th_ring_copy(record, part);
	return !is_needed(record) || th_ring_copy(record, 0);
}
