/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every change has three steps: the table and the sums change under the lock, then events are
 * written without it, then removed nodes are released.
 *
 * The table changes after the system call.  Before it does, another thread may already map the
 * same addresses, and its range is in the table when the removal is applied.  A number that
 * increases with each change distinguishes the two: a removal does not remove ranges that are
 * younger than its start.  During a removal no ranges are joined, since a joined range has only
 * one age.
 */
#include "unify/mapped/mapping.h"

#include <errno.h>
#include <string.h>

#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/stack_log.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/poisson.h"
#include "unify/sample/sample.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"

/*
 * Twice the kernel's default limit of mappings (vm.max_map_count = 65,530): the kernel joins
 * neighbours that this table keeps separate for their samples.
 */
#define NODES (TH_RANGE_SET_CHUNK * TH_RANGE_SET_CHUNKS_MAX)
/*
 * The sample of a range whose sample is being written: this bit and the number of the change.
 */
#define SAMPLE_PENDING ((uint64_t)1 << 63)
/*
 * The first reservations are sampled at this interval if the one in effect is longer, so that
 * the pieces committed in them later can be named: one of 2 MiB, as those of metaspace on
 * JDK 11, is missed once in 10^7 times.  Their number bounds the cost for a program that
 * reserves and releases in a loop.
 */
#define RESERVED_INTERVAL ((uint64_t)128 << 10)
#define RESERVED_DRAWS 4096
#define KIND_FLAGS (TH_MAPPED_RESERVED | TH_MAPPED_SHARED | TH_MAPPED_FILE | TH_MAPPED_ARENA)

/* The sampling state of one kind. */
struct lane {
	uint64_t countdown; /* as in struct th_thread */
	uint64_t interval;  /* in effect when the countdown was drawn */
	uint64_t total;     /* total bytes */
	uint64_t draws;     /* countdowns drawn so far */
};

static struct {
	unsigned char is_on;     /* atomic */
	unsigned char has_drawn; /* the lanes have countdowns */
	void (*begin)(void);     /* atomic: called for the first piece that is due; or NULL */
	uint32_t allocator;      /* module; set before recording begins */
	uint64_t returned;       /* atomic */
	uint32_t removing; /* atomic: removals in progress, which a restart does not end */
	struct th_spinlock lock;    /* protects the fields below */
	struct th_range_set ranges; /* the first of them */
	struct th_random random;
	struct lane lanes[2]; /* accessible, reserved */
	struct th_event_mapped_use
		use;   /* but for `allocated`, a lane's total, and `returned` */
	uint64_t born; /* number of the last change */
	/* Private to the caller of th_mapping_log_use(). */
	struct th_event_mapped_use logged; /* without its time */
} mapping TH_AT_START;

/* A piece whose sample may be due. */
struct due {
	bool is_due;
	uint64_t born;
	uintptr_t end;
	struct th_event_mapped_alloc event;
};

static bool
is_pending(uint64_t sample)
{
	return sample & SAMPLE_PENDING;
}

/* Start and reset */

static void
draw(struct lane *lane, uint64_t interval)
{
	if (lane == &mapping.lanes[1] && lane->draws++ < RESERVED_DRAWS &&
		interval > RESERVED_INTERVAL)
		interval = RESERVED_INTERVAL;
	lane->interval = interval;
	lane->countdown = interval ? (uint64_t)th_sampler_draw(&mapping.random, interval) + 1
				   : 0;
}

static void
draw_first(uint64_t seed, uint64_t interval)
{
	/* Differs from the streams of threads, which start from the same seed. */
	th_random_seed(&mapping.random, ~seed);
	for (int i = 0; i < 2; i++)
		draw(&mapping.lanes[i], interval);
	mapping.has_drawn = true;
}

void
th_mapping_wait(uint64_t seed, uint64_t interval, void (*begin)(void))
{
	draw_first(seed, interval);
	/* Pairs with the acquire in begin_when_due(). */
	th_store_release(&mapping.begin, begin);
}

void
th_mapping_start(uint64_t seed)
{
	th_range_set_init(&mapping.ranges, NODES);
	if (!mapping.has_drawn)
		draw_first(seed, th_throttle_interval(TH_HEAP_NATIVE));
	th_store_release(&mapping.begin, NULL);
	/* Pairs with the acquire in enter(). */
	th_store_release(&mapping.is_on, 1);
}

void
th_mapping_set_allocator(uint32_t module)
{
	mapping.allocator = module;
}

void
th_mapping_reset(void)
{
	/* The old table stays mapped copy-on-write and untouched. */
	memset(&mapping, 0, sizeof(mapping));
}

