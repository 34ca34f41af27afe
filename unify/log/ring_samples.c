/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in the ring.  The table has those that stay: all that have not ended, or where these are
 * too many, a part of them; and of those that have ended as many as fit.  What is in the table when
 * the first pass ends is copied, with all records of its end.
 *
 * The table outlives the pass, and only new records change it: while copies are appended the program
 * goes on, so the end of a sample can stand before its copy.
 *
 * Each sample stays with the probability q = min(1, s / tau), where the score s is the number of bytes
 * that the sample represents, times up to BOOST if it has ended and lived long: a threshold sample
 * (Duffield, Lund, Thorup: Learn more, sample less, IEEE Trans. Inf. Theory 2005).  There is one
 * threshold for samples that have not ended, usually 0, and one for those that have.  The draw is a
 * hash of the id, so a later draw with a smaller q keeps a subset, and the smallest q is the
 * probability of all draws together.  The age at which a life is long grows with the recording, as
 * in the evidence of leaks (blocks are old from a tenth of its time on).
 */
#include <stddef.h>
#include <string.h>

#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/ring_private.h"
#include "unify/shared/hash.h"

/*
 * A life of a twentieth of the recording, half of what makes a block old, has the full boost: the
 * evidence counts these blocks, so they are the last to be thinned out.
 */
#define LONG_LIFE 20
#define BOOST 16
/* One sample may be open for this many bytes of the ring: 104 bytes of it are its copy. */
#define BYTES_PER_OPEN 512
#define OPEN_BYTES 104
#define ENDED_BYTES 152
/* Growth of a threshold while more samples stay than fit; a bound of its steps. */
#define TAU_GROWTH 1.25
#define RAISES_MAX 100
/* Times of the table are in units of 8 ms, so that 32 bits last for a year. */
#define TIME_SHIFT 23

enum flag {
	FOLLOWED = 1,  /* in a VM that follows few objects */
	ONLY_LIVE = 2, /* of no use once it has ended */
};

/* The table */

#define FIRST_SLOTS 1024u

static uint32_t
home_of(const struct th_id_table *table, uint64_t key)
{
	return (uint32_t)th_hash_mix(key) & (table->slots - 1);
}

/* The entry of the key, or the empty one where it belongs. */
static struct th_id_entry *
probe(const struct th_id_table *table, uint64_t key)
{
	uint32_t at = home_of(table, key);

	while (table->entries[at].key && table->entries[at].key != key)
		at = (at + 1) & (table->slots - 1);
	return &table->entries[at];
}

struct th_id_entry *
th_id_table_find(const struct th_id_table *table, uint64_t key)
{
	struct th_id_entry *entry = table->slots ? probe(table, key) : NULL;

	return entry && entry->key ? entry : NULL;
}

