/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of sampled objects: small ids for class signatures.  Class loaders that live as long as the VM:
 * boot, the system class loader and its parents.
 */
#ifndef TH_JVMTI_NAMES_CLASSES_H
#define TH_JVMTI_NAMES_CLASSES_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* For another recording: forgets all classes. */
void th_classes_restart(void);

/*
 * The id (1..) of a class, by its signature; writes its CLASS record on the first call.  0 when the
 * table is full or cannot be mapped, or the VM does not give the signature.  Lock-free.  Two signatures share an id with
 * probability 2^-24 when the table is full. [jvmti]
 */
uint32_t th_classes_id(jvmtiEnv *jvmti, jclass type);

/* Finds the loaders that live as long as the VM, once in the life of the process. [jvmti] */
void th_permanent_loaders_find(JNIEnv *env);

/* Whether a loader is one of these; NULL is the boot loader. [jvmti] */
bool th_permanent_loaders_have(JNIEnv *env, jobject loader);

#endif
