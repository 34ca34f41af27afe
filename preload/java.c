/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JNI_CreateJavaVM is exported for programs that are linked with libjvm, and handed out by our
 * dlsym to those that look it up.  On success the agent starts at once, on the same thread, in
 * the live phase, before any class of the application is loaded; nothing ever polls for a VM.
 */
#include "preload/java.h"

#include <dlfcn.h>
#include <jvmti.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "jvmti/agent.h"
#include "preload/allocator.h"
#include "preload/java_names.h"
#include "preload/life.h"
#include "preload/message.h"
#include "preload/next.h"
#include "unify/atomic.h"

#define EXPORT __attribute__((visibility("default")))

typedef jint create_java_vm(JavaVM **vm_ret, void **env_ret, void *arguments);

EXPORT jint JNICALL JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments);

/* Our own, whoever else defines that name in front of us. */
extern create_java_vm wrapper __attribute__((alias("JNI_CreateJavaVM"), visibility("hidden")));

static create_java_vm *real_create_java_vm; /* atomic */

void *
th_java_wrap(void *function)
{
	create_java_vm *ours = wrapper;
	void *address;

	th_store_release((void **)(void *)&real_create_java_vm, function);
	memcpy(&address, &ours, sizeof(address));
	return address;
}

bool
th_java_is_wrapper(const void *function)
{
	create_java_vm *ours = wrapper;

	return !memcmp(&function, &ours, sizeof(ours));
}

static struct th_agent_host
agent_host(void)
{
	return (struct th_agent_host){
		.find_symbol = th_real_dlsym,
		.warn = th_message,
		.is_verbose = th_life_is_verbose(),
		.tells_names = th_java_names_are_told(),
	};
}

static void
start_agent(JavaVM *vm, enum th_agent_phase phase)
{
	const struct th_agent_host host = agent_host();

	if (th_life_java_comes())
		th_agent_start(&host, vm, phase);
}

/* The function that the program looked up, or is linked with; NULL if there is none. */
static create_java_vm *
find_real(void)
{
	create_java_vm *create = th_load_acquire(&real_create_java_vm);

	if (!create) {
		void *found = th_real_dlsym(RTLD_NEXT, "JNI_CreateJavaVM");

		memcpy(&create, &found, sizeof(create));
	}
	return create;
}

EXPORT jint JNICALL
JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments)
{
	const struct th_agent_host host = agent_host();
	create_java_vm *create = find_real();
	const void *function;
	jint result;

	if (!create)
		return JNI_ERR;
	memcpy(&function, &create, sizeof(function));
	if (th_life_java_comes())
		th_agent_expect(&host, function);
	result = create(vm_ret, env_ret, arguments);
	if (result == JNI_OK)
		start_agent(*vm_ret, TH_AGENT_LIVE);
	return result;
}

/* By -agentpath: without LD_PRELOAD malloc goes past us. */
static jint
load_as_agent(JavaVM *vm, enum th_agent_phase phase)
{
	if (th_life_java_comes() && !th_allocator_is_seen())
		th_message("loaded as an agent only: the Java heap is recorded; for the C heap "
			   "too, start the program with LD_PRELOAD or twinheap run");
	start_agent(vm, phase);
	return JNI_OK;
}

EXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)options;
	(void)reserved;
	return load_as_agent(vm, TH_AGENT_ON_LOAD);
}

EXPORT jint JNICALL
Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	(void)options;
	(void)reserved;
	return load_as_agent(vm, TH_AGENT_LIVE);
}

EXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	th_agent_stop();
}
