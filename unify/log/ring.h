/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log as a ring: its disk space is bounded, however long the recording is.
 *
 * Offsets in the file only grow, so ids of samples stay unique; the space of old records is given
 * back by punching holes.  The records are a chain of chunks, of which the last two are in the file.
 * When a chunk is full, the one before it goes, and the next one begins with what later readers need
 * of the full one: KEPT events, which hold the original records with their original offsets.  So
 * the older chunk needs nothing before it: a reader that first reads its KEPT events, in the order of
 * the offsets in them, and then the records from header->ring_from on, reads a log from which records
 * were left out.
 *
 * Kept are: definitions that are in use; the samples of everything alive; the last exact counts;
 * series over time, ever more sparsely; and of the samples that have ended as many as fit, at
 * random, with the probability, by which those that are left represent the others.  Blocks that
 * were large or lived long are more probable to be kept: the evidence of leaks depends on them.
 *
 * The work is divided into steps of bounded size: the agent thread runs them, or, in a process
 * without one, threads with a sample due.
 */
#ifndef TH_UNIFY_LOG_RING_H
#define TH_UNIFY_LOG_RING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The log that is being created, whose metadata end at `metadata_end`, becomes a ring of `bytes`.
 * False: its file system cannot punch holes, or there is no memory; the log is an ordinary one.
 */
bool th_ring_init(uint64_t bytes, uint64_t metadata_end);

/* Forgets the ring: the log was closed, or is the parent's. */
void th_ring_deinit(void);

/*
 * `is_alive` decides whether the thread with an id may still allocate; without it all do.
 * Before the first step.
 */
void th_ring_on_thread(bool (*is_alive)(uint32_t thread));

/*
 * Begins a chunk, if the present one is full, and copies to it by reading about `bytes` of the full
 * one.  False: nothing is left to do, or another thread is at it. [in-malloc]
 */
bool th_ring_step(uint32_t bytes);

/*
 * Whether there is something to do: whoever appends has to wake the agent thread (SOON), or to run a
 * step itself (NOW), since the ring is near its maximum, where samples and ends would be lost.
 */
enum th_ring_urgency { TH_RING_IDLE, TH_RING_SOON, TH_RING_NOW };
enum th_ring_urgency th_ring_urgency(void); /* [in-malloc] */

/*
 * Whether samples may be appended, for which a ring leaves some room unused: their ends come later,
 * and one that is lost would look like a leak.  False: the reason is set. [in-malloc]
 */
bool th_ring_has_room(void);

/*
 * The number of the present chunk, from 1; 1 also without a ring.  A stack that was not used in a
 * whole chunk may be dropped. [in-malloc]
 */
uint32_t th_ring_chunk(void);

/* Where the record of a sample is now: `sample`, unless it was copied. [any] */
uint64_t th_ring_place(uint64_t sample);

#endif
