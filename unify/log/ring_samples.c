/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in the ring.  The table `open` has those that began in what was compacted and have not
 * ended in it; they are carried, or where there are too many, a part of them (th_ring.open_tau).
 *
 * Of those that have ended, each is kept with the probability q = min(1, s / tau), where the score
 * s is the number of bytes that the sample represents, times up to BOOST if it lived long: a
 * threshold sample (Duffield, Lund, Thorup: Learn more, sample less, IEEE Trans. Inf. Theory 2005).
 * The draw is a hash of the id, so a later draw with a smaller q keeps a subset, and the smallest q
 * is the probability of all draws together.  The age at which a life is long grows with the
 * recording, as in the evidence of leaks (blocks are old from a tenth of its time on).
 *
 * A sample that was carried before it ended is in the ring whole, so it stays, with its end, until
 * that copy goes; then it is drawn.
 *
 * `place` of an entry: where its record is; `extra`: of a mapping, the bytes that are left; of a
 * Java object that is followed, FOLLOWED, whether it was judged, and the bits of the probability;
 * `end`: its time, 0 = it has not ended; `type` and `thread` of the end.
 */
#include <stddef.h>
#include <string.h>

#include "unify/log/log.h"
#include "unify/log/ring_private.h"

/*
 * A life of a twentieth of the recording, half of what makes a block old, has the full boost: the
 * evidence counts these blocks, so they are the last to be thinned out.
 */
#define LONG_LIFE 20
#define BOOST 16
/* One sample may be open for this many bytes of the ring: 90 bytes of it are its record. */
#define BYTES_PER_OPEN 512
/* The first threshold, bytes, and its growth while more is kept than fits. */
#define FIRST_TAU 1024
#define TAU_GROWTH 1.01

/* Doublings of a threshold at once: to any size of a block. */
#define RAISES_MAX 50

#define FOLLOWED (UINT64_C(1) << 63)
#define JUDGED (UINT64_C(1) << 62)

bool
th_ring_is_sample(uint32_t type)
{
	return type == TH_EVENT_NATIVE_ALLOC || type == TH_EVENT_JAVA_ALLOC ||
	       type == TH_EVENT_MAPPED_ALLOC || type == TH_EVENT_LEDGER_TAKE;
}

bool
th_ring_is_end(uint32_t type)
{
	return type == TH_EVENT_NATIVE_FREE || type == TH_EVENT_JAVA_DEATH ||
	       type == TH_EVENT_JAVA_LOST || type == TH_EVENT_MAPPED_END ||
	       type == TH_EVENT_JAVA_FOLLOWED || type == TH_EVENT_LEDGER_GIVE;
}

/* All samples begin with the members of a NATIVE_ALLOC up to `keep`, but LEDGER_TAKE. */
_Static_assert(offsetof(struct th_event_native_alloc, keep) ==
			       offsetof(struct th_event_java_alloc, keep) &&
		       offsetof(struct th_event_native_alloc, keep) ==
			       offsetof(struct th_event_mapped_alloc, keep),
	"one way to read all samples");
/* All ends begin with their time and the sample. */
_Static_assert(offsetof(struct th_event_native_free, sample) ==
			       offsetof(struct th_event_java_death, sample) &&
		       offsetof(struct th_event_native_free, sample) ==
			       offsetof(struct th_event_mapped_end, sample) &&
		       offsetof(struct th_event_native_free, sample) ==
			       offsetof(struct th_event_java_followed, sample) &&
		       offsetof(struct th_event_native_free, sample) ==
			       offsetof(struct th_event_ledger_give, sample),
	"one way to read all ends");

static uint64_t
sample_of(const struct th_ring_record *end)
{
	uint64_t sample;

	memcpy(&sample, end->bytes + offsetof(struct th_event_native_free, sample),
		sizeof(sample));
	return sample;
}

