/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher does while it waits: breakdowns of the resident memory of the processes that
 * it started, as long as these have no thread of the library that could take them.
 */
#ifndef TH_REPORT_RUN_LAUNCH_WATCH_H
#define TH_REPORT_RUN_LAUNCH_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "unify/shared/outside.h"

/* Processes at a time; more are not watched. */
#define TH_LAUNCH_WATCHED_MAX 64

struct th_launch_watched {
	pid_t pid;
	int descriptor; /* of its log */
	struct th_outside *outside;
	enum th_observed_status status; /* not TH_OBSERVED_OK: it is not tried again */
	uint64_t start_realtime;        /* of its log */
};

struct th_launch_watch {
	const char *pattern; /* of the logs, absolute; the caller's */
	uint64_t since;      /* CLOCK_REALTIME: older logs are not of this run */
	uint64_t begin;      /* CLOCK_MONOTONIC, nanoseconds, as the next */
	uint64_t next_scan;
	uint64_t scanned; /* CLOCK_REALTIME: when the directory was last read */
	struct th_launch_watched watched[TH_LAUNCH_WATCHED_MAX];
	size_t count;
	/* A process that could not be observed, and why; TH_OBSERVED_OK: there was none. */
	enum th_observed_status problem;
	pid_t problem_pid;
};

void
th_launch_watch_init(struct th_launch_watch *watch, const char *pattern, uint64_t since); /* */

/* Looks at all processes; returns after how long it is to be called again. */
struct timespec th_launch_watch_turn(struct th_launch_watch *watch);

void th_launch_watch_deinit(struct th_launch_watch *watch); /* */

#endif