static bool
grow(struct th_id_table *table)
{
	struct th_id_table larger = {
		.slots = table->slots ? table->slots * 2 : FIRST_SLOTS, .count = table->count};

	larger.entries = th_memory_map(larger.slots * sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (uint32_t i = 0; i < table->slots; i++)
		if (table->entries[i].key)
			*probe(&larger, table->entries[i].key) = table->entries[i];
	th_memory_retire(table->entries);
	*table = larger;
	return true;
}

struct th_id_entry *
th_id_table_add(struct th_id_table *table, uint64_t key)
{
	struct th_id_entry *entry = th_id_table_find(table, key);

	if (entry)
		return entry;
	if (table->count >= table->slots / 4 * 3 && !grow(table))
		return NULL;
	entry = probe(table, key);
	*entry = (struct th_id_entry){.key = key};
	table->count++;
	return entry;
}

void
th_id_table_remove(struct th_id_table *table, struct th_id_entry *entry)
{
	const uint32_t mask = table->slots - 1;
	uint32_t hole = (uint32_t)(entry - table->entries);

	for (uint32_t at = (hole + 1) & mask; table->entries[at].key; at = (at + 1) & mask) {
		uint32_t home = home_of(table, table->entries[at].key);

		/* An entry may move to the hole unless its home is cyclically in (hole, at]. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			table->entries[hole] = table->entries[at];
			hole = at;
		}
	}
	table->entries[hole] = (struct th_id_entry){0};
	table->count--;
}

void
th_id_table_deinit(struct th_id_table *table)
{
	th_memory_retire(table->entries);
	*table = (struct th_id_table){0};
}

/* Fields of records */

#define FIELD(record, event, field)                                     \
	th_ring_field(record, offsetof(struct th_event_##event, field), \
		sizeof(((struct th_event_##event *)0)->field))

static bool
is_sample(uint32_t type)
{
	return type == TH_EVENT_NATIVE_ALLOC || type == TH_EVENT_JAVA_ALLOC ||
	       type == TH_EVENT_MAPPED_ALLOC || type == TH_EVENT_LEDGER_TAKE;
}

static bool
is_end(uint32_t type)
{
	return type == TH_EVENT_NATIVE_FREE || type == TH_EVENT_JAVA_DEATH ||
	       type == TH_EVENT_JAVA_LOST || type == TH_EVENT_MAPPED_END ||
	       type == TH_EVENT_JAVA_FOLLOWED || type == TH_EVENT_LEDGER_GIVE;
}

/* All samples but LEDGER_TAKE begin as a NATIVE_ALLOC does, and all ends as a NATIVE_FREE. */
#define SAME(first, second, field) \
	offsetof(struct th_event_##first, field) == offsetof(struct th_event_##second, field)
_Static_assert(SAME(native_alloc, java_alloc, keep) && SAME(native_alloc, mapped_alloc, keep),
	"one way to read all samples");
_Static_assert(SAME(native_free, java_death, sample) && SAME(native_free, mapped_end, sample) &&
		       SAME(native_free, java_lost, sample) &&
		       SAME(native_free, java_followed, sample) &&
		       SAME(native_free, ledger_give, sample),
	"one way to read all ends");

static struct th_id_entry *
find_sample(const struct th_ring_record *record)
{
	return th_id_table_find(&th_ring.samples,
		is_sample(record->type) ? record->offset : FIELD(record, native_free, sample));
}

static uint32_t
units_of(uint64_t time)
{
	uint64_t units = time > th_ring.origin ? (time - th_ring.origin) >> TIME_SHIFT : 0;

	return units < UINT32_MAX ? (uint32_t)units + 1 : UINT32_MAX;
}

static double
as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static double
smaller(double a, double b)
{
	return a < b ? a : b;
}

/* Thinning */

static double
score_of(const struct th_id_entry *sample)
{
	double life = sample->end > sample->birth ? (double)(sample->end - sample->birth) : 0;
	double part = smaller(1, LONG_LIFE * life / (double)units_of(th_ring.time));

	return (double)sample->weight * (1 + BOOST * part);
}

/* The probability with which a sample stays. */
static double
part_of(const struct th_id_entry *sample)
{
	double weight = (double)sample->weight, score = score_of(sample);
	double part = weight < th_ring.tau[false] ? weight / th_ring.tau[false] : 1;

	if (sample->end && sample->flags & ONLY_LIVE)
		return 0;
	return sample->end && score < th_ring.tau[true]
		       ? smaller(part, score / th_ring.tau[true])
		       : part;
}

/*
 * Whether it stays.  A copy may lie behind the full chunk, if the last change of chunks was slow: it
 * is in the log until the present chunk is full, so its end has to be copied in any case.
 */
static bool
is_chosen(const struct th_id_entry *sample)
{
	uint64_t random = th_hash_mix(sample->key ^ UINT64_C(0x6a09e667f3bcc909));

	return sample->place >= th_ring.end ||
	       (double)((random >> 11) + 1) * 0x1p-53 <= part_of(sample);
}

static void
drop(struct th_id_entry *sample)
{
	th_log_count(TH_COUNTER_RING_THINNED, !(sample->flags & ONLY_LIVE));
	th_id_table_remove(&th_ring.samples, sample);
}

/*
 * Whether its end will never be known, although none was recorded.  Whether an object of a VM that
 * follows few is followed is recorded a while after its sample.
 */
static bool
is_given_up(const struct th_id_entry *sample)
{
	const uint64_t while_bytes = th_ring.bytes / TH_RING_PARTS;

	return sample->type == TH_EVENT_JAVA_ALLOC &&
	       (!th_live_keeps(sample->key, th_ring.level) ||
		       (th_ring.follows_few && !(sample->flags & FOLLOWED) &&
			       sample->key + while_bytes < th_ring.at));
}

/* Drops what does not stay, and what has no record, since a copy was lost. */
static void
sweep(void)
{
	struct th_id_table *table = &th_ring.samples;

	memset(th_ring.count, 0, sizeof(th_ring.count));
	th_ring.least[false] = th_ring.least[true] = 0x1p100;
	for (uint32_t i = 0; i < table->slots;) {
		struct th_id_entry *sample = &table->entries[i];

		if (sample->key && !sample->end && is_given_up(sample))
			sample->end = units_of(th_ring.time);
		if (sample->key && (sample->place < th_ring.from || !is_chosen(sample))) {
			drop(sample); /* another one may take its slot */
			continue;
		}
		if (sample->key) {
			double *least = &th_ring.least[sample->end != 0];

			th_ring.count[sample->end != 0]++;
			*least = smaller(*least, score_of(sample));
		}
		i++;
	}
}

/* The copies fill half a chunk. */
static bool
has_too_many(bool is_ended)
{
	uint64_t room = th_ring.bytes / TH_RING_PARTS * TH_RING_CHUNK_PARTS / 2;
	uint64_t used = th_ring.others + (uint64_t)OPEN_BYTES * th_ring.count[false];

	if (!is_ended)
		return th_ring.count[false] > th_ring.bytes / BYTES_PER_OPEN;
	used = used < room / 8 * 7 ? used : room / 8 * 7;
	return th_ring.count[true] > (room - used) / ENDED_BYTES;
}

static void
fit(bool is_ended)
{
	double *tau = &th_ring.tau[is_ended], *least = &th_ring.least[is_ended];

	if (has_too_many(is_ended))
		sweep();
	for (unsigned i = 0; i < RAISES_MAX && has_too_many(is_ended); i++) {
		*tau = TAU_GROWTH * (*tau > *least ? *tau : *least);
		sweep();
	}
}

void
th_ring_thin_samples(void)
{
	sweep();
	fit(false);
	fit(true);
}

/* The first pass */

static struct th_id_entry
describe(const struct th_ring_record *record)
{
	struct th_id_entry sample = {.key = record->offset,
		.place = record->place,
		.birth = units_of(th_ring_time(record)),
		.type = record->type};
	uint64_t size = FIELD(record, native_alloc, size);
	uint64_t interval = FIELD(record, native_alloc, interval);
	double keep = as_double(FIELD(record, native_alloc, keep));
	uint64_t flags = FIELD(record, mapped_alloc, flags);
	bool is_tracked = true;

	sample.weight = (float)(size > interval ? size
				: interval      ? interval
						: 1) /
			(float)(keep > 0 && keep < 1 ? keep : 1);
	if (record->type == TH_EVENT_MAPPED_ALLOC) {
		sample.left = size;
		sample.flags = flags & TH_MAPPED_RESERVED ? ONLY_LIVE : 0;
		is_tracked = flags & TH_MAPPED_TRACKED;
	} else if (record->type == TH_EVENT_NATIVE_ALLOC) {
		is_tracked = FIELD(record, native_alloc, flags) & TH_NATIVE_TRACKED;
	} else if (record->type == TH_EVENT_LEDGER_TAKE) {
		/* They are few: without an end all stay. */
		sample.weight = 0x1p60F;
		sample.flags = ONLY_LIVE;
	}
	if (!is_tracked || is_given_up(&sample))
		sample.end = sample.birth;
	return sample;
}

static void
begin_sample(const struct th_ring_record *record)
{
	const struct th_id_entry sample = describe(record);
	struct th_id_entry *entry = th_id_table_add(&th_ring.samples, sample.key);

	if (!entry) {
		th_log_count(TH_COUNTER_RING_LOST, 1);
		return;
	}
	*entry = sample;
	if (!is_chosen(entry)) {
		drop(entry);
		return;
	}
	th_ring.count[sample.end != 0]++;
	fit(sample.end != 0);
}

/* The event of a sample that does not end it; it is noted. */
static bool
goes_on(const struct th_ring_record *end, struct th_id_entry *sample)
{
	uint64_t bytes = FIELD(end, mapped_end, bytes);

	switch (end->type) {
	case TH_EVENT_JAVA_FOLLOWED:
		sample->flags = FOLLOWED;
		return true;
	case TH_EVENT_MAPPED_END:
		sample->left -= bytes < sample->left ? bytes : sample->left;
		return sample->left != 0;
	case TH_EVENT_LEDGER_GIVE:
		return FIELD(end, ledger_give, how) == TH_LEDGER_COMMITTED;
	default:
		return false;
	}
}

static void
end_sample(const struct th_ring_record *end, struct th_id_entry *sample)
{
	if (!sample || sample->end || goes_on(end, sample))
		return;
	sample->end = end->type == TH_EVENT_JAVA_LOST ? sample->birth
						      : units_of(th_ring_time(end));
	th_ring.count[false]--;
	if (!is_chosen(sample)) {
		drop(sample);
		return;
	}
	th_ring.count[true]++;
	fit(true);
}

bool
th_ring_look_at_sample(const struct th_ring_record *record)
{
	uint64_t time = th_ring_time(record);

	if (record->type == TH_EVENT_JVM)
		th_ring.follows_few = FIELD(record, jvm, features) & TH_JVM_FOLLOWS_FEW;
	if (record->type == TH_EVENT_JAVA_LEVEL &&
		FIELD(record, java_level, level) > th_ring.level)
		th_ring.level = (uint32_t)FIELD(record, java_level, level);
	if (!is_sample(record->type) && !is_end(record->type))
		return false;
	if (record->is_copy)
		return true;
	th_ring.time = time > th_ring.time ? time : th_ring.time;
	if (is_sample(record->type))
		begin_sample(record);
	else
		end_sample(record, find_sample(record));
	return true;
}

/* The second pass */

bool
th_ring_is_of_sample(const struct th_ring_record *record, double *part_ret)
{
	const struct th_id_entry *sample;

	if (!is_sample(record->type) && !is_end(record->type))
		return false;
	sample = find_sample(record);
	*part_ret = !sample                ? 0
		    : is_end(record->type) ? 1
		    : record->thinned > 0  ? smaller(record->thinned, part_of(sample))
					   : part_of(sample);
	return true;
}
