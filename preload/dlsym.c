/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, interposed for one name: programs that load libjvm themselves (the java launcher, JPype,
 * every other embedder) ask it for JNI_CreateJavaVM and get our wrapper.
 *
 * Every other call is a jump to the real function with the caller's return address still on the
 * stack, because dlsym takes RTLD_NEXT to mean "behind the module that calls".
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/java.h"
#include "preload/next.h"

#define EXPORT __attribute__((visibility("default")))

/* Not strcmp: dlsym may be called before libc's own functions are relocated. */
static inline bool
is_create_java_vm(const char *name)
{
	static const char wanted[] = "JNI_CreateJavaVM";

	for (size_t i = 0; i < sizeof(wanted); i++)
		if (name[i] != wanted[i])
			return false;
	return true;
}

/*
 * The default scope would answer our own export first; what it would answer without us is the
 * next definition behind us.
 */
static __attribute__((noinline, cold)) void *
find_create_java_vm(void *handle)
{
	const char *name = "JNI_CreateJavaVM";
	void *found = th_real_dlsym(handle, name);

	if (handle == RTLD_DEFAULT || th_java_is_wrapper(found))
		found = th_real_dlsym(RTLD_NEXT, name);
	return found ? th_java_wrap(found) : NULL;
}

EXPORT void *
dlsym(void *restrict handle, const char *restrict name)
{
	if (__builtin_expect(!th_real_dlsym, 0))
		th_next_init();
	if (__builtin_expect(is_create_java_vm(name) && handle != RTLD_NEXT, 0))
		return find_create_java_vm(handle);
	return th_real_dlsym(handle, name);
}