static uint64_t
time_of(const struct th_ring_record *record)
{
	uint64_t time;

	memcpy(&time, record->bytes + sizeof(struct th_log_record), sizeof(time));
	return time;
}

/* Thinning */

/* About as many bytes as the sample represents: any function of it alone is correct. */
static double
weight_of(const struct th_ring_record *record)
{
	struct th_event_native_alloc alloc = {.size = 0};

	if (record->type == TH_EVENT_LEDGER_TAKE)
		return 0;
	memcpy(&alloc, record->bytes, offsetof(struct th_event_native_alloc, thread_bytes));
	uint64_t bytes = alloc.size > alloc.interval ? alloc.size : alloc.interval;
	return (double)(bytes ? bytes : 1) /
	       (alloc.keep > 0 && alloc.keep < 1 ? alloc.keep : 1);
}

/* The part of the recording that a life has, in units of what is long. */
static double
long_part(uint64_t birth, uint64_t end)
{
	double all = (double)(th_ring.time - th_ring.origin);
	double part = end > birth && all > 0 ? LONG_LIFE * (double)(end - birth) / all : 0;

	return part < 1 ? part : 1;
}

/*
 * Compaction must leave half of what it reads, in the mean of some segments: one that holds much of
 * what was carried before may be carried again.
 */
static bool
is_crowded(void)
{
	const struct th_ring_cycle *cycle = &th_ring.cycle;
	uint64_t end = cycle->pass == 2 ? cycle->cut + cycle->at : cycle->at + th_ring.from;
	uint64_t read = (end - 2 * th_ring.from) / 2; /* both passes count half */

	return (int64_t)cycle->kept > (int64_t)(read / 2) + th_ring.credit;
}

/*
 * Uniform in (0, 1], of a sample and the present cycle: a later draw is independent of an earlier
 * one.
 */
static double
random_unit(const struct th_ring_record *record)
{
	uint64_t random = th_hash_mix(record->offset ^ th_hash_mix(th_ring.from));

	return (double)((random >> 11) + 1) * 0x1p-53;
}

/* The probability with which a sample is in the ring so far. */
static double
prior_of(const struct th_ring_record *record)
{
	return record->thinned > 0 ? record->thinned : 1;
}

/*
 * The probability of a sample that ended at `end`, 0 = not known, with all earlier draws; 0: it is
 * not kept.
 */
static double
draw(const struct th_ring_record *record, uint64_t end)
{
	double prior = prior_of(record);
	double bar = random_unit(record) * prior;
	double score = weight_of(record) * (1 + BOOST * long_part(time_of(record), end));

	if (is_crowded() && bar * th_ring.tau <= score)
		th_ring.tau = th_ring.tau < FIRST_TAU ? FIRST_TAU : th_ring.tau * TAU_GROWTH;
	double q = score >= th_ring.tau ? 1 : score / th_ring.tau;
	if (q > prior)
		q = prior;
	return bar <= q ? q : 0;
}

static void
count_thinned(void)
{
	th_log_count(TH_COUNTER_RING_THINNED, 1);
}

/* Begin */

static uint32_t
flags_of(const struct th_ring_record *record)
{
	uint32_t flags = 0;

	if (record->type == TH_EVENT_NATIVE_ALLOC)
		memcpy(&flags, record->bytes + offsetof(struct th_event_native_alloc, flags),
			sizeof(flags));
	if (record->type == TH_EVENT_MAPPED_ALLOC)
		memcpy(&flags, record->bytes + offsetof(struct th_event_mapped_alloc, flags),
			sizeof(flags));
	return flags;
}

/* Whether an end of it will be recorded. */
static bool
is_tracked(const struct th_ring_record *record)
{
	if (record->type == TH_EVENT_NATIVE_ALLOC)
		return flags_of(record) & TH_NATIVE_TRACKED;
	return record->type != TH_EVENT_MAPPED_ALLOC || flags_of(record) & TH_MAPPED_TRACKED;
}

