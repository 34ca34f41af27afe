/* SPDX-License-Identifier: Apache-2.0 */
/* IDs of methods, in a VM that is simulated by blocks of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/method_ids.h"

#define NOWHERE ((uintptr_t)1 << 46)

static uintptr_t ids[4] = {3, 0x11, 0, 0x33};
static struct {
	uintptr_t vtable;
	uintptr_t *method_ids;
} holder;
static struct {
	uintptr_t vtable;
	const void *holder;
} pool;
static struct {
	uintptr_t vtable;
	const void *pool;
	uint8_t others[6];
	uint16_t number; /* at an odd place for a word */
} fixed;
static struct {
	uintptr_t vtable;
	const void *fixed;
} method;
static struct th_hotspot hotspot;

static int
set_up(void **state)
{
	(void)state;
	holder.method_ids = ids;
	pool.holder = &holder;
	fixed.pool = &pool;
	fixed.number = 0;
	method.fixed = &fixed;
	hotspot = (struct th_hotspot){
		.method_fixed = offsetof(__typeof(method), fixed),
		.fixed_pool = offsetof(__typeof(fixed), pool),
		.fixed_number = offsetof(__typeof(fixed), number),
		.pool_holder = offsetof(__typeof(pool), holder),
		.class_method_ids = offsetof(__typeof(holder), method_ids),
	};
	return 0;
}

/* False: not a method; then *ret is NULL. */
static bool
read_id(uintptr_t *ret)
{
	jmethodID id;
	bool is_method = th_method_ids_read(&hotspot, (uintptr_t)&method, &id);

	*ret = (uintptr_t)id;
	return is_method;
}

static void
test_the_id_is_found_and_remembered(void **state)
{
	uintptr_t id;

	(void)state;
	assert_true(th_hotspot_has_method_ids(&hotspot));
	assert_true(read_id(&id));
	assert_int_equal(id, 0x11);
	assert_int_equal((uintptr_t)th_method_ids_remembered((uintptr_t)&method), 0x11);
	/* Another method at the same address. */
	fixed.number = 2;
	assert_true(read_id(&id));
	assert_int_equal(id, 0x33);
	assert_int_equal((uintptr_t)th_method_ids_remembered((uintptr_t)&method), 0x33);
	assert_null(th_method_ids_remembered((uintptr_t)&method + 8));
}

/* No array yet, no entry yet, and an array that is older than the method. */
static void
test_no_id_yet(void **state)
{
	uintptr_t id;

	(void)state;
	fixed.number = 1;
	assert_true(read_id(&id));
	assert_int_equal(id, 0);
	fixed.number = 3;
	assert_true(read_id(&id));
	assert_int_equal(id, 0);
	holder.method_ids = NULL;
	assert_true(read_id(&id));
	assert_int_equal(id, 0);
}

static void
test_memory_that_is_no_method(void **state)
{
	const void *nothing = (const void *)NOWHERE;
	jmethodID found;
	uintptr_t id;

	(void)state;
	assert_false(th_method_ids_read(&hotspot, 0, &found));
	assert_false(th_method_ids_read(&hotspot, 3, &found));
	holder.method_ids = (uintptr_t *)NOWHERE;
	assert_false(read_id(&id));
	pool.holder = nothing;
	assert_false(read_id(&id));
	fixed.pool = nothing;
	assert_false(read_id(&id));
	method.fixed = nothing;
	assert_false(read_id(&id));
	method.fixed = NULL;
	assert_false(read_id(&id));
	assert_int_equal(id, 0);
}

static void
test_a_vm_that_does_not_export_them(void **state)
{
	(void)state;
	hotspot.pool_holder = -1;
	assert_false(th_hotspot_has_method_ids(&hotspot));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_id_is_found_and_remembered, set_up),
		cmocka_unit_test_setup(test_no_id_yet, set_up),
		cmocka_unit_test_setup(test_memory_that_is_no_method, set_up),
		cmocka_unit_test_setup(test_a_vm_that_does_not_export_them, set_up),
	};

	return cmocka_run_group_tests_name("method ids", tests, NULL, NULL);
}
