/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One module to symbolize: its files, its symbol table, its DWARF. Names are returned as they
 * are in the files; views use symbols.h.
 */
#ifndef TH_REPORT_SYMBOLS_SYMBOL_MODULE_H
#define TH_REPORT_SYMBOLS_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/symbols/dwarf_frames.h"
#include "report/symbols/module_files.h"

struct th_symbol_module;

/*
 * Opens the module loaded from `path` with build id `build_id` (lower-case hexadecimal or ""),
 * which must outlive it. A module without a usable file is legal and has no names;
 * *match_ret is the reason, and found_id_ret is the build id of a file that has changed.
 */
struct th_symbol_module *th_symbol_module_open(const char *path, const char *build_id,
	enum th_module_match *match_ret, char found_id_ret[TH_BUILD_ID_TEXT]);

/* Whether there is a file for name lookups. */
bool th_symbol_module_is_usable(const struct th_symbol_module *module);

/* False: a file that it uses, or could not use, has other contents now. */
bool th_symbol_module_is_current(const struct th_symbol_module *module);

/* NULL is legal. */
void th_symbol_module_close(struct th_symbol_module *module);

/*
 * The functions at an ELF virtual address, innermost first; all but the last are inlined. One
 * of the two names of each is set. Returns their number, 0 = nothing is known; frames[0] then
 * still has file and line if the line table has them. Strings live as long as the module.
 */
size_t th_symbol_module_lookup(struct th_symbol_module *module, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX]);

#endif
