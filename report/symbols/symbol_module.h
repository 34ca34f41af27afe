/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One module to symbolise: its files, its symbol table, its DWARF.  Answers with the names as
 * the files have them; symbols.h is what the views use.
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
 * Opens the module loaded from `path` with build id `build_id` (lower-case hexadecimal or "").
 * `search` must outlive it.  A module of which no file can be used is legal and knows no name;
 * *match_ret says why, and found_id_ret is the build id of a file that has changed.
 */
struct th_symbol_module *th_symbol_module_open(const struct th_module_search *search,
	const char *path, const char *build_id, enum th_module_match *match_ret,
	char found_id_ret[TH_BUILD_ID_TEXT]);

/* Whether there is a file to look names up in. */
bool th_symbol_module_is_usable(const struct th_symbol_module *module);

/* NULL is legal. */
void th_symbol_module_close(struct th_symbol_module *module);

/*
 * The functions at an ELF virtual address, innermost first; all but the last are inlined.  Of
 * each, one of the two names is set.  Returns their number, 0 = nothing is known; frames[0]
 * then still has file and line if the line table knows them.  Strings live as long as the
 * module.
 */
size_t th_symbol_module_lookup(struct th_symbol_module *module, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX]);

#endif
