/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three handovers without a lock, on a processor that reorders memory accesses: every execution of
 * a small model of each.  A location keeps all values that were stored to it.  A thread may read any of
 * them that is not older than the one it must know of; acquire and release say what it must know of
 * (C11, release sequences and fences included).  Stores are not delayed behind later loads of their
 * own thread: none of these handovers depends on that.
 *
 * Each model is enumerated as the code is, without a wrong outcome, and with each of its orders
 * weakened, which must give one: it is needed, and the test can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define THREADS_MAX 3
#define STEPS_MAX 12
#define LOCATIONS 5
#define STORES_MAX 8
#define REGISTERS 4

enum order { RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIAL };

enum kind {
	END, /* of a thread */
	LOAD,
	STORE,
	ADD,  /* read and write as one */
	SWAP, /* if the value is `wanted` */
	FENCE,
	UNMAP, /* takes effect for all threads at once */
	USE,   /* of memory that must be mapped */
};

struct step {
	enum kind kind;
	int location;
	enum order order;
	int value;
	int to;         /* LOAD: the register */
	bool is_tested; /* LOAD: the value must be `wanted`, as for SWAP */
	int wanted;
	int otherwise; /* the step to go on with if it is not */
};

#define AT(at, by) .location = (at), .order = (by)
#define IF(is, or_step) .is_tested = true, .wanted = (is), .otherwise = (or_step)

/* The number of the oldest store of each location that a thread may still read. */
struct view {
	uint8_t oldest[LOCATIONS];
};

struct store {
	int value;
	struct view view; /* what a thread that acquires it knows of */
};

struct thread {
	int next;
	int registers[REGISTERS];
	struct view known;
	struct view pending;  /* known after an acquire fence */
	struct view released; /* known at the last release fence */
};

struct execution {
	struct thread threads[THREADS_MAX];
	struct store stores[LOCATIONS][STORES_MAX];
	int counts[LOCATIONS];
	struct view sequential; /* as of the last sequentially consistent access */
	bool is_unmapped;
	bool is_wrong;
};

struct model {
	struct step steps[THREADS_MAX][STEPS_MAX];
	bool (*is_right)(const struct execution *execution);
};

static const struct model *model;
static unsigned executions;
static unsigned wrong;

static void
join(struct view *view, const struct view *other)
{
	for (int i = 0; i < LOCATIONS; i++)
		if (view->oldest[i] < other->oldest[i])
			view->oldest[i] = other->oldest[i];
}

static bool
acquires(enum order order)
{
	return order != RELAXED && order != RELEASE;
}

static bool
releases(enum order order)
{
	return order != RELAXED && order != ACQUIRE;
}

static void
read_store(
	struct execution *execution, struct thread *thread, const struct step *step, int number)
{
	const struct store *store = &execution->stores[step->location][number];

	thread->known.oldest[step->location] = (uint8_t)number;
	join(acquires(step->order) ? &thread->known : &thread->pending, &store->view);
	if (step->order == SEQUENTIAL && execution->sequential.oldest[step->location] < number)
		execution->sequential.oldest[step->location] = (uint8_t)number;
}

static void
add_store(struct execution *execution, struct thread *thread, const struct step *step,
	int value, bool continues)
{
	int number = execution->counts[step->location]++;
	struct store *store = &execution->stores[step->location][number];

	assert_true(number < STORES_MAX);
	thread->known.oldest[step->location] = (uint8_t)number;
	store->value = value;
	store->view = releases(step->order) ? thread->known : thread->released;
	if (continues) /* a release sequence */
		join(&store->view, &store[-1].view);
	if (step->order == SEQUENTIAL)
		execution->sequential.oldest[step->location] = (uint8_t)number;
}

static void explore(const struct execution *before);

/* Every value that a load, or a swap that fails, may read. */
static void
explore_reads(const struct execution *before, int index, const struct step *step)
{
	int first = before->threads[index].known.oldest[step->location];
	int last = before->counts[step->location] - 1;

	if (step->order == SEQUENTIAL && first < before->sequential.oldest[step->location])
		first = before->sequential.oldest[step->location];
	for (int number = first; number <= last; number++) {
		int value = before->stores[step->location][number].value;
		bool is_wanted = step->kind == SWAP || step->is_tested ? value == step->wanted
								       : true;
		struct execution after = *before;
		struct thread *thread = &after.threads[index];

		/* What is written follows the last store. */
		if (step->kind == SWAP && is_wanted && number != last)
			continue;
		read_store(&after, thread, step, number);
		if (step->kind == SWAP && is_wanted)
			add_store(&after, thread, step, step->value, true);
		if (step->kind == LOAD)
			thread->registers[step->to] = value;
		thread->next = is_wanted ? thread->next + 1 : step->otherwise;
		explore(&after);
	}
}