/* The lock */

static void
count_lost(uint64_t changes)
{
	if (changes)
		th_log_count(TH_COUNTER_MAPPED_LOST, changes);
}

void
th_mapping_restart(void)
{
	th_store_release(&mapping.is_on, 0);
	if (!th_lock_bounded(&mapping.lock))
		return;
	th_range_set_deinit(&mapping.ranges);
	memset(&mapping.ranges, 0,
		sizeof(mapping) - ((char *)&mapping.ranges - (char *)&mapping));
	th_range_set_init(&mapping.ranges, NODES);
	mapping.has_drawn = false;
	mapping.returned = 0;
	th_unlock(&mapping.lock);
}

static bool
lock(void)
{
	if (th_lock_bounded(&mapping.lock))
		return true;
	count_lost(1);
	return false;
}

static void
unlock(void)
{
	/* By cuts. */
	count_lost(mapping.ranges.lost);
	mapping.ranges.lost = 0;
	th_unlock(&mapping.lock);
}

/*
 * Takes guard and lock, until unlock() and leave().  False for calls by the library itself, which holds
 * the guard, and after the end of the recording: they are not recorded.
 */
static bool
enter(void)
{
	if (!th_load_acquire(&mapping.is_on) || th_thread.guard || !th_in_flight_begin())
		return false;
	th_guard_enter();
	if (lock())
		return true;
	th_guard_leave();
	th_in_flight_end();
	return false;
}

static void
leave(int saved_errno)
{
	th_guard_leave();
	th_in_flight_end();
	errno = saved_errno;
}

/* Sums; under the lock */

static void
add_to_use(const struct th_range *range, bool is_added)
{
	uint64_t bytes = range->end - range->start;

	if (!is_added)
		bytes = -bytes;
	if (range->flags & TH_MAPPED_RESERVED) {
		mapping.use.reserved += bytes;
		return;
	}
	mapping.use.accessible += bytes;
	if (range->flags & TH_MAPPED_FILE)
		mapping.use.files += bytes;
}

/* Ranges; under the lock */

static bool
is_older(const struct th_range *range, uint64_t born)
{
	return range->born <= born;
}

static bool
differs(const struct th_range *range, uint64_t flags)
{
	return (range->flags ^ flags) & TH_MAPPED_RESERVED;
}

static struct th_range_list
take_out_if(uintptr_t start, uintptr_t end, th_range_predicate *is_wanted, uint64_t value)
{
	struct th_range_list list = {0, 0};

	if (start < end)
		list = th_range_set_cut(&mapping.ranges, start, end, is_wanted, value);
	for (uint32_t i = list.first; i; i = th_range_set_after(&mapping.ranges, i))
		add_to_use(th_range_set_at(&mapping.ranges, i), false);
	return list;
}

/* Removes the ranges that existed when a removal began. */
static struct th_range_list
take_out_old(uintptr_t start, uintptr_t end, uint64_t begun)
{
	return take_out_if(start, end, is_older, begun);
}

static struct th_range_list
take_out(uintptr_t start, uintptr_t end)
{
	return take_out_old(start, end, mapping.born);
}

/* Inserts a range into a gap.  During a removal no ranges are joined. */
static bool
put(const struct th_range *range)
{
	if (!th_range_set_put(&mapping.ranges, range, !th_load_relaxed(&mapping.removing))) {
		count_lost(1);
		return false;
	}
	add_to_use(range, true);
	return true;
}

/* Each is inserted into the node that it had. */
static void
put_back(struct th_range_list list)
{
	uint32_t next;

	for (uint32_t i = list.first; i; i = next) {
		const struct th_range range = *th_range_set_at(&mapping.ranges, i);

		next = th_range_set_after(&mapping.ranges, i);
		th_range_set_release(&mapping.ranges, (struct th_range_list){i, i});
		put(&range);
	}
}

/*
 * The sample of the reservation that contains a range: memory that is committed in pieces is
 * reserved in one piece, which is large enough to be sampled (RESERVED_INTERVAL).
 */
static uint64_t
place_of(const struct th_range *range)
{
	if (range->place || !(range->flags & TH_MAPPED_RESERVED) || is_pending(range->sample))
		return range->place;
	return range->sample;
}

static uint64_t
place_of_first(struct th_range_list list)
{
	return list.first ? place_of(th_range_set_at(&mapping.ranges, list.first)) : 0;
}

/* The piece of a call, `bytes` of it: subtracts them from the countdown of their kind. */
static void
take_piece(const struct th_mapping_call *call, uint64_t bytes, uint32_t owner, uint64_t born,
	struct due *due)
{
	struct lane *lane = &mapping.lanes[!!(call->flags & TH_MAPPED_RESERVED)];

