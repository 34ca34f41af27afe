/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a function of the library inside the VM.
 *
 * In a JVMTI callback a thread is in state "in native", in which safepoints do not wait for it
 * and other threads walk its stack.  A JVMTI function that returns a text allocates it in state
 * "in VM", with malloc, which is the library's: the function runs from there.
 */
#ifndef TH_JVMTI_IN_VM_H
#define TH_JVMTI_IN_VM_H

#include <jvmti.h>
#include <stdbool.h>

/* In the live phase. [jvmti] */
void th_in_vm_start(JavaVM *vm, jvmtiEnv *jvmti);

/*
 * Calls run(data) [in-malloc], inside the VM, except where a signal handler allocates first: the
 * thread is then in any state.  Costs 0.1 us.  The guard must be held, and the thread have a
 * record.  False: it was not called, since the VM does not use the library's malloc. [jvmti]
 */
bool th_in_vm_run(void (*run)(void *data), void *data);

#endif
