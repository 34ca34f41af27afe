/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JVM_SetNativeThreadName, interposed: Thread.setName() calls it for the calling thread on JDK
 * 11 to 25 (for other threads, too, up to 17).  It is the only call by which a VM reports that
 * a thread is renamed; the kernel's name, of 15 characters, often stays the same.  The JDK's
 * own library calls it through the dynamic linker, which finds ours first when the library is
 * preloaded.
 */
#include "preload/java_names.h"

#include <dlfcn.h>
#include <jni.h>
#include <stddef.h>
#include <string.h>

#include "jvmti/agent.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"

#define EXPORT __attribute__((visibility("default")))
#define NAME "JVM_SetNativeThreadName"

typedef void set_name(JNIEnv *env, jobject thread, jstring name);

EXPORT void JNICALL JVM_SetNativeThreadName(JNIEnv *env, jobject thread, jstring name);

/* Our own definition, even if another library defines the name before ours. */
static set_name wrapper __attribute__((alias(NAME)));

/* The first VM that called: one of its functions, and its own definition of the name. */
static const void *known_vm; /* atomic, written last */
static set_name *known;

/* The definition of the name in the object that contains `function`; NULL: none. */
static set_name *
find_beside(const void *function)
{
	set_name *found = NULL;
	void *handle = NULL;
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname)
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		void *address = th_real_dlsym(handle, NAME);

		memcpy(&found, &address, sizeof(found));
		dlclose(handle);
	}
	return found;
}

/* The VM's own function; NULL: none. */
static set_name *
find_real(JNIEnv *env)
{
	const void *vm;
	set_name *found;

	memcpy(&vm, &(*env)->GetVersion, sizeof(vm));
	/* Pairs with the release below, which publishes `known`. */
	const void *first = th_load_acquire(&known_vm);
	if (first == vm)
		return known;
	found = find_beside(vm);
	if (found && !first) {
		known = found;
		th_store_release(&known_vm, vm);
	}
	return found;
}

bool
th_java_names_are_told(void)
{
	set_name *ours = wrapper;
	/*
	 * When loaded as an agent, RTLD_DEFAULT would not find our definition, which only we
	 * can see.
	 */
	void *program = dlopen(NULL, RTLD_LAZY);
	void *first = program ? th_real_dlsym(program, NAME) : NULL;

	if (program)
		dlclose(program);
	return !memcmp(&first, &ours, sizeof(ours));
}

EXPORT void JNICALL
JVM_SetNativeThreadName(JNIEnv *env, jobject thread, jstring name)
{
	set_name *real = find_real(env);

	if (real)
		real(env, thread, name);
	th_agent_renamed(env, thread);
}
