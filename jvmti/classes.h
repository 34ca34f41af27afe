/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of sampled objects: small ids for class signatures. */
#ifndef TH_JVMTI_CLASSES_H
#define TH_JVMTI_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

/* Distinct classes; objects of more are shown without a class. */
#define TH_CLASSES_MAX (1u << 16)

/* Maps the table; false: no memory. */
bool th_classes_init(void);

/*
 * The id (1..) of a class signature; its CLASS record is written at first sight.  0 when the
 * table is full.  Lock-free; two signatures share an id with probability 2^-33 at the bound.
 */
uint32_t th_classes_id(const char *signature);

#endif
