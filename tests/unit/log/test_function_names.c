/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that occur in stacks are named in the log, once each. */
#include "tests/unit/log/log_fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/log/function_names.h"
#include "unify/log/module.h"
#include "unify/log/stack_log.h"

#define LARGE ((uint64_t)64 << 20)
#define LIBRARY TH_TEST_BUILD "/tests/programs/libvanishing.so"

static void *library;

static uint64_t
word_of(const char *function, uint64_t offset)
{
	uintptr_t address = (uintptr_t)dlsym(library, function);
	const struct th_module *module = th_module_find(address);

	assert_non_null(module);
	return th_frame_native(module->id, address - module->bias + offset);
}

static int
start(void **state)
{
	(void)state;
	library = dlopen(LIBRARY, RTLD_NOW);
	assert_non_null(library);
	assert_true(th_module_init());
	log_fixture_open(LARGE);
	return 0;
}

static int
stop(void **state)
{
	th_stack_log_reset();
	dlclose(library);
	return log_fixture_teardown(state);
}

static void
add_stack(uint64_t word)
{
	const uint64_t frames[] = {word, th_frame_java(1, 2), th_frame_native(0, 0x1234),
		th_frame_marker(TH_MARKER_VIRTUAL_THREAD)};

	uint32_t *use;

	assert_int_not_equal(th_stack_log_id(frames, 4, 0, &use), 0);
}

static void
assert_symbols(const char *const *names)
{
	struct log_image image;
	size_t count = 0;

	log_image_open(&image);
	for (; names[count]; count++) {
		const struct th_event_symbol *event = log_image_get(
			&image, TH_EVENT_SYMBOL, count);

		log_image_assert_text(event, sizeof(*event), names[count]);
		assert_true(event->size > 1);
	}
	assert_int_equal(log_image_count(&image, TH_EVENT_SYMBOL), count);
	log_image_close(&image);
}

static void
test_each_function_once(void **state)
{
	(void)state;
	add_stack(word_of("vanishing_work", 1));
	add_stack(word_of("vanishing_work", 9));
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", NULL});
	add_stack(word_of("vanishing_work", 2));
	add_stack(word_of("vanishing_exported", 1));
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", "vanishing_exported", NULL});
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", "vanishing_exported", NULL});
}

/* The second call comes within a hundred times of what the first one took. */
static void
test_reading_is_limited(void **state)
{
	(void)state;
	add_stack(word_of("vanishing_work", 1));
	th_function_names_log(false);
	add_stack(word_of("vanishing_exported", 1));
	th_function_names_log(false);
	assert_symbols((const char *const[]){"vanishing_work", NULL});
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", "vanishing_exported", NULL});
}

static void
test_addresses_without_a_function(void **state)
{
	uint64_t word = word_of("vanishing_work", 0);

	(void)state;
	add_stack(th_frame_native(th_frame_module(word), 1));
	add_stack(th_frame_native(th_frame_module(word), 0xffffffffffff));
	th_function_names_log(true);
	assert_symbols((const char *const[]){NULL});
	assert_int_equal(th_log_header()->counters[TH_COUNTER_NAMES_MISSING], 2);
}

/* A forked child writes a log of its own. */
static void
test_reset(void **state)
{
	(void)state;
	add_stack(word_of("vanishing_work", 1));
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", NULL});
	log_fixture_detach();
	th_stack_log_reset();
	log_fixture_open(LARGE);
	add_stack(word_of("vanishing_work", 1));
	th_function_names_log(true);
	assert_symbols((const char *const[]){"vanishing_work", NULL});
}

static void
test_set_of_addresses_is_bounded(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * TH_MET_MAX; i++) {
		th_met_add(th_frame_native(1, 16 * (uint64_t)(i % (TH_MET_MAX + 10))));
		if (i == TH_MET_MAX - 1)
			assert_int_equal(th_log_header()->counters[TH_COUNTER_NAMES_FULL], 0);
	}
	/* Ten addresses too many, each counted when it is first met. */
	assert_int_equal(th_log_header()->counters[TH_COUNTER_NAMES_FULL], 10);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_each_function_once),
		CASE(test_reading_is_limited),
		CASE(test_addresses_without_a_function),
		CASE(test_reset),
		CASE(test_set_of_addresses_is_bounded),
	};

	return cmocka_run_group_tests_name("function names", tests, NULL, NULL);
}
