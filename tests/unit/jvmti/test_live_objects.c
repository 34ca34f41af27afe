/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many objects are followed: as many as add 2 % to the mean pause of the collector, old and new
 * ones each; and no reference is left behind.  A VM that only counts stands in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "jvmti/heap/live_objects.h"
#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"

#define OBJECTS 200000
#define THREADS 4
#define PER_THREAD 10000
/* Less than the table has room for beyond its limit. */
#define TURN 1000
/* The assumed cost of a reference, and the part of a pause that all of them take: live_objects.c. */
#define OLD_NS 60
#define NEW_NS 100
#define PAUSE_PARTS 50
/* At which new objects are averaged, and the time that has to pass as well: live_objects.c. */
#define WINDOW_PAUSES 64
#define WINDOW_NS 2000000000
/* References may add so much to a pause in all. */
#define ADDED_PERCENT_MAX 5
/* References to new objects alone: 2 %, and six times the standard deviation of a window. */
#define NEW_PERCENT_MAX 2.1

static const struct th_hotspot hotspot;
static int64_t references;
static uint64_t created;
static bool all_die;

static jweak JNICALL
new_weak(JNIEnv *env, jobject object)
{
	(void)env;
	th_add_relaxed(&references, 1);
	th_add_relaxed(&created, 1);
	return object;
}

static void JNICALL
delete_weak(JNIEnv *env, jweak reference)
{
	(void)env, (void)reference;
	th_add_relaxed(&references, -1);
}

static jboolean JNICALL
is_same(JNIEnv *env, jobject one, jobject other)
{
	(void)env;
	return one == other || (!other && all_die);
}

static const struct JNINativeInterface_ functions = {
	.NewWeakGlobalRef = new_weak,
	.DeleteWeakGlobalRef = delete_weak,
	.IsSameObject = is_same,
};
static JNIEnv env = &functions;

static int
set_up(void **state)
{
	(void)state;
	references = 0;
	created = 0;
	all_die = false;
	return th_live_objects_init() ? 0 : 1;
}

static int
tear_down(void **state)
{
	(void)state;
	th_live_objects_release(&env);
	return references != 0;
}

/*
 * Follows OBJECTS objects; after each TURN of them there have been `pauses` more pauses of `pause_ns`.
 * Returns the most that were followed after such a turn.
 */
static uint32_t
follow_many(uint64_t pause_ns, uint32_t pauses)
{
	static char object;
	uint32_t most = 0;

	for (uint64_t i = 1; i <= OBJECTS; i++) {
		struct th_sampled_object sampled = {
			.reference = (jobject)(void *)&object, .size = 64, .sample = i};

		th_live_objects_follow(&env, &sampled);
		if (i % TURN)
			continue;
		th_live_objects_reap(&env);
		th_live_objects_bound(&env, pause_ns, (uint32_t)(i / TURN) * pauses, 0);
		if (th_live_objects_count() > most)
			most = th_live_objects_count();
		assert_int_equal(references, th_live_objects_count());
	}
	return most;
}

static void
test_references_add_little_to_pauses(void **state)
{
	static const uint64_t pauses_ns[] = {2000000, 20000000, 100000000};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint64_t bound = pauses_ns[i] / PAUSE_PARTS / OLD_NS;

		th_live_objects_begin(&env, &hotspot, TH_COLLECTOR_PAUSES);
		uint32_t most = follow_many(pauses_ns[i], 10);

		print_message("pauses of %g ms: at most %u followed\n",
			(double)pauses_ns[i] / 1e6, most);
		assert_true(most <= bound);
		/* A thinning keeps half of three quarters at least, give or take some. */
		assert_true(most >= bound / 4);
		th_live_objects_release(&env);
	}
}

/* Short pauses: some are followed in any case. */
static void
test_some_are_followed_in_any_case(void **state)
{
	(void)state;
	th_live_objects_begin(&env, &hotspot, TH_COLLECTOR_G1);
	uint32_t most = follow_many(10000, 10);
	assert_in_range(most, 32, 128);
}

/*
 * Before each pause of a window, `count` objects are sampled, all of which die in it if `all_die`.
 * Returns how much the references have added to the pauses, in percent.
 */
