/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording under way, kept up to date: where every heap stands, site by site, now and over the
 * last minute.
 *
 * The log is read on and its profile, the same that every other view shows, is summed up anew.
 * That takes at most a tenth of the time: the larger the log, the older the figures may be.
 *
 * Nothing here draws, and nothing touches the process that is watched.
 */
#ifndef TH_REPORT_LIVE_WATCH_H
#define TH_REPORT_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/base/id_map.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"
#include "report/profile/sites.h"
#include "report/statistics/estimate.h"

/* Seconds that curves go back. */
#define TH_WATCH_SECONDS 60

enum th_watch_state {
	TH_WATCH_RUNNING,
	TH_WATCH_ENDED, /* the process ended by itself, and its log says so */
	TH_WATCH_GONE,  /* the process is not there any more: killed, or of another machine */
};

/* Bytes in each second of the recording, up to th_watch.summed. */
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
	struct th_options options; /* none are given */
	struct th_profile *profile;
	enum th_watch_state state;
	uint64_t now;   /* ns of the recording's clock */
	uint64_t as_of; /* what figures and curves are of, likewise */
	uint64_t due;   /* no sooner is the log read on */
	int64_t second; /* of the recording at `as_of`, the last of every curve */
	int64_t summed; /* the second in which it was last summed up */
	TH_ARRAY(struct th_watch_site, sites); /* those without samples are no more */
	TH_ARRAY(uint32_t, row_sites);         /* by row of the profile */
	struct th_watch_site heaps[TH_HEAPS];
	struct th_id_map place_ids; /* function << 32 | caller */
	struct th_id_map site_ids;  /* place << 34 | heap << 32 | class */
};

/*
 * Reads the log at `path` so far.  A log whose process has ended is watched at its last moment.
 * `world` NULL: the real one.
 */
struct th_error *
th_watch_open(const char *path, const struct th_watch_world *world, struct th_watch *watch);
void th_watch_close(struct th_watch *watch);

/* Takes in what was written since, unless that was done too recently for what it costs. */
void th_watch_update(struct th_watch *watch);

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
