/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the VM's exported tables; the VM is simulated by a block of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/vm/hotspot.h"

#define IN_NATIVE 4

static struct {
	void *table; /* so that no offset is 0 */
	uint64_t allocated_bytes;
	uintptr_t tlab_start, tlab_top;
	uintptr_t stack_base;
	int32_t state;
	JNIEnv env;
} thread;

static uintptr_t code_low, code_high, call_stub_return;
static struct th_hotspot hotspot;

static int
set_up(void **state)
{
	(void)state;
	thread.allocated_bytes = 123456;
	thread.tlab_start = 0x1000;
	thread.tlab_top = 0x2000;
	thread.stack_base = (uintptr_t)__builtin_frame_address(0) + 4096;
	thread.state = IN_NATIVE;
	code_low = 0x10000;
	code_high = 0x20000;
	call_stub_return = 0x10123;
	hotspot = (struct th_hotspot){
		.env = (char *)&thread.env - (char *)&thread,
		.thread_state = (char *)&thread.state - (char *)&thread,
		.last_java_sp = 8,
		.allocated_bytes = (char *)&thread.allocated_bytes - (char *)&thread,
		.tlab_start = (char *)&thread.tlab_start - (char *)&thread,
		.tlab_top = (char *)&thread.tlab_top - (char *)&thread,
		.stack_base = (char *)&thread.stack_base - (char *)&thread,
		.wrapper_last_java_sp = 8,
		.state_in_native = IN_NATIVE,
		.state_in_java = 8,
		.walkable_states = 1u << IN_NATIVE,
		.entry_frame_wrapper = -6,
		.code_low = &code_low,
		.code_high = &code_high,
		.call_stub_return = &call_stub_return,
	};
	return 0;
}

#define STATE "thread states;"
#define CODE_CACHE "the code cache;"
#define STACK "stack bounds;"
#define TLAB "byte counts;"

static char faults[256];

/* "the VM's exported offset of stack bounds is wrong: ..." */
static void
add_fault(const char *text)
{
	const char *what = strstr(text, " of ");

	assert_non_null(what);
	strncat(faults, what + 4, strcspn(what + 4, ":") - strlen(" is wrong"));
	strcat(faults, ";");
}

/* What is found wrong. */
static const char *
check(void)
{
	faults[0] = '\0';
	th_hotspot_check(&hotspot, &thread.env, add_fault);
	return faults;
}

static void
test_what_fits_stays(void **state)
{
	(void)state;
	assert_string_equal(check(), "");
	assert_true(th_hotspot_has_frames(&hotspot));
	assert_true(hotspot.stack_base > 0);
	assert_true(th_hotspot_has_bytes(&hotspot));
}

static void
test_another_state(void **state)
{
	(void)state;
	thread.state = 8;
	assert_string_equal(check(), STATE);
	assert_false(th_hotspot_has_frames(&hotspot));
	assert_true(th_hotspot_has_bytes(&hotspot));
}

static void
test_stub_outside_the_code_cache(void **state)
{
	(void)state;
	call_stub_return = code_high;
	assert_string_equal(check(), CODE_CACHE);
	assert_false(th_hotspot_has_frames(&hotspot));
}

static void
test_another_stack(void **state)
{
	(void)state;
	thread.stack_base = 0x1000;
	assert_string_equal(check(), STACK);
	assert_true(th_hotspot_has_frames(&hotspot));
	assert_true(hotspot.stack_base < 0);
}

static void
test_tlab_that_ends_before_its_start(void **state)
{
	(void)state;
	thread.tlab_top = 0xfff;
	assert_string_equal(check(), TLAB);
	assert_false(th_hotspot_has_bytes(&hotspot));
	assert_true(th_hotspot_has_frames(&hotspot));
}

/* An offset to unmapped memory is not dereferenced. */
static void
test_offset_into_nothing(void **state)
{
	(void)state;
	hotspot.thread_state = hotspot.tlab_top = INT64_C(1) << 46;
	assert_string_equal(check(), STATE TLAB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_fits_stays, set_up),
		cmocka_unit_test_setup(test_another_state, set_up),
		cmocka_unit_test_setup(test_stub_outside_the_code_cache, set_up),
		cmocka_unit_test_setup(test_another_stack, set_up),
		cmocka_unit_test_setup(test_tlab_that_ends_before_its_start, set_up),
		cmocka_unit_test_setup(test_offset_into_nothing, set_up),
	};

	return cmocka_run_group_tests_name("hotspot", tests, NULL, NULL);
}
