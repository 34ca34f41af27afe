/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the event log: an append-only file in a shared mapping.
 *
 * A producer reserves its bytes by moving the tail, fills them and then stores the record's
 * header word with release order; nobody waits for anybody.  What a killed process had reserved
 * but not committed stays zero and is skipped by readers.  Disk space is allocated before the
 * tail may reach it, so a full disk is an error return and never SIGBUS.
 */
#ifndef TH_UNIFY_LOG_LOG_H
#define TH_UNIFY_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

enum th_log_status {
	TH_LOG_OK,
	TH_LOG_EXISTS,   /* a file of that name is there and is not an earlier image of ours */
	TH_LOG_NO_SPACE, /* the first chunk could not be allocated */
	TH_LOG_FAILED,   /* errno says why */
};

struct th_log_identity {
	uint64_t process_start; /* field 22 of /proc/self/stat; 0 = not known */
	uint64_t process_space; /* of this boot and pid namespace; 0 = not known */
	uint64_t interval;
	uint64_t rate; /* samples a second; 0 = no cap */
};

/*
 * Creates the log at `path` (absolute) with room for at most `max_bytes` and writes its
 * metadata.  A log left at that path by this very process before it called exec (same pid, same
 * start time, same space, all of them known) is replaced; no other file is.  On failure nothing is
 * left behind.  Not from the malloc path.
 */
enum th_log_status
th_log_create(const char *path, uint64_t max_bytes, const struct th_log_identity *identity);

/* The header page, NULL while there is no log. [any] */
struct th_log_header *th_log_header(void);

/* A field of variable size: TEXT (length in bytes) or U64_ARRAY (length in elements). */
struct th_log_part {
	const void *data;
	uint32_t length;
};

/* TEXT from a C string; NULL counts as empty. */
struct th_log_part th_log_text(const char *text);

/*
 * Appends one event: `fixed` is its struct th_event_NAME (the record header in it need not be
 * set), `parts` its variable fields in order.  Returns the record's file offset, which is the
 * id of a sample, or 0 when there is no log, no space, or this is not the process that owns
 * the log (a child of vfork).  Preserves errno. [in-malloc]
 */
uint64_t th_log_append(enum th_event_type type, const void *fixed,
	const struct th_log_part *parts, unsigned part_count);

/*
 * The same for who has asked th_log_is_ours() a moment ago, and need not ask again: it is a system
 * call. [in-malloc]
 */
uint64_t th_log_append_ours(enum th_event_type type, const void *fixed,
	const struct th_log_part *parts, unsigned part_count);

/*
 * The fixed part of a record of the log that this process writes, by what th_log_append() returned
 * for it; NULL when there is none of that type there, or the file is out of reach.  Read from the
 * file, a microsecond.  Valid until the next call; by one thread at a time. [in-malloc]
 */
const void *th_log_get(uint64_t offset, enum th_event_type type);

/*
 * Opens the log's file if it is not open, while it can still be opened by its name: the program is
 * about to change its user or its root, and may have closed all descriptors. Preserves errno. [any]
 */
void th_log_hold_file(void);

/* Adds to a counter of the header; nothing happens when there is no log. [in-malloc] */
void th_log_count(enum th_log_counter counter, uint64_t amount);

/* The counter that says why an append failed, DROPPED_...: of the last one that did. [any] */
enum th_log_counter th_log_refusal(void);

/*
 * Appends a sample within a capture (flight.h), which began with the question whose log it is, and
 * counts it by `counter`, or as lost by the reason.  Returns its id or 0. [in-malloc]
 */
static inline uint64_t
th_log_append_sample(enum th_event_type type, const void *fixed, enum th_log_counter counter)
{
	uint64_t sample = th_log_append_ours(type, fixed, NULL, 0);

	th_log_count(sample ? counter : th_log_refusal(), 1);
	return sample;
}

/* Sets a counter that has one writer. [any] */
void th_log_set_counter(enum th_log_counter counter, uint64_t value);

/* Appends a NOTE. [any] */
void th_log_note(unsigned severity, const char *text);

/*
 * Allocates and touches space ahead of the tail, so that producers find it ready.
 * [agent-thread]
 */
void th_log_prepare(void);

/*
 * In the tool: appends to the log of another process from now on, by the same protocol.  The file
 * is open for reading and writing and stays the caller's.  False: it is not a log that is being
 * written, or malformed.  To be ended before another.
 */
bool th_log_observe(int descriptor);
void th_log_observe_end(void);

/* Writes the trailer, marks the log complete and cuts it to size.  Later appends fail. */
void th_log_close(void);

/*
 * Whether the calling process is the one that the log is of: not so in a child that came about
 * past the handlers of fork(), by vfork(), clone() or the bare system call. [any]
 */
bool th_log_is_ours(void);

/*
 * In a forked child: forgets the parent's log without touching it.  Code that the fork came upon
 * in the middle of an append goes on in private memory, and fails or writes in vain.
 */
void th_log_detach(void);

#endif
