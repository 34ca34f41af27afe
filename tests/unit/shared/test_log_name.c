/* SPDX-License-Identifier: Apache-2.0 */
/* Names of logs, as expanded from a pattern by the library and by `twinheap run`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unify/shared/log_name.h"

static const char *
expand(const char *pattern, const char *pid)
{
	static char name[512];

	strcpy(name, "/d/");
	assert_true(th_log_name_expand(pattern, pid, name, sizeof(name)));
	return name + 3;
}

static void
test_patterns(void **state)
{
	char host[256] = "";
	char expected[512];

	(void)state;
	assert_string_equal(expand("a.%p.thl", "12"), "a.12.thl");
	assert_string_equal(expand("%%p%x%", "12"), "%p%x%");
	assert_string_equal(expand("%%%p", "12"), "%12");
	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "%s-12", host);
	assert_string_equal(expand("%h-%p", "12"), expected);
}

/* Without a process id the result is a pattern with the same expansions. */
static void
test_patterns_that_remain(void **state)
{
	char host[256] = "";

	(void)state;
	assert_string_equal(expand("a%%.%p.%x%", NULL), "a%%.%p.%x%");
	gethostname(host, sizeof(host) - 1);
	if (!strchr(host, '%'))
		assert_string_equal(expand("%h", NULL), host);
}

/* Space for exactly 5 bytes and the NUL, and for one less. */
static void
test_what_does_not_fit_is_cut(void **state)
{
	char name[6] = "";

	(void)state;
	assert_true(th_log_name_expand("a%p", "1234", name, sizeof(name)));
	assert_string_equal(name, "a1234");
	name[0] = '\0';
	assert_false(th_log_name_expand("a%p", "1234", name, sizeof(name) - 1));
	assert_string_equal(name, "a123");
}

static void
test_process_id_in_the_last_component(void **state)
{
	(void)state;
	assert_true(th_log_name_has_pid("/d/a.%p"));
	assert_true(th_log_name_has_pid("%%%p"));
	assert_false(th_log_name_has_pid("/%p/a"));
	assert_false(th_log_name_has_pid("a.%%p"));
}

static void
check_insert(const char *name, const char *expected)
{
	char text[32];

	snprintf(text, sizeof(text), "%s", name);
	assert_true(th_log_name_insert(text, sizeof(text), "12"));
	assert_string_equal(text, expected);
}

static void
test_number_before_the_extension(void **state)
{
	char full[8] = "abc.thl";

	(void)state;
	check_insert("/d/a.thl", "/d/a.12.thl");
	check_insert("/d.e/a", "/d.e/a.12");
	check_insert("a.7.thl", "a.7.12.thl");
	check_insert(".thl", ".12.thl");
	assert_false(th_log_name_insert(full, sizeof(full), "12"));
	assert_string_equal(full, "abc.thl");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_patterns_that_remain),
		cmocka_unit_test(test_what_does_not_fit_is_cut),
		cmocka_unit_test(test_process_id_in_the_last_component),
		cmocka_unit_test(test_number_before_the_extension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
