/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocx and related functions, which jemalloc exports beside the standard ones.
 *
 * Programs that refer to them weakly take their presence as a sign of jemalloc, so they are in
 * a separate library, libtwinheap-mallocx.so, which is preloaded only if jemalloc is in use.
 * It jumps through the table below. sallocx and nallocx allocate nothing and are not
 * interposed.
 */
#ifndef TH_PRELOAD_MALLOCX_H
#define TH_PRELOAD_MALLOCX_H

#include <stdbool.h>
#include <stddef.h>

/* X(name, type, parameters, arguments) */
#define TH_MALLOCX(X)                                                                   \
	X(mallocx, void *, (size_t size, int flags), (size, flags))                     \
	X(rallocx, void *, (void *block, size_t size, int flags), (block, size, flags)) \
	X(xallocx, size_t, (void *block, size_t size, size_t extra, int flags),         \
		(block, size, extra, flags))                                            \
	X(dallocx, void, (void *block, int flags), (block, flags))                      \
	X(sdallocx, void, (void *block, size_t size, int flags), (block, size, flags))

struct th_mallocx {
#define X(name, type, parameters, arguments) type(*name) parameters;
	TH_MALLOCX(X)
#undef X
};

/* Exported under a project-specific name. [in-malloc] */
extern struct th_mallocx th_mallocx __attribute__((visibility("default")));

/*
 * Defined in libtwinheap-mallocx.so, NULL without it: returns the next definition of a symbol
 * after that library.
 */
extern void *
th_forward_find_mallocx(const char *symbol) __attribute__((weak, visibility("default")));

/* Resolves the table; later calls do nothing.  No effect without libtwinheap-mallocx.so. */
void th_mallocx_init(void);

/* As th_operators_each_late(). */
void
th_mallocx_each_late(void (*add)(const char *symbol, const void *original, const void *ours));

#endif
