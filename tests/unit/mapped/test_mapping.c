/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped memory: the table, the sums and the events of the log after calls of every kind,
 * against a model with one entry per page.  No memory is actually mapped here.
 */
#include "tests/unit/recording/recorder_fixture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sample/probability.h"
#include "unify/mapped/mapping.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/poisson.h"

#define PAGE 4096
#define BASE ((uintptr_t)1 << 40)
#define PAGES 600
#define OPERATIONS 20000

/* Helpers */

static struct th_mapping_call
call_of(uintptr_t page, uint64_t pages, uint32_t flags)
{
	return (struct th_mapping_call){
		.start = BASE + page * PAGE,
		.bytes = pages * PAGE,
		.function = TH_FUNCTION_MMAP,
		.flags = flags,
		.caller = (uintptr_t)recorder_fixture_init + 1,
	};
}

static void
map(uintptr_t page, uint64_t pages, uint32_t flags)
{
	struct th_mapping_call call = call_of(page, pages, flags);

	th_mapping_mapped(&call);
}

static void
unmap(uintptr_t page, uint64_t pages)
{
	struct th_mapping_call call = call_of(page, pages, 0);

	th_mapping_unmapped(th_mapping_begin(), &call);
}

static void
protect(uintptr_t page, uint64_t pages, uint32_t flags)
{
	struct th_mapping_call call = call_of(page, pages, flags);

	call.function = TH_FUNCTION_MPROTECT;
	th_mapping_protected(&call);
}

static void
move(uintptr_t old, uint64_t old_pages, uintptr_t new, uint64_t new_pages)
{
	struct th_mapping_call call = call_of(new, new_pages, 0);

	call.function = TH_FUNCTION_MREMAP;
	th_mapping_moved(th_mapping_begin(), BASE + old * PAGE, old_pages * PAGE, &call);
}

static void
assert_use(uint64_t accessible, uint64_t files, uint64_t reserved)
{
	struct th_event_mapped_use use = th_mapping_use();

	assert_int_equal(use.accessible, accessible * PAGE);
	assert_int_equal(use.files, files * PAGE);
	assert_int_equal(use.reserved, reserved * PAGE);
}

static void
assert_next(uintptr_t page, uintptr_t start, uintptr_t end)
{
	struct th_range range;

	assert_true(th_mapping_next(BASE + page * PAGE, &range));
	assert_int_equal((range.start - BASE) / PAGE, start);
	assert_int_equal((range.end - BASE) / PAGE, end);
}

/* Bytes of each sample that the log has not ended; freed by the caller. */
struct left {
	uint64_t offset;
	uint64_t bytes;
	uint64_t size;
	uint64_t interval;
	uint32_t flags;
};

static struct left *
read_left(size_t *count_ret)
{
	struct log_image image;
	struct left *left;
	size_t count = 0;

	log_image_open(&image);
	left = calloc(image.count, sizeof(*left));
	for (size_t i = 0; i < image.count; i++) {
		const struct th_event_mapped_alloc *alloc =
			(const void *)image.records[i].bytes;
		const struct th_event_mapped_end *end = (const void *)image.records[i].bytes;

		if (image.records[i].type == TH_EVENT_MAPPED_ALLOC)
			left[count++] = (struct left){image.records[i].offset, alloc->size,
				alloc->size, alloc->interval, alloc->flags};
		if (image.records[i].type != TH_EVENT_MAPPED_END)
			continue;
		size_t at = 0;
		while (at < count && left[at].offset != end->sample)
			at++;
		assert_in_range(at, 0, count - 1);
		assert_true(end->bytes && end->bytes <= left[at].bytes);
		left[at].bytes -= end->bytes;
	}
	log_image_close(&image);
	*count_ret = count;
	return left;
}

/* The estimate from the samples of a kind, by their weights. */
static double
estimate_left(uint32_t kind)
{
	size_t count;
	struct left *left = read_left(&count);
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if ((left[i].flags & TH_MAPPED_RESERVED) == kind)
			sum += (double)left[i].bytes /
			       sampling_probability(left[i].size, left[i].interval);
	}
	free(left);
	return sum;
}

static void
assert_log_agrees(void)
{
	struct th_event_mapped_use use = th_mapping_use();

	assert_int_equal((uint64_t)estimate_left(0), use.accessible);
	assert_int_equal((uint64_t)estimate_left(TH_MAPPED_RESERVED), use.reserved);
}

/* Single calls; interval 0 samples everything */

