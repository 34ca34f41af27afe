/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JNI functions that take something from the VM or give it back, wrapped in the VM's function table
 * (JVMTI SetJNIFunctionTable), which all threads use.
 *
 * The table is changed when the ledger is switched on first, and stays so: afterwards the wrappers pass
 * calls on.  Another agent may have wrapped our functions meanwhile, so they are never removed.
 */
#ifndef TH_JVMTI_LEDGER_FUNCTIONS_H
#define TH_JVMTI_LEDGER_FUNCTIONS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

struct th_functions_vm {
	jvmtiEnv *jvmti;
	/*
	 * The id of the class of an object, 0 = not known.  Calls the VM with the functions of `jni`, a
	 * table without our wrappers.
	 */
	uint32_t (*class_of)(
		const struct JNINativeInterface_ *jni, JNIEnv *env, jobject object);
};

/*
 * Puts our functions into the table, or puts back those that another agent has replaced by the
 * original ones.  False: the VM refuses, or our functions are not called: another agent has replaced
 * the table by one that does not call them.  In the live phase. [agent-thread]
 */
bool th_functions_install(const struct th_functions_vm *vm, JNIEnv *env);

#endif
