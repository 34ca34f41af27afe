/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is copied to the next chunk, by type of record (enum rule).  The order of records in the file is
 * not that of time: copies stand behind the first new records of a chunk.  What has to be known of the
 * whole chunk is collected in the first pass: facts, and the table of samples.
 *
 * The table has the samples that stay: all that have not ended, or where these are too many, a part of
 * them; and of those that have ended as many as fit.  What is in it when the first pass ends is copied,
 * with all records of its end.  It outlives the pass, and only new records change it: while copies are
 * appended the program goes on, so the end of a sample can stand before its copy.
 *
 * Each sample stays with the probability q = min(1, s / tau), where the score s is the number of bytes
 * that the sample represents, times up to BOOST if it has ended and lived long: a threshold sample
 * (Duffield, Lund, Thorup: Learn more, sample less, IEEE Trans. Inf. Theory 2005).  There is one
 * threshold for all samples, usually 1 byte, and one for those that have ended.  The draw is a hash of
 * the id, and q only decreases: a later draw keeps a subset, and the last q is the probability of all
 * draws together.  The age at which a life is long grows with the recording, as in the evidence of
 * leaks (blocks are old from a tenth of its time on).
 */
#include <stddef.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/log_events.h"
#include "unify/log/ring.h"
#include "unify/log/ring_private.h"
#include "unify/log/stack_log.h"
#include "unify/shared/bisect.h"
#include "unify/shared/hash.h"

#define FEW_MAX 4096
#define BREAKDOWNS 16
/* A series has a slot for this many bytes of the ring. */
#define SLOT_BYTES (64u << 10)
#define FIRST_FACTS 1024u

/*
 * A life of a twentieth of the recording, half of what makes a block old, has the full boost: the
 * evidence counts these blocks, so they are the last to be thinned out.
 */
#define LONG_LIFE 20
#define BOOST 16
/* One sample may be open for this many bytes of the ring: OPEN_BYTES of it are its copy. */
#define BYTES_PER_OPEN 512
#define OPEN_BYTES 104
/* Of a sample and its end. */
#define ENDED_BYTES 152
/* The table has one sample for this many bytes of the ring: a sixth more than stay. */
#define BYTES_PER_SAMPLE 400
#define FIRST_SAMPLES 1024u
/* Growth of a threshold while more samples stay than fit; a bound of its steps. */
#define TAU_GROWTH 1.25
#define RAISES_MAX 100

enum rule {
	FEW,    /* what is rare, and types without a rule: up to FEW_MAX of a type */
	NEVER,  /* of RATE the effect is in every sample */
	ALL,    /* definitions whose tables are bounded */
	STACK,  /* those to which the chunk refers, and those that may be used by now */
	THREAD, /* the same */
	LAST,   /* counts that only grow: the last of each key */
	COUNT, /* the same; of threads that have ended, and of which no sample is left, only the sum */
	SERIES, /* the last, and one in each slot of time, whose length doubles with the time */
	/* The last, and whole numbers of a power of two, so that at most BREAKDOWNS stay. */
	BREAKDOWN,
	SAMPLE, /* as above */
	END,    /* that of a sample that stays */
};

static const uint8_t rules[TH_EVENT_NUMBERS] = {
	[TH_EVENT_RATE] = NEVER,
	[TH_EVENT_PROCESS] = ALL,
	[TH_EVENT_SETTING] = ALL,
	[TH_EVENT_JVM] = ALL,
	[TH_EVENT_MODULE] = ALL,
	[TH_EVENT_METHOD] = ALL,
	[TH_EVENT_CLASS] = ALL,
	[TH_EVENT_CODE_SOURCE] = ALL,
	[TH_EVENT_SYMBOL] = ALL,
	[TH_EVENT_STACK] = STACK,
	[TH_EVENT_THREAD] = THREAD,
	[TH_EVENT_THREAD_BYTES] = COUNT,
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
	[TH_EVENT_CGROUP] = BREAKDOWN,
	[TH_EVENT_NATIVE_ALLOC] = SAMPLE,
	[TH_EVENT_JAVA_ALLOC] = SAMPLE,
	[TH_EVENT_MAPPED_ALLOC] = SAMPLE,
	[TH_EVENT_LEDGER_TAKE] = SAMPLE,
	[TH_EVENT_NATIVE_FREE] = END,
	[TH_EVENT_JAVA_DEATH] = END,
	[TH_EVENT_JAVA_LOST] = END,
	[TH_EVENT_JAVA_FOLLOWED] = END,
	[TH_EVENT_MAPPED_END] = END,
	[TH_EVENT_LEDGER_GIVE] = END,
};

