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
 * longer.  A slow loop adjusts the sampling interval, so that P returns towards 1 under lasting
 * high load.
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
	uint64_t forecast;          /* lower bound of the population of a second */
	uint64_t surge_above;       /* a window with more than this begins a surge */
	uint64_t budget;            /* thousandths of a sample per second */
	uint64_t target;            /* maximum samples per second; 0 = none */
	uint64_t interval;          /* bytes */
	uint64_t credit;            /* remaining samples that do not count towards the target */
	/* Private to the thread that rolls. */
	uint64_t configured_interval;
	uint64_t floor; /* bytes: lower bound set by the overhead budget */
	uint32_t at;    /* next index in the ring */
	uint32_t slow_windows;
	struct th_rate_window ring[TH_RATE_SECOND];
	uint64_t seconds[TH_RATE_HOLD]; /* populations of the most recent seconds */
	uint64_t peaks[TH_RATE_HOLD];   /* largest windows of these seconds */
	struct th_rate_surge surge;
	uint64_t slow_population; /* since the last iteration of the slow loop */
	uint32_t calm;            /* consecutive iterations that found a low load */
	double calm_factor;       /* the highest of these loads, relative to the target */
};

/*
 * `target` samples per second (0 = no maximum); the interval never goes below `interval` bytes.
 */
void th_rate_init(struct th_rate *rate, uint64_t target, uint64_t interval);

/*
 * Exempts the next `samples` samples from rate control: all are kept, and they do not count
 * towards the target later.  Call before the first sample.
 */
void th_rate_set_credit(struct th_rate *rate, uint64_t samples);

/* Sets a lower bound of the interval, bytes.  One thread at a time, as th_rate_roll(). */
void th_rate_set_floor(struct th_rate *rate, uint64_t floor);

/* Changes the configured target or interval.  One thread at a time, as th_rate_roll(). */
void th_rate_set_target(struct th_rate *rate, uint64_t target);
void th_rate_set_interval(struct th_rate *rate, uint64_t interval);

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

/* Mean bytes between samples, for the next draw. [in-malloc] */
uint64_t th_rate_interval(const struct th_rate *rate);

#endif