static void
explore_step(const struct execution *before, int index, const struct step *step)
{
	struct execution after = *before;
	struct thread *thread = &after.threads[index];
	int last = before->counts[step->location] - 1;

	thread->next++;
	if (step->kind == STORE)
		add_store(&after, thread, step, step->value, false);
	if (step->kind == ADD) {
		read_store(&after, thread, step, last);
		add_store(&after, thread, step,
			before->stores[step->location][last].value + step->value, true);
	}
	if (step->kind == FENCE && acquires(step->order))
		join(&thread->known, &thread->pending);
	if (step->kind == FENCE && releases(step->order))
		thread->released = thread->known;
	/* What was written there is known to be complete. */
	if (step->kind == UNMAP && thread->known.oldest[step->location] != last)
		after.is_wrong = true;
	after.is_unmapped |= step->kind == UNMAP;
	if (step->kind == USE && before->is_unmapped)
		after.is_wrong = true;
	explore(&after);
}

/* All continuations. */
static void
explore(const struct execution *before)
{
	bool is_over = true;

	for (int i = 0; i < THREADS_MAX; i++) {
		const struct step *step = &model->steps[i][before->threads[i].next];

		if (step->kind == END)
			continue;
		is_over = false;
		if (step->kind == LOAD || step->kind == SWAP)
			explore_reads(before, i, step);
		else
			explore_step(before, i, step);
	}
	if (!is_over)
		return;
	executions++;
	wrong += before->is_wrong || !model->is_right(before);
}

/* The number of wrong outcomes.  All locations are 0, but that of `set`, which is 1. */
static unsigned
count_wrong(const struct model *given, int set)
{
	struct execution start = {.is_wrong = false};

	for (int i = 0; i < LOCATIONS; i++) {
		start.counts[i] = 1;
		start.stores[i][0].value = i == set;
	}
	model = given;
	executions = wrong = 0;
	explore(&start);
	print_message("%u executions, %u wrong\n", executions, wrong);
	return wrong;
}

static int
last_value(const struct execution *execution, int location)
{
	return execution->stores[location][execution->counts[location] - 1].value;
}

/* unify/base/version.h: two writers, of which the second may begin after the first, and a reader. */

enum { VERSION, FIRST, SECOND, NONE = -1 };
enum { WRITER, NEXT_WRITER, READER };

static const struct model
	version_model =
		{
			.steps =
				{
					[WRITER] = {{SWAP, AT(VERSION, ACQUIRE_RELEASE),
							    .value = 1, IF(0, 5)},
						{FENCE, .order = RELEASE},
						{STORE, AT(FIRST, RELAXED), .value = 1},
						{STORE, AT(SECOND, RELAXED), .value = 1},
						{STORE, AT(VERSION, RELEASE), .value = 2}},
					[NEXT_WRITER] = {{SWAP, AT(VERSION, ACQUIRE_RELEASE),
								 .value = 3, IF(2, 5)},
						{FENCE, .order = RELEASE},
						{STORE, AT(FIRST, RELAXED), .value = 2},
						{STORE, AT(SECOND, RELAXED), .value = 2},
						{STORE, AT(VERSION, RELEASE), .value = 4}},
					[READER] = {{LOAD, AT(VERSION, ACQUIRE), .to = 0},
						{LOAD, AT(FIRST, RELAXED), .to = 1},
						{LOAD, AT(SECOND, RELAXED), .to = 2},
						{FENCE, .order = ACQUIRE},
						{LOAD, AT(VERSION, RELAXED), .to = 3}},
				},
};

/* What was read under one even version is what was written under it. */
static bool
is_of_one_version(const struct execution *execution)
{
	const int *read = execution->threads[READER].registers;

	return read[0] != read[3] || read[0] % 2 ||
	       (read[1] == read[0] / 2 && read[2] == read[0] / 2);
}

static void
versions(void **state)
{
	struct model weak = version_model;

	(void)state;
	weak.is_right = is_of_one_version;
	assert_int_equal(count_wrong(&weak, NONE), 0);
	weak.steps[NEXT_WRITER][1].order = weak.steps[WRITER][1].order = RELAXED;
	assert_int_not_equal(count_wrong(&weak, NONE), 0);
	weak = version_model;
	weak.is_right = is_of_one_version;
	weak.steps[READER][3].order = RELAXED;
	assert_int_not_equal(count_wrong(&weak, NONE), 0);
	weak = version_model;
	weak.is_right = is_of_one_version;
	weak.steps[WRITER][4].order = RELAXED;
	assert_int_not_equal(count_wrong(&weak, NONE), 0);
}

/*
 * unify/log/log_window.c: a thread writes to window 1; another unmaps it and opens window 2 in its slot;
 * a third enters that.
 */

enum { NUMBER, USERS, DATA, START };
enum { LOGGER, RETIRER, LATER_LOGGER };

