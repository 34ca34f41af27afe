/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command run under the library, the tool's report of its log, and the allocations printed by
 * the command itself, which are the truth that the report is compared with.
 */
#ifndef TESTS_E2E_RECORDING_H
#define TESTS_E2E_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "tests/e2e/command.h"
#include "tests/e2e/jdk.h"

struct th_recording {
	struct th_outcome outcome;
	const char *directory; /* working directory: the log and other files */
	char *log;             /* path of the log; the file may be missing */
	json_t *report;        /* `twinheap export --format json`; NULL until loaded */
	json_t *truth; /* array of the JSON objects printed by the command, one per line */
};

/* What to record.  Lists end with NULL; a NULL list is empty. */
struct th_recording_plan {
	const struct th_jdk *jdk;       /* for th_recording_run_mixed() */
	const char *const *jvm_options; /* for th_recording_run_mixed() */
	const char *const *arguments;   /* the command, or the arguments of the example */
	const char *const *settings;    /* "TWINHEAP_INTERVAL=64k", or any other variable */
	unsigned timeout_seconds;       /* 0: the default of command.h */
};

/* An estimate from the report, or a sum of several. */
struct th_figure {
	double estimate;
	double low; /* 95 % interval */
	double high;
	double samples;
	bool exact; /* counted, not estimated */
};

/* The stacks to add up: those that match every field that is not NULL. */
struct th_stack_filter {
	const char *heap;       /* "java" or "native" */
	const char *class_name; /* of the object */
	const char *thread;     /* its name */
	const char *frame;      /* the stack contains a frame of this name */
	const char *const
		/* the stack contains these frames in this order, root first, NULL at the end */
		*path;
};

/*
 * Runs plan->arguments with the library preloaded, in a new directory, and reads the truth from
 * its stdout.  Fails the test unless the command exits with 0. th_recording_deinit()
 * afterwards.
 */
void th_recording_run(const struct th_recording_plan *plan, struct th_recording *ret);

/* The same for examples/mixed on plan->jdk: plan->arguments are scenarios and their options. */
void th_recording_run_mixed(const struct th_recording_plan *plan, struct th_recording *ret);

/* Runs `export` on the log and loads the result.  Fails the test on errors. */
void th_recording_load(struct th_recording *recording);

/* The same with additional options of `export`, such as filters; the list ends with NULL. */
void th_recording_load_with(struct th_recording *recording, const char *const *options);

void th_recording_deinit(struct th_recording *recording);

/*
 * Time zero of the log, and the time at which the library last updated its log, which is the
 * end of a complete recording; in nanoseconds of CLOCK_MONOTONIC.
 */
double th_recording_start(const struct th_recording *recording);
double th_recording_end(const struct th_recording *recording);

/* The figure {"estimate", "ci95", "samples"} named `name` in `object`. */
struct th_figure th_figure_read(const json_t *object, const char *name);

/* report.totals.HEAP.VALUE, as in ("java", "alloc_bytes"). */
struct th_figure
th_recording_total(const struct th_recording *recording, const char *heap, const char *value);

/*
 * The sum over all matching stacks.  Its interval treats them as independent: each side's
 * distances from the estimate are added as squares (Zou and Donner, Statistics in Medicine
 * 2008, the method of variance estimates recovery).  If no stack matches, the upper bound in
 * bytes is the amount that a Poisson sampler with the report's interval misses in one case of
 * 40: -N ln(0.025).
 */
struct th_figure th_recording_sum(const struct th_recording *recording,
	const struct th_stack_filter *filter, const char *value);

/*
 * One site, that is all stacks of one heap with a frame of this name, with the tool's own
 * interval for exactly these stacks.  Unlike th_recording_sum() this needs no loaded report,
 * and does not assume that rows are independent.
 */
struct th_figure th_recording_site(const struct th_recording *recording, const char *heap,
	const char *name, const char *value);

/* The same as it was at a moment, as --at takes it: "end", "peak" or seconds since the start. */
struct th_figure th_recording_site_at(const struct th_recording *recording, const char *heap,
	const char *name, const char *value, const char *at);

/* A counter of the log (log_format.h), by its name. */
double th_recording_counter(const struct th_recording *recording, const char *name);

/* Fails unless each sample that was due was recorded, left out or lost, by the log's counters. */
void th_recording_check_sum(const struct th_recording *recording);

/* Whether a stack of the report holds these frames in this order, others between them or not. */
bool th_stack_has_path(const json_t *stack, const char *const *path);

/*
 * So many times its width an honest interval misses by chance once in 10^9 times, 6.4 standard
 * deviations: of some thousand such questions, in a run of all tests, none is answered wrongly once
 * in a million runs.  A fixed seed would not help: threads take turns as they like.
 */
#define TH_WIDENED 3.25

/*
 * Whether the interval, widened by `factor` on both sides, contains the truth.  Distances are
 * those of square roots, in which a sum of few samples deviates equally far at any size
 * (Bartlett 1936), so a bound is as safe for five samples as for five thousand.  A deviation of
 * a thousandth is accepted: the interval of blocks that are sampled almost surely begins at
 * their own size, and a sum of such intervals by squares begins slightly above it.
 */
bool th_figure_covers(const struct th_figure *figure, double truth, double factor);

/*
 * Fails the test, naming `what`, unless the interval, widened by TH_WIDENED, contains the
 * truth.
 */
void th_assert_covers(const struct th_figure *figure, double truth, const char *what);

/*
 * Compares every site of the truth, or those of one heap, with the report: `value` is
 * "alloc_bytes" or "live_bytes".  Prints one line per site.  Fails the test if one is outside
 * its interval widened by TH_WIDENED, or if the number inside the interval itself is lower than
 * correct 95 % intervals yield in one case of a hundred million.
 */
void th_recording_check_sites(
	const struct th_recording *recording, const char *heap, const char *value);

#endif
