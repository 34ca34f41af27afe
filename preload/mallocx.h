/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocx and its relatives, the functions that jemalloc has beside the standard ones.
 *
 * Their mere presence means jemalloc to those who refer to them weakly, so they have a library of
 * their own, libtwinheap-mallocx.so, which is preloaded only where jemalloc is.  It jumps through
 * the table below.  sallocx and nallocx allocate nothing and stay jemalloc's.
 */
#ifndef TH_PRELOAD_MALLOCX_H
#define TH_PRELOAD_MALLOCX_H

#include <stdbool.h>
#include <stddef.h>

struct th_mallocx {
	void *(*mallocx)(size_t size, int flags);
	void *(*rallocx)(void *block, size_t size, int flags);
	size_t (*xallocx)(void *block, size_t size, size_t extra, int flags);
	void (*dallocx)(void *block, int flags);
	void (*sdallocx)(void *block, size_t size, int flags);
};

/* Exported, under a name that means nothing to anybody else. [in-malloc] */
extern struct th_mallocx th_mallocx __attribute__((visibility("default")));

/* Of libtwinheap-mallocx.so, NULL without it: the definition of a symbol that comes after it. */
extern void *
th_forward_find_mallocx(const char *symbol) __attribute__((weak, visibility("default")));

/* Resolves all of it; later calls do nothing.  Nothing to do without libtwinheap-mallocx.so. */
void th_mallocx_init(void);

#endif