static uint64_t
size_of(const struct th_ring_record *record)
{
	uint64_t size;

	memcpy(&size, record->bytes + offsetof(struct th_event_native_alloc, size),
		sizeof(size));
	return size;
}

/* A record that is made up: it belongs to `sample`, at an offset that no other record has. */
static bool
carry_made(void *event, uint16_t type, uint32_t size, uint64_t offset)
{
	struct th_log_record head = {size, type, th_log_check(offset, size, type)};

	memcpy(event, &head, sizeof(head));
	return th_ring_carry(
		&(struct th_ring_record){
			.offset = offset, .bytes = event, .size = size, .type = type},
		0);
}

/* Within the record at `offset`, so that the order is kept; a sample has 64 bytes or more. */
#define BEHIND(offset) ((offset) + 8)
#define END_BEHIND(offset) ((offset) + 16)

/* Without an end the ledger's takes all stay: they are few. */
static double
open_weight(const struct th_ring_record *record)
{
	return record->type == TH_EVENT_LEDGER_TAKE ? 0x1p60 : weight_of(record);
}

/* The probability with which a sample of this weight stays while it has not ended. */
static double
part_of(double weight)
{
	return weight >= th_ring.open_tau ? 1 : weight / th_ring.open_tau;
}

/*
 * Whether a sample that has not ended is among those that stay.  The draw depends on the sample
 * alone, so with a higher threshold a part of them stays.
 */
static bool
is_chosen(uint64_t sample, double weight)
{
	uint64_t random = th_hash_mix(sample ^ UINT64_C(0x6a09e667f3bcc909));

	return (double)((random >> 11) + 1) * 0x1p-53 <= part_of(weight);
}

/* Some of the samples that are open go, the light ones first: when the ring comes to them. */
static void
raise_open_tau(void)
{
	th_ring.open_tau = th_ring.open_tau > 0 ? 2 * th_ring.open_tau : FIRST_TAU;
	th_ring.chosen = 0;
	for (uint32_t i = 0; i < th_ring.open.slots; i++) {
		const struct th_id_entry *entry = &th_ring.open.entries[i];

		th_ring.chosen += entry->key && is_chosen(entry->key, (double)entry->weight);
	}
}

static void
forget(struct th_id_entry *entry)
{
	th_ring.chosen -= th_ring.chosen && is_chosen(entry->key, (double)entry->weight);
	th_id_table_remove(&th_ring.open, entry);
}

void
th_ring_begin_sample(const struct th_ring_record *record)
{
	struct th_id_entry *entry;

	if (!is_tracked(record))
		return;
	float weight = (float)open_weight(record);
	for (int i = 0; i < RAISES_MAX && th_ring.chosen >= th_ring.bytes / BYTES_PER_OPEN; i++)
		raise_open_tau();
	entry = is_chosen(record->offset, (double)weight)
			? th_id_table_add(&th_ring.open, record->offset)
			: NULL;
	if (!entry) {
		count_thinned();
		return;
	}
	th_ring.chosen++;
	entry->weight = weight;
	entry->place = record->place;
	entry->extra = record->type == TH_EVENT_MAPPED_ALLOC ? size_of(record) : 0;
}

/* End */

static bool
carry_followed(const struct th_ring_record *end, uint64_t extra)
{
	uint32_t bits = (uint32_t)extra;
	float keep;
	struct th_event_java_followed followed = {
		.time = time_of(end), .sample = sample_of(end), .judged = 1};

	memcpy(&keep, &bits, sizeof(keep));
	followed.keep = (double)keep;
	return carry_made(&followed, TH_EVENT_JAVA_FOLLOWED, (sizeof(followed) + 7) / 8 * 8,
		BEHIND(end->offset));
}

/* All bytes of a mapping have ended: one record for the ends of its parts. */
static bool
carry_mapped_end(const struct th_ring_record *end, uint64_t size)
{
	struct th_event_mapped_end whole;

	memcpy(&whole, end->bytes, sizeof(whole));
	whole.bytes = size;
	whole.address = 0;
	return carry_made(
		&whole, TH_EVENT_MAPPED_END, (sizeof(whole) + 7) / 8 * 8, end->offset);
}