/* Hash table, open addressing and linear probing: what a change of chunks has found out. */
struct facts {
	struct fact {
		uint64_t key; /* not 0 */
		uint64_t value;
	} * items;
	uint32_t slots; /* a power of two */
	uint32_t count;
};

struct sample {
	uint64_t id;
	uint64_t place; /* of its record */
	uint64_t left;  /* bytes of a mapping that have not ended */
	uint64_t time;  /* of its birth, ns; once it has ended: its life */
	float weight;   /* bytes that it represents; 0: of no use */
	bool has_ended;
	bool is_object;       /* of the Java heap */
	bool is_followed;     /* in a VM that follows few */
	bool is_needed_alive; /* only: of no use once it has ended */
};

static struct {
	struct facts facts[2];          /* by chunk modulo 2 */
	uint32_t few[TH_EVENT_NUMBERS]; /* records of rare types kept in this pass */
	uint32_t account;               /* number of the last breakdown */
	uint64_t left_bytes[2];         /* of dead threads that were not copied; 1: Java */
	uint64_t origin;                /* start of the recording */
	uint64_t time;                  /* the latest of a sample or its end */
	struct sample *samples;         /* ascending */
	uint64_t count;
	uint64_t capacity;
	double tau[2];   /* weight below which samples are thinned out; 1: if they have ended */
	uint64_t others; /* bytes of the copies of other records */
	uint32_t level;  /* of followed Java objects */
	bool follows_few; /* TH_JVM_FOLLOWS_FEW */
} keep;

static bool (*is_thread_alive)(uint32_t thread);

/* Records */

/* A record as its event; one that is damaged may be shorter, but the buffer that it is in is not. */
#define EVENT(record, name) ((const struct th_event_##name *)(const void *)(record)->bytes)

/*
 * All events that are looked into begin with the time; all samples but LEDGER_TAKE begin as a
 * NATIVE_ALLOC does, and all ends as a NATIVE_FREE.
 */
