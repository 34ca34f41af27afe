/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes breakdowns of resident memory while the launcher waits, for those of its processes that
 * have no thread of the library to do it.
 */
#ifndef TH_REPORT_RUN_LAUNCH_WATCH_H
#define TH_REPORT_RUN_LAUNCH_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "unify/shared/outside.h"

/* Maximum number of processes; others are not watched. */
#define TH_LAUNCH_WATCHED_MAX 64

struct th_launch_watched {
	pid_t pid;
	int descriptor; /* of its log */
	struct th_outside *outside;
	enum th_observed_status status; /* not TH_OBSERVED_OK: not retried */
	uint64_t start_realtime;        /* of its log */
};

struct th_launch_watch {
	const char *pattern; /* of the logs, absolute; owned by the caller */
	uint64_t since;      /* CLOCK_REALTIME: older logs belong to other runs */
	uint64_t begin;      /* CLOCK_MONOTONIC, nanoseconds, like next_scan */
	uint64_t next_scan;
	uint64_t scanned; /* CLOCK_REALTIME: when the directory was last read */
	struct th_launch_watched watched[TH_LAUNCH_WATCHED_MAX];
	size_t count;
	/* A process that could not be observed, and the reason; TH_OBSERVED_OK: none. */
	enum th_observed_status problem;
	pid_t problem_pid;
};

void
th_launch_watch_init(struct th_launch_watch *watch, const char *pattern, uint64_t since); /* */

/* Examines all processes; returns the time until the next call is due. */
struct timespec th_launch_watch_turn(struct th_launch_watch *watch);

void th_launch_watch_deinit(struct th_launch_watch *watch); /* */

#endif
