/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jmethodID of a method that the VM knows by its address, without a call of the VM: from the
 * array of IDs of its class, the one in which Method::find_jmethod_id_or_null() looks.
 */
#ifndef TH_JVMTI_METHOD_IDS_H
#define TH_JVMTI_METHOD_IDS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/*
 * The ID found by the last successful th_method_ids_read() of that address; NULL: not remembered.
 * The class may have been unloaded since, so an ID counts only if a frame of the same stack has it.
 * [in-malloc]
 */
jmethodID th_method_ids_remembered(uintptr_t method);

/*
 * Reads the ID, with checks: `method` may be no method.  False: it is none.  True and NULL: the method
 * has no ID yet.  Requires th_hotspot_has_method_ids(). [in-malloc]
 */
bool th_method_ids_read(const struct th_hotspot *hotspot, uintptr_t method, jmethodID *ret);

#endif