/* Of no use once they have ended. */
static bool
is_only_live(const struct th_ring_record *sample)
{
	return sample->type == TH_EVENT_LEDGER_TAKE ||
	       (sample->type == TH_EVENT_MAPPED_ALLOC && flags_of(sample) & TH_MAPPED_RESERVED);
}

/* A sample that has ended, and its end; false: no space. */
static bool
carry_pair(
	const struct th_ring_record *sample, const struct th_ring_record *end, uint64_t extra)
{
	double q;

	if (is_only_live(sample))
		return true;
	q = draw(sample, end->type == TH_EVENT_JAVA_LOST ? 0 : time_of(end));
	if (q <= 0) {
		count_thinned();
		return true;
	}
	if (!th_ring_carry(sample, q))
		return false;
	if (sample->type == TH_EVENT_MAPPED_ALLOC ? !carry_mapped_end(end, size_of(sample))
						  : !th_ring_carry(end, 0))
		return false;
	return !(extra & FOLLOWED) || carry_followed(end, extra);
}

/* Its end stands in the table, until its copy in the ring goes. */
static void
note_end(struct th_id_entry *entry, const struct th_ring_record *end)
{
	struct th_event_native_free freed = {.thread = 0};

	if (end->type == TH_EVENT_NATIVE_FREE)
		memcpy(&freed, end->bytes, sizeof(freed));
	entry->end = time_of(end) ? time_of(end) : 1;
	entry->type = end->type;
	entry->thread = freed.thread;
}

/* The event of a sample that does not end it; it is noted. */
static bool
goes_on(const struct th_ring_record *end, struct th_id_entry *entry)
{
	if (end->type == TH_EVENT_JAVA_FOLLOWED) {
		struct th_event_java_followed followed;
		uint32_t bits;

		memcpy(&followed, end->bytes, sizeof(followed));
		float keep = (float)followed.keep;
		memcpy(&bits, &keep, sizeof(bits));
		entry->extra = FOLLOWED | (followed.judged ? JUDGED : 0) | bits;
		return true;
	}
	if (end->type == TH_EVENT_MAPPED_END) {
		struct th_event_mapped_end part;

		memcpy(&part, end->bytes, sizeof(part));
		entry->extra -= part.bytes < entry->extra ? part.bytes : entry->extra;
		return entry->extra != 0;
	}
	if (end->type == TH_EVENT_LEDGER_GIVE) {
		struct th_event_ledger_give give;

		memcpy(&give, end->bytes, sizeof(give));
		return give.how == TH_LEDGER_COMMITTED;
	}
	return false;
}

void
th_ring_end_sample(const struct th_ring_record *end)
{
	struct th_id_entry *entry = th_id_table_find(&th_ring.open, sample_of(end));
	struct th_ring_record sample;

	if (!entry || entry->end || goes_on(end, entry))
		return;
	if (entry->place != entry->key) {
		note_end(entry, end);
		return;
	}
	struct th_id_entry was = *entry;
	forget(entry);
	if (!is_chosen(was.key, (double)was.weight)) {
		count_thinned();
		return;
	}
	/* The longest is that of mapped memory. */
	bool is_read = th_ring_read_at(
		was.place, was.key, sizeof(struct th_event_mapped_alloc), &sample);
	sample.thinned = part_of((double)was.weight);
	if (!is_read || !carry_pair(&sample, end, was.extra))
		th_log_count(TH_COUNTER_RING_LOST, 1);
}

/* The second pass */

/* The second pass comes to a sample whose end is not known: it may still be alive. */
static bool
keep_unknown(const struct th_ring_record *record)
{
	double q = draw(record, th_ring.time);

	th_ring.last_kept = q > 0 ? record->offset : 0;
	if (q > 0)
		return th_ring_carry(record, q);
	count_thinned();
	return true;
}

