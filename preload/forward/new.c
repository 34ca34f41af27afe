/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtwinheap-new.so: operator new and delete, each a jump to its counterpart in libtwinheap.so
 * (preload/operators.h).  A jump keeps the caller's return address on the stack.
 */
#include "preload/operators.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

#define N(name, symbol, parameters, arguments, ...) \
	EXPORT void *symbol parameters;             \
	void *symbol parameters                     \
	{                                           \
		return th_operators.name arguments; \
	}
TH_OPERATORS_NEW(N)
#undef N

#define D(name, symbol, parameters, arguments) \
	EXPORT void symbol parameters;         \
	void symbol parameters                 \
	{                                      \
		th_operators.name arguments;   \
	}
TH_OPERATORS_DELETE(D)
#undef D

void *
th_forward_find_operator(const char *symbol)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	/* Prevents a tail call: dlsym depends on its caller. */
	__asm__ volatile("" : "+r"(found));
	return found;
}
