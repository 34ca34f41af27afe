/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field indexes that heap walks use (jvmtiHeapReferenceInfoField): fields of all interfaces
 * of a class come first, then those of its superclasses from the root down, then its own;
 * static fields count.  A field therefore has a different index in each class that inherits it.
 */
#ifndef TH_JVMTI_VM_FIELD_INDEX_H
#define TH_JVMTI_VM_FIELD_INDEX_H

#include <jvmti.h>

/*
 * The index of the field `name`, declared in `declaring`, in instances of `type`, which is that
 * class or a subclass; `name` NULL: of the first field of `declaring`.  -1 when there is no such field or
 * the VM does not provide it.
 * [agent-thread]
 */
int
th_field_index(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jclass declaring, const char *name);

/*
 * The reverse: the name of the field with an index in `type`, and in *declaring_ret the class that
 * declares it, a local reference.  The name is JVMTI's, to be deallocated; NULL: there is no such
 * field. [agent-thread]
 */
char *th_field_index_name(
	jvmtiEnv *jvmti, JNIEnv *env, jclass type, int index, jclass *declaring_ret);

#endif