/* Whether its end will never be known, although none was recorded. */
static bool
is_given_up(const struct th_ring_record *record, const struct th_id_entry *entry)
{
	return record->type == TH_EVENT_JAVA_ALLOC &&
	       (!th_live_keeps(record->offset, th_ring.level) ||
		       (th_ring.follows_few &&
			       !(entry->extra & FOLLOWED && (uint32_t)entry->extra)));
}

/* The end of a sample that has ended, from behind it in its KEPT; 0: not known. */
static uint64_t
end_behind(
	const struct th_ring_record *sample, const struct th_ring_record *carrier, uint32_t at)
{
	struct th_ring_record next;

	if (th_ring_next_inner(carrier, &at, &next) && th_ring_is_end(next.type) &&
		next.type != TH_EVENT_JAVA_LOST && sample_of(&next) == sample->offset)
		return time_of(&next);
	return 0;
}

static bool
keep_again(
	const struct th_ring_record *record, const struct th_ring_record *carrier, uint32_t at)
{
	uint64_t end = end_behind(record, carrier, at);
	double q = draw(record, end ? end : th_ring.time);

	th_ring.last_kept = q > 0 ? record->offset : 0;
	if (q > 0)
		return th_ring_carry(record, q);
	count_thinned();
	return true;
}

/* It is no longer open, although it has not ended. */
static bool
give_up(const struct th_ring_record *record, struct th_id_entry *entry)
{
	struct th_ring_record unknown = *record;
	bool is_left = is_chosen(record->offset, (double)entry->weight);

	unknown.thinned = part_of((double)entry->weight);
	forget(entry);
	if (is_left)
		return keep_unknown(&unknown);
	count_thinned();
	return true;
}

/* The copy of a sample goes that was carried before it ended. */
static bool
keep_ended(const struct th_ring_record *record, const struct th_id_entry *entry)
{
	union {
		struct th_log_record head;
		struct th_event_native_free native;
		struct th_event_mapped_end mapped;
		struct th_event_java_death java;
	} event = {.native = {.time = entry->end, .sample = record->offset}};
	struct th_ring_record end = {.offset = END_BEHIND(record->offset),
		.bytes = (const char *)&event,
		.size = sizeof(event.java),
		.type = (uint16_t)entry->type};

	if (entry->type == TH_EVENT_NATIVE_FREE) {
		event.native.thread = entry->thread;
		end.size = sizeof(event.native);
	}
	event.head = (struct th_log_record){
		end.size, end.type, th_log_check(end.offset, end.size, end.type)};
	return carry_pair(record, &end, entry->extra);
}

bool
th_ring_keep_sample(
	const struct th_ring_record *record, const struct th_ring_record *carrier, uint32_t at)
{
	struct th_id_entry *entry;

	th_ring.last_kept = 0;
	entry = th_id_table_find(&th_ring.open, record->offset);
	if (!entry) {
		if (record->thinned > 0)
			return keep_again(record, carrier, at);
		/* Else its end was met, or it was not chosen. */
		return is_tracked(record) || keep_unknown(record);
	}
	if (entry->end) {
		if (!keep_ended(record, entry))
			return false;
		forget(entry);
		return true;
	}
	double part = part_of((double)entry->weight);
	if (is_chosen(record->offset, (double)entry->weight) && !is_given_up(record, entry))
		return th_ring_carry(record, part < 1 ? part : 0);
	return give_up(record, entry);
}

bool
th_ring_keep_end(const struct th_ring_record *end)
{
	uint64_t sample = sample_of(end);

	/* Behind its sample, which was carried again. */
	if (end->is_carried && sample == th_ring.last_kept)
		return th_ring_carry(end, 0);
	/* Of a sample that is in the ring whole, ended or not. */
	return !th_id_table_find(&th_ring.open, sample) || th_ring_carry(end, 0);
}
