/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of tests/leaks under the library, and what `twinheap leaks` finds in them. */
#ifndef TESTS_E2E_CORPUS_H
#define TESTS_E2E_CORPUS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "tests/e2e/recording.h"

struct th_corpus_plan {
	const struct th_jdk *jdk;
	const char *program;            /* as leaks.Main --list names it */
	const char *variant;            /* "leak", "clean" or "live" */
	const char *const *jvm_options; /* beside those that the list has; NULL: none */
	const char *const *settings;    /* as in th_recording_plan; NULL: none */
	double seconds;                 /* how long the program takes */
};

/* False if it was left out of the build, for want of a library: the test may skip. */
bool th_corpus_has(const char *program);

/*
 * Records one program.  Fails the test if it fails.  A paced program is recorded anew while the
 * machine held it up: what grows evenly seems to come to an end, or to begin late, if the process
 * stands still for a good part of the time or becomes slower.  Skips the test where that went on
 * for minutes.  th_recording_deinit() afterwards.
 */
void th_corpus_record(const struct th_corpus_plan *plan, struct th_recording *ret);

/* The same for a C program of tests/leaks, with its arguments. */
void th_corpus_record_native(const char *program, const char *const *arguments,
	const char *const *settings, struct th_recording *ret);

/* What `leaks --format json` makes of the log, the whole object; to be released. */
json_t *th_corpus_findings(const struct th_recording *recording);

/* Whether a finding has this verdict. */
bool th_finding_is(const json_t *finding, const char *verdict);

/* Whether a finding is of one of the leaks that the program says it has. */
bool th_finding_is_true(const json_t *finding, const struct th_recording *recording);

/* Prints the findings with that verdict, or all: what they are, and why. */
void th_findings_print(const json_t *findings, const char *verdict);

#endif
