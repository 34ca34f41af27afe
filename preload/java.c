/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JNI_CreateJavaVM is exported for programs that are linked with libjvm, and our dlsym returns
 * a separate wrapper for each function of that name that a program looks up.  On success the
 * agent starts at once, on the same thread, in the live phase, before any class of the
 * application is loaded; no polling is involved.
 *
 * A VM may create another one from a library of its own while it starts (HotSpot does so with
 * libgraal): that call is passed on, and the agent starts with the outer VM.
 */
#include <dlfcn.h>
#include <jvmti.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jvmti/agent.h"
#include "preload/late.h"
#include "preload/life.h"
#include "preload/message.h"
#include "preload/next.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/module.h"

#define EXPORT __attribute__((visibility("default")))
#define SET_NAME "JVM_SetNativeThreadName"

typedef jint create_java_vm(JavaVM **vm_ret, void **env_ret, void *arguments);

EXPORT jint JNICALL JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments);

/* Our own definition, even if another object defines that name before ours. */
extern create_java_vm wrapper __attribute__((alias("JNI_CreateJavaVM"), visibility("hidden")));

/* Libraries with a JNI_CreateJavaVM in one process; further ones are not wrapped. */
#define WRAPPERS(W) W(0) W(1) W(2) W(3) W(4) W(5) W(6) W(7)

#define W(number) +1
enum { WRAPPER_COUNT = 0 WRAPPERS(W) };
#undef W

/* atomic; NULL: this entry and all after it are free */
static create_java_vm *wrapped[WRAPPER_COUNT];
/* atomic: a VM that may be recorded is being created */
static uint32_t is_creating;

static void *
address_of(create_java_vm *function)
{
	void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

static bool
is_wrapper(const void *function)
{
	return function == address_of(wrapper);
}

/* New names of threads */

/*
 * JVM_SetNativeThreadName, interposed: Thread.setName() calls it for the calling thread on JDK
 * 11 to 25 (for other threads, too, up to 17).  It is the only call by which a VM reports that
 * a thread is renamed; the kernel's name, of 15 characters, often stays the same.  The JDK's
 * own library calls it through the dynamic linker, which finds ours first when the library is
 * preloaded.
 */
typedef void set_name(JNIEnv *env, jobject thread, jstring name);

EXPORT void JNICALL JVM_SetNativeThreadName(JNIEnv *env, jobject thread, jstring name);

/* Our own definition, even if another library defines the name before ours. */
static set_name rename_wrapper __attribute__((alias(SET_NAME)));

/* The first VM that called: one of its functions, and its own definition of the name. */
static const void *known_vm; /* atomic, written last */
static set_name *known;

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
	void *address = th_next_in_scope_of(vm, SET_NAME);
	memcpy(&found, &address, sizeof(found));
	if (found && !first) {
		known = found;
		th_store_release(&known_vm, vm);
	}
	return found;
}

/* Whether a loaded VM, or a future one, calls our JVM_SetNativeThreadName. */
static bool
names_are_told(void)
{
	set_name *ours = rename_wrapper;
	/*
	 * When loaded as an agent, RTLD_DEFAULT would not find our definition, which only we
	 * can see.
	 */
	void *first = th_next_in_object(NULL, SET_NAME);

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

/* The agent */

static struct th_agent_host
agent_host(void)
{
	bool is_late = th_next_is_late();

	struct th_agent_host host = {
		.warn = th_message,
		.tells_names = names_are_told(),
		.turn = is_late ? th_late_turn : NULL,
		.bound = is_late ? th_late_bound : NULL,
		.leave = is_late ? th_late_leave : NULL,
	};

	th_life_tell_agent(&host);
	return host;
}

static void
start_agent(JavaVM *vm, enum th_agent_phase phase)
{
	const struct th_agent_host host = agent_host();

	if (th_life_java_comes())
		th_agent_start(&host, vm, phase);
}

/* Calls `create` and starts the agent with the new VM, unless another VM is being created. */
static jint
create_with(create_java_vm *create, JavaVM **vm_ret, void **env_ret, void *arguments)
{
	const struct th_agent_host host = agent_host();
	uint32_t idle = 0;
	jint result;

	if (!th_cas_acq_rel(&is_creating, &idle, 1))
		return create(vm_ret, env_ret, arguments);
	if (th_life_java_comes())
		th_agent_expect(&host, address_of(create));
	result = create(vm_ret, env_ret, arguments);
	if (result == JNI_OK)
		start_agent(*vm_ret, TH_AGENT_LIVE);
	th_store_release(&is_creating, 0);
	return result;
}

#define W(number)                                                                       \
	static jint wrapper_##number(JavaVM **vm_ret, void **env_ret, void *arguments)  \
	{                                                                               \
		return create_with(                                                     \
			th_load_acquire(&wrapped[number]), vm_ret, env_ret, arguments); \
	}
WRAPPERS(W)
#undef W

/*
 * Our wrapper of a JNI_CreateJavaVM that a program is about to call, the same one for each
 * function; the function itself if there are no free wrappers.
 */
static void *
wrap(void *function)
{
	static create_java_vm *const wrappers[] = {
#define W(number) wrapper_##number,
		WRAPPERS(W)
#undef W
	};
	create_java_vm *real;

	memcpy(&real, &function, sizeof(real));
	for (size_t i = 0; i < WRAPPER_COUNT; i++) {
		create_java_vm *found = NULL;

		if (th_cas_acq_rel(&wrapped[i], &found, real) || found == real)
			return address_of(wrappers[i]);
	}
	th_message("more than %d libraries define JNI_CreateJavaVM: a VM of this one is not "
		   "recorded",
		WRAPPER_COUNT);
	return function;
}

/* For programs linked with libjvm. */
EXPORT jint JNICALL
JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments)
{
	void *found = th_real_dlsym(RTLD_NEXT, "JNI_CreateJavaVM");
	create_java_vm *create;

	if (!found)
		found = th_next_in_scope_of(__builtin_return_address(0), "JNI_CreateJavaVM");
	if (!found || is_wrapper(found))
		return JNI_ERR;
	memcpy(&create, &found, sizeof(create));
	return create_with(create, vm_ret, env_ret, arguments);
}

