/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/real_dlsym.h"

#include <dlfcn.h>
#include <stddef.h>

#include "unify/base/atomic.h"

#if defined(__x86_64__)
#	define OLD_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#	define OLD_VERSION "GLIBC_2.17"
#endif

void *(*th_real_dlsym)(void *handle, const char *name);

/* By version, with dlvsym, which is not interposed. */
bool
th_real_dlsym_find(void)
{
	void *found;

	if (th_real_dlsym)
		return true;
	found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found)
		found = dlvsym(RTLD_NEXT, "dlsym", OLD_VERSION);
	/* Concurrent callers find the same function. */
	th_store_relaxed((void **)&th_real_dlsym, found);
	return found != NULL;
}
