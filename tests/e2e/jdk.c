/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the list of scripts/find-jdks once per test program. */
#include "tests/e2e/harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JDKS_MAX 16
#define TESTS_MAX 256
#define ANSWERS_MAX 128

static struct th_jdk jdks[JDKS_MAX];
static size_t jdk_count;

/* Whether TH_TEST_JDKS allows this version: as a whole, or up to a dot or another separator. */
static bool
is_wanted(const char *version)
{
	const char *wanted = getenv("TH_TEST_JDKS");

	if (!wanted || !*wanted)
		return true;
	while (*(wanted += strspn(wanted, " "))) {
		size_t length = strcspn(wanted, " ");

		if (!strncmp(version, wanted, length) &&
			!isdigit((unsigned char)version[length]))
			return true;
		wanted += length;
	}
	return false;
}

/* Parses one line, "FEATURE HOME VERSION". */
static void
add_line(char *line)
{
	char *rest;
	int feature = (int)strtol(strtok_r(line, " ", &rest), NULL, 10);
	char *home = strtok_r(NULL, " ", &rest);
	char *version = strtok_r(NULL, " ", &rest);

	assert_non_null(version);
	if (!is_wanted(version) || jdk_count == JDKS_MAX)
		return;
	jdks[jdk_count++] = (struct th_jdk){
		.feature = feature,
		.home = strdup(home),
		.java = th_format("%s/bin/java", home),
		.version = strdup(version),
	};
	printf("JDK %d: %s, %s\n", feature, version, home);
}

size_t
th_jdk_list(const struct th_jdk **ret)
{
	if (jdk_count == 0) {
		const char *arch = getenv("TH_TEST_ARCH");
		char *text = th_command_output(TH_WORDS(
			TH_TEST_SOURCE "/scripts/find-jdks", arch ? "--arch" : NULL, arch));
		char *rest;

		for (char *line = strtok_r(text, "\n", &rest); line;
			line = strtok_r(NULL, "\n", &rest))
			add_line(line);
		fflush(stdout);
		free(text);
	}
	assert_true(jdk_count > 0);
	*ret = jdks;
	return jdk_count;
}

const struct th_jdk *
th_jdk_find(int feature)
{
	const struct th_jdk *all;
	size_t count = th_jdk_list(&all);

	for (size_t i = 0; i < count; i++) {
		if (all[i].feature == feature)
			return &all[i];
	}
	return NULL;
}

const struct th_jdk *
th_jdk_newest(void)
{
	const struct th_jdk *all;
	size_t count = th_jdk_list(&all);

	return &all[count - 1];
}

/* Which JDKs accept an option, each asked once. */
static struct answer {
	const char *option;
	const struct th_jdk *jdk;
	bool is_there;
} answers[ANSWERS_MAX];
static size_t answer_count;

bool
th_jdk_has_collector(const struct th_jdk *jdk, const char *option)
{
	struct th_outcome outcome;

	for (size_t i = 0; i < answer_count; i++)
		if (answers[i].jdk == jdk && !strcmp(answers[i].option, option))
			return answers[i].is_there;
	th_command_run(&(struct th_command){.arguments = TH_WORDS(jdk->java,
						    "-XX:+UnlockExperimentalVMOptions", option,
						    "-version")},
		&outcome);
	bool is_there = outcome.status == 0;
	th_outcome_deinit(&outcome);
	assert_true(answer_count < ANSWERS_MAX);
	answers[answer_count++] = (struct answer){option, jdk, is_there};
	return is_there;
}

char *
th_jdk_program(const struct th_jdk *jdk, const char *program)
{
	if (!strstr(jdk->home, "/early-jdks/"))
		return th_format("%s", program);
	char *copy = th_format("%s/%s", th_temporary_directory(), strrchr(program, '/') + 1);
	free(th_command_output(TH_WORDS(
		TH_TEST_SOURCE "/scripts/early-jdk", "--program", jdk->home, program, copy)));
	return copy;
}

/* A test on one JDK: the initial state of a cmocka test. */
struct pairing {
	const struct th_jdk *jdk;
	const struct th_jdk_test *test;
};

static void
run_pairing(void **state)
{
	const struct pairing *pairing = *state;

	pairing->test->run(pairing->jdk);
}

int
th_jdk_run_tests(const char *group, const struct th_jdk_test *tests)
{
	static struct pairing pairings[TESTS_MAX];
	static struct CMUnitTest units[TESTS_MAX];
	const struct th_jdk *all;
	size_t jdk_total = th_jdk_list(&all);
	size_t count = 0;

	for (size_t i = 0; i < jdk_total; i++) {
		for (const struct th_jdk_test *test = tests; test->name; test++) {
			if (all[i].feature < test->since || count == TESTS_MAX)
				continue;
			pairings[count] = (struct pairing){&all[i], test};
			units[count] = (struct CMUnitTest){
				.name = th_format("%s on %d", test->name, all[i].feature),
				.test_func = run_pairing,
				.initial_state = &pairings[count],
			};
			count++;
		}
	}
	return _cmocka_run_group_tests(group, units, count, NULL, NULL);
}