#define SAME(first, second, field) \
	offsetof(struct th_event_##first, field) == offsetof(struct th_event_##second, field)
_Static_assert(
	SAME(native_alloc, java_alloc, interval) && SAME(native_alloc, mapped_alloc, interval),
	"one way to read all samples");
_Static_assert(SAME(native_free, java_death, sample) && SAME(native_free, mapped_end, sample) &&
		       SAME(native_free, java_lost, sample) &&
		       SAME(native_free, java_followed, sample) &&
		       SAME(native_free, ledger_give, sample),
	"one way to read all ends");

static enum rule
rule_of(const struct th_ring_record *record)
{
	return record->type < TH_EVENT_NUMBERS ? (enum rule)rules[record->type] : NEVER;
}

/* Facts */

/* Kinds of facts besides the types of events: the offset of the last record of a key. */
enum {
	REFERENCE = TH_EVENT_NUMBERS, /* by type of contents: to a stack or thread */
	SLOT = 2 * TH_EVENT_NUMBERS,  /* by type of event: the time of the record that stays */
	DEAD = 3 * TH_EVENT_NUMBERS,  /* a thread */
};

static uint64_t
key_of(uint32_t kind, uint64_t value)
{
	return th_hash_mix(value ^ th_hash_mix(kind)) | 1;
}

/* The fact of the key, or the empty one where it belongs. */
static struct fact *
probe(const struct facts *facts, uint64_t key)
{
	uint32_t at = (uint32_t)(key >> 1) & (facts->slots - 1);

	while (facts->items[at].key && facts->items[at].key != key)
		at = (at + 1) & (facts->slots - 1);
	return &facts->items[at];
}

/* A fact of the change to a chunk, this or the last one; NULL: there is none. */
static struct fact *
find(uint32_t chunk, uint64_t key)
{
	const struct facts *facts = &keep.facts[chunk % 2];
	struct fact *fact = facts->slots ? probe(facts, key) : NULL;

	return fact && fact->key ? fact : NULL;
}

static bool
grow(struct facts *facts)
{
	struct facts larger = {
		.slots = facts->slots ? facts->slots * 2 : FIRST_FACTS, .count = facts->count};

	larger.items = th_memory_map(larger.slots * sizeof(*larger.items));
	if (!larger.items)
		return false;
	for (uint32_t i = 0; i < facts->slots; i++)
		if (facts->items[i].key)
			*probe(&larger, facts->items[i].key) = facts->items[i];
	th_memory_retire(facts->items);
	*facts = larger;
	return true;
}

/* The fact of this change, with the value 0 if it is new; NULL: out of memory. */
static struct fact *
note(uint64_t key)
{
	struct facts *facts = &keep.facts[th_ring.chunk % 2];

	if (facts->count >= facts->slots / 4 * 3 && !grow(facts))
		return NULL;
	struct fact *fact = probe(facts, key);
	facts->count += !fact->key;
	fact->key = key;
	return fact;
}

static void
forget(struct facts *facts)
{
	th_memory_retire(facts->items);
	*facts = (struct facts){0};
}

/*
 * The first number of 32 bits in a record, and in *key_ret its key: all of them but counts, and what
 * follows the last, if it is text.  With `has_references` notes the stacks and threads among them.
 */
static uint32_t
read_ids(const struct th_ring_record *record, bool has_references, uint64_t *key_ret)
{
	const struct th_log_field *field = th_log_events[record->type].fields;
	const bool is_of_thread = rule_of(record) == THREAD || rule_of(record) == COUNT;
	uint64_t key = TH_HASH_START;
	uint32_t at = sizeof(struct th_log_record), first = 0, count = 0;

	for (uint32_t bytes; (bytes = th_log_data_bytes((enum th_data_type)field->data));
		field++) {
		uint32_t value = 0;

		at = (uint32_t)th_align_up(at, bytes) + bytes;
		if (bytes != sizeof(value) || at > record->size)
			continue;
		memcpy(&value, record->bytes + at - bytes, sizeof(value));
		first = count++ ? first : value;
		if (field->content != TH_CONTENT_COUNT)
			key = th_hash_bytes(key, &value, sizeof(value));
		if (has_references &&
			(field->content == TH_CONTENT_STACK ||
				(field->content == TH_CONTENT_THREAD && !is_of_thread)))
			note(key_of(REFERENCE + field->content, value));
	}
	if (field->data == TH_DATA_TEXT && at < record->size)
		key = th_hash_bytes(key, record->bytes + at, record->size - at);
	*key_ret = key;
	return first;
}

static uint32_t
id_of(const struct th_ring_record *record)
{
	uint64_t key;

	return read_ids(record, false, &key);
}

static bool
is_referred_to(enum th_content_type content, uint32_t id)
{
	return find(th_ring.chunk, key_of(REFERENCE + content, id));
}

static bool
is_last(const struct th_ring_record *record)
{
	uint64_t key;

	read_ids(record, false, &key);
	const struct fact *last = find(th_ring.chunk, key_of(record->type, key));
	return last && last->value == record->offset;
}

/* Which samples stay */

static struct sample *
find_sample(uint64_t id)
{
	size_t at = th_bisect(keep.count, i, keep.samples[i].id < id);

	return at < keep.count && keep.samples[at].id == id ? &keep.samples[at] : NULL;
}

uint64_t *
th_ring_find_place(uint64_t sample)
{
	struct sample *found = find_sample(sample);

	return found ? &found->place : NULL;
}

static double
smaller(double a, double b)
{
	return a < b ? a : b;
}

static double
score_of(const struct sample *sample)
{
	double life = sample->has_ended ? (double)sample->time : 0;
	double age = (double)(keep.time - keep.origin) + 1;

	return (double)sample->weight * (1 + BOOST * smaller(1, LONG_LIFE * life / age));
}

/* The probability with which a sample stays. */
static double
part_of(const struct sample *sample)
{
	double part = smaller(1, (double)sample->weight / keep.tau[false]);

	return sample->has_ended ? smaller(part, score_of(sample) / keep.tau[true]) : part;
}

/*
 * Whether it stays, and has a record: a copy may have been lost.  A copy may also lie behind the full
 * chunk, if the last change of chunks was slow: it is in the log until the present chunk is full, so
 * its end has to be copied in any case.
 */
static bool
stays(const struct sample *sample)
{
	uint64_t random = th_hash_mix(sample->id ^ UINT64_C(0x6a09e667f3bcc909));

	return sample->place >= th_ring.next ||
	       (sample->place >= th_ring.from &&
		       (double)((random >> 11) + 1) * 0x1p-53 <= part_of(sample));
}

/*
 * Whether its end will never be known, although none was recorded.  Whether an object of a VM that
 * follows few is followed is recorded a while after its sample.
 */
static bool
is_given_up(const struct sample *sample)
{
	const uint64_t while_bytes = th_ring.bytes / TH_RING_PARTS;

	return sample->is_object && (!th_live_keeps(sample->id, keep.level) ||
					    (keep.follows_few && !sample->is_followed &&
						    sample->id + while_bytes < th_ring.at));
}

static void
end(struct sample *sample, uint64_t time)
{
	sample->has_ended = true;
	sample->time = time > sample->time ? time - sample->time : 0;
	if (sample->is_needed_alive)
		sample->weight = 0;
}

/* Drops what does not stay; of the rest, by whether they have ended: how many, the smallest score. */
static void
sweep(uint64_t counts[2], double least[2])
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < keep.count; i++) {
		struct sample sample = keep.samples[i];

		if (!sample.has_ended && is_given_up(&sample))
			end(&sample, keep.time);
		if (!stays(&sample)) {
			th_log_count(TH_COUNTER_RING_THINNED, sample.weight > 0);
			continue;
		}
		counts[sample.has_ended]++;
		least[sample.has_ended] = smaller(least[sample.has_ended], score_of(&sample));
		keep.samples[count++] = sample;
	}
	keep.count = count;
}

