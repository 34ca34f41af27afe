/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of resident memory that another process takes: of a recorded process that has no
 * thread of the library, hence of one without a Java VM.  The tool reads the files of the process
 * in /proc and the library's tables in its memory (observed.h), and appends to its log by the
 * protocol of log.h, as one more producer.  The process itself takes no part in it.
 */
#ifndef TH_UNIFY_RESIDENT_OUTSIDE_H
#define TH_UNIFY_RESIDENT_OUTSIDE_H

#include <sys/types.h>

#include "unify/resident/breakdown.h"

/* A process that is watched; zero but for the first two. */
struct th_outside {
	pid_t pid;
	int descriptor; /* of its log, for reading and writing; the caller's */
	struct th_breakdown_subject subject;
};

/*
 * Writes how much of the process is resident if it is time for that, and takes an account if one
 * is due.  Does nothing while a thread of the library does it. [offline]
 */
enum th_observed_status th_outside_poll(struct th_outside *outside, uint64_t now);

/* Takes an account now. [offline] */
enum th_observed_status th_outside_take(struct th_outside *outside);

/* Why an account could not be taken, as part of a message. [offline] */
const char *th_outside_problem(enum th_observed_status status);

#endif