static double
percent_of_window(uint32_t window, uint64_t pause_ns, uint32_t count)
{
	static char object;
	static uint64_t sample;
	uint64_t old = 0;

	created = 0;
	for (uint32_t pause = 1; pause <= WINDOW_PAUSES; pause++) {
		for (uint32_t i = 0; i < count; i++)
			th_live_objects_follow(
				&env, &(struct th_sampled_object){
					      .reference = (jobject)(void *)&object,
					      .size = 64,
					      .sample = ++sample});
		old += th_live_objects_count();
		th_live_objects_reap(&env);
		th_live_objects_bound(&env, pause_ns, window * WINDOW_PAUSES + pause,
			(uint64_t)window * WINDOW_NS +
				(uint64_t)pause * (WINDOW_NS / WINDOW_PAUSES));
	}
	return 100.0 * (double)(created * NEW_NS + old * OLD_NS) /
	       ((double)pause_ns * WINDOW_PAUSES);
}

/* The first window is measured; at the end of the second the level is raised for it. */
static void
check_windows(uint64_t pause_ns, uint32_t count)
{
	double most = all_die ? NEW_PERCENT_MAX : ADDED_PERCENT_MAX;
	double before = percent_of_window(0, pause_ns, count);
	double percent = 0;

	percent_of_window(1, pause_ns, count);
	for (uint32_t window = 2; window < 8; window++) {
		percent = percent_of_window(window, pause_ns, count);
		assert_true(percent <= most);
	}
	print_message(
		"pauses of %g ms, %u new objects in each: %.2f %% longer, first %.2f %%\n",
		(double)pause_ns / 1e6, count, percent, before);
	/* Old ones are bounded at once, which thins new ones, too. */
	assert_true(!all_die || before > most);
	/* Not thinned beyond need. */
	assert_true(percent >= 0.4);
}

/* Sampled objects fit into the room beyond the limit of the table. */
static void
test_new_references_add_little_to_pauses(void **state)
{
	(void)state;
	for (all_die = false;; all_die = true) {
		for (uint64_t pause_ns = 1000000; pause_ns <= 4000000; pause_ns *= 2) {
			th_live_objects_begin(&env, &hotspot, TH_COLLECTOR_PAUSES);
			check_windows(pause_ns, (uint32_t)(pause_ns / 500));
			th_live_objects_release(&env);
		}
		if (all_die)
			break;
	}
}

/* Where references cost pauses no time only the table is a bound. */
static void
test_concurrent_collectors_have_the_whole_table(void **state)
{
	(void)state;
	th_live_objects_begin(&env, &hotspot, TH_COLLECTOR_CONCURRENT);
	uint32_t most = follow_many(0, 10);
	assert_in_range(most, TH_LIVE_OBJECTS_MAX / 2, TH_LIVE_OBJECTS_MAX);
}

/* As allocating threads; `data`: the number of the first sample. */
static void *
follow_some(void *data)
{
	static char object;

	for (uint64_t i = 0; i < PER_THREAD; i++) {
		struct th_sampled_object sampled = {.reference = (jobject)(void *)&object,
			.size = 64,
			.sample = (uintptr_t)data + i};

		th_live_objects_follow(&env, &sampled);
	}
	return NULL;
}

static void
note_sample(jweak reference, uint64_t sample, void *data)
{
	bool *is_followed = data;

	assert_non_null(reference);
	assert_in_range(sample, 1, THREADS * PER_THREAD);
	assert_false(is_followed[sample]);
	is_followed[sample] = true;
}

/* All of them are there, once. */
static void
test_threads(void **state)
{
	static bool is_followed[THREADS * PER_THREAD + 1];
	pthread_t threads[THREADS];

	(void)state;
	th_live_objects_begin(&env, &hotspot, TH_COLLECTOR_CONCURRENT);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, follow_some,
					 (void *)(i * PER_THREAD + 1)),
			0);
	while (th_load_relaxed(&created) < THREADS * PER_THREAD)
		th_live_objects_collect(&env);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	th_live_objects_collect(&env);
	print_message("%u of %u followed\n", th_live_objects_count(), THREADS * PER_THREAD);
	assert_int_equal(references, th_live_objects_count());
	assert_int_equal(th_live_objects_count(), THREADS * PER_THREAD);
	th_live_objects_each(note_sample, is_followed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_references_add_little_to_pauses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_some_are_followed_in_any_case, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_new_references_add_little_to_pauses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_concurrent_collectors_have_the_whole_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
