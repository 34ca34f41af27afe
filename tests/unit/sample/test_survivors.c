/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples count as survivors of their sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unify/sample/survivors.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

#define START (100 * (uint64_t)TH_NS_PER_S)
#define AFTER(seconds) (START + (uint64_t)((seconds) * (double)TH_NS_PER_S))

static struct th_site_rates sites;

static struct th_survivor_origin
site_on(uint64_t number, uint64_t path)
{
	return (struct th_survivor_origin){.far = th_hash_mix(number), .path = path};
}

/* On a path of its own. */
static struct th_survivor_origin
site(uint64_t number)
{
	return site_on(number, th_hash_mix(number + 1000));
}

/* Of one row: sites that share its slot are unlikely here. */
static unsigned
count(enum th_heap heap, uint64_t number, double seconds)
{
	th_survivors_count(heap, START, AFTER(seconds), &sites);
	return sites.survivors[0][(uint32_t)site(number).far % TH_SITE_SLOTS];
}

static int
start(void **state)
{
	(void)state;
	th_survivors_reset();
	memset(&sites, 0, sizeof(sites));
	return 0;
}

static void
what_has_lived_for_some_time(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		th_survivors_add(TH_HEAP_NATIVE, site(1), 1000 + i, AFTER(0.1 * (double)i));
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 1), 0);
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 2.55), 6);
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 4), 10);
	assert_int_equal(count(TH_HEAP_NATIVE, 2, 4), 0);
	assert_int_equal(count(TH_HEAP_JAVA, 1, 4), 0);
	/* A sixth of the time so far, at most 10 s. */
	th_survivors_add(TH_HEAP_NATIVE, site(2), 2000, AFTER(30));
	assert_int_equal(count(TH_HEAP_NATIVE, 2, 35), 0);
	assert_int_equal(count(TH_HEAP_NATIVE, 2, 37), 1);
	th_survivors_add(TH_HEAP_NATIVE, site(3), 3000, AFTER(300));
	assert_int_equal(count(TH_HEAP_NATIVE, 3, 309), 0);
	assert_int_equal(count(TH_HEAP_NATIVE, 3, 311), 1);
}

static void
what_ends_is_none(void **state)
{
	(void)state;
	th_survivors_add(TH_HEAP_NATIVE, site(1), 1000, AFTER(0));
	th_survivors_add(TH_HEAP_NATIVE, site(1), 1001, AFTER(0));
	th_survivors_remove(TH_HEAP_NATIVE, 1000);
	th_survivors_remove(TH_HEAP_NATIVE, 1002);
	th_survivors_remove(TH_HEAP_NATIVE, 0);
	th_survivors_remove(TH_HEAP_JAVA, 1001);
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 4), 1);
}

/* Before a collection nothing is known of an object. */
static void
java_objects_survive_collections(void **state)
{
	(void)state;
	th_survivors_add(TH_HEAP_JAVA, site(1), 1000, AFTER(1));
	th_survivors_add(TH_HEAP_JAVA, site(1), 1001, AFTER(3));
	assert_int_equal(count(TH_HEAP_JAVA, 1, 20), 0);
	th_survivors_collected(AFTER(2));
	assert_int_equal(count(TH_HEAP_JAVA, 1, 20), 1);
	th_survivors_collected(AFTER(4));
	assert_int_equal(count(TH_HEAP_JAVA, 1, 20), 2);
}

/* What ends makes room, so that survivors stay in the table however many others there were. */
static void
others_do_not_displace_survivors(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		th_survivors_add(TH_HEAP_NATIVE, site(1), i, AFTER(0));
	for (uint64_t i = 101; i <= 100000; i++) {
		th_survivors_add(TH_HEAP_NATIVE, site(2), i, AFTER(1));
		if (i > 1100)
			th_survivors_remove(TH_HEAP_NATIVE, i - 1000);
	}
	assert_in_range(count(TH_HEAP_NATIVE, 1, 20), 95, 100);
}

/* A method that is compiled anew is another site, on the same path. */
static void
survivors_count_for_their_path(void **state)
{
	const uint64_t path = th_hash_mix(77), other = th_hash_mix(78);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		th_survivors_add(TH_HEAP_NATIVE, site_on(1 + i % 5, path), 1000 + i, AFTER(0));
	th_survivors_add(TH_HEAP_NATIVE, site_on(6, path), 2000, AFTER(20));
	th_survivors_add(TH_HEAP_NATIVE, site_on(9, other), 2001, AFTER(20));
	th_survivors_add(TH_HEAP_JAVA, site_on(8, path), 2002, AFTER(20));
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 21), 10);
	assert_int_equal(count(TH_HEAP_NATIVE, 6, 21), 10);
	assert_int_equal(count(TH_HEAP_NATIVE, 9, 21), 0);
	assert_int_equal(count(TH_HEAP_JAVA, 8, 21), 0);
	/* A site whose latest sample had another path keeps its own survivors. */
	th_survivors_add(TH_HEAP_NATIVE, site_on(1, other), 2003, AFTER(20));
	assert_int_equal(count(TH_HEAP_NATIVE, 1, 21), 2);
	th_survivors_reset();
	assert_int_equal(count(TH_HEAP_NATIVE, 6, 21), 0);
}

/* Mappings are not followed, and a full table forgets. */
static void
the_table_is_bounded(void **state)
{
	(void)state;
	th_survivors_add(TH_HEAP_MAPPED, site(1), 1000, AFTER(0));
	assert_int_equal(count(TH_HEAP_MAPPED, 1, 20), 0);
	for (uint64_t i = 1; i <= 100000; i++)
		th_survivors_add(TH_HEAP_NATIVE, site(1), i, AFTER(0));
	assert_in_range(count(TH_HEAP_NATIVE, 1, 20), 8000, 8192);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_has_lived_for_some_time, start),
		cmocka_unit_test_setup(what_ends_is_none, start),
		cmocka_unit_test_setup(java_objects_survive_collections, start),
		cmocka_unit_test_setup(others_do_not_displace_survivors, start),
		cmocka_unit_test_setup(survivors_count_for_their_path, start),
		cmocka_unit_test_setup(the_table_is_bounded, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
