/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our regular expressions against those of libc: for many expressions, made by hand and at random,
 * and many texts both say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <regex.h>
#include <string.h>

#include "unify/shared/expression.h"
#include "unify/sample/poisson.h"

#define SEED 20261121
#define EXPRESSIONS 5000
#define TEXTS 20

static bool
ours(const char *expression, const char *text)
{
	struct th_expression compiled;
	const char *problem;

	if (!th_expression_compile(&compiled, expression, &problem))
		fail_msg("%s: %s", expression, problem);
	return th_expression_matches(&compiled, text);
}

static bool
theirs(const char *expression, const char *text)
{
	regex_t compiled;
	int result;

	assert_int_equal(regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB), 0);
	result = regexec(&compiled, text, 0, NULL, 0);
	regfree(&compiled);
	return result == 0;
}

static void
names_of_threads(void **state)
{
	static const char *const expressions[] = {"", "http", "^http-nio-[0-9]+-exec-", "main$",
		"^main$", "^(main|worker-[0-9]*)$", "worker-(1|2|10)",
		"G1 (Young|Conc).*#[0-3]", "^[^ ]*$", "[]]", "[^]a]", "[a-]", "[[:digit:]]{2,}",
		"^[[:alpha:]_-]+$", "a{3}", "a{0}b", "(ab){2,3}$", "x?y+z*", "\\.", "^$", "()",
		"(|a)b", "a|", "(a*)*b", "((a|b)*c){2}", "[.]", "\\[x\\]", "(^a|b$)", "a.c",
		"[[:upper:]][[:lower:]]"};
	static const char *const texts[] = {"", "main", "main ", "worker-1", "worker-10",
		"worker-", "http-nio-8080-exec-12", "G1 Young RemSet#2", "G1 Conc#0", "]", "-",
		"a", "aaa", "b", "ab", "abab", "ababab", "aacbc", "xyz", "yyy", ".", "[x]",
		"a\xc3", "a.c", "abc", "Thread-7", "C2 CompilerThread0"};

	(void)state;
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
			if (ours(expressions[i], texts[j]) == theirs(expressions[i], texts[j]))
				continue;
			fail_msg("\"%s\" and \"%s\"", expressions[i], texts[j]);
		}
	}
}

static void
append(char *text, const char *more)
{
	if (strlen(text) + strlen(more) < 40)
		strcat(text, more);
}

/* An expression that both read the same way: no repetition of a repetition or of an anchor. */
static void
make_expression(struct th_random *random, char *text, unsigned depth)
{
	static const char *const atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "[b-c]", "\\."};
	static const char *const repeats[] = {
		"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}"};
	unsigned pieces = 1 + th_random_next(random) % 3;

	for (unsigned i = 0; i < pieces; i++) {
		if (depth && th_random_next(random) % 3 == 0) {
			char inside[64] = "";

			make_expression(random, inside, depth - 1);
			append(inside, "|");
			make_expression(random, inside, depth - 1);
			if (strlen(text) + strlen(inside) > 34)
				continue;
			strcat(strcat(strcat(text, "("), inside), ")");
		} else {
			append(text, atoms[th_random_next(random) % 8]);
		}
		append(text, repeats[th_random_next(random) % 10]);
	}
}

static bool
is_for_both(const char *expression)
{
	struct th_expression ours_compiled;
	const char *problem;
	regex_t compiled;

	if (!th_expression_compile(&ours_compiled, expression, &problem) ||
		regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB))
		return false;
	regfree(&compiled);
	return true;
}

static void
random_expressions(void **state)
{
	struct th_random random;
	unsigned compared = 0;

	(void)state;
	th_random_seed(&random, SEED);
	for (int i = 0; i < EXPRESSIONS; i++) {
		char expression[128] = "";

		make_expression(&random, expression, 2);
		if (!is_for_both(expression))
			continue;
		for (int j = 0; j < TEXTS; j++) {
			char text[10] = "";
			unsigned length = th_random_next(&random) % 9;

			for (unsigned k = 0; k < length; k++)
				text[k] = "abc."[th_random_next(&random) % 4];
			if (ours(expression, text) != theirs(expression, text))
				fail_msg("\"%s\" and \"%s\"", expression, text);
			compared++;
		}
	}
	assert_true(compared > EXPRESSIONS * TEXTS / 2);
}

static void
nonsense_is_refused(void **state)
{
	static const char *const cases[] = {"(", ")", "(a", "a)", "[", "[a", "*", "+a", "(*a)",
		"a|*", "a{", "a{x}", "a{2,1}", "a{999}", "a**", "\\", "a\\", "[[:alpha:]",
		"((((((a{9}){9}){9}){9}){9}){9})", "(((((){250}){250}){250}){250}){250}",
		"0123456789012345678901234567890123456789012345678901234567890123"};
	struct th_expression expression;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *problem = NULL;

		if (th_expression_compile(&expression, cases[i], &problem))
			fail_msg("\"%s\"", cases[i]);
		assert_non_null(problem);
	}
}

/* Any bytes give an answer: no crash, no endless loop, nothing written beyond the expression. */
static void
any_bytes(void **state)
{
	struct {
		struct th_expression expression;
		uint64_t behind;
	} guarded = {.behind = SEED};
	const char bytes[] = "()[]{}*+?|^$.\\,-:^a0129";
	struct th_random random;
	const char *problem;

	(void)state;
	th_random_seed(&random, SEED);
	for (int i = 0; i < EXPRESSIONS * 5; i++) {
		char text[64] = "";
		unsigned length = th_random_next(&random) % 64;

		for (unsigned k = 0; k < length; k++)
			text[k] = bytes[th_random_next(&random) % (sizeof(bytes) - 1)];
		if (th_expression_compile(&guarded.expression, text, &problem))
			th_expression_matches(&guarded.expression, "a0^[2]-:");
		assert_int_equal(guarded.behind, SEED);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_threads),
		cmocka_unit_test(random_expressions),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
