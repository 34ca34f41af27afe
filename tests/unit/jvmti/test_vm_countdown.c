/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of HotSpot's allocation path and of its sampler up to JDK 24, as in memAllocator.cpp,
 * threadLocalAllocBuffer.cpp and threadHeapSampler.cpp of 11 and 17: whatever is allocated, the
 * steps of th_vm_countdown_step() let it pass over no sampled byte, and they are few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "jvmti/heap/vm_countdown.h"
#include "unify/sample/poisson.h"

#define MIXES 100
#define INTERVALS 200 /* bytes of a mix, in mean intervals */
#define OBJECTS_PER_COLLECTION 4096
#define SIZES_MAX 4
#define WASTE_FRACTION 64  /* TLABRefillWasteFraction */
#define WASTE_INCREMENT 32 /* TLABWasteIncrement, in bytes */
#define RESERVE 208        /* at a TLAB's end, for prefetching */
/* Steps before a sample, on average over all mixes; 2.0 and 1.9 were measured. */
#define EARLY_MAX 3.0

typedef uint64_t (*policy)(const struct th_tlab *tlab, uint64_t bytes);

/* One thread.  Addresses count from 8; bytes are exact. */
struct vm {
	bool loses_point; /* JDK 11 */
	uint64_t top;     /* all three 0: there is no TLAB */
	uint64_t end;
	uint64_t allocation_end;
	uint64_t desired;
	uint64_t waste_limit;
	uint64_t until_sample;
	uint64_t since_point; /* bytes_since_last_sample_point */
	/* The agent. */
	policy step;
	struct th_random random;
	uint64_t interval;
	uint64_t bytes; /* exact, including the current object */
	uint64_t due;
	uint64_t early;
	uint64_t sampled;
	uint64_t missed;
};

static void
set(struct vm *vm)
{
	const struct th_tlab tlab = {vm->end - vm->top, vm->desired};

	vm->until_sample = vm->step(&tlab, vm->due - vm->bytes);
	if (!vm->loses_point)
		return;
	vm->since_point = vm->until_sample;
	if (vm->end - vm->top > (vm->until_sample & ~7ull))
		vm->end = vm->top + (vm->until_sample & ~7ull);
}

static void
draw(struct vm *vm)
{
	vm->due = vm->bytes + 1 + (uint64_t)th_sampler_draw(&vm->random, vm->interval);
	set(vm);
}

/* The handler of the event, for an object that is already counted. */
static void
on_sample(struct vm *vm, uint64_t size)
{
	if (vm->due > vm->bytes) {
		vm->early++;
		set(vm);
		return;
	}
	vm->sampled += vm->bytes - vm->due < size;
	vm->missed += vm->bytes - vm->due >= size;
	draw(vm);
}

static void
set_sample_end(struct vm *vm, bool resets)
{
	uint64_t room = vm->end - vm->top;
	uint64_t words = vm->until_sample & ~7ull;

	if (resets || vm->loses_point)
		vm->since_point = 0;
	vm->since_point += room > words ? vm->until_sample : room;
	if (room > words)
		vm->end = vm->top + words;
}

static void
notify(struct vm *vm, uint64_t size, bool is_outside, bool sets_end)
{
	uint64_t since = is_outside ? 0 : vm->since_point;

	if (since + size < vm->until_sample)
		vm->until_sample -= since + size;
	else
		on_sample(vm, size);
	if (sets_end)
		set_sample_end(vm, since != 0);
}

/* False: the object goes outside. */
static bool
refill(struct vm *vm, uint64_t size)
{
	uint64_t wanted = vm->desired + size;

	if (vm->allocation_end - vm->top > vm->waste_limit) {
		vm->waste_limit += WASTE_INCREMENT;
		return false;
	}
	/* Where the heap is short of contiguous memory, a smaller one. */
	if (th_random_next(&vm->random) % 4 == 0)
		wanted -= th_random_next(&vm->random) % vm->desired & ~7ull;
	vm->top = vm->end = vm->allocation_end = 0;
	if (size > vm->desired || wanted < size + RESERVE)
		return false;
	vm->top = 8 + size;
	vm->end = vm->allocation_end = 8 + wanted - RESERVE;
	vm->waste_limit = vm->desired / WASTE_FRACTION;
	return true;
}

static void
allocate(struct vm *vm, uint64_t size)
{
	vm->bytes += size;
	if (vm->end - vm->top >= size) {
		vm->top += size;
		return;
	}
	vm->end = vm->allocation_end;
	if (vm->end - vm->top >= size) {
		vm->top += size;
		notify(vm, size, false, true);
	} else if (refill(vm, size)) {
		notify(vm, size, false, true);
	} else {
		notify(vm, size, true, !vm->loses_point);
	}
}

/* A collection retires the TLAB; the sampler keeps its counts. */
static void
collect(struct vm *vm)
{
	vm->top = vm->end = vm->allocation_end = 0;
}

static uint64_t
choose_between(struct th_random *random, double low, double high)
{
	return (uint64_t)(low * pow(high / low, th_random_unit(random))) & ~7ull;
}

/* Of two to four sizes, each with the same part of the bytes. */
struct mix {
	uint64_t sizes[SIZES_MAX];
	double rates[SIZES_MAX]; /* sums up to this size */
	size_t count;
};

