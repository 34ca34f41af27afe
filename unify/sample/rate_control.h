/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate control: how many of the samples that are due are kept.
 *
 * Both heaps count every sample that is due (the population) and keep it with a probability P
 * that depends on counts of the past alone, so a kept sample weighs 1/P more and no estimate is
 * biased.  P is never 0.
 *
 *   P = budget / forecast * brake
 *
 * budget    what may be kept in a second, somewhat below the target
 * forecast  the population of a second: that of the last one or, in a surge, of a second that
 *           goes on as the surge began
 * brake     1, and half of it for every further step by which the last second went past its
 *           budget: no second keeps more than 1.1 times the target
 *
 * Time is cut into windows of 10 ms, and "the last second" is the last hundred of them: what one
 * window leaves unused others may use within that second and no longer.  A slow loop moves the
 * sampling interval, so that P comes back towards 1 where the load stays high.
 *
 * Producers only add to two counters; everything else has one writer, who rolls the windows.
 */
#ifndef TH_UNIFY_SAMPLE_RATE_CONTROL_H
#define TH_UNIFY_SAMPLE_RATE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#define TH_RATE_WINDOW_NS 10000000
/* Windows in a second. */
#define TH_RATE_SECOND 100
/* A second is remembered a little longer, so that bursts that come once a second meet it. */
#define TH_RATE_HOLD 4

/* What one window held. */
struct th_rate_window {
	uint32_t population;
	uint32_t kept;
};

/* A population that the last second cannot explain. */
struct th_rate_surge {
	uint32_t windows; /* since it began, without its first; TH_RATE_SECOND ends it */
	bool is_on;
	uint64_t first;      /* population of its first window, which it may not have filled */
	uint64_t population; /* of the windows after */
	uint64_t spent;      /* samples kept beyond the share of its windows */
};

struct th_rate {
	/* Any thread, atomic. */
	uint64_t population;
	uint64_t kept;
	/* Written by who rolls, read by any thread, atomic. */
	uint64_t window_end;        /* ns; 0 = no window has begun */
	uint64_t population_before; /* `population` when the current window began */
	uint64_t kept_before;       /* `kept` then */
	uint64_t second_population; /* of the last second without the current window */
	uint64_t second_kept;       /* likewise */
	uint64_t oldest_kept;       /* of the window before those */
	uint64_t forecast;          /* population of a second, at least */
	uint64_t surge_above;       /* a window with more than this begins a surge */
	uint64_t budget;            /* thousandths of a sample, in a second */
	uint64_t target;            /* samples a second; 0 = no cap */
	uint64_t interval;          /* bytes */
	uint64_t credit;            /* samples that are still free of the target */
	/* Of who rolls. */
	uint64_t configured_interval;
	uint64_t floor; /* bytes: from elsewhere, as configured_interval */
	uint32_t at;    /* next place in the ring */
	uint32_t slow_windows;
	struct th_rate_window ring[TH_RATE_SECOND];
	uint64_t seconds[TH_RATE_HOLD]; /* populations of the seconds that ended last */
	uint64_t peaks[TH_RATE_HOLD];   /* largest windows of those */
	struct th_rate_surge surge;
	uint64_t slow_population; /* since the slow loop last looked */
	uint32_t calm;            /* times in a row that it found a low load */
	double calm_factor;       /* the highest of these, as part of the target */
};

/* `target` samples a second (0 = no cap); the interval never goes below `interval` bytes. */
void th_rate_init(struct th_rate *rate, uint64_t target, uint64_t interval);

/*
 * Leaves the next so many samples alone: they are all kept, and are not held against the target
 * afterwards.  Before the first sample.
 */
void th_rate_set_credit(struct th_rate *rate, uint64_t samples);

/* The interval must not go below `floor` either, from now on.  As th_rate_roll(). */
void th_rate_set_floor(struct th_rate *rate, uint64_t floor);

/* Changes target or interval, as a user would.  As th_rate_roll(): one thread at a time. */
void th_rate_set_target(struct th_rate *rate, uint64_t target);
void th_rate_set_interval(struct th_rate *rate, uint64_t interval);

/* Whether th_rate_roll() has something to do at `now` (ns). [in-malloc] */
bool th_rate_is_due(const struct th_rate *rate, uint64_t now);

/* Ends the windows that are over at `now`.  One thread at a time. [in-malloc] */
void th_rate_roll(struct th_rate *rate, uint64_t now);

/* A sample is due at `now`: counts it, returns the probability > 0 to keep it with. [in-malloc] */
double th_rate_count(struct th_rate *rate, uint64_t now);

/* It was kept. [in-malloc] */
void th_rate_keep(struct th_rate *rate);

/* Mean bytes between samples, for the next draw. [in-malloc] */
uint64_t th_rate_interval(const struct th_rate *rate);

#endif
