/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third heap: memory that a program maps by itself, with mmap, mremap, mprotect and brk.
 *
 * Every range that was seen to be mapped stands in one table, whether it was sampled or not, so
 * that unmapping a part, moving, and mapping something else over it are exact, and the bytes of
 * all of it are known without sampling.  What libc maps for itself (its own arenas, thread
 * stacks, loaded objects) does not come by here; nor do calls through syscall().
 *
 *   accessible   memory that can be read or written: what the heap `mapped` consists of
 *   reserved     PROT_NONE.  Not memory yet, and kept apart; MAP_NORESERVE alone does not make
 *                it that, since allocators hand such memory out
 *
 * A piece of s bytes that becomes accessible is an allocation of s bytes and sampled by the
 * shared law, with one countdown for the process: mapping is rare.  Reserving is sampled with a
 * countdown of its own.  Sizes far above the interval are certain to be sampled.
 */
#ifndef TH_UNIFY_MAPPED_MAPPING_H
#define TH_UNIFY_MAPPED_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/base/observed.h"
#include "unify/mapped/range_tree.h"

/* A call that succeeded. */
struct th_mapping_call {
	uintptr_t start;
	uint64_t bytes; /* whole pages, except of BRK; may be 0 */
	enum th_alloc_function function;
	uint32_t flags;   /* enum th_mapped_flag: RESERVED, SHARED, FILE */
	uintptr_t caller; /* return address */
};

/* Begins.  Once, outside the malloc path. */
void th_mapping_start(uint64_t seed);

/*
 * As th_native_wait(): `begin` is called for the first piece of memory that is due, before it is
 * entered.  Pieces before it count towards the totals, and are not followed.
 */
void th_mapping_wait(uint64_t seed, uint64_t interval, void (*begin)(void));

/* The module whose malloc lies behind ours, 0 if that is libc: what it maps are its arenas. */
void th_mapping_set_allocator(uint32_t module);

/* Something was mapped; whatever stood there before is gone. Preserves errno. [in-malloc] */
void th_mapping_mapped(const struct th_mapping_call *call);

/*
 * A call that takes ranges out begins: what is mapped in the same place before it returns to us
 * is newer than it and stays.  The result is for the call that ends it, which must come, whether
 * it succeeded or not (with 0 bytes). [in-malloc]
 */
uint64_t th_mapping_begin(void);
void th_mapping_unmapped(uint64_t begun, const struct th_mapping_call *call);

/*
 * `old_bytes` at `old` are now the first of `call`; the rest of either is gone or new.
 * [in-malloc]
 */
void th_mapping_moved(
	uint64_t begun, uintptr_t old, uint64_t old_bytes, const struct th_mapping_call *call);

/* The range is from now on reserved, by call->flags, or accessible. [in-malloc] */
void th_mapping_protected(const struct th_mapping_call *call);

/*
 * How many of `bytes` from `start` on are mapped without a gap, as far as was seen: so far gets an
 * mprotect that fails with ENOMEM.  Preserves errno. [in-malloc]
 */
uint64_t th_mapping_reach(uintptr_t start, uint64_t bytes);

/* The contents of so many bytes were given back with madvise; they stay mapped. [in-malloc] */
void th_mapping_returned(uint64_t bytes);

/*
 * The first range that ends behind `address`, as it is now; false: there is none.  A walk over
 * all of them calls this with the last one's end, and sees each range that does not change
 * meanwhile.  `owner` is the module that mapped it (0 = not known), `flags` enum th_mapped_flag,
 * `sample` the sample that stands for it, `place` that of the reservation that it lies in, 0 if
 * there is none. [agent-thread]
 */
bool th_mapping_next(uintptr_t address, struct th_range *ret);

/* Exact bytes of all ranges. */
struct th_mapping_use {
	uint64_t allocated;  /* accessible bytes that were mapped so far */
	uint64_t accessible; /* now */
	uint64_t files;      /* of these */
	uint64_t reserved;   /* now */
	uint64_t returned;   /* by madvise, so far */
};
struct th_mapping_use th_mapping_use(void);

/* Writes a MAPPED_USE if anything changed since the last. [agent-thread] */
void th_mapping_log_use(void);

/* In a forked child: back to the state before th_mapping_start() and th_mapping_wait(). */
void th_mapping_reset(void);

/* In the tool: the ranges become those of the observed process. */
struct th_observed_part th_mapping_part(void);
bool th_mapping_observe(const void *part);

#endif
