/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds the sampled Java objects that are alive: one walk of the heap, on demand, and the
 * shortest path from a root to each of them, written to the log.
 *
 *   tags -> walk (holder_walk.h) -> graph (holder_graph.h) -> paths (holder_paths.h)
 *
 * Every thread of the VM is stopped during the walk, and only then: tags are set before, paths are
 * computed after it.  The walk ends after the longest pause allowed, and when its memory is used up.
 */
#ifndef TH_JVMTI_HOLDERS_HOLDERS_H
#define TH_JVMTI_HOLDERS_HOLDERS_H

#include <jvmti.h>

#include "unify/recording/control.h"

/*
 * `object_bytes`: of the smallest object, 8 or 16.  Estimates the cost; unless only that is asked for or it exceeds the limits, walks the heap and
 * writes HOLDER_STEP, HOLDER_OBJECTS and HOLDER_WALK.  TH_CONTROL_FAILED, with a note in the log, if
 * the VM does not support it. [agent-thread]
 */
enum th_control_answer th_holders_find(JavaVM *vm, JNIEnv *env, uint32_t object_bytes,
	const struct th_holders_request *request, struct th_holders_cost *cost_ret);

#endif
