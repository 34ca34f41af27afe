/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVMTI agent: samples the Java heap, adds Java frames to native samples, and names
 * classes, methods and threads.  A capability that the VM refuses is left out and noted in the
 * log.
 */
#ifndef TH_JVMTI_AGENT_H
#define TH_JVMTI_AGENT_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/settings_table.h"

enum th_agent_phase {
	TH_AGENT_ON_LOAD, /* -agentpath: the VM is not initialized yet */
	TH_AGENT_LIVE,
};

/* The functions of the library that the agent calls. */
struct th_agent_host {
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	bool is_verbose;
	uint64_t gc_every; /* nanoseconds between two full collections; 0 = none */
	enum th_gc_at_exit gc_at_exit;
	uint32_t ledger;  /* the ledger at the start: TH_LEDGER_OFF, ... */
	bool tells_names; /* th_agent_renamed() reports renamed threads */
	/* Where the library is not preloaded; all NULL otherwise. */
	/* on the agent thread; returns when the next turn is due (CLOCK_MONOTONIC, ns) */
	uint64_t (*turn)(void);
	void (*bound)(void); /* a native method was bound; on the thread that will call it */
	void (*leave)(void); /* on the agent thread, before the recording ends on request */
};

/*
 * A VM is about to be created by the function at `create_java_vm`: until it is live, native
 * stacks end at the first frame in its code.  The recording must be running.
 */
void th_agent_expect(const struct th_agent_host *host, const void *create_java_vm);

/*
 * Registers with a VM: the first one of the process that has JVMTI.  Later calls do nothing.
 * The recording must be running, and the calling thread attached to the VM.
 */
void th_agent_start(const struct th_agent_host *host, JavaVM *vm, enum th_agent_phase phase);

/*
 * False: a VM that is starting has no environment for agents yet (JVMTI), though it can load their
 * libraries.  The calling thread must be attached to it.
 */
bool th_agent_can_start(JavaVM *vm);

/* A thread was renamed, usually the calling one. [jvmti] */
void th_agent_renamed(JNIEnv *env, jthread thread);

/*
 * Whether another recording can begin: there was no VM, or the last recording has been ended on
 * request and its thread is gone. [any]
 */
bool th_agent_has_ended(void);

/* Stops all calls into the VM. [any] */
void th_agent_stop(void);

#endif
