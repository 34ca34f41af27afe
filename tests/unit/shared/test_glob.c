/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's globs against fnmatch(3): for many globs, hand-written and random, and many
 * names both agree.  A glob with a comma matches where one of its parts does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fnmatch.h>
#include <string.h>

#include "unify/sample/poisson.h"
#include "unify/shared/glob.h"

#define SEED 20261121
#define GLOBS 20000
#define NAMES 20

static bool
ours(const char *glob, const char *name)
{
	const char *problem = th_glob_problem(glob);

	if (problem)
		fail_msg("%s: %s", glob, problem);
	return th_glob_matches(glob, name);
}

static void
names_of_threads(void **state)
{
	static const char *const globs[] = {"", "*", "?", "main", "main*", "*main", "worker-?",
		"worker-[0-9]", "worker-[0-9]*", "http-nio-[0-9]*-exec-*", "G1 *#[0-3]",
		"[!a-y]", "[^a-y]*", "[]]", "[!]a]", "[]-a]", "[a-]", "[-a]", "[a\\]]*",
		"[--0]", "[z-a]", "\\*", "\\[x\\]", "\\a", "**", "*a*b*", "a?c", "?\xc3",
		"[\x80-\xff]", "[*]", "[?]", "]", "a]", "*-*-*-1?", "[[]x]", "[!-]"};
	static const char *const names[] = {"", "main", "main ", "a main", "worker-1",
		"worker-10", "worker-", "http-nio-8080-exec-12", "G1 Young RemSet#2",
		"G1 Conc#0", "]", "-", "a", "b", "z", "ab", "xaxbx", "*", "?", "[x]", "a\xc3",
		"\xc3", "abc", "a.c", "Thread-7", "C2 CompilerThread0", "/x", ".x"};

	(void)state;
	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			if (ours(globs[i], names[j]) != !fnmatch(globs[i], names[j], 0))
				fail_msg("\"%s\" and \"%s\"", globs[i], names[j]);
		}
	}
}

static void
several_globs(void **state)
{
	(void)state;
	assert_true(ours("main,worker-*", "main"));
	assert_true(ours("main,worker-*", "worker-1"));
	assert_false(ours("main,worker-*", "main,worker-1"));
	assert_false(ours("main,worker-*", "mainworker-1"));
	assert_false(ours("*x,*y", "z"));
	/* An empty glob matches the empty name. */
	assert_true(ours("main,", ""));
	assert_false(ours("main,", "x"));
	/* Commas in names. */
	assert_true(ours("a\\,b", "a,b"));
	assert_true(ours("a[,]b", "a,b"));
	assert_false(ours("a\\,b", "a"));
	assert_true(ours("a*", "a,b"));
}

static void
random_text(struct th_random *random, const char *bytes, size_t max, char *ret)
{
	size_t length = th_random_next(random) % max;
	size_t kinds = strlen(bytes);

	for (size_t i = 0; i < length; i++)
		ret[i] = bytes[th_random_next(random) % kinds];
	ret[length] = '\0';
}

static void
random_globs(void **state)
{
	struct th_random random;
	unsigned compared = 0;
	unsigned matched = 0;

	(void)state;
	th_random_seed(&random, SEED);
	for (int i = 0; i < GLOBS; i++) {
		char glob[16];

		random_text(&random, "ab***?[[]]!^-\\c", sizeof(glob), glob);
		/* Plain text for fnmatch(). */
		if (th_glob_problem(glob))
			continue;
		for (int j = 0; j < NAMES; j++) {
			char name[12];
			bool is_match;

			random_text(&random, "aab[]-!^c", sizeof(name), name);
			is_match = ours(glob, name);
			if (is_match != !fnmatch(glob, name, 0))
				fail_msg("\"%s\" and \"%s\"", glob, name);
			compared++;
			matched += is_match;
		}
	}
	/* Neither result is rare. */
	assert_in_range(matched, compared / 50, compared / 2);
	assert_true(compared > GLOBS * NAMES / 4);
}

static void
bad_globs_are_refused(void **state)
{
	static const char *const cases[] = {"[", "[a", "a[", "[]", "[!]", "[a-", "[a-]b[",
		"[\\]", "\\", "a\\", "[a\\", "main,[", "[a,b", "main,\\",
		"0123456789012345678901234567890123456789012345678901234567890123"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!th_glob_problem(cases[i]))
			fail_msg("\"%s\"", cases[i]);
}

/*
 * Any bytes, also those of refused globs, give a result: another process may have written them.
 */
static void
any_bytes(void **state)
{
	struct th_random random;

	(void)state;
	th_random_seed(&random, SEED);
	for (int i = 0; i < GLOBS * 5; i++) {
		char glob[TH_GLOB_TEXT_MAX];

		random_text(&random, "[]!^-*?\\,ab\x80\xff", sizeof(glob), glob);
		th_glob_problem(glob);
		th_glob_matches(glob, "a]b-[,\\\xff");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_threads),
		cmocka_unit_test(several_globs),
		cmocka_unit_test(random_globs),
		cmocka_unit_test(bad_globs_are_refused),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
