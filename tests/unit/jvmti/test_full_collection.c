/* SPDX-License-Identifier: Apache-2.0 */
/* The collection at exit is given up when the end becomes urgent; a VM that never collects stands in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "jvmti/heap/collections.h"
#include "jvmti/heap/full_collection.h"
#include "unify/shared/clock.h"

static struct {
	unsigned collections; /* requested */
	unsigned abandoned;
} vm;

/* As at a second signal while the VM collects. */
static jvmtiError JNICALL
collect_nothing(jvmtiEnv *jvmti)
{
	(void)jvmti;
	vm.collections++;
	vm.abandoned += th_full_collection_abandon();
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ functions = {.ForceGarbageCollection = collect_nothing};
static jvmtiEnv environment = &functions;

static void
log_nothing(void)
{
	fail();
}

static void *
end(void *argument)
{
	th_full_collection_at_exit();
	return argument;
}

/* Without it, the VM would be asked 50 times, and the thread would wait until then. */
static void
test_abandoned(void **state)
{
	const struct th_full_collection_plan plan = {.at_exit = TH_GC_AT_EXIT_ALWAYS};
	pthread_t thread;

	(void)state;
	th_collections_init(TH_COLLECTOR_PAUSES);
	assert_false(th_full_collection_abandon());
	th_full_collection_start(&plan);
	assert_int_equal(pthread_create(&thread, NULL, end, NULL), 0);
	while (!vm.collections) {
		th_full_collection_exit_turn(&environment, log_nothing);
		sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(vm.collections, 1);
	assert_int_equal(vm.abandoned, 1);
	/* It does not begin any more, nor is it waited for. */
	th_full_collection_at_exit();
	th_full_collection_exit_turn(&environment, log_nothing);
	assert_int_equal(vm.collections, 1);
	th_full_collection_stop();
}

/* 2.4 s per GiB, the slowest that was measured, is less than what is waited for. */
static void
test_ends_in_time(void **state)
{
	const double slowest = 2.4 / (1 << 30);

	(void)state;
	assert_true(
		(double)TH_FULL_COLLECTION_EXIT_BYTES * slowest < TH_FULL_COLLECTION_WAIT_S);
	assert_int_equal(TH_FULL_COLLECTION_WAIT_S, 2);
	assert_true(th_full_collection_fits(TH_FULL_COLLECTION_EXIT_BYTES, 0));
	assert_false(th_full_collection_fits(TH_FULL_COLLECTION_EXIT_BYTES + 1, 0));
	assert_true(th_full_collection_fits(1, TH_FULL_COLLECTION_EXIT_PAUSE));
	assert_false(th_full_collection_fits(1, TH_FULL_COLLECTION_EXIT_PAUSE + 1));
}

/* Weak references cost time in pauses of collectors that process them there. */
static void
test_mean_pause(void **state)
{
	(void)state;
	th_collections_init(TH_COLLECTOR_G1);
	for (int i = 0; i < 20; i++) {
		th_collections_started(&environment);
		th_collections_finished(&environment);
	}
	assert_in_range(th_collections_mean_pause(), 1, TH_NS_PER_S);
	th_collections_init(TH_COLLECTOR_CONCURRENT);
	assert_int_equal(th_collections_mean_pause(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_ends_in_time),
		cmocka_unit_test(test_mean_pause),
	};

	return cmocka_run_group_tests_name("full_collection", tests, NULL, NULL);
}