/* The copies fill half a chunk, of which an eighth is for samples that have ended. */
void
th_ring_thin(void)
{
	const uint64_t room = th_ring.bytes / TH_RING_PARTS * TH_RING_CHUNK_PARTS / 2;

	for (unsigned i = 0; i < RAISES_MAX; i++) {
		uint64_t counts[2] = {0, 0};
		double least[2] = {0x1p100, 0x1p100};

		sweep(counts, least);
		bool open_fit = counts[false] <= th_ring.bytes / BYTES_PER_OPEN;
		uint64_t used = keep.others + OPEN_BYTES * counts[false];
		used = used < room / 8 * 7 ? used : room / 8 * 7;
		if (open_fit && counts[true] <= (room - used) / ENDED_BYTES)
			return;
		double *tau = &keep.tau[open_fit];
		*tau = TAU_GROWTH * (*tau > least[open_fit] ? *tau : least[open_fit]);
	}
}

/* The first pass */

/* Whether the table has room for one more. */
static bool
make_room(void)
{
	const uint64_t most = th_ring.bytes / BYTES_PER_SAMPLE;
	uint64_t larger = keep.capacity ? keep.capacity * UINT64_C(2) : FIRST_SAMPLES;
	struct sample *samples;

	if (keep.count == keep.capacity && keep.capacity < most) {
		larger = larger < most ? larger : most;
		samples = th_memory_map(larger * sizeof(*samples));
		if (samples && keep.count)
			memcpy(samples, keep.samples, keep.count * sizeof(*samples));
		if (samples) {
			th_memory_retire(keep.samples);
			keep.samples = samples;
			keep.capacity = larger;
		}
	} else if (keep.count == keep.capacity) {
		th_ring_thin();
	}
	return keep.count < keep.capacity;
}