	due->end = call->start + call->bytes;
	due->born = born;
	due->event.owner = owner;
	due->event.flags = call->flags;
	due->event.function = call->function;
	due->event.size = bytes;
	due->event.address = call->start;
	/* They are followed in any case. */
	if (!th_admission_wants(TH_HEAP_MAPPED))
		return;
	lane->total += bytes;
	due->is_due = th_countdown_take(&lane->countdown, bytes);
	if (!due->is_due)
		return;
	due->event.interval = lane->interval;
	due->event.total_bytes = lane->total;
	draw(lane, th_throttle_interval(TH_HEAP_NATIVE));
}

/* Inserts the range of a call, or the part that it adds, into a gap. */
static void
put_new(const struct th_mapping_call *call, uint32_t owner, uint64_t place, struct due *due)
{
	struct th_range range = {
		.start = call->start,
		.end = call->start + call->bytes,
		.place = place,
		.born = ++mapping.born,
		.owner = owner,
		.flags = call->flags,
	};

	take_piece(call, call->bytes, owner, range.born, due);
	if (due->is_due)
		range.sample = SAMPLE_PENDING | range.born;
	if (put(&range))
		due->event.flags |= TH_MAPPED_TRACKED;
}

/* Events; without the lock */

static void
log_end(uint64_t sample, uintptr_t address, uint64_t bytes)
{
	struct th_event_mapped_end event = {
		.time = th_clock_now(),
		.sample = sample,
		.bytes = bytes,
		.address = address,
		.thread = th_thread.record ? th_thread.record->id : 0,
	};

	th_log_append(TH_EVENT_MAPPED_END, &event, NULL, 0);
}

static void
log_ends(struct th_range_list list)
{
	for (uint32_t i = list.first; i; i = th_range_set_after(&mapping.ranges, i)) {
		const struct th_range *range = th_range_set_at(&mapping.ranges, i);

		if (range->sample && !is_pending(range->sample))
			log_end(range->sample, range->start, range->end - range->start);
	}
}

/* Ranges that no longer exist. */
static void
release(struct th_range_list list)
{
	if (!list.first)
		return;
	log_ends(list);
	if (lock()) {
		th_range_set_release(&mapping.ranges, list);
		unlock();
	}
}

/* The owner may not be in the stack: its frame may be inlined or cut. */
static uint64_t
append_mapped(struct th_sample *sample)
{
	const struct th_event_mapped_alloc *event =
		(const struct th_event_mapped_alloc *)sample->event;

	th_stack_log_module(event->owner);
	return th_log_append_sample(TH_EVENT_MAPPED_ALLOC, event, TH_COUNTER_MAPPED_SAMPLES);
}

/*
 * The allocator behind malloc may hold its locks when it maps an arena: nothing that could
 * allocate is called then, and the caller is the whole stack.
 */
static uint64_t
take(struct th_event_mapped_alloc *event, uintptr_t caller,
	const struct th_registers *registers)
{
	static const struct th_sample_lane lane = {
		.heap = TH_HEAP_MAPPED, .append = append_mapped};
	struct th_sample sample = {.lane = &lane,
		.record = th_thread.record,
		.now = th_clock_now(),
		.caller = caller,
		.event = (struct th_event_alloc *)event};

	if (event->flags & TH_MAPPED_ARENA)
		return th_sample_take(&sample, NULL);
	sample.record = th_thread_record();
	th_sample_tick(sample.now);
	return sample.record ? th_sample_take(&sample, registers) : 0;
}

/* `caller`: the return address of the function that mapped it. */
static __attribute__((noinline)) uint64_t
record_sample(struct th_event_mapped_alloc *event, uintptr_t caller)
{
	struct th_registers registers;
	uint64_t sample;

	if (!th_in_flight_begin()) {
		th_sample_drop();
		return 0;
	}
	th_registers_here(&registers);
	sample = take(event, caller, &registers);
	th_in_flight_end();
	return sample;
}

/* Takes the sample.  Bytes unmapped while it was being written get their MAPPED_END here. */
static void
record(struct due *due, uintptr_t caller)
{
	uint64_t sample = record_sample(&due->event, caller);
	uint64_t left;

	if (!(due->event.flags & TH_MAPPED_TRACKED) || !lock())
		return;
	left = th_range_set_set_sample(
		&mapping.ranges, due->event.address, due->end, due->born, sample);
	unlock();
	if (sample && left < due->event.size)
		log_end(sample, 0, due->event.size - left);
}

