/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a running recording: every heap and site, now and over the last minute.
 *
 * The log is read on and its profile, the same as in every other view, is summed up again.
 * Updates take at most a tenth of the time: the larger the log, the less frequent they are.
 *
 * This module neither draws nor touches the recorded process.
 */
#ifndef TH_REPORT_LIVE_WATCH_H
#define TH_REPORT_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/base/id_map.h"
#include "report/live/watch_findings.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"
#include "report/profile/sites.h"
#include "report/statistics/estimate.h"

/* Length of curves, in seconds. */
#define TH_WATCH_SECONDS 60

enum th_watch_state {
	TH_WATCH_RUNNING,
	TH_WATCH_ENDED, /* the process ended and closed its log */
	TH_WATCH_GONE, /* the process is gone, its log is open: killed, or on another machine */
};

/* Bytes in each second of the recording, up to th_watch.summed. */
struct th_watch_history {
	float allocated[TH_WATCH_SECONDS];
	float change[TH_WATCH_SECONDS]; /* of live bytes */
};

/* A site, or the total of a heap. */
struct th_watch_site {
	enum th_heap heap;
	uint32_t class_name; /* string number; 0 = none */
	struct th_site_place place;
	struct th_estimator allocated;
	struct th_estimator live;
	struct th_watch_history history;
	bool is_leak; /* of a finding, in the last analysis */
};

/* The environment outside the log; tests replace it. */
struct th_watch_world {
	bool (*is_alive)(const struct th_log_header *header);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC, ns */
};

struct th_watch {
	const struct th_watch_world *world;
	struct th_recording *recording;
	struct th_options options; /* defaults, without filters */
	struct th_profile *profile;
	enum th_watch_state state;
	uint64_t now;   /* ns of the recording's clock */
	uint64_t as_of; /* the time that figures and curves are valid for, same clock */
	uint64_t due;   /* earliest time of the next update */
	int64_t second; /* of the recording at `as_of`; the last second of every curve */
	int64_t summed; /* the last second included in the sums */
	TH_ARRAY(struct th_watch_site, sites); /* never removed */
	TH_ARRAY(uint32_t, row_sites);         /* site index by row of the profile */
	struct th_watch_site heaps[TH_HEAPS];
	struct th_watch_findings findings;
	struct th_id_map place_ids; /* function << 32 | caller */
	struct th_id_map site_ids;  /* place << 34 | heap << 32 | class */
};

/*
 * Reads the log at `path` so far.  A log whose process has ended is shown as of its end.
 * `world` may be NULL for the real environment.
 */
struct th_error *
th_watch_open(const char *path, const struct th_watch_world *world, struct th_watch *watch);
void th_watch_close(struct th_watch *watch);

/* Reads and sums up what was written since, unless the last update was too recent for its cost. */
void th_watch_update(struct th_watch *watch);

/*
 * Growth of live bytes in bytes/s over the last minute; in a younger recording without its first
 * fifth, so that what is mapped or allocated once at the start does not grow. 0 in the first ten
 * seconds.
 */
double th_watch_growth(const struct th_watch *watch, const struct th_watch_site *site);

/* Allocation rate in bytes/s over the last ten seconds. */
double th_watch_rate(const struct th_watch *watch, const struct th_watch_site *site);

/* Live bytes at the end of each of the last seconds, and bytes allocated in each; oldest first. */
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
	TH_ARRAY(struct th_watch_stack,
		items); /* sorted by live bytes, then by allocated bytes */
};

/* Collects the stacks of a site (by index).  Release with th_watch_stacks_deinit(). */
void th_watch_stacks_init(
	struct th_watch_stacks *stacks, const struct th_watch *watch, uint32_t site);
void th_watch_stacks_deinit(struct th_watch_stacks *stacks);

#endif
