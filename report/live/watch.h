/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording under way, kept up to date: where every heap stands, site by site, now and over the
 * last minute.  What is new in the log is added to what is known, so that an update costs what
 * happened since the last one, not what happened at all.
 *
 * Factors that calibrate samples to exact totals change with every sample.  An update uses those
 * it has; from time to time, as often as a small part of one processor pays for, everything is
 * summed up anew (at once where that is cheap).  Both ways give unbiased figures.
 *
 * Nothing here draws, and nothing touches the process that is watched.
 */
#ifndef TH_REPORT_LIVE_WATCH_H
#define TH_REPORT_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "report/statistics/calibration.h"
#include "report/base/error.h"
#include "report/statistics/estimate.h"
#include "report/symbols/frames.h"
#include "report/statistics/lifetimes.h"
#include "report/symbols/call_paths.h"
#include "report/log/recording.h"
#include "report/profile/sites.h"

/* Seconds that curves go back. */
#define TH_WATCH_SECONDS 60

enum th_watch_state {
	TH_WATCH_RUNNING,
	TH_WATCH_ENDED, /* the process ended by itself, and its log says so */
	TH_WATCH_GONE,  /* the process is not there any more: killed, or of another machine */
};

/* Bytes by second of the recording, modulo TH_WATCH_SECONDS. */
struct th_watch_history {
	float allocated[TH_WATCH_SECONDS];
	float change[TH_WATCH_SECONDS]; /* of what is alive */
};

/* A site, or all of a heap. */
struct th_watch_site {
	enum th_heap heap;
	uint32_t class_name; /* string number; 0 = none */
	struct th_site_place place;
	struct th_estimator allocated;
	struct th_estimator live;
	struct th_watch_history history;
};

/* What is outside of the log, for tests to stand in. */
struct th_watch_world {
	bool (*is_alive)(const struct th_log_header *header);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC, ns */
};

struct th_watch {
	const struct th_watch_world *world;
	struct th_recording *recording;
	struct th_frames *frames;
	struct th_paths *paths;
	enum th_watch_state state;
	uint64_t now;   /* what "at present" means, ns of the recording's clock */
	int64_t second; /* of the recording, the last of every history */
	bool is_new;    /* the last update changed something */
	TH_ARRAY(struct th_watch_site, sites);
	struct th_watch_site heaps[TH_HEAPS];
	struct th_calibration calibrations[TH_HEAPS];
	struct th_lifetimes lifetimes; /* as of the last summing up */
	struct th_moment moment;       /* likewise */
	struct th_watch_work *work;    /* see watch.c */
};

/*
 * Reads the log at `path` so far.  A log whose process has ended is watched at its last moment.
 * `world` NULL: the real one.
 */
struct th_error *
th_watch_open(const char *path, const struct th_watch_world *world, struct th_watch *watch);
void th_watch_close(struct th_watch *watch);

/* Takes in what was written since. */
void th_watch_update(struct th_watch *watch);

/* Sums everything up anew at the next update, whatever it costs. */
void th_watch_renew(struct th_watch *watch);

/* Bytes that samples of a heap stand for: sums of sites, or of all. */
struct th_estimate th_watch_allocated(
	const struct th_watch *watch, enum th_heap heap, const struct th_estimator *sum);
struct th_estimate
th_watch_live(const struct th_watch *watch, enum th_heap heap, const struct th_estimator *sum);

/* Bytes allocated in all that is selected; where nothing is filtered, what was counted. */
struct th_estimate th_watch_total(const struct th_watch *watch, enum th_heap heap);

/* The two figures without their intervals: cheap enough to sort by. */
double th_watch_live_point(const struct th_watch_site *site);
double th_watch_allocated_point(const struct th_watch_site *site);

/* Bytes a second by which it grew over the last minute, or since the start. */
double th_watch_growth(const struct th_watch *watch, const struct th_watch_site *site);

/* Bytes a second allocated over the last ten seconds. */
double th_watch_rate(const struct th_watch *watch, const struct th_watch_site *site);

/* Bytes at the end of each of the last seconds, oldest first: alive, and allocated in it. */
void th_watch_live_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS]);
void th_watch_allocated_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS]);

/* The sums of one stack of a site. */
struct th_watch_stack {
	uint32_t path; /* for th_paths_get() */
	struct th_estimator allocated;
	struct th_estimator live;
};

struct th_watch_stacks {
	TH_ARRAY(struct th_watch_stack, items); /* most bytes alive first, then allocated */
};

/* The stacks of a site (by index).  th_watch_stacks_deinit() afterwards. */
void th_watch_stacks_init(
	struct th_watch_stacks *stacks, const struct th_watch *watch, uint32_t site);
void th_watch_stacks_deinit(struct th_watch_stacks *stacks);

#endif
