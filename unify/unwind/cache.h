/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step cache: the unwind rule of a pc, compiled from its call frame information, in one
 * cache line.
 *
 * Readers never wait and never see a partial entry; a writer that finds another one active
 * gives up.  So the cache can be used anywhere, also in a signal handler that interrupted it.
 */
#ifndef TH_UNIFY_UNWIND_CACHE_H
#define TH_UNIFY_UNWIND_CACHE_H

#include "unify/unwind/cfi.h"

#include <stdbool.h>
#include <stdint.h>

enum th_rule_kind {
	TH_RULE_FRAME = 1, /* the fields below are complete */
	TH_RULE_BASE,      /* there is no caller */
	TH_RULE_SIGNAL,    /* a signal trampoline */
	TH_RULE_NONE,      /* no information about this pc */
	TH_RULE_ROW,       /* no compact form: use the call frame information each time */
};

/*
 * At least the number of preserved registers, including the return address, of every processor.
 */
#define TH_RULE_SAVED_MAX 12

/*
 * CFA = register + offset, and the caller's sp is the CFA.  Bit i of `saved`: preserved
 * register i (arch.h) is at CFA + 8 slot[k], where it is the k-th bit that is set.
 */
struct th_rule {
	int32_t cfa_offset; /* bytes */
	uint8_t cfa_register;
	uint8_t kind : 7;      /* enum th_rule_kind */
	uint8_t is_signed : 1; /* as in struct th_cfi_row */
	uint16_t saved;
	int16_t slot[TH_RULE_SAVED_MAX];
};

/* The compact form of `row`; TH_RULE_ROW if there is none. [in-malloc] */
void th_rule_from_row(const struct th_cfi_row *row, struct th_rule *ret);

/*
 * The rule stored for `key`, which permanently identifies a pc in a module (module ids are not
 * reused), so entries never have to be invalidated; 0 is not a key. [in-malloc]
 */
bool th_rule_find(uint64_t key, struct th_rule *ret);

/* Stores a rule, unless another thread is storing at the same index. [in-malloc] */
void th_rule_store(uint64_t key, const struct th_rule *rule);

/*
 * As th_cfi_apply(), for a rule of kind FRAME.  Inline, as it runs for every frame. [in-malloc]
 */
static inline enum th_cfi_result
th_rule_apply(const struct th_rule *rule, struct th_cpu *cpu, struct th_safe_read *memory)
{
	uintptr_t cfa = cpu->value[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;

	if (!th_cpu_knows(cpu, rule->cfa_register))
		return TH_CFI_FAILED;
	for (unsigned saved = rule->saved, k = 0; saved; saved &= saved - 1, k++) {
		unsigned column = th_preserved_dwarf[__builtin_ctz(saved)];
		uintptr_t at = cfa + (uintptr_t)((intptr_t)rule->slot[k] * 8);

		if (!th_read_word(memory, at, &cpu->value[column]))
			return TH_CFI_FAILED;
		cpu->known |= UINT64_C(1) << column;
	}
	cpu->value[TH_DWARF_SP] = cfa;
	return TH_CFI_CALLER;
}

#endif
