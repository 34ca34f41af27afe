/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions in DWARF.
 *
 * Most have a linkage name, which is complete. gcc gives none to functions of internal linkage,
 * and their plain name is ambiguous ("operator()", "get"); the enclosing scopes are only known
 * during a walk of the tree, since an entry has no reference to its parent. So the full names
 * of these functions are built during the walk and kept here.
 */
#ifndef TH_REPORT_SYMBOLS_DWARF_NAMES_H
#define TH_REPORT_SYMBOLS_DWARF_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The entries around the current one of a walk: innermost first, up to the unit, whose scope is
 * NULL.
 */
struct th_dwarf_scope {
	const struct th_dwarf_scope *parent;
	Dwarf_Die *die;
};

struct th_dwarf_scoped_name {
	Dwarf_Off offset; /* of the function's entry */
	char *name;
};

/* Names of one unit. Empty when zeroed. */
struct th_dwarf_names {
	struct th_dwarf_scoped_name *scoped; /* by offset */
	size_t scoped_count;
	size_t scoped_capacity;
};

/* One of the two is set, unless the function has no name at all. */
struct th_dwarf_name {
	const char *linkage; /* mangled, or a C name */
	const char *plain;   /* as in the source, with its scopes where they are known */
};

void th_dwarf_names_deinit(struct th_dwarf_names *names);

/* Whether functions inside an entry with this tag have its name as a scope. */
bool th_dwarf_is_scope(int tag);

/* Records a function entry. Must be called in the order of a walk from first to last. */
void th_dwarf_names_add(
	struct th_dwarf_names *names, Dwarf_Die *function, const struct th_dwarf_scope *scope);

/* The name of a function or of an inlined instance of one; strings live as long as `names`. */
struct th_dwarf_name
th_dwarf_names_find(const struct th_dwarf_names *names, Dwarf_Die *function);

#endif
