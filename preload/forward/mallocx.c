/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtwinheap-mallocx.so: jemalloc's own functions, each a jump to its counterpart in
 * libtwinheap.so (preload/mallocx.h).
 */
#include "preload/mallocx.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

#define X(name, type, parameters, arguments)      \
	EXPORT type name parameters;              \
	type name parameters                      \
	{                                         \
		return th_mallocx.name arguments; \
	}
TH_MALLOCX(X)
#undef X

void *
th_forward_find_mallocx(const char *symbol)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	/* Prevents a tail call: dlsym depends on its caller. */
	__asm__ volatile("" : "+r"(found));
	return found;
}