/* Changes */

static uint32_t
find_owner(uintptr_t caller)
{
	const struct th_module *module = th_module_find(caller);

	return module ? module->id : 0;
}

/* A call in the form in which it is entered into the table. */
static struct th_mapping_call
with_arena(const struct th_mapping_call *call, uint32_t owner)
{
	struct th_mapping_call with = *call;

	with.flags &= KIND_FLAGS;
	if (owner && owner == mapping.allocator)
		with.flags |= TH_MAPPED_ARENA;
	return with;
}

/*
 * Subtracts memory from the countdown before recording; true: it is due, and was not
 * subtracted.
 */
static bool
is_first_due(const struct th_mapping_call *call)
{
	struct lane *lane = &mapping.lanes[0];
	bool is_due;

	if (!lock())
		return false;
	is_due = lane->countdown <= call->bytes;
	if (!is_due) {
		lane->countdown -= call->bytes;
		lane->total += call->bytes;
	}
	unlock();
	return is_due;
}

static void
begin_when_due(const struct th_mapping_call *call)
{
	void (*begin)(void) = th_load_acquire(&mapping.begin);

	if (!begin || th_thread.guard || call->flags & TH_MAPPED_RESERVED)
		return;
	th_guard_enter();
	if (is_first_due(call))
		begin();
	th_guard_leave();
}

void
th_mapping_mapped(const struct th_mapping_call *call)
{
	int saved_errno = errno;
	struct due due = {.is_due = false};
	struct th_range_list replaced;

	if (!call->bytes)
		return;
	begin_when_due(call);
	if (!enter())
		return;
	uint32_t owner = find_owner(call->caller);
	struct th_mapping_call with = with_arena(call, owner);
	replaced = take_out(call->start, call->start + call->bytes);
	put_new(&with, owner, place_of_first(replaced), &due);
	unlock();
	release(replaced);
	if (due.is_due)
		record(&due, call->caller);
	leave(saved_errno);
}

uint64_t
th_mapping_begin(void)
{
	int saved_errno = errno;
	uint64_t begun;

	if (!enter())
		return 0;
	begun = ++mapping.born;
	th_add_relaxed(&mapping.removing, 1);
	unlock();
	leave(saved_errno);
	return begun;
}

/* Ends a removal, whether the lock was taken or not. */
static bool
end_removal(void)
{
	th_add_relaxed(&mapping.removing, -1u);
	return enter();
}

void
th_mapping_unmapped(uint64_t begun, const struct th_mapping_call *call)
{
	int saved_errno = errno;
	struct th_range_list removed;

	if (!begun || !end_removal())
		return;
	removed = take_out_old(call->start, call->start + call->bytes, begun);
	unlock();
	release(removed);
	leave(saved_errno);
}

static void
shift(struct th_range_list list, uintptr_t from, uintptr_t to)
{
	mapping.born++;
	for (uint32_t i = list.first; i; i = th_range_set_after(&mapping.ranges, i)) {
		struct th_range *range = th_range_set_at(&mapping.ranges, i);

		range->start += to - from;
		range->end += to - from;
		range->born = mapping.born;
		if (from != to)
			range->place = 0;
	}
}

/* The flags for the growth of a mapping: those of its last part, if known. */
static uint32_t
flags_of_last(struct th_range_list list, uint32_t otherwise)
{
	return list.first ? th_range_set_at(&mapping.ranges, list.last)->flags & KIND_FLAGS
			  : otherwise;
}

void
th_mapping_moved(
	uint64_t begun, uintptr_t old, uint64_t old_bytes, const struct th_mapping_call *call)
{
	uint64_t kept = old_bytes < call->bytes ? old_bytes : call->bytes;
	struct due due = {.is_due = false};
	int saved_errno = errno;

	if (!begun || !end_removal())
		return;
	uint32_t owner = find_owner(call->caller);
	struct th_mapping_call rest = with_arena(call, owner);
	struct th_range_list moved = take_out_old(old, old + kept, begun);
	struct th_range_list removed = take_out_old(old + kept, old + old_bytes, begun);
	struct th_range_list replaced = take_out(call->start, call->start + call->bytes);
	rest.flags = flags_of_last(moved, rest.flags);
	rest.start += kept;
	rest.bytes -= kept;
	shift(moved, old, call->start);
	put_back(moved);
	if (rest.bytes)
		put_new(&rest, owner, place_of_first(replaced), &due);
	unlock();
	release(removed);
	release(replaced);
	if (due.is_due)
		record(&due, call->caller);
	leave(saved_errno);
}

/* Protection; under the lock */

