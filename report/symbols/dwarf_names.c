/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds "outer::inner::name" for the functions of a unit that have no linkage name, while the
 * unit is walked, and keeps them sorted by the offset of the function's entry.
 */
#include "report/symbols/dwarf_names.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/symbols/demangle.h"

void
th_dwarf_names_deinit(struct th_dwarf_names *names)
{
	for (size_t i = 0; i < names->scoped_count; i++)
		free(names->scoped[i].name);
	free(names->scoped);
}

bool
th_dwarf_is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

/* A string attribute of `die` or of the entry that it is an instance of. */
static const char *
integrated_string(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* The entry that `die` is an instance of and that was declared in its scope. */
static Dwarf_Die
find_declaration(Dwarf_Die *die)
{
	static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Die at = *die;

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (dwarf_formref_die(dwarf_attr(&at, links[i], &attribute), &next) != NULL)
			at = next;
	}
	return at;
}

static int
compare(const void *left, const void *right)
{
	const struct th_dwarf_scoped_name *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The scoped name, NULL if it has none or its scopes are in another unit. */
static const char *
find_scoped(const struct th_dwarf_names *names, Dwarf_Die *die)
{
	Dwarf_Die declaration = find_declaration(die);
	const struct th_dwarf_scoped_name wanted = {.offset = dwarf_dieoffset(&declaration)};
	const struct th_dwarf_scoped_name *found;

	if (names->scoped_count == 0)
		return NULL;
	found = bsearch(&wanted, names->scoped, names->scoped_count, sizeof(wanted), compare);
	return found != NULL ? found->name : NULL;
}

struct th_dwarf_name
th_dwarf_names_find(const struct th_dwarf_names *names, Dwarf_Die *function)
{
	struct th_dwarf_name name = {
		.linkage = integrated_string(function, DW_AT_linkage_name)};

	if (!name.linkage)
		name.plain = find_scoped(names, function);
	if (!name.linkage && !name.plain)
		name.plain = integrated_string(function, DW_AT_name);
	return name;
}

/* "name::tail"; takes over `tail`. */
static char *
prepend_scope(const char *name, char *tail)
{
	char *joined = th_format_new("%s::%s", name, tail);

	free(tail);
	return joined;
}

/* The same with the full name of a function, which includes its scopes. */
static char *
prepend_function(const struct th_dwarf_names *names, Dwarf_Die *function, char *tail)
{
	struct th_dwarf_name found = th_dwarf_names_find(names, function);
	const char *symbol = found.linkage != NULL ? found.linkage : found.plain;
	char *name = th_demangle(symbol != NULL ? symbol : "(unnamed)");

	tail = prepend_scope(name, tail);
	free(name);
	return tail;
}

/* The name shown for an unnamed namespace or class. */
static const char *
unnamed_scope(int tag, const char *member)
{
	if (tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strcmp(member, "operator()") == 0 ? "{lambda}" : "{unnamed type}";
}

/* "outer::inner::name" */
static char *
join_scopes(const struct th_dwarf_names *names, const struct th_dwarf_scope *scope,
	const char *name)
{
	char *tail = th_format_new("%s", name);

	for (; scope != NULL; scope = scope->parent) {
		int tag = dwarf_tag(scope->die);
		const char *own = dwarf_diename(scope->die);

		if (tag == DW_TAG_subprogram)
			return prepend_function(names, scope->die, tail);
		tail = prepend_scope(own != NULL ? own : unnamed_scope(tag, tail), tail);
	}
	return tail;
}

void
th_dwarf_names_add(
	struct th_dwarf_names *names, Dwarf_Die *function, const struct th_dwarf_scope *scope)
{
	const char *name = dwarf_diename(function);
	struct th_dwarf_scoped_name scoped;

	if (!scope || !name || dwarf_hasattr(function, DW_AT_linkage_name) ||
		dwarf_hasattr(function, DW_AT_abstract_origin) ||
		dwarf_hasattr(function, DW_AT_specification))
		return;
	scoped.offset = dwarf_dieoffset(function);
	scoped.name = join_scopes(names, scope, name);
	th_array_append(names, scoped, scoped);
}
