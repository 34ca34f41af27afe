/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5, section 2.5), the subset used in call frame information: PLT
 * entries, signal trampolines, functions that realign their stack.
 */
#ifndef TH_UNIFY_UNWIND_DWARF_EXPRESSION_H
#define TH_UNIFY_UNWIND_DWARF_EXPRESSION_H

#include "unify/base/safe_read.h"
#include "unify/unwind/arch.h"

/*
 * Evaluates the `bytes` bytes of expression at `code`, with *initial, if not NULL, on the
 * stack.  False: an unknown operation, or an unavailable register or memory. [in-malloc]
 */
bool th_expression_evaluate(const uint8_t *code, size_t bytes, const uintptr_t *initial,
	const struct th_cpu *cpu, struct th_safe_read *memory, uintptr_t *ret);

#endif
