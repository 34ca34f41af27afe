/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of resident memory that the tool takes of a recorded process without a library
 * thread, hence without a Java VM.  The tool reads the /proc files of the process and the
 * library's tables in its memory (observed.h), and appends to its log by the protocol of log.h,
 * as an additional producer.  The process itself is not involved.
 *
 * This is the only code of the library that the tool runs; the library does not contain it.
 */
#ifndef TH_UNIFY_SHARED_OUTSIDE_H
#define TH_UNIFY_SHARED_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Result of an attempt to inspect another process. */
enum th_observed_status {
	TH_OBSERVED_OK,
	TH_OBSERVED_GONE,    /* the process has ended, or has executed another program */
	TH_OBSERVED_DENIED,  /* its memory cannot be read: permission denied */
	TH_OBSERVED_UNKNOWN, /* its library has a different version */
	TH_OBSERVED_VM,      /* it has or had a Java VM */
};

/* An observed process. */
struct th_outside;

/*
 * `descriptor` is the log of `pid`, open for reading and writing, and remains the caller's.
 * NULL: out of memory. [offline]
 */
struct th_outside *th_outside_create(pid_t pid, int descriptor);

/* NULL is legal. [offline] */
void th_outside_destroy(struct th_outside *outside);

/*
 * Takes a breakdown if `is_asked`; else records the resident size of the process when that is due, and
 * takes a breakdown when one is.  TH_OBSERVED_VM: the library does this, until the process ends.
 * [offline]
 */
enum th_observed_status th_outside_look(struct th_outside *outside, bool is_asked);

/* When the next look that is not asked for has work. [offline] */
uint64_t th_outside_next(const struct th_outside *outside);

/* The reason why a breakdown could not be taken, as part of a message. [offline] */
const char *th_outside_problem(enum th_observed_status status);

#endif
