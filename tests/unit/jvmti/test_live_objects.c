/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many objects are followed: as many as add 2 % to the mean pause of the collector; and no
 * reference is left behind.  A VM that only counts stands in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/live_objects.h"
#include "unify/shared/log_format.h"

#define OBJECTS 200000
/* Less than the queue holds. */
#define TURN 1000
/* The assumed cost of a reference, and the part of a pause that all of them take: live_objects.c. */
#define OLD_NS 60
#define PAUSE_PARTS 50

static const struct th_hotspot hotspot;
static int64_t references;

static jweak JNICALL
new_weak(JNIEnv *env, jobject object)
{
	(void)env;
	references++;
	return object;
}

static void JNICALL
delete_weak(JNIEnv *env, jweak reference)
{
	(void)env, (void)reference;
	references--;
}

/* All objects stay alive. */
static jboolean JNICALL
is_same(JNIEnv *env, jobject one, jobject other)
{
	(void)env;
	return one == other;
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
	return th_live_objects_init() ? 0 : 1;
}

static int
tear_down(void **state)
{
	(void)state;
	th_live_objects_release(&env);
	th_live_objects_restart(&env);
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
		th_live_objects_bound(&env, pause_ns, (uint32_t)(i / TURN) * pauses);
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
	th_live_objects_begin(&hotspot, TH_COLLECTOR_PAUSES);
	for (size_t i = 0; i < 3; i++) {
		uint64_t bound = pauses_ns[i] / PAUSE_PARTS / OLD_NS;
		uint32_t most = follow_many(pauses_ns[i], 10);

		print_message("pauses of %g ms: at most %u followed\n",
			(double)pauses_ns[i] / 1e6, most);
		assert_true(most <= bound);
		/* A thinning keeps half of three quarters at least, give or take some. */
		assert_true(most >= bound / 4);
		th_live_objects_release(&env);
		th_live_objects_restart(&env);
	}
}

/* Short pauses: some are followed in any case. */
static void
test_some_are_followed_in_any_case(void **state)
{
	(void)state;
	th_live_objects_begin(&hotspot, TH_COLLECTOR_G1);
	uint32_t most = follow_many(10000, 10);
	assert_in_range(most, 32, 128);
}

/* Without pauses only the table is a bound. */
static void
test_concurrent_collectors_have_the_whole_table(void **state)
{
	(void)state;
	th_live_objects_begin(&hotspot, TH_COLLECTOR_CONCURRENT);
	uint32_t most = follow_many(10000, 10);
	assert_in_range(most, TH_LIVE_OBJECTS_MAX / 2, TH_LIVE_OBJECTS_MAX);
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
			test_concurrent_collectors_have_the_whole_table, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
