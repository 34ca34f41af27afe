/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step cache: what a pc's call frame information amounts to, in one cache line.
 *
 * Readers never wait and never see half of an entry; a writer that finds another one at work
 * gives up.  So it may be used at any place, in a signal handler that interrupted it too.
 */
#ifndef TH_UNIFY_UNWIND_CACHE_H
#define TH_UNIFY_UNWIND_CACHE_H

#include "unify/unwind/cfi.h"

#include <stdbool.h>
#include <stdint.h>

enum th_rule_kind {
	TH_RULE_FRAME = 1, /* the fields below say it all */
	TH_RULE_BASE,      /* there is no caller */
	TH_RULE_SIGNAL,    /* a signal trampoline */
	TH_RULE_NONE,      /* no information about this pc */
	TH_RULE_ROW,       /* too odd to be compact: ask the call frame information each time */
};

/* At least the preserved registers of every processor, the return address among them. */
#define TH_RULE_SAVED_MAX 12

/*
 * CFA = register + offset, and the caller's sp is the CFA.  Bit i of `saved`: preserved register
 * i (unwind_arch.h) lies at CFA + 8 slot[k], for the k-th bit that is set.
 */
struct th_rule {
	int32_t cfa_offset; /* bytes */
	uint8_t cfa_register;
	uint8_t kind : 7;      /* enum th_rule_kind */
	uint8_t is_signed : 1; /* as in struct th_cfi_row */
	uint16_t saved;
	int16_t slot[TH_RULE_SAVED_MAX];
};

/* The compact form of `row`; TH_RULE_ROW if it has none. [in-malloc] */
void th_rule_from_row(const struct th_cfi_row *row, struct th_rule *ret);

/*
 * The rule stored under `key`, which names a pc in a module for all time (module ids are not
 * used twice), so nothing ever has to be invalidated; 0 is no key. [in-malloc]
 */
bool th_rule_find(uint64_t key, struct th_rule *ret);

/* Stores, if nobody else is storing at the same place. [in-malloc] */
void th_rule_store(uint64_t key, const struct th_rule *rule);

/* As th_cfi_apply(), for a rule of kind FRAME; inline, as it runs for every frame. [in-malloc] */
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
