/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heaps of glibc's malloc besides the one at brk: every arena but the main one consists of
 * regions of 64 MiB, aligned to their size, which libc maps without a call that can be
 * intercepted.
 */
#ifndef TH_UNIFY_RESIDENT_GLIBC_ARENAS_H
#define TH_UNIFY_RESIDENT_GLIBC_ARENAS_H

#include <stdbool.h>
#include <stdint.h>

/* HEAP_MAX_SIZE of malloc/arena.c on 64-bit machines: twice the largest mmap threshold. */
#define TH_GLIBC_ARENA_HEAP_BYTES (UINT64_C(64) << 20)

/*
 * Whether such a region begins at `address`, a multiple of TH_GLIBC_ARENA_HEAP_BYTES, and the
 * end of its used part.  Reads the observed process's memory with checks. [any]
 */
bool th_glibc_arena_heap_at(uintptr_t address, uintptr_t *end_ret);

#endif
