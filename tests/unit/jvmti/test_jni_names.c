/* SPDX-License-Identifier: Apache-2.0 */
/* The functions in the table of JNI are named in the log, each as far as its code reaches. */
#include "tests/unit/log/log_fixture.h"

#include <string.h>

#include "jvmti/names/jni_names.h"
#include "unify/log/module.h"

#define LARGE ((uint64_t)64 << 20)

static jint JNICALL
get_version(JNIEnv *env)
{
	(void)env;
	return 0x00150000;
}

__attribute__((noinline)) static jclass JNICALL
find_class(JNIEnv *env, const char *name)
{
	return (jclass)(uintptr_t)(name + (env != NULL));
}

static void
test_names_and_sizes(void **state)
{
	struct JNINativeInterface_ table = {.GetVersion = get_version, .FindClass = find_class};
	JNIEnv env = &table;
	struct log_image image;

	(void)state;
	th_jni_names_log(&env);
	const struct th_module *module = th_module_find((uintptr_t)find_class);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_SYMBOL), 2);
	const struct th_event_symbol *version = log_image_get(&image, TH_EVENT_SYMBOL, 0);
	const struct th_event_symbol *found = log_image_get(&image, TH_EVENT_SYMBOL, 1);
	log_image_assert_text(version, sizeof(*version), "jni_GetVersion");
	log_image_assert_text(found, sizeof(*found), "jni_FindClass");
	assert_int_equal(found->module, module->id);
	assert_int_equal(found->offset, (uintptr_t)find_class - module->bias);
	assert_in_range(found->size, 1, 4096);
	log_image_close(&image);
}

/* A name applies to a whole function: one for an address inside it would be wrong. */
static void
test_nothing_inside_a_function(void **state)
{
	struct JNINativeInterface_ table = {.GetVersion = get_version};
	uintptr_t inside = (uintptr_t)find_class + 1;
	JNIEnv env = &table;
	struct log_image image;

	(void)state;
	memcpy((void *)&table.FindClass, &inside, sizeof(inside));
	th_jni_names_log(&env);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_SYMBOL), 1);
	log_image_close(&image);
}

static int
set_up(void **state)
{
	(void)state;
	assert_true(th_module_init());
	log_fixture_open(LARGE);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_names_and_sizes, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			test_nothing_inside_a_function, set_up, log_fixture_teardown),
	};

	return cmocka_run_group_tests_name("names of JNI's functions", tests, NULL, NULL);
}
