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

/*
 * Puts our functions into the table, or puts back those that another agent has replaced by the
 * original ones.  False: the VM refuses, or our functions are not called: another agent has replaced
 * the table by one that does not call them.  In the live phase. [agent-thread]
 */
bool th_functions_install(jvmtiEnv *jvmti, JNIEnv *env);

#endif
