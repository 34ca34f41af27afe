/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocation functions where import slots lead to them.  They differ from the exported ones
 * (entry.c) in one respect: some frees do not pass through a slot, such as those by a pointer that
 * was looked up before.  Their block looks alive until its address is handed out again, at which
 * time it ends.
 */
#ifndef TH_PRELOAD_LATE_ENTRY_H
#define TH_PRELOAD_LATE_ENTRY_H

#include <stddef.h>

void *th_late_malloc(size_t size);
void *th_late_calloc(size_t count, size_t size);
void *th_late_realloc(void *block, size_t size);
void *th_late_reallocarray(void *block, size_t count, size_t size);
int th_late_posix_memalign(void **block_ret, size_t alignment, size_t size);
void *th_late_aligned_alloc(size_t alignment, size_t size);
void *th_late_memalign(size_t alignment, size_t size);
void *th_late_valloc(size_t size);
void *th_late_pvalloc(size_t size);
void th_late_free(void *block);
void th_late_free_sized(void *block, size_t size);
void th_late_free_aligned_sized(void *block, size_t alignment, size_t size);

#endif