static void
test_map_and_unmap_a_part(void **state)
{
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(10, 10, 0);
	unmap(12, 3);
	assert_use(7, 0, 0);
	assert_next(0, 10, 12);
	assert_next(12, 15, 20);
	assert_log_agrees();
	log_image_open(&image);
	const struct th_event_mapped_alloc *alloc = log_image_get(
		&image, TH_EVENT_MAPPED_ALLOC, 0);
	assert_int_equal(alloc->size, 10 * PAGE);
	assert_int_equal(alloc->address, BASE + 10 * PAGE);
	assert_int_equal(alloc->total_bytes, 10 * PAGE);
	assert_int_equal(alloc->flags, TH_MAPPED_TRACKED);
	assert_int_equal(alloc->thread, th_thread.record->id);
	assert_int_not_equal(alloc->owner, 0);
	assert_int_not_equal(alloc->stack, 0);
	const struct th_event_mapped_end *end = log_image_get(&image, TH_EVENT_MAPPED_END, 0);
	assert_int_equal(end->bytes, 3 * PAGE);
	assert_int_equal(end->address, BASE + 12 * PAGE);
	log_image_close(&image);
}

/* Changes are in flight like captures, so that a restart waits for those in progress. */
static void
test_nothing_is_entered_after_the_end(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(10, 10, 0);
	th_in_flight_close();
	errno = EDOM;
	map(30, 10, 0);
	unmap(12, 3);
	protect(10, 2, TH_MAPPED_RESERVED);
	assert_int_equal(errno, EDOM);
	assert_use(10, 0, 0);
	assert_false(th_thread.guard);
}

static void
test_mapping_over_ends_what_was_there(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(10, 10, 0);
	map(15, 10, TH_MAPPED_FILE);
	assert_use(15, 10, 0);
	assert_log_agrees();
}

static void
test_commit_and_decommit_in_a_reservation(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 100, TH_MAPPED_RESERVED);
	assert_use(0, 0, 100);
	protect(10, 20, 0);
	assert_use(20, 0, 80);
	protect(10, 30, 0);
	assert_use(30, 0, 70);
	assert_log_agrees();
	map(60, 10, 0);
	assert_use(40, 0, 60);
	protect(0, 100, TH_MAPPED_RESERVED);
	assert_use(0, 0, 100);
	assert_log_agrees();
}

/* The `place` of the first range after a page. */
static uint64_t
place_at(uintptr_t page)
{
	struct th_range range;

	assert_true(th_mapping_next(BASE + page * PAGE, &range));
	return range.place;
}

/*
 * Pieces far below the interval are almost never sampled; the reservation is.  Memory mapped or
 * made accessible inside it refers to its sample, until it moves.
 */
static void
test_pieces_know_their_reservation(void **state)
{
	struct th_range reservation;

	(void)state;
	recorder_start(16 * PAGE, DEPTH, LARGE);
	map(0, 100000, TH_MAPPED_RESERVED);
	assert_true(th_mapping_next(BASE, &reservation));
	assert_int_not_equal(reservation.sample, 0);
	map(10, 1, 0);
	protect(20, 1, 0);
	assert_int_equal(place_at(10), reservation.sample);
	assert_int_equal(place_at(20), reservation.sample);
	/* Released and taken again, both ways. */
	map(10, 1, TH_MAPPED_RESERVED);
	map(10, 1, 0);
	protect(20, 1, TH_MAPPED_RESERVED);
	protect(20, 1, 0);
	assert_int_equal(place_at(10), reservation.sample);
	assert_int_equal(place_at(20), reservation.sample);
	move(20, 1, 200000, 1);
	assert_int_equal(place_at(200000), 0);
	unmap(10, 1);
	map(10, 1, 0);
	assert_int_equal(place_at(10), 0);
}

/*
 * Reservations of 2 MiB, those of metaspace on JDK 11, are sampled at an interval of 64 MiB as
 * well, up to a number that bounds the cost; accessible memory is not.
 */
static void
test_reservations_are_sampled(void **state)
{
	const uintptr_t pages = 512;
	const uint64_t bound = 4096;

	(void)state;
	recorder_start(16384 * PAGE, DEPTH, LARGE);
	for (uintptr_t i = 0; i < bound - 1; i++)
		map(i * pages, pages, TH_MAPPED_RESERVED);
	assert_int_equal(recorder_counter(TH_COUNTER_MAPPED_SAMPLES), bound - 1);
	assert_float_equal(estimate_left(TH_MAPPED_RESERVED),
		(double)(bound - 1) * pages * PAGE, 1e-6 * bound * pages * PAGE);
	for (uintptr_t i = bound; i < 2 * bound; i++)
		map(i * pages, pages, TH_MAPPED_RESERVED);
	/* One in 32.5 of them: 126, standard deviation 11. */
	assert_in_range(recorder_counter(TH_COUNTER_MAPPED_SAMPLES), bound + 60, bound + 200);
}

