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
	/* Stubs: of upcalls and downcalls of java.lang.foreign, and others. */
	TH_CODE_UPCALL,
	TH_CODE_DOWNCALL,
	TH_CODE_OTHER,
};

struct th_code_blob {
	uintptr_t start; /* of the CodeBlob */
	enum th_code_kind kind;
	uint32_t words; /* size of its frames, 2 or more; 0: it has none */
};

/*
 * The CodeBlob that contains `pc`; false: there is none.  Requires th_hotspot_has_stubs().  All reads
 * are checked. [in-malloc]
 */
bool
th_code_blob_find(const struct th_hotspot *hotspot, uintptr_t pc, struct th_code_blob *ret);

#endif
