/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays of each type of record when its segment goes.
 *
 *   all         definitions of modules, methods, classes and functions: their tables are bounded
 *   in use      stacks and threads: needed by what stays, or used within the last turn of the ring
 *   last        counts that only grow, and state: the last record of each key
 *   series      figures over time: one in each slot of time, whose length doubles with the time
 *   breakdowns  the last, and whole numbers of a power of two, so that at most 16 stay
 *   few         what is rare: up to FEW_MAX of a type
 *   samples     see ring_samples.c
 *
 * A time series keeps the first record of a slot.  Carried and new records are each in the order
 * of time, so each has a slot of its own.
 */
#include <stddef.h>
#include <string.h>

#include "unify/log/log.h"
#include "unify/log/ring_private.h"
#include "unify/log/stack_table.h"

#define FEW_MAX 4096
#define BREAKDOWNS 16
/* Slots of a series: at most twice as many records of 100 bytes stay. */
#define SLOT_BYTES (64u << 10)
#define SLOTS_MIN 128
#define SLOTS_MAX 1024

static uint32_t
get_u32(const struct th_ring_record *record, size_t at)
{
	uint32_t value = 0;

	if (at + sizeof(value) <= record->size)
		memcpy(&value, record->bytes + at, sizeof(value));
	return value;
}

static uint64_t
get_u64(const struct th_ring_record *record, size_t at)
{
	uint64_t value = 0;

	if (at + sizeof(value) <= record->size)
		memcpy(&value, record->bytes + at, sizeof(value));
	return value;
}

