/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third heap: memory that a program maps directly, with mmap, mremap, mprotect and brk.
 *
 * Every intercepted mapping is in one table, sampled or not, so that partial unmapping, moving
 * and replacing mappings are exact, and the bytes of all mappings are known without sampling.
 * libc's own mappings (its arenas, thread stacks, loaded objects) are not intercepted; neither
 * are calls through syscall().
 *
 *   accessible   memory that can be read or written: the heap `mapped` consists of this
 *   reserved     PROT_NONE.  Address space, not memory, and therefore counted separately.
 *                MAP_NORESERVE alone does not make a mapping reserved: allocators hand out
 *                such memory
 *
 * A piece of s bytes that becomes accessible is an allocation of s bytes, sampled by the common
 * method (poisson.h) with one countdown for the process, since mapping is rare.  Reserving is
 * sampled with a countdown of its own.  Sizes far above the interval are certain to be sampled.
 */
#ifndef TH_UNIFY_MAPPED_MAPPING_H
#define TH_UNIFY_MAPPED_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"
#include "unify/mapped/range_set.h"
#include "unify/shared/log_format.h"

/* A successful call. */
struct th_mapping_call {
	uintptr_t start;
	uint64_t bytes; /* whole pages, except of BRK; may be 0 */
	enum th_alloc_function function;
	uint32_t flags;   /* enum th_mapped_flag: RESERVED, SHARED, FILE */
	uintptr_t caller; /* return address */
};

/* Starts the recording of mappings.  Once, outside the malloc path. */
void th_mapping_start(uint64_t seed);

/*
 * As th_native_wait(): `begin` is called for the first piece of memory that is due, before it
 * is entered.  Earlier pieces count towards the totals, but are not followed.
 */
void th_mapping_wait(uint64_t seed, uint64_t interval, void (*begin)(void));

/* Sets the module of the underlying malloc, 0 if that is libc: its mappings are its arenas. */
void th_mapping_set_allocator(uint32_t module);

/*
 * Memory was mapped; previous mappings at the address are gone.  Preserves errno. [in-malloc]
 */
void th_mapping_mapped(const struct th_mapping_call *call);

/*
 * A call that removes ranges begins: mappings that appear at the same address before it returns
 * are newer and stay.  Pass the result to the call that ends it, which must follow, whether the
 * system call succeeded or not (with 0 bytes). [in-malloc]
 */
uint64_t th_mapping_begin(void);
void th_mapping_unmapped(uint64_t begun, const struct th_mapping_call *call);

/*
 * `old_bytes` at `old` are now the first bytes of `call`; the rest of either is gone or new.
 * [in-malloc]
 */
void th_mapping_moved(
	uint64_t begun, uintptr_t old, uint64_t old_bytes, const struct th_mapping_call *call);

/* The range is now reserved or accessible, as call->flags says. [in-malloc] */
void th_mapping_protected(const struct th_mapping_call *call);

/*
 * The number of bytes, up to `bytes`, that are mapped without a gap from `start` on, as far as
 * intercepted: this is how far an mprotect gets that fails with ENOMEM.  Preserves errno.
 * [in-malloc]
 */
uint64_t th_mapping_reach(uintptr_t start, uint64_t bytes);

/* madvise discarded the contents of `bytes` bytes, which stay mapped. [in-malloc] */
void th_mapping_returned(uint64_t bytes);

/*
 * The first range that ends after `address`; false: there is none.  A walk over all ranges
 * passes the end of the last one, and sees each range that does not change meanwhile.  `owner`
 * is the module that mapped it (0 = unknown), `flags` enum th_mapped_flag, `sample` the sample
 * that represents it, `place` the sample of the reservation that contains it, 0 if there is
 * none. [agent-thread]
 */
bool th_mapping_next(uintptr_t address, struct th_range *ret);

/* Exact bytes of all ranges; the time is 0. */
struct th_event_mapped_use th_mapping_use(void);

/* Writes a MAPPED_USE if anything changed since the last one. [agent-thread] */
void th_mapping_log_use(void);

/* In a forked child: restores the state before th_mapping_start() and th_mapping_wait(). */
void th_mapping_reset(void);

/* For another recording of the same process: forgets all mappings. [any] */
void th_mapping_restart(void);

/* The ranges. */
extern const struct th_observed_tables th_mapping_tables;

#endif