/* Protecting accessible memory is not an allocation. */
static void
test_protect_without_change(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	protect(0, 10, 0);
	protect(20, 10, 0);
	assert_use(10, 0, 0);
	assert_int_equal(th_mapping_use().allocated, 10 * PAGE);
	assert_int_equal(recorder_counter(TH_COUNTER_MAPPED_SAMPLES), 1);
}

static void
test_reach_ends_at_a_gap(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	map(10, 5, TH_MAPPED_RESERVED);
	map(20, 5, 0);
	errno = ENOMEM;
	assert_int_equal(th_mapping_reach(BASE + 5 * PAGE, 20 * PAGE), 10 * PAGE);
	assert_int_equal(th_mapping_reach(BASE + 20 * PAGE, 5 * PAGE), 5 * PAGE);
	assert_int_equal(th_mapping_reach(BASE + 16 * PAGE, 9 * PAGE), 0);
	assert_int_equal(errno, ENOMEM);
}

static void
test_remap(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	map(100, 10, 0);
	move(0, 10, 50, 25); /* grows and moves */
	assert_use(35, 0, 0);
	assert_next(0, 50, 60);
	assert_next(60, 60, 75);
	move(50, 25, 105, 5); /* shrinks, over another */
	assert_use(10, 0, 0);
	assert_log_agrees();
	move(300, 10, 300, 20); /* of an unknown mapping */
	assert_use(20, 0, 0);
	assert_log_agrees();
}

/* Another thread mapped the addresses between the system call and the removal. */
static void
test_younger_mapping_stays(void **state)
{
	struct th_mapping_call old = call_of(0, 10, 0);
	uint64_t begun;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	begun = th_mapping_begin();
	map(5, 2, 0);
	th_mapping_unmapped(begun, &old);
	assert_use(2, 0, 0);
	assert_next(0, 5, 7);
	assert_log_agrees();
}

static void
test_failed_unmap_changes_nothing(void **state)
{
	struct th_mapping_call none = call_of(0, 0, 0);

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	errno = EINVAL;
	th_mapping_unmapped(th_mapping_begin(), &none);
	assert_int_equal(errno, EINVAL);
	assert_use(10, 0, 0);
}

/* No function that could allocate is called when the allocator behind malloc maps memory. */
static void
test_arena_has_its_caller_for_a_stack(void **state)
{
	const uint64_t *frames;
	struct log_image image;
	uint32_t flags;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	struct th_range range;
	assert_true(th_mapping_next(0, &range));
	th_mapping_set_allocator(range.owner);
	map(20, 10, 0);
	log_image_open(&image);
	const struct th_event_mapped_alloc *alloc = log_image_get(
		&image, TH_EVENT_MAPPED_ALLOC, 1);
	assert_int_equal(alloc->flags, TH_MAPPED_TRACKED | TH_MAPPED_ARENA);
	assert_int_equal(recorder_frames(&image, alloc->stack, &frames, &flags), 1);
	assert_true(recorder_is_in(&image, frames[0], (const void *)recorder_fixture_init, 64));
	log_image_close(&image);
}

static void
test_inside_the_library(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	th_guard_enter();
	map(0, 10, 0);
	th_guard_leave();
	assert_use(0, 0, 0);
}

static void
test_use_is_logged_when_it_changed(void **state)
{
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	map(0, 10, 0);
	map(20, 5, TH_MAPPED_RESERVED);
	th_mapping_returned(3 * PAGE);
	th_mapping_log_use();
	th_mapping_log_use();
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_MAPPED_USE), 1);
	const struct th_event_mapped_use *use = log_image_get(&image, TH_EVENT_MAPPED_USE, 0);
	assert_int_equal(use->allocated, 10 * PAGE);
	assert_int_equal(use->accessible, 10 * PAGE);
	assert_int_equal(use->reserved, 5 * PAGE);
	assert_int_equal(use->returned, 3 * PAGE);
	log_image_close(&image);
}

/* Against a model */

struct model {
	struct th_random random;
	unsigned char there[PAGES]; /* 0 nothing, 1 accessible, 2 reserved */
	uint64_t allocated;
};

static uint64_t
choose(struct model *model, uint64_t count)
{
	return th_random_next(&model->random) % count;
}