#define FIELD_U32(record, event, field) \
	get_u32(record, offsetof(struct th_event_##event, field))
#define FIELD_U64(record, event, field) \
	get_u64(record, offsetof(struct th_event_##event, field))

/* The last of each key */

/* The key of a record of which the last counts; 0: another type. */
static uint64_t
key_of(const struct th_ring_record *record)
{
	uint64_t a = 0, b = 0;

	switch (record->type) {
	case TH_EVENT_THREAD_BYTES:
		a = FIELD_U32(record, thread_bytes, thread);
		b = FIELD_U32(record, thread_bytes, heap);
		break;
	case TH_EVENT_TALLY:
		a = FIELD_U32(record, tally, stack);
		b = (uint64_t)FIELD_U32(record, tally, type) << 8 |
		    FIELD_U32(record, tally, kind);
		break;
	case TH_EVENT_LEDGER_COUNT:
		a = FIELD_U32(record, ledger_count, kind);
		break;
	case TH_EVENT_COLLECTION:
		/* By the text: the last one of a kind may be the last that judged old objects. */
		b = th_hash_bytes(TH_HASH_START,
			record->bytes + sizeof(struct th_event_collection),
			record->size - sizeof(struct th_event_collection));
		break;
	case TH_EVENT_MAPPED_USE:
	case TH_EVENT_JNI_REFERENCES:
	case TH_EVENT_HEAP_USE:
	case TH_EVENT_RESIDENT:
	case TH_EVENT_JAVA_JUDGED:
	case TH_EVENT_JAVA_LEVEL:
		break;
	default:
		return 0;
	}
	return th_ring_key(record->type, a, b);
}

static bool
is_last(const struct th_ring_record *record)
{
	uint64_t key = key_of(record);
	const struct th_id_entry *entry = key ? th_id_table_find(&th_ring.latest, key) : NULL;

	return entry && entry->place == record->offset;
}

static void
note_last(const struct th_ring_record *record)
{
	uint64_t key = key_of(record);
	struct th_id_entry *entry = key ? th_id_table_add(&th_ring.latest, key) : NULL;

	if (entry)
		entry->place = record->offset;
}

/* Series */

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

/* By the time that the record begins with. */
static bool
is_first_of_slot(const struct th_ring_record *record)
{
	uint64_t *last = &th_ring.slots[record->is_carried][record->type];
	uint64_t time = get_u64(record, sizeof(struct th_log_record));
	uint64_t slot = (time - th_ring.origin) / slot_length() + 1;

	/* Records of one time belong together: the kinds of a count of buffers. */
	if (slot == *last && record->type != TH_EVENT_BUFFERS)
		return false;
	*last = slot;
	return true;
}

/* Breakdowns */

static uint32_t
account_of(const struct th_ring_record *record)
{
	switch (record->type) {
	case TH_EVENT_ACCOUNT:
		return FIELD_U32(record, account, account);
	case TH_EVENT_ACCOUNT_ROW:
		return FIELD_U32(record, account_row, account);
	case TH_EVENT_TOUCHED:
		return FIELD_U32(record, touched, account);
	case TH_EVENT_MALLOC_HEAPS:
		return FIELD_U32(record, malloc_heaps, account);
	case TH_EVENT_POOL:
		return FIELD_U32(record, pool, account);
	case TH_EVENT_ALLOCATOR:
		return FIELD_U32(record, allocator, account);
	default:
		return FIELD_U32(record, cgroup, account);
	}
}

/* Rows of one that is not complete yet have a higher number than the last one. */
static bool
keeps_account(uint32_t account)
{
	uint32_t step = 1;

	while (th_ring.account / step > BREAKDOWNS)
		step *= 2;
	return account >= th_ring.account || account % step == 0;
}

/* What is in use */

static bool
is_marked(uint32_t type, uint32_t id)
{
	const struct th_id_entry *entry = th_id_table_find(
		&th_ring.marks, th_ring_key(type, id, 0));

	return entry && entry->place + 1 >= th_ring.lap;
}

static bool
is_stack_needed(const struct th_ring_record *record)
{
	const size_t at = sizeof(struct th_event_stack);
	uint32_t count = get_u32(record, at);
	const uint64_t *frames = (const uint64_t *)(const void *)(record->bytes + at + 8);

	if (is_marked(TH_EVENT_STACK, FIELD_U32(record, stack, stack)) ||
		count > (record->size - at - 8) / 8)
		return true;
	return !th_stack_table_forget(
		frames, count, FIELD_U32(record, stack, flags), th_ring.lap - 1);
}

/*
 * The samples of a thread that has ended may be behind this record.  Carried once more, it is
 * behind all of them.
 */
static bool
is_thread_needed(uint32_t thread)
{
	const uint64_t ended = 1;
	struct th_id_entry *entry;

	if (!thread || !th_ring_is_alive || th_ring_is_alive(thread))
		return true;
	entry = th_id_table_add(&th_ring.marks, th_ring_key(TH_EVENT_THREAD, thread, ended));
	if (!entry || !entry->place || entry->place == th_ring.lap) {
		if (entry)
			entry->place = th_ring.lap;
		return true;
	}
	return is_marked(TH_EVENT_THREAD, thread);
}

/* The bytes of threads that have ended, and of which no sample is left, are only counted. */
static bool
is_count_needed(const struct th_ring_record *record)
{
	uint64_t bytes = FIELD_U64(record, thread_bytes, bytes);
	bool is_java = FIELD_U32(record, thread_bytes, heap) == TH_HEAP_JAVA;

	if (!is_last(record))
		return false;
	if (is_thread_needed(FIELD_U32(record, thread_bytes, thread)))
		return true;
	th_log_count(
		is_java ? TH_COUNTER_RING_JAVA_BYTES : TH_COUNTER_RING_NATIVE_BYTES, bytes);
	th_id_table_remove(&th_ring.latest, th_id_table_find(&th_ring.latest, key_of(record)));
	return false;
}

static bool
is_among_few(uint32_t type)
{
	if (type < TH_EVENT_NUMBERS && th_ring.few[type]++ < FEW_MAX)
		return true;
	th_log_count(TH_COUNTER_RING_LOST, 1);
	return false;
}

static bool
is_needed(const struct th_ring_record *record)
{
	switch (record->type) {
	case TH_EVENT_PROCESS:
	case TH_EVENT_SETTING:
	case TH_EVENT_JVM:
	case TH_EVENT_MODULE:
	case TH_EVENT_METHOD:
	case TH_EVENT_CLASS:
	case TH_EVENT_CODE_SOURCE:
	case TH_EVENT_SYMBOL:
		return true;
	case TH_EVENT_STACK:
		return is_stack_needed(record);
	case TH_EVENT_THREAD:
		return is_thread_needed(FIELD_U32(record, thread, thread));
	case TH_EVENT_THREAD_BYTES:
		return is_count_needed(record);
	case TH_EVENT_TALLY:
	case TH_EVENT_LEDGER_COUNT:
		return is_last(record);
	case TH_EVENT_COLLECTION:
	case TH_EVENT_HEAP_USE:
	case TH_EVENT_JAVA_JUDGED:
	case TH_EVENT_MAPPED_USE:
	case TH_EVENT_JNI_REFERENCES:
	case TH_EVENT_RESIDENT:
	case TH_EVENT_BUFFERS:
		return is_first_of_slot(record) || is_last(record);
	case TH_EVENT_ACCOUNT:
	case TH_EVENT_ACCOUNT_ROW:
	case TH_EVENT_TOUCHED:
	case TH_EVENT_MALLOC_HEAPS:
	case TH_EVENT_POOL:
	case TH_EVENT_ALLOCATOR:
	case TH_EVENT_CGROUP:
		return keeps_account(account_of(record));
	case TH_EVENT_EVENT_TYPE: /* in the metadata */
	case TH_EVENT_EVENT_FIELD:
	case TH_EVENT_COUNTER_NAME:
	case TH_EVENT_RATE: /* the effect is in every sample */
		return false;
	default:
		return is_among_few(record->type);
	}
}

/* The passes */

/* The latest time, by which ages are measured: of samples and of their ends. */
static void
note_time(const struct th_ring_record *record)
{
	uint64_t time = get_u64(record, sizeof(struct th_log_record));

	if (time > th_ring.time)
		th_ring.time = time;
}

static void
note_state(const struct th_ring_record *record)
{
	if (record->type == TH_EVENT_ACCOUNT && account_of(record) > th_ring.account)
		th_ring.account = account_of(record);
	if (record->type == TH_EVENT_JAVA_LEVEL &&
		FIELD_U32(record, java_level, level) > th_ring.level)
		th_ring.level = FIELD_U32(record, java_level, level);
	if (record->type == TH_EVENT_JVM)
		th_ring.follows_few = FIELD_U32(record, jvm, features) & TH_JVM_FOLLOWS_FEW;
}

void
th_ring_look(const struct th_ring_record *record)
{
	if (record->type == TH_EVENT_KEPT)
		return;
	if (th_ring_is_sample(record->type)) {
		note_time(record);
		th_ring_begin_sample(record);
	} else if (th_ring_is_end(record->type)) {
		note_time(record);
		th_ring_end_sample(record);
	} else {
		note_state(record);
		note_last(record);
	}
}

static bool
keep_one(const struct th_ring_record *record, const struct th_ring_record *carrier, uint32_t at)
{
	if (th_ring_is_sample(record->type))
		return th_ring_keep_sample(record, carrier, at);
	if (th_ring_is_end(record->type))
		return th_ring_keep_end(record);
	return !is_needed(record) || th_ring_carry(record, 0);
}

bool
th_ring_keep(const struct th_ring_record *record)
{
	struct th_ring_record inner;
	uint32_t at = 0;

	if (record->type != TH_EVENT_KEPT)
		return keep_one(record, NULL, 0);
	while (th_ring_next_inner(record, &at, &inner))
		if (!keep_one(&inner, record, at))
			return false;
	return true;
}
