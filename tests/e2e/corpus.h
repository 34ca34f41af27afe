/* SPDX-License-Identifier: Apache-2.0 */
/* Records the programs of tests/leaks and gets the findings of `twinheap leaks` for them. */
#ifndef TESTS_E2E_CORPUS_H
#define TESTS_E2E_CORPUS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "tests/e2e/recording.h"

struct th_corpus_plan {
	const struct th_jdk *jdk;
	const char *program;            /* a name of leaks.Main --list */
	const char *variant;            /* "leak", "clean" or "live" */
	const char *const *jvm_options; /* in addition to those in the list; NULL: none */
	const char *const *settings;    /* as in th_recording_plan; NULL: none */
	double seconds;                 /* duration of the program */
};

/* False if it was not built because a library is missing: the test may be skipped. */
bool th_corpus_has(const char *program);

/* The command that runs a program without recording it, for a shell; to be freed. */
char *th_corpus_shell_command(const struct th_corpus_plan *plan);

/*
 * Records one program; fails the test if it fails.  A paced program is recorded again if the
 * machine delayed it: even growth appears to end, or to begin late, if the process stops for a
 * good part of the time or becomes slower.  Skips the test if that continues for minutes.
 * th_recording_deinit() afterwards.
 */
void th_corpus_record(const struct th_corpus_plan *plan, struct th_recording *ret);

/* The same for a C program of tests/leaks, with its arguments. */
void th_corpus_record_native(const char *program, const char *const *arguments,
	const char *const *settings, struct th_recording *ret);

/* The output of `leaks --format json` for the log; to be released. */
json_t *th_corpus_findings(const struct th_recording *recording);

/* Whether a finding has this verdict. */
bool th_finding_is(const json_t *finding, const char *verdict);

/* Whether a finding belongs to one of the leaks that the program reports. */
bool th_finding_is_true(const json_t *finding, const struct th_recording *recording);

/*
 * The figures of a finding of verdict leak in one of its heaps, if it has a stack there with
 * that frame; else NULL.
 */
const json_t *th_finding_in_heap(const json_t *finding, const char *heap, const char *frame);

/* Prints the findings with that verdict, or all, with their reasons. */
void th_findings_print(const json_t *findings, const char *verdict);

#endif
