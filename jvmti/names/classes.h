/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of sampled objects: small ids for class signatures. */
#ifndef TH_JVMTI_NAMES_CLASSES_H
#define TH_JVMTI_NAMES_CLASSES_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* Distinct classes; objects of further classes are shown without a class. */
#define TH_CLASSES_MAX (1u << 16)

/* Maps the table; false: out of memory. */
bool th_classes_init(void);

/* For another recording: forgets all classes. */
void th_classes_restart(void);

/*
 * The id (1..) of a class signature; writes its CLASS record on the first call.  0 when the
 * table is full.  Lock-free.  Two signatures share an id with probability 2^-33 when the table
 * is full.
 */
uint32_t th_classes_id(const char *signature);

/* The same of a class, whose signature the VM is asked for. [jvmti] */
uint32_t th_classes_id_of(jvmtiEnv *jvmti, jclass type);

#endif