static void
begin_sample(const struct th_ring_record *record)
{
	const struct th_event_native_alloc *alloc = EVENT(record, native_alloc);
	const struct th_event_mapped_alloc *mapping = EVENT(record, mapped_alloc);
	const uint64_t bytes = alloc->size > alloc->interval ? alloc->size : alloc->interval;
	struct sample sample = {.id = record->offset,
		.place = record->place,
		.left = alloc->size,
		.time = alloc->time,
		.weight = bytes ? (float)bytes : 1,
		.is_object = record->type == TH_EVENT_JAVA_ALLOC};
	bool is_tracked = true;

	if (record->type == TH_EVENT_LEDGER_TAKE) {
		/* They are few: without an end all stay. */
		sample.weight = 0x1p60F;
		sample.is_needed_alive = true;
	}
	if (record->type == TH_EVENT_NATIVE_ALLOC) {
		is_tracked = alloc->flags & TH_NATIVE_TRACKED;
	} else if (record->type == TH_EVENT_MAPPED_ALLOC) {
		is_tracked = mapping->flags & TH_MAPPED_TRACKED;
		sample.is_needed_alive = mapping->flags & TH_MAPPED_RESERVED;
	}
	if (!is_tracked || is_given_up(&sample))
		end(&sample, sample.time);
	if (make_room())
		keep.samples[keep.count++] = sample;
	else
		th_log_count(TH_COUNTER_RING_LOST, 1);
}

/* The event of a sample that does not end it; it is noted. */
static bool
goes_on(const struct th_ring_record *record, struct sample *sample)
{
	const uint64_t bytes = EVENT(record, mapped_end)->bytes;

	switch ((enum th_event_type)record->type) {
	case TH_EVENT_JAVA_FOLLOWED:
		sample->is_followed = true;
		return true;
	case TH_EVENT_MAPPED_END:
		sample->left -= bytes < sample->left ? bytes : sample->left;
		return sample->left != 0;
	case TH_EVENT_LEDGER_GIVE:
		return EVENT(record, ledger_give)->how == TH_LEDGER_COMMITTED;
	default:
		return false;
	}
}

static void
look_at_sample(const struct th_ring_record *record)
{
	const struct th_event_native_free *event = EVENT(record, native_free);

	if (event->time > keep.time)
		keep.time = event->time;
	if (rule_of(record) == SAMPLE) {
		begin_sample(record);
		return;
	}
	struct sample *sample = find_sample(event->sample);
	if (sample && !sample->has_ended && !goes_on(record, sample))
		end(sample, record->type == TH_EVENT_JAVA_LOST ? 0 : event->time);
}

void
th_ring_look(const struct th_ring_record *record)
{
	const enum rule rule = rule_of(record);
	struct fact *last;
	uint64_t key;

	if (rule == NEVER)
		return;
	read_ids(record, rule != STACK, &key);
	if (rule == SAMPLE || rule == END) {
		if (!record->is_copy)
			look_at_sample(record);
		return;
	}
	if (rule == LAST || rule == COUNT || rule == SERIES) {
		last = note(key_of(record->type, key));
		if (last && last->value < record->offset)
			last->value = record->offset;
	}
	if (record->type == TH_EVENT_JVM)
		keep.follows_few = EVENT(record, jvm)->features & TH_JVM_FOLLOWS_FEW;
	if (record->type == TH_EVENT_JAVA_LEVEL &&
		EVENT(record, java_level)->level > keep.level)
		keep.level = EVENT(record, java_level)->level;
	/* What was copied before is probably copied again. */
	if (record->is_copy || rule == ALL || rule == STACK || rule == THREAD)
		keep.others += record->size + 8;
}

/* The second pass */

/*
 * Whether its slot has no record yet, or one of the same time: these belong together, as the kinds
 * of a count of buffers do.
 */
static bool
is_first_of_slot(const struct th_ring_record *record)
{
	const uint64_t time = EVENT(record, native_free)->time;
	const uint64_t slots = th_ring.bytes / SLOT_BYTES;
	uint64_t length = 1;

	while (length < (keep.time - keep.origin) / slots)
		length *= 2;
	struct fact *slot = note(key_of(SLOT + record->type, (time - keep.origin) / length));
	if (slot && !slot->value)
		slot->value = time;
	return !slot || slot->value == time;
}