static void
make_mix(struct mix *mix, struct th_random *random)
{
	double sum = 0;

	mix->count = 2 + th_random_next(random) % (SIZES_MAX - 1);
	for (size_t i = 0; i < mix->count; i++) {
		mix->sizes[i] = choose_between(random, 32, 1 << 20);
		mix->rates[i] = sum += 1 / (double)mix->sizes[i];
	}
}

static uint64_t
next_size(const struct mix *mix, struct th_random *random)
{
	double x = th_random_unit(random) * mix->rates[mix->count - 1];
	size_t i = 0;

	while (i < mix->count - 1 && x > mix->rates[i])
		i++;
	return mix->sizes[i];
}

static void
run_mix(struct vm *vm, uint64_t seed)
{
	struct mix mix;

	th_random_seed(&vm->random, seed);
	make_mix(&mix, &vm->random);
	vm->desired = choose_between(&vm->random, 2048, 4 << 20);
	vm->interval = choose_between(&vm->random, 32768, 1 << 20);
	vm->waste_limit = vm->desired / WASTE_FRACTION;
	vm->since_point = 0;
	collect(vm);
	draw(vm);
	for (uint64_t end = vm->bytes + vm->interval * INTERVALS; vm->bytes < end;) {
		if (th_random_next(&vm->random) % OBJECTS_PER_COLLECTION == 0)
			collect(vm);
		allocate(vm, next_size(&mix, &vm->random));
	}
}

static void
run_mixes(struct vm *vm, bool loses_point, policy step)
{
	*vm = (struct vm){.loses_point = loses_point, .step = step};
	for (uint64_t seed = 1; seed <= MIXES; seed++)
		run_mix(vm, seed);
	print_message("%s: %.0f sampled, %.0f passed over, %.2f steps each\n",
		loses_point ? "11" : "17", (double)vm->sampled, (double)vm->missed,
		(double)vm->early / (double)vm->sampled);
}

static void
test_no_byte_is_passed_over(void **state)
{
	struct vm vm;

	(void)state;
	for (int loses_point = 0; loses_point < 2; loses_point++) {
		run_mixes(&vm, loses_point, th_vm_countdown_step);
		assert_true(vm.sampled > MIXES * INTERVALS / 2);
		assert_int_equal(vm.missed, 0);
		assert_true((double)vm.early < EARLY_MAX * (double)vm.sampled);
	}
}

static uint64_t
whole(const struct th_tlab *tlab, uint64_t bytes)
{
	(void)tlab;
	return bytes;
}

/* The model has the bias: with the whole countdown at once the VM passes over many bytes. */
static void
test_whole_countdown_is_not_enough(void **state)
{
	struct vm vm;

	(void)state;
	for (int loses_point = 0; loses_point < 2; loses_point++) {
		run_mixes(&vm, loses_point, whole);
		assert_true(vm.missed > vm.sampled / 20);
	}
}

/*
 * Whatever was read: the end of a TLAB is only moved down, and not below its top.  Beside TLABs: none,
 * a top beyond the end, words of different colors (bits 42 to 44), the ends of the address space.
 */
static void
test_end_is_only_moved_down(void **state)
{
	static const uint64_t words[] = {0, 8, 0x10000, 0x10008, 0x20000,
		UINT64_C(1) << 42 | 0x10000, UINT64_C(1) << 43 | 0x10000,
		UINT64_C(1) << 44 | 0x20000, UINT64_MAX - 7};
	static const uint64_t countdowns[] = {
		1, 7, 8, 9, 4096, 0xffff, 0x10000, 0x10001, UINT64_C(1) << 43, UINT64_MAX};
	const size_t count = sizeof(words) / sizeof(words[0]);
	const uint64_t colors = ~((UINT64_C(1) << 42) - 1);
	unsigned moved = 0;

	(void)state;
	for (size_t i = 0; i < count * count * 10; i++) {
		const struct th_thread_bytes tlab = {.tlab_start = words[i % count],
			.tlab_top = words[i % count],
			.tlab_end = words[i / count % count]};
		uint64_t end = th_vm_countdown_sample_end(
			&tlab, countdowns[i / (count * count)]);

		if (!end)
			continue;
		moved++;
		assert_true(tlab.tlab_top && tlab.tlab_top <= end && end < tlab.tlab_end);
		assert_int_equal(end % 8, 0);
		assert_int_equal((tlab.tlab_top ^ tlab.tlab_end) & colors, 0);
	}
	/* 8 with each end above it; the others among each other. */
	assert_true(moved > 10);
}

static void
test_end_is_where_the_countdown_ends(void **state)
{
	const struct th_thread_bytes tlab = {0, 0x10000, 0x10100, 0x10200};

	(void)state;
	assert_int_equal(th_vm_countdown_sample_end(&tlab, 1), 0x10100);
	assert_int_equal(th_vm_countdown_sample_end(&tlab, 0x2f), 0x10128);
	assert_int_equal(th_vm_countdown_sample_end(&tlab, 0xff), 0x101f8);
	assert_int_equal(th_vm_countdown_sample_end(&tlab, 0x100), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_is_only_moved_down),
		cmocka_unit_test(test_end_is_where_the_countdown_ends),
		cmocka_unit_test(test_no_byte_is_passed_over),
		cmocka_unit_test(test_whole_countdown_is_not_enough),
	};

	return cmocka_run_group_tests_name("vm_countdown", tests, NULL, NULL);
}