static void
model_map(struct model *model, uintptr_t page, uint64_t pages)
{
	unsigned char kind = (unsigned char)(1 + choose(model, 2));

	map(page, pages, kind == 2 ? TH_MAPPED_RESERVED : 0);
	memset(model->there + page, kind, pages);
	model->allocated += kind == 1 ? pages : 0;
}

static void
model_protect(struct model *model, uintptr_t page, uint64_t pages)
{
	unsigned char kind = (unsigned char)(1 + choose(model, 2));

	protect(page, pages, kind == 2 ? TH_MAPPED_RESERVED : 0);
	for (uintptr_t i = page; i < page + pages; i++) {
		if (!model->there[i])
			continue;
		model->allocated += kind == 1 && model->there[i] == 2;
		model->there[i] = kind;
	}
}

/* Moves within whole ranges, as mremap requires. */
static void
model_move(struct model *model, uintptr_t page, uint64_t pages)
{
	uintptr_t to = choose(model, PAGES - pages);

	if (to + pages > page && page + pages > to)
		return;
	move(page, pages, to, pages);
	memcpy(model->there + to, model->there + page, pages);
	memset(model->there + page, 0, pages);
}

static void
model_step(struct model *model)
{
	uint64_t pages = 1 + choose(model, choose(model, 10) ? 12 : 200);
	uintptr_t page = choose(model, PAGES - pages);

	switch (choose(model, 8)) {
	case 0:
	case 1:
	case 2:
		model_map(model, page, pages);
		break;
	case 3:
	case 4:
		model_protect(model, page, pages);
		break;
	case 5:
		model_move(model, page, pages);
		break;
	default:
		unmap(page, pages);
		memset(model->there + page, 0, pages);
	}
}

static uint64_t
model_count(const struct model *model, unsigned char kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < PAGES; i++)
		count += model->there[i] == kind;
	return count;
}

static void
run_model(struct model *model, uint64_t interval)
{
	memset(model, 0, sizeof(*model));
	th_random_seed(&model->random, 20260101);
	recorder_start(interval, DEPTH, LARGE);
	for (int i = 0; i < OPERATIONS; i++) {
		model_step(model);
		if (i % 16 == 0)
			assert_use(model_count(model, 1), 0, model_count(model, 2));
	}
	assert_int_equal(th_mapping_use().allocated, model->allocated * PAGE);
	assert_int_equal(recorder_counter(TH_COUNTER_MAPPED_LOST), 0);
}

static void
test_model_with_every_sample(void **state)
{
	struct model model;

	(void)state;
	run_model(&model, 0);
	assert_log_agrees();
}

/* Sums are exact regardless of sampling; estimates match. */
static void
test_model_with_few_samples(void **state)
{
	struct log_image image;
	struct model model;
	double sum = 0, variance = 0;

	(void)state;
	run_model(&model, 64 * PAGE);
	log_image_open(&image);
	for (size_t i = 0; i < log_image_count(&image, TH_EVENT_MAPPED_ALLOC); i++) {
		const struct th_event_mapped_alloc *alloc = log_image_get(
			&image, TH_EVENT_MAPPED_ALLOC, i);
		double p = sampling_probability(alloc->size, alloc->interval);

		if (alloc->flags & TH_MAPPED_RESERVED)
			continue;
		sum += (double)alloc->size / p;
		variance += (double)alloc->size * (double)alloc->size * (1 - p) / (p * p);
	}
	log_image_close(&image);
	/* Fixed seed: a result within three standard deviations is reproducible. */
	assert_true(fabs(sum - (double)model.allocated * PAGE) < 3 * sqrt(variance));
	assert_true(3 * sqrt(variance) < 0.1 * sum);
}

#define TEST(name) cmocka_unit_test_teardown(name, recorder_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_map_and_unmap_a_part),
		TEST(test_nothing_is_entered_after_the_end),
		TEST(test_mapping_over_ends_what_was_there),
		TEST(test_commit_and_decommit_in_a_reservation),
		TEST(test_pieces_know_their_reservation),
		TEST(test_reservations_are_sampled),
		TEST(test_protect_without_change),
		TEST(test_reach_ends_at_a_gap),
		TEST(test_remap),
		TEST(test_younger_mapping_stays),
		TEST(test_failed_unmap_changes_nothing),
		TEST(test_arena_has_its_caller_for_a_stack),
		TEST(test_inside_the_library),
		TEST(test_use_is_logged_when_it_changed),
		TEST(test_model_with_every_sample),
		TEST(test_model_with_few_samples),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
