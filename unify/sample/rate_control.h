/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate control: the fraction of due samples that is kept.
 *
 * All heaps count every due sample (the population) and keep it with a probability P that
 * depends on past counts only.  A kept sample weighs 1/P more, so no estimate is biased.  P is
 * never 0.
 *
 *   P = budget / forecast * brake
 *
 * budget    samples that may be kept in a second, somewhat below the target forecast  the
 * population of a second: that of the last second or, in a surge, of a second that
 *           continues as the surge began
 * brake     1, halved for every step by which the last second exceeded its budget: no second
 *           keeps more than 1.1 times the target
 *
 * Time is divided into windows of 10 ms, and "the last second" is the last hundred of them:
 * samples that one window leaves unused are available to others within that second and no
 * longer.  Under lasting high load the sampling interval is raised (interval_control.h), so that
 * P returns towards 1.
 *
 * The target may change at any time.  What a second may keep is the sum of the targets of its
 * windows, so a lower target does not punish samples that were kept under the higher one.
 *
 * Producers only add to two counters; everything else has one writer, which rolls the windows.
 */
#ifndef TH_UNIFY_SAMPLE_RATE_CONTROL_H
#define TH_UNIFY_SAMPLE_RATE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#define TH_RATE_WINDOW_NS 10000000
/* Windows per second. */
#define TH_RATE_SECOND 100
/* Seconds remembered beyond the current one, to cover bursts that come once a second. */
#define TH_RATE_HOLD 4

/* Contents of one window. */
struct th_rate_window {
	uint32_t population;
	uint32_t kept;
	uint32_t allowed; /* thousandths of a sample: its part of the target */
};

/* A population that the last second does not explain. */
struct th_rate_surge {
	uint32_t windows; /* since its start, without its first; it ends after TH_RATE_SECOND */
	bool is_on;
	uint64_t first;      /* population of its first window, perhaps only partly filled */
	uint64_t population; /* of the windows after the first */
	uint64_t spent;      /* samples kept beyond the share of its windows */
};

struct th_rate {
	/* Written by any thread, atomic. */
	uint64_t population;
	uint64_t kept;
	/* Written by the thread that rolls, read by any thread, atomic. */
	uint64_t window_end;        /* ns; 0 = no window has begun */
	uint64_t population_before; /* `population` when the current window began */
	uint64_t kept_before;       /* `kept` at the same time */
	uint64_t second_population; /* of the last second without the current window */
	uint64_t second_kept;       /* of the same second */
	uint64_t oldest_kept;       /* of the window before these */
	uint64_t allowed;           /* thousandths: samples that the last second may keep */
	uint64_t forecast;          /* lower bound of the population of a second */
	uint64_t surge_above;       /* a window with more than this begins a surge */
	uint64_t budget;            /* thousandths of a sample per second */
	uint64_t target;            /* maximum samples per second; 0 = none */
	/* Private to the thread that rolls. */
	uint32_t at; /* next index in the ring */
	struct th_rate_window ring[TH_RATE_SECOND];
	uint64_t seconds[TH_RATE_HOLD]; /* populations of the most recent seconds */
	uint64_t peaks[TH_RATE_HOLD];   /* largest windows of these seconds */
	struct th_rate_surge surge;
};

/* `target` samples per second; 0 = no maximum. */
void th_rate_init(struct th_rate *rate, uint64_t target);

/*
 * Changes the target, for the time after the current window.  One thread at a time, as
 * th_rate_roll(). [in-malloc]
 */
void th_rate_set_target(struct th_rate *rate, uint64_t target);

/*
 * Scales the remembered populations by `factor`, to those expected from now on: the sampling
 * interval was changed.  One thread at a time, as th_rate_roll(). [in-malloc]
 */
void th_rate_rescale(struct th_rate *rate, double factor);

/* Whether th_rate_roll() has work to do at `now` (ns). [in-malloc] */
bool th_rate_is_due(const struct th_rate *rate, uint64_t now);

/* Closes the windows that have ended by `now`.  One thread at a time. [in-malloc] */
void th_rate_roll(struct th_rate *rate, uint64_t now);

/*
 * Counts a sample due at `now`; returns the probability > 0 with which to keep it. [in-malloc]
 */
double th_rate_count(struct th_rate *rate, uint64_t now);

/* Counts the sample as kept. [in-malloc] */
void th_rate_keep(struct th_rate *rate);

#endif
