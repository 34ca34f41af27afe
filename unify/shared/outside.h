/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of resident memory that another process takes: of a recorded process that has no
 * thread of the library, hence of one without a Java VM.  The tool reads the files of the process
 * in /proc and the library's tables in its memory (observed.h), and appends to its log by the
 * protocol of log.h, as one more producer.  The process itself takes no part in it.
 *
 * The only code of the library that the tool runs; it is not in the library.
 */
#ifndef TH_UNIFY_SHARED_OUTSIDE_H
#define TH_UNIFY_SHARED_OUTSIDE_H

#include <stdint.h>
#include <sys/types.h>

/* How an attempt to look at another process came out. */
enum th_observed_status {
	TH_OBSERVED_OK,
	TH_OBSERVED_GONE,    /* the process has ended, or become another program */
	TH_OBSERVED_DENIED,  /* its memory may not be read */
	TH_OBSERVED_UNKNOWN, /* its library is of another version */
	TH_OBSERVED_VM,      /* it has a Java VM, or had one */
};

/* A process that is watched. */
struct th_outside;

/*
 * `descriptor` is that of the log of `pid`, for reading and writing, and stays the caller's.  NULL:
 * no memory. [offline]
 */
struct th_outside *th_outside_create(pid_t pid, int descriptor);

/* NULL is legal. [offline] */
void th_outside_destroy(struct th_outside *outside);

/*
 * Writes how much of the process is resident if it is time for that, and takes a breakdown if one
 * is due.  Does nothing while a thread of the library does it. [offline]
 */
enum th_observed_status th_outside_poll(struct th_outside *outside, uint64_t now);

/* Takes a breakdown now. [offline] */
enum th_observed_status th_outside_take(struct th_outside *outside);

/* Why a breakdown could not be taken, as part of a message. [offline] */
const char *th_outside_problem(enum th_observed_status status);

#endif
