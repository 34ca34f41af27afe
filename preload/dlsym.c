/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, interposed for two purposes: programs that load libjvm themselves (the java launcher,
 * JPype, other embedders) look up JNI_CreateJavaVM in it and get our wrapper; and Java programs that
 * look up allocation functions by java.lang.foreign get those that C code would call.
 *
 * Every other call is a jump to the real function with the caller's return address still on the
 * stack, because dlsym interprets RTLD_NEXT as "after the calling module".
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "preload/java.h"
#include "preload/late.h"
#include "preload/next.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/module.h"

#define EXPORT __attribute__((visibility("default")))

/* strcmp is not used: dlsym may be called before libc's own functions are relocated. */
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
 * The default scope yields our own export; without the library it would yield the next
 * definition after ours.  An object before us with this name wraps a VM, as we do, and will
 * look further.
 */
static __attribute__((noinline, cold)) void *
find_create_java_vm(void *handle)
{
	const char *name = "JNI_CreateJavaVM";
	void *found = th_real_dlsym(handle, name);

	if (th_java_is_wrapper(found))
		found = th_real_dlsym(RTLD_NEXT, name);
	else if (found && th_next_is_in_front(th_next_object_of(found)))
		return found;
	return found ? th_java_wrap(found) : NULL;
}

/* The definition of a name in an object itself, not in its dependencies. */
static void *
find_in(const struct link_map *object, const char *name)
{
	/* Objects loaded at start get a scope of their own only when opened again. */
	void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? th_real_dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return found && th_next_object_of(found) == object ? found : NULL;
}

/*
 * RTLD_NEXT from an object before us would find our export.  Without the library it would find
 * the first definition between the two, else the one after us.  False: the caller comes after
 * us, and the real dlsym returns the right result.
 */
static __attribute__((noinline, cold)) bool
find_next_create_java_vm(const void *caller, void **found_ret)
{
	const char *name = "JNI_CreateJavaVM";
	const struct link_map *object = th_next_object_of(caller);

	if (!th_next_is_in_front(object))
		return false;
	while (th_next_is_in_front(object = object->l_next)) {
		*found_ret = find_in(object, name);
		if (th_java_is_wrapper(*found_ret))
			break;
		if (*found_ret)
			return true;
	}
	*found_ret = th_real_dlsym(RTLD_NEXT, name);
	if (*found_ret)
		*found_ret = th_java_wrap(*found_ret);
	return true;
}

/* The default lookup of java.lang.foreign */

/* Functions that a Java program may look up there; strcmp as above. */
static bool
is_allocation(const char *name)
{
	static const char *const names[] = {"malloc", "calloc", "realloc", "free",
		"posix_memalign", "aligned_alloc", "memalign", "valloc", "reallocarray"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t k = 0;

		while (name[k] && name[k] == names[i][k])
			k++;
		if (name[k] == names[i][k])
			return true;
	}
	return false;
}

/* Whether the handle is that of a library of the JDK that only refers to libc. */
static bool
is_default_lookup(void *handle)
{
	static const char wanted[] = "/libsyslookup.so";
	struct link_map *object;
	size_t length;

	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
		dlinfo(handle, RTLD_DI_LINKMAP, &object))
		return false;
	length = strlen(object->l_name);
	return length >= sizeof(wanted) - 1 &&
	       !strcmp(object->l_name + length - (sizeof(wanted) - 1), wanted);
}

/*
 * The lookup searches libc alone, past the library.  What C code of the program would call is
 * ours, or redirected to it.  NULL: the real dlsym returns the right result.
 */
static __attribute__((noinline, cold)) void *
find_for_foreign(void *handle, const char *name)
{
	void *found = NULL;

	if (!is_default_lookup(handle))
		return NULL;
	if (th_next_is_late())
		return th_late_function(name);
	found = th_real_dlsym(RTLD_DEFAULT, name);
	return th_next_is_ours(found) ? found : NULL;
}

EXPORT void *
dlsym(void *restrict handle, const char *restrict name)
{
	if (__builtin_expect(!th_real_dlsym, 0))
		th_real_dlsym_find();
	if (__builtin_expect(is_create_java_vm(name), 0)) {
		void *found;

		if (handle != RTLD_NEXT)
			return find_create_java_vm(handle);
		if (find_next_create_java_vm(__builtin_return_address(0), &found))
			return found;
	}
	if (__builtin_expect(is_allocation(name), 0)) {
		void *found = find_for_foreign(handle, name);

		if (found)
			return found;
	}
	/* Before glibc 2.35: what dlopen() has loaded is known before its first call. */
	th_module_follow_loader();
	return th_real_dlsym(handle, name);
}
