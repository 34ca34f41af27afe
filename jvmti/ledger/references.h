/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of JNI global and weak global references, read from HotSpot's own storage of them,
 * which counts them: no call is intercepted.
 */
#ifndef TH_JVMTI_LEDGER_REFERENCES_H
#define TH_JVMTI_LEDGER_REFERENCES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* Addresses of the VM's pointers to its OopStorages; NULL: not exported. */
struct th_references_vm {
	const uintptr_t *globals;
	const uintptr_t *weaks;
};

/*
 * Finds the word of an OopStorage that counts, by creating and deleting some references, and logs
 * the first figures.  False: none or several words count; nothing is logged then.  In the live phase.
 * [jvmti]
 */
bool th_references_start(const struct th_references_vm *vm, JNIEnv *env);

/* Writes a JNI_REFERENCES if a number has changed since the last one. [agent-thread] */
void th_references_log(void);

#endif
