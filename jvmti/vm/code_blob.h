/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's code cache: which code a pc belongs to (CodeHeap::find_block_for(), CodeBlob).  Takes 1
 * us, most of it to prove that memory can be read.
 */
#ifndef TH_JVMTI_VM_CODE_BLOB_H
#define TH_JVMTI_VM_CODE_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

enum th_code_kind {
	TH_CODE_UNKNOWN, /* it cannot be read */
	TH_CODE_METHOD,  /* of a Java method */
	TH_CODE_NATIVE,  /* the wrapper of a native method */
	TH_CODE_INTERPRETER,
	TH_CODE_OTHER, /* a stub */
};

/*
 * The address of the CodeBlob that contains `pc`.  Requires th_hotspot_has_stubs().  All reads are
 * checked. [in-malloc]
 */
bool th_code_blob_find(const struct th_hotspot *hotspot, uintptr_t pc, uintptr_t *blob_ret);

/* Whether that is the name of `blob`, of 31 characters at most; all reads are checked. [in-malloc] */
bool th_code_blob_is_named(const struct th_hotspot *hotspot, uintptr_t blob, const char *name);

/* What `blob` is; all reads are checked. [in-malloc] */
enum th_code_kind th_code_blob_kind(const struct th_hotspot *hotspot, uintptr_t blob);

/* The size of its frames, 2 words or more; false: it has none. [in-malloc] */
bool th_code_blob_words(const struct th_hotspot *hotspot, uintptr_t blob, int32_t *words_ret);

#endif
