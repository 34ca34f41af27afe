/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field indexes that heap walks use (jvmtiHeapReferenceInfoField): fields of all interfaces
 * of a class come first, then those of its superclasses from the root down, then its own;
 * static fields count.  A field therefore has a different index in each class that inherits it.
 */
#ifndef TH_JVMTI_VM_FIELD_INDEX_H
#define TH_JVMTI_VM_FIELD_INDEX_H

#include <jvmti.h>
#include <stdbool.h>

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

/*
 * Calls `visit` for each of the classes that has references that do not keep their referent alive (weak,
 * phantom and final ones), with the index of the referent.  False: `visit` has failed, or the VM does not
 * provide it. [agent-thread]
 */
typedef bool th_referent_visit(jclass type, jint i, int referent, void *data);
bool th_referents_each(jvmtiEnv *jvmti, JNIEnv *env, const jclass *types, jint count,
	th_referent_visit *visit, void *data);

#endif
