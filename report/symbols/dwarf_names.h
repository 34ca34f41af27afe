/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions in DWARF.
 *
 * Most have a linkage name, which is complete.  gcc gives none to functions of internal linkage,
 * and their plain name says little ("operator()", "get"); the scopes around it are known only
 * to who walks the tree, since an entry does not know its parent.  So such names are put
 * together during the walk and kept here.
 */
#ifndef TH_REPORT_SYMBOLS_DWARF_NAMES_H
#define TH_REPORT_SYMBOLS_DWARF_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

/* What a walk has entered: innermost first, up to the unit, whose scope is NULL. */
struct th_dwarf_scope {
	const struct th_dwarf_scope *parent;
	Dwarf_Die *die;
};

struct th_dwarf_scoped_name {
	Dwarf_Off offset; /* of the function's entry */
	char *name;
};

/* Of one unit.  Zero-initialised is empty. */
struct th_dwarf_names {
	struct th_dwarf_scoped_name *scoped; /* by offset */
	size_t scoped_count;
	size_t scoped_capacity;
};

/* One of the two is set, unless the function has no name at all. */
struct th_dwarf_name {
	const char *linkage; /* mangled, or as in C */
	const char *plain;   /* as in the source, with its scopes where they are known */
};

void th_dwarf_names_deinit(struct th_dwarf_names *names);

/* Whether functions inside such an entry are named after it. */
bool th_dwarf_is_scope(int tag);

/* Takes note of a function entry.  In the order of a walk from first to last. */
void th_dwarf_names_add(
	struct th_dwarf_names *names, Dwarf_Die *function, const struct th_dwarf_scope *scope);

/* The name of a function or of an inlined instance of one; strings live with `names`. */
struct th_dwarf_name
th_dwarf_names_find(const struct th_dwarf_names *names, Dwarf_Die *function);

#endif
