/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of a breakdown of resident memory.  In the library this is the process itself.
 * In the tool it may be another one, whose memory is read with process_vm_readv(2):
 * remote_tables.h.
 */
#ifndef TH_UNIFY_BASE_OBSERVED_H
#define TH_UNIFY_BASE_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A module's tables, which the tool copies from another process into its own of the same kind. */
struct th_observed_tables {
	const void *start; /* the object with which they begin */
	uint64_t bytes;    /* its size */
	/* In the tool: copies those of the observed process, which begin at `start`. [offline] */
	bool (*observe)(const void *start);
};

/* Sets the observed process; 0: this process, as initially. [any] */
void th_observed_set(pid_t pid);

/* Whether another process is observed. [any] */
bool th_observed_is_other(void);

/* "/proc/self/NAME", or "/proc/PID/NAME" of another process. [any] */
#define TH_OBSERVED_PATH_MAX 64
const char *th_observed_path(const char *name, char path[TH_OBSERVED_PATH_MAX]);

/*
 * Copies bytes at an address of the observed process; false, with errno: not all of them can be
 * read.  The memory may be unmapped at any time; this call then fails, where a plain read would
 * fault. [any]
 */
bool th_observed_copy(uintptr_t from, void *ret, uint64_t bytes);

/* The same for `count` consecutive pieces with a total of `bytes` bytes, in one call. [any] */
bool th_observed_copy_pieces(
	const struct iovec *from, const struct iovec *to, unsigned count, uint64_t bytes);

/*
 * Copies `used` bytes of each of `count` chunks of `bytes`, at most TH_OBSERVED_CHUNKS_MAX: at `from` is
 * the array of their addresses, NULL where there is none, which is zeros here.  `ours` is the array of
 * ours, made as needed (memory.h). [offline]
 */
#define TH_OBSERVED_CHUNKS_MAX 256
bool
th_observed_copy_chunks(uintptr_t from, void *ours, uint32_t count, size_t bytes, size_t used);

#endif
