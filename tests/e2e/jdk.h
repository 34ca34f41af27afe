/* SPDX-License-Identifier: Apache-2.0 */
/* The JDKs that tests run on: all those found by scripts/find-jdks, for the processor of TH_TEST_ARCH. */
#ifndef TESTS_E2E_JDK_H
#define TESTS_E2E_JDK_H

#include <stdbool.h>
#include <stddef.h>

struct th_jdk {
	int feature;   /* 11, 17, ... */
	char *home;    /* contains bin/java */
	char *java;    /* the launcher */
	char *version; /* 17.0.15 */
};

/*
 * All JDKs, oldest first; the first call prints them on stdout.  TH_TEST_JDKS, a list of
 * releases such as "17 25" or "17.0.9", restricts them.  Fails the test if there is none.
 */
size_t th_jdk_list(const struct th_jdk **ret);

/* The JDK of one feature release; NULL: missing, and a test that needs it is skipped. */
const struct th_jdk *th_jdk_find(int feature);

/* The newest JDK. */
const struct th_jdk *th_jdk_newest(void);

/* Whether its VM accepts an option such as "-XX:+UseZGC". */
bool th_jdk_has_collector(const struct th_jdk *jdk, const char *option);

/*
 * The path of a program that can load the VM of this JDK into itself: the same, or a copy that uses
 * the newer C library of a JDK that comes with one (scripts/early-jdk).  To be freed.
 */
char *th_jdk_program(const struct th_jdk *jdk, const char *program);

/* A test that runs once per JDK, from feature release `since` on. */
struct th_jdk_test {
	const char *name;
	void (*run)(const struct th_jdk *jdk);
	int since;
};

/*
 * Runs each test, up to the first without a name, on each JDK, as a cmocka test "name on 17".
 * Returns the result for main().
 */
int th_jdk_run_tests(const char *group, const struct th_jdk_test *tests);

/*
 * A shell function, is_up PID: whether a VM can be attached to.  It handles SIGQUIT (the bit of 4 in
 * the last digit), or has its socket from the start (-Xrs).
 */
#define TH_JDK_IS_UP                                                                   \
	"is_up() {\n"                                                                  \
	"\t[ -S /tmp/.java_pid$1 ] || grep -q '^SigCgt:.*[4-7c-f]$' /proc/$1/status\n" \
	"}\n"

#endif