/* The last may not be complete, so the one before it stays as well. */
static bool
is_breakdown_needed(uint32_t account)
{
	uint32_t step = 1;

	while (keep.account / step > BREAKDOWNS)
		step *= 2;
	return account + 1 >= keep.account || account % step == 0;
}

/*
 * A stack that was used while the full chunk was the present one stays: a thread may have checked
 * that the log has it, and append its sample only now.
 */
static bool
is_stack_needed(const struct th_ring_record *record)
{
	const struct th_event_stack *stack = EVENT(record, stack);
	const uint64_t *words = (const uint64_t *)(const void *)(stack + 1);
	const uint32_t count = (uint32_t)*words;

	return is_referred_to(TH_CONTENT_STACK, stack->stack) ||
	       sizeof(*stack) + 8 * (count + UINT64_C(1)) > record->size ||
	       !th_stack_table_forget(words + 1, count, stack->flags, th_ring.chunk - 1);
}

/* The last records of a thread are in the full chunk only if it was dead before it was full. */
static bool
is_thread_needed(uint32_t thread)
{
	if (!thread || !is_thread_alive || is_thread_alive(thread))
		return true;
	note(key_of(DEAD, thread));
	return !find(th_ring.chunk - 1, key_of(DEAD, thread)) ||
	       is_referred_to(TH_CONTENT_THREAD, thread);
}

static bool
is_count_needed(const struct th_ring_record *record)
{
	const struct th_event_thread_bytes *count = EVENT(record, thread_bytes);

	if (!is_last(record) || is_thread_needed(count->thread))
		return is_last(record);
	keep.left_bytes[count->heap == TH_HEAP_JAVA] += count->bytes;
	return false;
}

static bool
is_one_of_few(const struct th_ring_record *record)
{
	bool is_one = keep.few[record->type]++ < FEW_MAX;

	th_log_count(TH_COUNTER_RING_LOST, !is_one);
	return is_one;
}

double
th_ring_part(const struct th_ring_record *record)
{
	const struct sample *sample;

	switch (rule_of(record)) {
	case FEW:
		return is_one_of_few(record);
	case NEVER:
		return 0;
	case ALL:
		return 1;
	case STACK:
		return is_stack_needed(record);
	case THREAD:
		return is_thread_needed(id_of(record));
	case LAST:
		return is_last(record);
	case COUNT:
		return is_count_needed(record);
	case SERIES:
		return is_first_of_slot(record) || is_last(record);
	case BREAKDOWN:
		return is_breakdown_needed(id_of(record));
	case SAMPLE:
		sample = find_sample(record->offset);
		return !sample ? 0
			       : smaller(part_of(sample),
					 record->thinned > 0 ? record->thinned : 1);
	case END:
		return find_sample(EVENT(record, native_free)->sample) != NULL;
	}
	return 0;
}

/* Start and end */

void
th_ring_on_thread(bool (*is_alive)(uint32_t thread))
{
	is_thread_alive = is_alive;
}

void
th_ring_keep_begin(void)
{
	/* The older chunk has gone, with what was not copied. */
	th_log_count(TH_COUNTER_RING_NATIVE_BYTES, keep.left_bytes[false]);
	th_log_count(TH_COUNTER_RING_JAVA_BYTES, keep.left_bytes[true]);
	memset(keep.left_bytes, 0, sizeof(keep.left_bytes));
	memset(keep.few, 0, sizeof(keep.few));
	forget(&keep.facts[th_ring.chunk % 2]);
	keep.account = th_load_relaxed(&th_log_header()->accounts);
	keep.others = 0;
}

void
th_ring_keep_init(uint64_t origin)
{
	keep.origin = keep.time = origin;
	keep.tau[false] = keep.tau[true] = 1;
}

void
th_ring_keep_deinit(void)
{
	forget(&keep.facts[0]);
	forget(&keep.facts[1]);
	th_memory_retire(keep.samples);
	memset(&keep, 0, sizeof(keep));
}
