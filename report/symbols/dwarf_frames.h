/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and lines at an address, by DWARF, including inlined functions.
 *
 * libdw's own functions (dwarf_addrdie, dwarf_getscopes) need .debug_aranges, which clang and
 * rustc leave out, and walk a whole compilation unit for every address. Here each unit is read
 * once, on the first lookup of an address in it, and its functions are indexed.
 */
#ifndef TH_REPORT_SYMBOLS_DWARF_FRAMES_H
#define TH_REPORT_SYMBOLS_DWARF_FRAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/symbols/address_index.h"

struct th_dwarf;

struct th_dwarf_frame {
	/*
	 * The linkage name, mangled or of C, else the one in the source with its scopes where they are
	 * known; NULL: the function has none.
	 */
	const char *name;
	bool is_linkage;
	const char *file; /* may be NULL */
	uint32_t line;    /* 0 = not known */
};

/* Real inlining is never deeper; the inner end of a longer chain is left out. */
#define TH_DWARF_FRAMES_MAX 128

/*
 * Indexes the units of `dwarf`. `bias` is an address of the caller minus the same address in
 * `dwarf`. Only code inside `code` is indexed: code that a linker discarded is still described,
 * at addresses around zero. The caller keeps ownership of all three, which must outlive the
 * result.
 */
struct th_dwarf *
th_dwarf_create(Dwarf *dwarf, uint64_t bias, const struct th_address_index *code);

/* NULL is legal. */
void th_dwarf_destroy(struct th_dwarf *dwarf);

/*
 * Writes the functions at `address`, innermost first, and returns their number; all but the
 * last are inlined. 0 if no function is described there; frames[0] then still has file and
 * line when the line table covers the address (assembler). Strings belong to the Dwarf.
 */
size_t th_dwarf_lookup(struct th_dwarf *dwarf, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX]);

#endif
