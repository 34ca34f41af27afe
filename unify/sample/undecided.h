/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native samples that are recorded depending on how long they live.
 *
 * A frequent site keeps a small share of its due samples (site_rates.h), since captures are what
 * samples cost, and nearly all of them are freed at once.  But where the stack is remembered
 * (stack_memo.h) there is nothing to capture: all due samples of such a site are followed for a
 * while.  A block that is freed meanwhile is recorded with the site's probability, drawn when it was
 * allocated; one that is still alive then is always recorded, with keep = 1.  So each block has one
 * probability, which depends on nothing but the site and the block's own lifetime, and the sum of
 * 1 / keep remains unbiased; a leak at a line that churns has as many survivors as if all of its due
 * samples were kept.
 *
 * A sample is written up to TH_UNDECIDED_NS later than it was taken, or when it is freed; its time is
 * the one of the allocation.  If the process is killed, those that were not written are lost.
 *
 * The table of live blocks has a word of this module instead of the id of the sample meanwhile.
 */
#ifndef TH_UNIFY_SAMPLE_UNDECIDED_H
#define TH_UNIFY_SAMPLE_UNDECIDED_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/survivors.h"
#include "unify/shared/log_format.h"

/* The age from which a block is recorded in any case. */
#define TH_UNDECIDED_NS (2 * (uint64_t)1000000000)

/* Only sites that keep at most this share of their samples. */
#define TH_UNDECIDED_KEEP 0.5

/* Blocks that may be undecided at a time: 0.6 MB. */
#define TH_UNDECIDED_MAX 4096

struct th_undecided_sample {
	struct th_event_native_alloc
		event; /* complete, with the keep of a block that dies soon */
	struct th_survivor_origin origin;
	uint32_t *use; /* of the stack (stack_log.h) */
	bool is_kept;  /* even if it dies soon */
};

/*
 * Whether samples may be left undecided: while a thread of the library decides them, and the log is
 * no ring, from which the oldest samples go by their place. [agent-thread]
 */
void th_undecided_allow(bool is_allowed);
bool th_undecided_is_allowed(void);

/*
 * Copies a sample; returns the word that stands for it in the table of live blocks, 0: there is no
 * room.  th_undecided_begin() or th_undecided_cancel() follows. [in-malloc]
 */
uint64_t th_undecided_add(const struct th_undecided_sample *sample);

/* The word is in the table / is not. [in-malloc] */
void th_undecided_begin(uint64_t word);
void th_undecided_cancel(uint64_t word);

/* Whether this is such a word, and whether its sample is kept even if it dies soon. [any] */
bool th_undecided_is(uint64_t word);
bool th_undecided_is_kept(uint64_t word);

/*
 * The block of `word` was taken out of the table of live blocks, and freed at `time`: writes what is
 * to be written of it.  Unknown words are ignored. [in-malloc]
 */
void th_undecided_freed(uint64_t word, uint64_t time, uint32_t thread);

/* Writes the samples that are old enough at `now` (ns). [agent-thread] */
void th_undecided_look(uint64_t now);

/* Writes all of them: they are alive. [any] */
void th_undecided_settle(void);

/* The number of undecided blocks, about. [any] */
uint32_t th_undecided_count(void);

/* In a forked child, or for another recording: forgets all. */
void th_undecided_reset(void);

#endif
