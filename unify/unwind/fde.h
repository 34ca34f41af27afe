/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the unwind information of a pc in a module's own .eh_frame, through the sorted table of
 * PT_GNU_EH_FRAME.  Without one, which linkers only leave out of objects that they cannot parse, there is
 * none.
 */
#ifndef TH_UNIFY_UNWIND_FDE_H
#define TH_UNIFY_UNWIND_FDE_H

#include "unify/log/module.h"

#include <stdbool.h>
#include <stdint.h>

/* A frame description entry with the decoded values of its CIE; pointers into the module. */
struct th_fde {
	uintptr_t start; /* the code described: [start, end) */
	uintptr_t end;
	const uint8_t *initial; /* instructions of the CIE: [initial, initial_end) */
	const uint8_t *initial_end;
	const uint8_t *program; /* instructions of the FDE */
	const uint8_t *program_end;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t pointer_encoding;
	bool is_signal; /* a signal trampoline: the caller's pc is exact */
};

/*
 * The entry that covers `pc`, an address inside `module`; false: none, or an unsupported form.
 * The module must stay loaded meanwhile, as is the case for a pc on the caller's own stack.
 * [in-malloc]
 */
bool th_fde_find(const struct th_module *module, uintptr_t pc, struct th_fde *ret);

#endif