/* dlsym */

/*
 * dlsym, interposed for two purposes: programs that load libjvm themselves (the java launcher,
 * JPype, other embedders) look up JNI_CreateJavaVM in it and get our wrapper; and Java programs that
 * look up allocation functions by java.lang.foreign get those that C code would call.
 *
 * Every other call is a jump to the real function with the caller's return address still on the
 * stack, because dlsym interprets RTLD_NEXT as "after the calling module".
 */

/* strcmp is not used: dlsym may be called before libc's own functions are relocated. */
static inline bool
is_name(const char *name, const char *wanted)
{
	while (*name && *name == *wanted)
		name++, wanted++;
	return *name == *wanted;
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

	if (is_wrapper(found))
		found = th_real_dlsym(RTLD_NEXT, name);
	else if (found && th_next_is_in_front(found))
		return found;
	return found ? wrap(found) : NULL;
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
	const int ours = th_next_index_of(&wrapped);

	if (!th_next_is_in_front(caller))
		return false;
	for (int i = th_next_index_of(caller) + 1; i < ours; i++) {
		*found_ret = th_next_in_object_at(i, name);
		if (*found_ret)
			return true;
	}
	*found_ret = th_real_dlsym(RTLD_NEXT, name);
	if (*found_ret)
		*found_ret = wrap(*found_ret);
	return true;
}

/* The default lookup of java.lang.foreign */

/* Functions that a Java program may look up there. */
static bool
is_allocation(const char *name)
{
	static const char *const names[] = {"malloc", "calloc", "realloc", "free",
		"posix_memalign", "aligned_alloc", "memalign", "valloc", "reallocarray"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_name(name, names[i]))
			return true;
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
	if (__builtin_expect(is_name(name, "JNI_CreateJavaVM"), 0)) {
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
	th_module_refresh();
	th_late_looked_up();
	return th_real_dlsym(handle, name);
}

/* Loading as an agent */

/*
 * Loaded by -agentpath or later.  Preloaded as well, the library may be recording already.  The
 * VM ends if loading fails at its start.
 */
static jint
load_as_agent(JavaVM *vm, const char *options, enum th_agent_phase phase)
{
	enum th_late_status status;

	if (!th_next_is_late()) {
		if (phase == TH_AGENT_ON_LOAD && options && *options)
			th_message("preloaded, too: set TWINHEAP_* variables; the options of "
				   "-agentpath are ignored");
		start_agent(vm, phase);
		return JNI_OK;
	}
	if (phase == TH_AGENT_LIVE && !th_agent_can_start(vm))
		return TH_LATE_STARTING;
	status = th_life_start_late(options, phase == TH_AGENT_LIVE);
	if (status == TH_LATE_RECORDS) {
		/* With the settings of the options. */
		const struct th_agent_host host = agent_host();

		th_agent_start(&host, vm, phase);
	}
	return phase == TH_AGENT_ON_LOAD ? JNI_OK : (jint)status;
}

EXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return load_as_agent(vm, options, TH_AGENT_ON_LOAD);
}

EXPORT jint JNICALL
Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return load_as_agent(vm, options, TH_AGENT_LIVE);
}

EXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	th_agent_stop();
}
