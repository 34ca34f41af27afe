/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts things by the stack that made them, and those alive by the time at which they were
 * made: threads, class loaders.  Memory and log are bounded by the number of stacks.
 *
 * Each one counted costs a capture.  The first TH_TALLY_BURST, and TH_TALLY_RATE in each second or,
 * with th_tally_adapt(), in each second of CPU time, are counted exactly; of more, one of 2^level is
 * counted, chosen at random, and stands for all.
 * The level begins as the second before would have needed it, so that under lasting load at most
 * twice TH_TALLY_RATE are counted in a second.
 *
 * Time is divided into TH_TALLY_SLOTS slots of equal length.  When they are used up, each two
 * neighbours become one.  Survivors whose births spread over all slots show a leak; those of a
 * pool were born early, those of churn lately.
 */
#ifndef TH_UNIFY_SAMPLE_TALLY_H
#define TH_UNIFY_SAMPLE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"

/* Maximum number of makers in a tally. */
#define TH_TALLY_MAKERS_MAX 1024
#define TH_TALLY_SLOTS 32
/* At 10 us each, half a percent of one processor's time, after 40 ms. */
#define TH_TALLY_RATE 500
/* Of a process that is nearly idle, or waits for a processor. */
#define TH_TALLY_RATE_LEAST 100
#define TH_TALLY_BURST 4096

/* A stack that makes things, and what it has made. */
struct th_tally_maker {
	struct th_event_tally
		event; /* stack 0 = unused; time and times are set when it is logged */
	uint64_t births[TH_TALLY_SLOTS]; /* of those alive */
	bool has_changed;                /* since the last log */
};

struct th_tally {
	enum th_tally_kind kind;
	struct th_tally_maker *makers; /* atomic; number 0 is unused */
	struct th_spinlock lock;       /* protects the fields below and the makers */
	uint64_t origin;               /* ns: start of the first slot; 0 = not used yet */
	uint64_t slot_ns;
	uint32_t level;       /* atomic: highest in use; the log holds it */
	uint32_t has_changed; /* atomic: a maker has, since the last log */
	/* The current second; atomic, races cost little. */
	uint64_t window; /* ns: when it began */
	uint32_t due;    /* things made in it */
	uint32_t spent;  /* of the burst, up to it */
	uint32_t least;  /* level at which it begins: that of the second before */
	uint32_t rate;   /* counted exactly in a second; 0 = TH_TALLY_RATE */
};

/* Something alive, as counted. */
struct th_tally_item {
	uint32_t maker;  /* 0 = not counted */
	uint32_t stack;  /* id, of its maker */
	uint32_t weight; /* number that it stands for */
	uint64_t born;   /* ns */
	uint64_t bytes;
	uint64_t parts;
};

/*
 * The process used `cpu` ns of CPU time in `elapsed` ns: adapts the rate, so that counting takes the
 * same share of its time however busy the machine is. [any]
 */
void th_tally_adapt(struct th_tally *tally, uint64_t cpu, uint64_t elapsed);

/* The level for a thing that is about to be made. [any] */
uint32_t th_tally_level(struct th_tally *tally, uint64_t now);

/*
 * Raises the level in use, by one caller at a time.  It is judged by what is made from now on, in which
 * what is spent of the burst stays spent. [any]
 */
void th_tally_raise(struct th_tally *tally);

/*
 * The number of the maker with this stack and type, new or not; 0: the table is full or busy,
 * or there is no memory. [any]
 */
uint32_t th_tally_maker(struct th_tally *tally, uint32_t stack, uint32_t type);

/* Counts an item as made and alive; maker 0 is ignored.  False: the lock was not free. [any] */
bool th_tally_add(struct th_tally *tally, const struct th_tally_item *item);

/* The item is no longer alive.  `is_made` false: it was never made. [any] */
void th_tally_remove(struct th_tally *tally, const struct th_tally_item *item, bool is_made);

/* An item, which stays alive, has grown by bytes and parts. [any] */
void th_tally_grow(struct th_tally *tally, uint32_t maker, uint64_t bytes, uint64_t parts);

/* Writes a TALLY for each maker whose figures changed since the last call. [any] */
void th_tally_log(struct th_tally *tally);

/* In a forked child: forgets everything. */
void th_tally_reset(struct th_tally *tally);

/* For another recording of the same process: forgets everything counted.  [any] */
void th_tally_restart(struct th_tally *tally);

#endif
