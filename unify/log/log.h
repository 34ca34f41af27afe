/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the event log: an append-only file in a shared mapping.
 *
 * A producer reserves its bytes by moving the tail, fills them and then stores the header word
 * of the record with release order; no producer waits for another.  Space that a killed process
 * had reserved but not committed stays zero; readers skip it.  Disk space is allocated before
 * the tail can reach it, so a full disk is an error return and never SIGBUS.
 */
#ifndef TH_UNIFY_LOG_LOG_H
#define TH_UNIFY_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/log/ring.h"
#include "unify/shared/log_format.h"

enum th_log_status {
	TH_LOG_OK,
	TH_LOG_EXISTS,   /* the file exists and is not the log of this process before an exec */
	TH_LOG_NO_SPACE, /* the first chunk could not be allocated */
	TH_LOG_FAILED,   /* errno has the reason */
};

struct th_log_identity {
	uint64_t process_start; /* field 22 of /proc/self/stat; 0 = unknown */
	uint64_t process_space; /* of this boot and pid namespace; 0 = unknown */
	uint64_t interval;
	uint64_t rate;      /* maximum samples per second; 0 = none */
	uint64_t overhead;  /* maximum CPU time of recording, millionths; 0 = no budget */
	uint64_t ring;      /* bytes: the log is a ring of this size (ring.h); 0 = it is not */
	bool keeps_earlier; /* an earlier log of this process at that path is not replaced */
};

/*
 * Creates the log at `path` (absolute) with a maximum size of `max_bytes` and writes its
 * metadata.  Replaces a log that this process left at that path before it called exec (same
 * pid, same start time, same space, all of them known), unless identity->keeps_earlier, and no
 * other file.  With identity->ring `max_bytes` only counts where no ring is possible.  On failure
 * no file remains.  Not from the malloc path.
 */
enum th_log_status
th_log_create(const char *path, uint64_t max_bytes, const struct th_log_identity *identity);

/*
 * The log is complete, and another one will be created: gives back its mappings, but for the header
 * page, which the next log takes over.  False: a thread still writes to it. [any]
 */
bool th_log_retire(void);

/* The header page, NULL if there is no log. [any] */
struct th_log_header *th_log_header(void);

/* A field of variable size: TEXT (length in bytes) or U64_ARRAY (length in elements). */
struct th_log_part {
	const void *data;
	uint32_t length;
};

/* TEXT from a C string; NULL is the empty text. */
struct th_log_part th_log_text(const char *text);

/*
 * Appends one event: `fixed` is its struct th_event_NAME (the record header in it need not be
 * set), `parts` its variable fields in order.  Returns the file offset of the record, which is
 * the id of a sample; 0 if there is no log, no space, or the memory is a copy
 * (th_log_is_ours()).  Preserves errno. [in-malloc]
 */
uint64_t th_log_append(enum th_event_type type, const void *fixed,
	const struct th_log_part *parts, unsigned part_count);

/*
 * The fixed part of a record in the log of this process, by the return value of
 * th_log_append(); NULL if there is no record of that type at `offset`, or the file is out of
 * reach.  Reads from the file, in about a microsecond.  Valid until the next call; one thread
 * at a time. [in-malloc]
 */
const void *th_log_get(uint64_t offset, enum th_event_type type);

/*
 * Opens the log file, if it is closed, while its name is still accessible: the program is about
 * to change its user or its root, and may have closed all descriptors.  Preserves errno. [any]
 */
void th_log_hold_file(void);

/* Adds to a counter of the header; does nothing if there is no log. [in-malloc] */
void th_log_count(enum th_log_counter counter, uint64_t amount);

/* Takes a lock; false: it was given up, and counted. [in-malloc] */
static inline bool
th_log_lock(struct th_spinlock *lock)
{
	bool is_locked = th_lock_bounded(lock);

	if (!is_locked)
		th_log_count(TH_COUNTER_LOCKS_GIVEN_UP, 1);
	return is_locked;
}

/* The counter for the reason of the last failed append, DROPPED_.... [any] */
enum th_log_counter th_log_refusal(void);

/*
 * Appends a sample within a capture (in_flight.h), which has checked the owner of the log, and
 * counts it as `counter`, or as lost for the reason of the failure.  Returns its id or 0.
 * [in-malloc]
 */
static inline uint64_t
th_log_append_sample(enum th_event_type type, const void *fixed, enum th_log_counter counter)
{
	uint64_t sample = th_ring_has_room() ? th_log_append(type, fixed, NULL, 0) : 0;

	th_log_count(sample ? counter : th_log_refusal(), 1);
	return sample;
}

/* Sets a counter with a single writer. [any] */
void th_log_set_counter(enum th_log_counter counter, uint64_t value);

/* Appends a NOTE. [any] */
void th_log_note(unsigned severity, const char *text);

/* Allocates and touches space ahead of the tail for the producers. [agent-thread] */
void th_log_prepare(void);

/* Whether most of that space has been used. [in-malloc] */
bool th_log_needs_preparation(void);

/*
 * In the tool: starts appending to the log of another process, by the same protocol.  The file
 * is open for reading and writing and remains the caller's.  False: the file is not a log in
 * recording state, or is malformed.  th_log_observe_end() must precede another call.
 */
bool th_log_observe(int descriptor);
void th_log_observe_end(void);

/*
 * Writes the trailer, marks the log complete and truncates it to its size.  Later appends fail.
 */
void th_log_close(void);

/*
 * Whether this is the memory that the log describes.  False in a child with a copy of it that was
 * created without the fork() handlers, by the bare system call.  A child that shares the memory,
 * by vfork() or clone(CLONE_VM), allocates from the same heap and is recorded like a thread.  Makes
 * no system call; before Linux 4.14 as th_log_is_owner(). [in-malloc]
 */
bool th_log_is_ours(void);

/*
 * Whether the calling process has created the log.  A child that shares its memory must not end the
 * recording nor serve requests, and has descriptors of its own. [in-malloc]
 */
bool th_log_is_owner(void);

/*
 * In a forked child: drops the parent's log without changing it.  An append that the fork
 * interrupted continues in private memory, and fails or is lost.
 */
void th_log_detach(void);

#endif
