/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command run under the library, what the tool makes of its log, and what the command itself
 * says it has allocated: the report is held against that truth.
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
	const char *directory; /* where it ran: its log and its other files */
	char *log;             /* path of the log, which may not exist */
	json_t *report;        /* `twinheap export --format json`; NULL until loaded */
	json_t *truth; /* array of the JSON objects that the command printed, one a line */
};

/* What to record.  Lists end with NULL; a NULL list is empty. */
struct th_recording_plan {
	const struct th_jdk *jdk;       /* for th_recording_run_mixed() */
	const char *const *jvm_options; /* for th_recording_run_mixed() */
	const char *const *arguments;   /* the command, or the arguments of the example */
	const char *const *settings;    /* "TWINHEAP_INTERVAL=64k", and any other variable */
	unsigned timeout_seconds;       /* 0: the default of command.h */
};

/* An estimate of the report, or a sum of several. */
struct th_figure {
	double estimate;
	double low; /* 95 % interval */
	double high;
	double samples;
	bool exact; /* counted, not estimated */
};

/* Which stacks to add up: those that fit everything that is not NULL. */
struct th_stack_filter {
	const char *heap;       /* "java" or "native" */
	const char *class_name; /* of the object */
	const char *thread;     /* its name */
	const char *frame;      /* a frame of this name occurs */
	const char *const
		*path; /* these frames occur in this order, root first, NULL at the end */
};

/*
 * Runs plan->arguments with the library preloaded, in a fresh directory, and reads the truth off
 * its stdout.  Fails the test unless the command exits with 0.  th_recording_deinit() afterwards.
 */
void th_recording_run(const struct th_recording_plan *plan, struct th_recording *ret);

/* The same for examples/mixed on plan->jdk: plan->arguments are scenarios and their options. */
void th_recording_run_mixed(const struct th_recording_plan *plan, struct th_recording *ret);

/* Lets the tool export the log and loads that.  Fails the test if it cannot. */
void th_recording_load(struct th_recording *recording);

/* The same with further options of `export`, as of filters; the list ends with NULL. */
void th_recording_load_with(struct th_recording *recording, const char *const *options);

void th_recording_deinit(struct th_recording *recording);

/*
 * Zero of the log's times, and when the library last looked after its log, which is the end of a
 * recording that is complete; in nanoseconds of CLOCK_MONOTONIC.
 */
double th_recording_start(const struct th_recording *recording);
double th_recording_end(const struct th_recording *recording);

/* The figure {"estimate", "ci95", "samples"} that stands in `object` under `name`. */
struct th_figure th_figure_read(const json_t *object, const char *name);

/* report.totals.HEAP.VALUE, as in ("java", "alloc_bytes"). */
struct th_figure
th_recording_total(const struct th_recording *recording, const char *heap, const char *value);

/*
 * The sum over all stacks that fit.  Its interval treats them as independent: each side's
 * distances from the estimate are added as squares (Zou and Donner, Statistics in Medicine 2008,
 * the method of variance estimates recovery).  Where no stack fits, the upper bound in bytes is
 * what escapes a Poisson sampler of the report's interval in one case of 40: -N ln(0.025).
 */
struct th_figure th_recording_sum(const struct th_recording *recording,
	const struct th_stack_filter *filter, const char *value);

/*
 * One site, that is all stacks of one heap with a frame of this name, with the tool's own
 * interval: it is asked for these stacks alone.  Unlike th_recording_sum() this needs no report
 * to be loaded, and nothing is assumed about rows that belong together.
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
 * Whether the truth lies in the interval, widened by `factor` on both sides.  Distances are those
 * of square roots, in which a sum of few samples strays as far at any size (Bartlett 1936), so a
 * bound is as safe for five samples as it is for five thousand.  A thousandth is forgiven: the
 * interval of blocks that are sampled almost surely begins at their own size, and a sum of such
 * intervals by squares begins a hair above it.
 */
bool th_figure_covers(const struct th_figure *figure, double truth, double factor);

/* Fails the test, naming `what`, unless the interval, widened by TH_WIDENED, holds the truth. */
void th_assert_covers(const struct th_figure *figure, double truth, const char *what);

/*
 * Holds every site of the truth against the report, or those of one heap: `value` is
 * "alloc_bytes" or "live_bytes".  Prints one line per site; fails the test if one lies outside
 * its interval widened by TH_WIDENED, or if fewer of them lie in the interval itself than honest
 * 95 % intervals leave in one case of a hundred million.
 */
void th_recording_check_sites(
	const struct th_recording *recording, const char *heap, const char *value);

#endif
