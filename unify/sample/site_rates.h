/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thinning by site: which due samples are dropped when more are due than may be kept.
 *
 * Samples of one allocation site have one key, which is cheap to compute.  A table counts the
 * due samples of each key, and every key is kept with the probability
 *
 *   keep(key) = min(1, least + level / rate of the key)
 *
 * A part of the target, TH_SITE_EVEN_PART, is for all due samples with the same probability,
 * `least`: a leak may hide in the bulk of a frequent site, and no estimate is much worse than
 * without sites.  The level is chosen so that all together are as many as may be kept: sites that
 * make up the bulk share the rest equally, and rare ones are always kept, as are new ones.  The
 * probability depends on earlier counts only, so no estimate is biased, whatever the keys are.
 *
 * A sample has two keys: `near` stands for its youngest callers, `far` for more of them.  A rare
 * path to a frequent call is rare by its far key only; and where a frequent call has so many paths
 * that their far keys fill the table, what is rare is still rare by its near key.  The higher of
 * both probabilities is valid; near keys have a small part of the target (TH_SITE_NEAR_PART), in
 * addition to that of the far keys.
 *
 * Sites with survivors (survivors.h) have part of the target first, TH_SITE_SURVIVORS_PART, by
 * far keys; what they leave of it, and the rest, is for all.
 *
 * The table is a count-min sketch: for each key two rows with different hashes, of which the
 * smaller rate of a key is valid.  A rare key shares both slots with frequent ones with a
 * probability of (frequent keys / slots)^2.
 *
 * Each heap has a table of its own.  Producers only add to counters; everything else has one writer.
 */
#ifndef TH_UNIFY_SAMPLE_SITE_RATES_H
#define TH_UNIFY_SAMPLE_SITE_RATES_H

#include <stdbool.h>
#include <stdint.h>

/* For each key; those of near keys come first. */
#define TH_SITE_ROWS_PER_KEY 2
#define TH_SITE_ROWS (2 * TH_SITE_ROWS_PER_KEY)
#define TH_SITE_SLOTS 512
/* Of the target, for all samples alike. */
#define TH_SITE_EVEN_PART 0.2
/* Of the rest, for near keys. */
#define TH_SITE_NEAR_PART 0.2
/* Of the rest, for sites with survivors alone, all of them and each. */
#define TH_SITE_SURVIVORS_PART 0.5
#define TH_SITE_SURVIVOR_PART 0.125

/* Hashes.  Samples with the same far key have the same near key. */
struct th_site_key {
	uint64_t near;
	uint64_t far;
	uint64_t
		stack; /* of the whole stack, as far as it is known (stack_memo.h); 0: unknown */
};

struct th_site_rates {
	/* Written by any thread, atomic: due samples since the last roll. */
	uint32_t counts[TH_SITE_ROWS][TH_SITE_SLOTS];
	/* Written by the writer, atomic: 1 - probability, in 2^-31. */
	uint32_t dropped[TH_SITE_ROWS][TH_SITE_SLOTS];
	uint32_t expected[TH_SITE_ROWS][TH_SITE_SLOTS]; /* the same: until the next roll */
	bool drops;                                     /* the same: some are dropped */
	/* Private to the writer. */
	double rates[TH_SITE_ROWS][TH_SITE_SLOTS]; /* samples per second */
	double total;                              /* the same, of all keys */
	double usual; /* the same, as counted: without the forecast of a rise */
	uint16_t survivors[TH_SITE_ROWS_PER_KEY][TH_SITE_SLOTS]; /* of far keys */
	uint32_t rolls;
	uint32_t first[TH_SITE_ROWS][TH_SITE_SLOTS]; /* rates are means since this roll */
	uint64_t time;                               /* ns: of the last roll */
	uint64_t elapsed[2]; /* ns: before the last two, the last first */
};

/* `sites`: zeroed, or initialized before; `now` in ns. */
void th_site_rates_init(struct th_site_rates *sites, uint64_t now);

/*
 * Counts a sample of the site `key`; returns the probability > 0 with which to keep it.
 * [in-malloc]
 */
double th_site_rates_count(struct th_site_rates *sites, struct th_site_key key);

/*
 * Updates the probabilities, so that at most about (1 + TH_SITE_NEAR_PART) `target` samples are
 * kept per second, and usually `target`; 0: all.  One
 * writer. [in-malloc]
 */
void th_site_rates_roll(struct th_site_rates *sites, uint64_t now, double target);

/* Survivors count from the next roll on.  By the writer. [in-malloc] */
void th_site_rates_forget_survivors(struct th_site_rates *sites);
void th_site_rates_add_survivors(struct th_site_rates *sites, uint64_t far, uint16_t number);

/* The number of due samples changes by `factor` from now on.  One writer. [in-malloc] */
void th_site_rates_rescale(struct th_site_rates *sites, double factor);

#endif
