/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that GraalVM compiled ahead of time: they contain a VM of their own, without agents. */
#ifndef TH_REPORT_BASE_NATIVE_IMAGE_H
#define TH_REPORT_BASE_NATIVE_IMAGE_H

#include <stdbool.h>

/* Whether the ELF file is a native image: it has the section ".svm_heap". */
bool th_native_image_is(const char *path);

#endif
