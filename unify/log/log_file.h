/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of the log: its descriptor, its size and its tail.  Private to the log_*.c files.
 *
 * The file grows by fallocate and a release store of the new limit.  Pages beyond `limit` are never
 * touched, so the file need not have space for them.
 */
#ifndef TH_UNIFY_LOG_LOG_FILE_H
#define TH_UNIFY_LOG_LOG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"

/*
 * Of writers that compete for the tail one succeeds each time: more turns mean foreign writes.
 */
#define TH_LOG_TAIL_TURNS (1u << 16)

struct th_log_file {
	struct th_log_header *header; /* mapped permanently; NULL: no log */
	bool is_observed;             /* the log of another process */
	uint64_t seen;                /* atomic: the last valid tail seen */
	uint64_t limit;               /* atomic: end of the space that this process allocated */
	uint64_t max_bytes;           /* atomic: maximum size of the log */
	uint64_t touched;     /* atomic; writer: the agent thread; end of the touched pages */
	uint32_t is_complete; /* atomic */
	uint32_t refusal; /* atomic: enum th_log_counter, reason of the last failed append */
	int descriptor;   /* under `growing` */
	dev_t device;     /* identify the descriptor if the program closed it */
	ino_t inode;
	pid_t owner;
	const uint32_t *mark; /* nonzero in the owner's memory, not in copies; NULL: unknown */
	struct th_spinlock growing;
	uint64_t next_try; /* atomic: earliest time of the next attempt after growing failed */
	/* End of the fixed part of each event, by type number. */
	uint32_t fixed_bytes[TH_EVENT_NUMBERS];
	char *path; /* PATH_MAX bytes */
};
extern struct th_log_file th_log_file;

/* Opens the file at `path` without following a link; -1 and errno on failure. */
int th_log_file_open(const char *path, int flags);

/* The descriptor under a high number, if possible. */
int th_log_file_move_high(int descriptor);

/* Whether the descriptor is that of the log's file: the program may have closed it. */
bool th_log_file_is_ours(int descriptor);

/*
 * The descriptor, reopened if the program closed it, but not in a child that shares the memory; -1
 * if the file is out of reach.  Under `growing`.
 */
int th_log_file_descriptor(void);

/* Reads from the file; returns the number of bytes read, 0 on failure. */
size_t th_log_file_read(void *to, uint64_t from, size_t bytes);

/* Allocates the space of the file between two offsets. */
bool th_log_file_allocate(int descriptor, uint64_t from, uint64_t to);

/* Sets the reason of a failed append; returns false. */
static inline bool
th_log_file_refuse(enum th_log_counter reason)
{
	th_store_relaxed(&th_log_file.refusal, reason);
	return false;
}

/*
 * Raises the limit to at least `needed`.  Of several producers one allocates, and the others
 * wait for it for a bounded time, since it may have been stopped in the middle.
 */
bool th_log_file_grow(uint64_t needed);

/*
 * The tail in the header; if it is invalid, it is replaced by the last valid one that this
 * process saw.  0: unknown.
 */
uint64_t th_log_file_tail(struct th_log_header *header);

/* A record up to this tail was reserved. */
static inline void
th_log_file_raise_seen(uint64_t tail)
{
	uint64_t seen = th_load_relaxed(&th_log_file.seen);

	while (seen < tail && !th_cas_acq_rel(&th_log_file.seen, &seen, tail))
		continue;
}

#endif
