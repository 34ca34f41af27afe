/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtwinheap-mallocx.so: jemalloc's own functions, each a jump to its counterpart in
 * libtwinheap.so (preload/mallocx.h).
 */
#include "preload/mallocx.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *mallocx(size_t size, int flags);
EXPORT void *rallocx(void *block, size_t size, int flags);
EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags);
EXPORT void dallocx(void *block, int flags);
EXPORT void sdallocx(void *block, size_t size, int flags);

void *
mallocx(size_t size, int flags)
{
	return th_mallocx.mallocx(size, flags);
}

void *
rallocx(void *block, size_t size, int flags)
{
	return th_mallocx.rallocx(block, size, flags);
}

size_t
xallocx(void *block, size_t size, size_t extra, int flags)
{
	return th_mallocx.xallocx(block, size, extra, flags);
}

void
dallocx(void *block, int flags)
{
	th_mallocx.dallocx(block, flags);
}

void
sdallocx(void *block, size_t size, int flags)
{
	th_mallocx.sdallocx(block, size, flags);
}

void *
th_forward_find_mallocx(const char *symbol)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	/* Prevents a tail call: dlsym depends on its caller. */
	__asm__ volatile("" : "+r"(found));
	return found;
}
