/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class loaders that are in use: the context class loaders of threads, and those of the methods on
 * their stacks.  Reading a stack creates the jmethodIDs of its methods.
 */
#ifndef TH_JVMTI_LIVE_LOADERS_H
#define TH_JVMTI_LIVE_LOADERS_H

#include <jvmti.h>
#include <stdint.h>

/* `loader` is not NULL, a local reference of the caller. */
typedef void th_live_loaders_visit(jvmtiEnv *jvmti, JNIEnv *env, jobject loader);

/*
 * Calls `visit` with the loaders of `count` platform threads from number `first` on, counted modulo
 * their number; with a loader once or more often.  Stacks are read in pauses, of 32 threads with 128
 * frames each at most.  [jvmti]
 */
void th_live_loaders_find(jvmtiEnv *jvmti, JNIEnv *env, uint32_t first, uint32_t count,
	th_live_loaders_visit *visit);

#endif
