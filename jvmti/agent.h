/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVMTI agent: samples the Java heap, gives native samples their Java frames, and names what
 * it saw.  Whatever the VM refuses is left out, with a note in the log.
 */
#ifndef TH_JVMTI_AGENT_H
#define TH_JVMTI_AGENT_H

#include <jvmti.h>
#include <stdbool.h>

enum th_agent_phase {
	TH_AGENT_ON_LOAD, /* -agentpath: the VM is not initialised yet */
	TH_AGENT_LIVE,
};

/* What the agent needs of the rest of the library, which it knows nothing of. */
struct th_agent_host {
	void *(*find_symbol)(void *handle, const char *name); /* dlsym */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	bool is_verbose;
	bool tells_names; /* th_agent_renamed() will be called */
};

/*
 * A VM is about to be created by the function at `create_java_vm`: until it is live, native
 * stacks end where they meet its code.  The recording must run.
 */
void th_agent_expect(const struct th_agent_host *host, const void *create_java_vm);

/*
 * Registers with a VM, the first of the process that has JVMTI; later calls do nothing.  The
 * recording must run.  On a thread attached to the VM.
 */
void th_agent_start(const struct th_agent_host *host, JavaVM *vm, enum th_agent_phase phase);

/* A thread has a new name, most often the calling one. [jvmti] */
void th_agent_renamed(JNIEnv *env, jthread thread);

/* Ends everything that touches the VM. [any] */
void th_agent_stop(void);

#endif