static uint64_t
bytes_of(struct th_range_list list)
{
	uint64_t bytes = 0;

	for (uint32_t i = list.first; i; i = th_range_set_after(&mapping.ranges, i))
		bytes += th_range_set_at(&mapping.ranges, i)->end -
			 th_range_set_at(&mapping.ranges, i)->start;
	return bytes;
}

/* Inserts ranges that were removed, as one new piece with the flags of the call. */
static void
enter_changed(struct th_range_list list, const struct th_mapping_call *call, struct due *due)
{
	take_piece(call, bytes_of(list), find_owner(call->caller), ++mapping.born, due);
	for (uint32_t i = list.first; i; i = th_range_set_after(&mapping.ranges, i)) {
		struct th_range range = *th_range_set_at(&mapping.ranges, i);

		range.place = place_of(&range);
		range.born = due->born;
		range.flags ^= TH_MAPPED_RESERVED;
		range.sample = due->is_due ? SAMPLE_PENDING | due->born : 0;
		due->event.flags = range.flags | TH_MAPPED_TRACKED;
		put(&range);
	}
}

void
th_mapping_protected(const struct th_mapping_call *call)
{
	struct due due = {.is_due = false};
	int saved_errno = errno;
	struct th_range_list changed;

	if (!enter())
		return;
	changed = take_out_if(call->start, call->start + call->bytes, differs, call->flags);
	if (changed.first)
		enter_changed(changed, call, &due);
	unlock();
	release(changed);
	if (due.is_due)
		record(&due, call->caller);
	leave(saved_errno);
}

uint64_t
th_mapping_reach(uintptr_t start, uint64_t bytes)
{
	const struct th_range *range;
	uintptr_t end = start + bytes;
	uintptr_t at = start;
	int saved_errno = errno;

	if (!enter())
		return 0;
	while (at < end && (range = th_range_set_find(&mapping.ranges, at)) &&
		range->start <= at)
		at = range->end;
	unlock();
	leave(saved_errno);
	return at < end ? at - start : bytes;
}

void
th_mapping_returned(uint64_t bytes)
{
	if (th_load_relaxed(&mapping.is_on) && !th_thread.guard)
		th_add_relaxed(&mapping.returned, bytes);
}

/* Questions */

bool
th_mapping_next(uintptr_t address, struct th_range *ret)
{
	const struct th_range *found;

	th_guard_enter();
	if (!th_load_acquire(&mapping.is_on) || !lock()) {
		th_guard_leave();
		return false;
	}
	found = th_range_set_find(&mapping.ranges, address);
	if (found)
		*ret = *found;
	unlock();
	th_guard_leave();
	if (found && is_pending(ret->sample))
		ret->sample = 0;
	return found != NULL;
}

struct th_event_mapped_use
th_mapping_use(void)
{
	struct th_event_mapped_use use = {.time = 0};

	th_guard_enter();
	if (th_load_acquire(&mapping.is_on) && lock()) {
		use = mapping.use;
		use.allocated = mapping.lanes[0].total;
		unlock();
		use.returned = th_load_relaxed(&mapping.returned);
	}
	th_guard_leave();
	return use;
}

void
th_mapping_log_use(void)
{
	const struct th_event_mapped_use use = th_mapping_use();
	struct th_event_mapped_use event = use;

	event.time = th_clock_now();
	if (memcmp(&use, &mapping.logged, sizeof(use)) &&
		th_log_append(TH_EVENT_MAPPED_USE, &event, NULL, 0))
		mapping.logged = use;
}

/* Observed by the tool */

/* Maximum retries of a copy taken in the middle of a change. */
#define COPY_TRIES 8

static bool
observe(const void *start)
{
	const char *ranges = (const char *)start +
			     ((const char *)&mapping.ranges - (const char *)&mapping);
	static struct th_range_set ours;
	bool is_whole = false;

	if (!ours.capacity)
		th_range_set_init(&ours, NODES);
	for (int i = 0; i < COPY_TRIES && !is_whole; i++) {
		if (!th_observed_copy((uintptr_t)start, &mapping, sizeof(mapping)))
			return false;
		uint64_t born = mapping.born;
		bool was_locked = mapping.lock.held;
		if (!th_range_set_observe(&ours, (const void *)ranges) ||
			!th_observed_copy((uintptr_t)start, &mapping, sizeof(mapping)))
			return false;
		is_whole = !was_locked && !mapping.lock.held && mapping.born == born;
	}
	mapping.lock.held = 0;
	mapping.ranges = ours;
	return true;
}

const struct th_observed_tables th_mapping_tables = {&mapping, sizeof(mapping), observe};