static const struct model window_model =
	{
		.steps =
			{
				[LOGGER] = {{LOAD, AT(NUMBER, ACQUIRE), IF(1, 6)},
					{ADD, AT(USERS, SEQUENTIAL), .value = 1},
					{LOAD, AT(NUMBER, SEQUENTIAL), IF(1, 5)},
					{USE, .location = DATA},
					{STORE, AT(DATA, RELAXED), .value = 1},
					{ADD, AT(USERS, SEQUENTIAL), .value = -1}},
				[RETIRER] = {{STORE, AT(NUMBER, SEQUENTIAL), .value = 0},
					{LOAD, AT(USERS, SEQUENTIAL), IF(0, 5)},
					{UNMAP, .location = DATA},
					{STORE, AT(START, RELAXED), .value = 2},
					{STORE, AT(NUMBER, RELEASE), .value = 2}},
				[LATER_LOGGER] =
					{{LOAD, AT(NUMBER, ACQUIRE), .to = 0, IF(2, 4)},
						{ADD, AT(USERS, SEQUENTIAL), .value = 1},
						{LOAD, AT(START, RELAXED), .to = 1},
						{ADD, AT(USERS, SEQUENTIAL), .value = -1}},
			},
};

static bool
is_started(const struct execution *execution)
{
	const int *read = execution->threads[LATER_LOGGER].registers;

	return read[0] != 2 || read[1] == 2;
}

/* With the order of one step instead. */
static unsigned
count_wrong_windows(int thread, int step, enum order order)
{
	struct model weak = window_model;

	weak.is_right = is_started;
	weak.steps[thread][step].order = order;
	return count_wrong(&weak, NUMBER);
}

static void
windows(void **state)
{
	(void)state;
	assert_int_equal(count_wrong_windows(LOGGER, 1, SEQUENTIAL), 0);
	assert_int_not_equal(count_wrong_windows(LOGGER, 1, ACQUIRE_RELEASE), 0);
	assert_int_not_equal(count_wrong_windows(LOGGER, 2, ACQUIRE), 0);
	assert_int_not_equal(count_wrong_windows(LOGGER, 5, RELAXED), 0);
	assert_int_not_equal(count_wrong_windows(RETIRER, 0, RELEASE), 0);
	assert_int_not_equal(count_wrong_windows(RETIRER, 1, ACQUIRE), 0);
	assert_int_not_equal(count_wrong_windows(RETIRER, 4, RELAXED), 0);
}

/*
 * unify/sample/live_blocks.c: a thread defers a block whose filter bit another
 * clears for a block that it has removed; a third takes what was deferred.
 */

enum { CELL, WAITING, ITEM, BIT };
enum { DEFERRER, REMOVER, TAKER };
enum { FREE, CLAIMED, READY };

static const struct model deferral_model = {
	.steps =
		{
			[DEFERRER] = {{SWAP, AT(CELL, ACQUIRE_RELEASE), .value = CLAIMED,
					      IF(FREE, 5)},
				{STORE, AT(ITEM, RELAXED), .value = 1},
				{ADD, AT(WAITING, ACQUIRE_RELEASE), .value = 1},
				{STORE, AT(CELL, SEQUENTIAL), .value = READY},
				{ADD, AT(BIT, SEQUENTIAL),
					.value = 2}}, /* more than was cleared */
			[REMOVER] = {{ADD, AT(BIT, SEQUENTIAL), .value = -1},
				{LOAD, AT(WAITING, ACQUIRE), IF(1, 5)},
				{LOAD, AT(CELL, SEQUENTIAL), IF(READY, 5)},
				{LOAD, AT(ITEM, RELAXED), .to = 0},
				{ADD, AT(BIT, SEQUENTIAL), .value = 4, .to = 0}},
			/* What waits may be something else. */
			[TAKER] = {{LOAD, AT(CELL, SEQUENTIAL), .to = 0, IF(READY, 2)},
				{LOAD, AT(ITEM, RELAXED), .to = 1}},
		},
};

/* Values of BIT: a clear after the set leaves 2 of 3, and must have seen the block and set it, by 4. */
static bool
is_found(const struct execution *execution)
{
	const struct store *bits = execution->stores[BIT];
	const int *taken = execution->threads[TAKER].registers;
	bool is_cleared_after = execution->counts[BIT] > 2 && bits[1].value == 3;

	return (!is_cleared_after || last_value(execution, BIT) >= 4) &&
	       (taken[0] != READY || taken[1] == 1);
}

static unsigned
count_wrong_deferrals(int thread, int step, enum order order)
{
	struct model weak = deferral_model;

	weak.is_right = is_found;
	weak.steps[thread][step].order = order;
	return count_wrong(&weak, BIT);
}

static void
deferrals(void **state)
{
	(void)state;
	assert_int_equal(count_wrong_deferrals(REMOVER, 0, SEQUENTIAL), 0);
	assert_int_not_equal(count_wrong_deferrals(REMOVER, 0, RELAXED), 0);
	assert_int_not_equal(count_wrong_deferrals(DEFERRER, 4, RELAXED), 0);
	assert_int_not_equal(count_wrong_deferrals(DEFERRER, 3, RELAXED), 0);
	assert_int_not_equal(count_wrong_deferrals(TAKER, 0, RELAXED), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),
		cmocka_unit_test(windows),
		cmocka_unit_test(deferrals),
	};

	return cmocka_run_group_tests_name("memory order", tests, NULL, NULL);
}
