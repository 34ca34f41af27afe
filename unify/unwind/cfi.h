/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: from an FDE and a pc to the rules for the caller's registers, and
 * from the rules to the registers.  DWARF 5, section 6.4, in the .eh_frame format.
 */
#ifndef TH_UNIFY_UNWIND_CFI_H
#define TH_UNIFY_UNWIND_CFI_H

#include "unify/base/safe_read.h"
#include "unify/unwind/arch.h"
#include "unify/unwind/fde.h"

#include <stdbool.h>
#include <stdint.h>

/* The rule for a register of the caller. */
enum th_cfi_kind {
	TH_CFI_SAME,          /* unchanged; the default */
	TH_CFI_UNDEFINED,     /* lost; for the return address: there is no caller */
	TH_CFI_AT_OFFSET,     /* in memory at CFA + value */
	TH_CFI_IS_OFFSET,     /* CFA + value itself */
	TH_CFI_REGISTER,      /* in register `value` of this frame */
	TH_CFI_AT_EXPRESSION, /* in memory at the result of the expression at `value` */
	TH_CFI_IS_EXPRESSION, /* the result of the expression at `value` */
};

/* One row of the table defined by DWARF: the rules at one pc. */
struct th_cfi_row {
	bool cfa_is_expression;
	bool is_signal;        /* of a signal trampoline: the caller's pc is exact */
	bool is_signed;        /* the return address carries a pointer authentication code */
	uint64_t cfa_register; /* CFA = cfa_register + cfa_offset, */
	int64_t cfa_offset;    /* or the result of the expression at this address */
	uint8_t kind[TH_DWARF_COUNT];  /* enum th_cfi_kind */
	int64_t value[TH_DWARF_COUNT]; /* for expressions: address of their length (ULEB128) */
};

/*
 * Executes the instructions of `fde` up to `pc`; false: malformed or unsupported. [in-malloc]
 */
bool th_cfi_row(const struct th_fde *fde, uintptr_t pc, struct th_cfi_row *ret);

enum th_cfi_result {
	TH_CFI_CALLER, /* the registers are the caller's */
	TH_CFI_BASE,   /* there is no caller */
	TH_CFI_FAILED, /* a register or memory needed by the rules is not available */
};

/*
 * Applies `row` to `cpu`.  All registers change, except that pc changes only in the column
 * TH_DWARF_RETURN if the two differ; `exact` does not change. [in-malloc]
 */
enum th_cfi_result
th_cfi_apply(const struct th_cfi_row *row, struct th_cpu *cpu, struct th_safe_read *memory);

#endif
