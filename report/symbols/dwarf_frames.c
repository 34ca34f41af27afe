/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two levels of index: units by the ranges of their unit entry, functions of a unit by their
 * own ranges. Inside a function the tree of inlined subroutines is walked for each address: it
 * is small, and callers cache answers.
 *
 * Most functions have a linkage name, which is complete. gcc gives none to functions of internal
 * linkage, and their plain name is ambiguous ("operator()", "get"); the enclosing scopes are only
 * known during the walk of the unit, since an entry has no reference to its parent. So the names
 * of these functions, "outer::inner::name", are built then, and kept by the entry's offset.
 */
#include "report/symbols/dwarf_frames.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/symbols/names.h"

/* Namespaces, classes, functions and blocks around a function; a limit for damaged files. */
#define NESTING_MAX 64

/*
 * The entries around the current one of a walk: innermost first, up to the unit, whose scope is
 * NULL.
 */
struct scope {
	const struct scope *parent;
	Dwarf_Die *die;
};

/* Names of one unit. Empty when zeroed. */
struct names {
	struct th_id_map offsets; /* of entries of functions */
	TH_ARRAY(char *, scoped); /* by number of the offset */
};

struct unit {
	Dwarf_Die skeleton; /* has the line table */
	Dwarf_Die die;      /* has the functions; from another file with split DWARF */
	bool is_read;
	struct th_address_index functions; /* value: index into function_dies */
	TH_ARRAY(Dwarf_Die, function_dies);
	struct names names;
};

struct th_dwarf {
	Dwarf *dwarf;
	uint64_t bias;
	const struct th_address_index *code;
	struct th_address_index unit_index; /* value: index into units */
	TH_ARRAY(struct unit, units);
};

/* Names */

/* Whether functions inside an entry with this tag have its name as a scope. */
static bool
is_scope(int tag)
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

/* The scoped name, NULL if it has none or its scopes are in another unit. */
static const char *
find_scoped(const struct names *names, Dwarf_Die *die)
{
	Dwarf_Die declaration = find_declaration(die);
	uint32_t number = th_id_map_find(&names->offsets, dwarf_dieoffset(&declaration));

	return number != TH_ID_MAP_NONE ? names->scoped[number] : NULL;
}

/* The name of a function or of an inlined instance of one; strings live as long as `names`. */
static const char *
find_name(const struct names *names, Dwarf_Die *function, bool *is_linkage_ret)
{
	const char *name = integrated_string(function, DW_AT_linkage_name);

	*is_linkage_ret = name;
	if (!name)
		name = find_scoped(names, function);
	return name ? name : integrated_string(function, DW_AT_name);
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
prepend_function(const struct names *names, Dwarf_Die *function, char *tail)
{
	bool is_linkage;
	const char *symbol = find_name(names, function, &is_linkage);
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
join_scopes(const struct names *names, const struct scope *scope, const char *name)
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

/* Records a function entry, after those around it. */
static void
add_name(struct names *names, Dwarf_Die *function, const struct scope *scope)
{
	const char *name = dwarf_diename(function);

	if (!scope || !name || dwarf_hasattr(function, DW_AT_linkage_name) ||
		dwarf_hasattr(function, DW_AT_abstract_origin) ||
		dwarf_hasattr(function, DW_AT_specification))
		return;
	th_id_map_enter(&names->offsets, dwarf_dieoffset(function), names, scoped,
		join_scopes(names, scope, name));
}

/* Filling the indexes */

/* Adds the ranges of `die` that hold code; returns whether there are any. */
static bool
add_ranges(const struct th_dwarf *dwarf, Dwarf_Die *die, struct th_address_index *index,
	size_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool has_code = false;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		start += dwarf->bias;
		end += dwarf->bias;
		if (end <= start || th_address_index_find(dwarf->code, start) == NULL)
			continue;
		th_address_index_add(index, start, end, (uint32_t)value, 0);
		has_code = true;
	}
	return has_code;
}

static void
add_function(const struct th_dwarf *dwarf, struct unit *unit, Dwarf_Die *die,
	const struct scope *scope)
{
	if (add_ranges(dwarf, die, &unit->functions, unit->function_dies_count))
		th_array_append(unit, function_dies, *die);
	add_name(&unit->names, die, scope);
}

/* Collects the functions among the descendants of `parent`. */
static void
collect_functions(const struct th_dwarf *dwarf, struct unit *unit, Dwarf_Die *parent,
	const struct scope *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth > NESTING_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		const struct scope inner = {scope, &child};
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add_function(dwarf, unit, &child, scope);
		if (is_scope(tag))
			collect_functions(dwarf, unit, &child, &inner, depth + 1);
		else if (tag == DW_TAG_lexical_block)
			collect_functions(dwarf, unit, &child, scope, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void
read_unit(const struct th_dwarf *dwarf, struct unit *unit)
{
	if (unit->is_read)
		return;
	unit->is_read = true;
	collect_functions(dwarf, unit, &unit->die, NULL, 0);
	th_address_index_sort(&unit->functions);
}

/* A unit without ranges is read at once, to take them from its functions. */
static void
add_ranges_of_functions(struct th_dwarf *dwarf, struct unit *unit, size_t number)
{
	read_unit(dwarf, unit);
	for (size_t i = 0; i < unit->functions.ranges_count; i++) {
		const struct th_address_range *range = &unit->functions.ranges[i];

		th_address_index_add(
			&dwarf->unit_index, range->start, range->end, (uint32_t)number, 0);
	}
}

static void
add_unit(struct th_dwarf *dwarf, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	struct unit unit = {.skeleton = *skeleton, .die = *skeleton};
	size_t number = dwarf->units_count;

	if (dwarf_tag(split) != DW_TAG_invalid)
		unit.die = *split;
	if (!add_ranges(dwarf, skeleton, &dwarf->unit_index, number) &&
		!dwarf_hasattr(skeleton, DW_AT_ranges) &&
		!dwarf_hasattr(skeleton, DW_AT_low_pc))
		add_ranges_of_functions(dwarf, &unit, number);
	th_array_append(dwarf, units, unit);
}

struct th_dwarf *
th_dwarf_create(Dwarf *dwarf, uint64_t bias, const struct th_address_index *code)
{
	struct th_dwarf *created = th_allocate(1, sizeof(*created));
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	*created = (struct th_dwarf){.dwarf = dwarf, .bias = bias, .code = code};
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(created, &die, &split);
	}
	th_address_index_sort(&created->unit_index);
	return created;
}

void
th_dwarf_destroy(struct th_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->units_count; i++) {
		struct unit *unit = &dwarf->units[i];

		th_address_index_deinit(&unit->functions);
		for (size_t k = 0; k < unit->names.scoped_count; k++)
			free(unit->names.scoped[k]);
		free(unit->names.scoped);
		th_id_map_deinit(&unit->names.offsets);
		free(unit->function_dies);
	}
	th_address_index_deinit(&dwarf->unit_index);
	free(dwarf->units);
	free(dwarf);
}

/* Lookup */

/*
 * The child of `parent` around `address`, an inlined function or a block; false if there is
 * none. Entries without ranges are skipped.
 */
static bool
find_inner(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *ret)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
			dwarf_haspc(&child, address) == 1) {
			*ret = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The function and the inlined ones inside it around `address`, outermost first. */
static size_t
find_chain(Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die chain[TH_DWARF_FRAMES_MAX])
{
	Dwarf_Die inner = *function;
	size_t count = 1;

	chain[0] = *function;
	for (unsigned depth = 0; depth < 4 * TH_DWARF_FRAMES_MAX; depth++) {
		Dwarf_Die outer = inner;

		if (!find_inner(&outer, address, &inner))
			break;
		if (dwarf_tag(&inner) != DW_TAG_inlined_subroutine)
			continue;
		if (count == TH_DWARF_FRAMES_MAX)
			break;
		chain[count++] = inner;
	}
	return count;
}

static Dwarf_Word
number_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0)
		return 0;
	return value;
}

/* Sets the location at which an inlined function was called. */
static void
locate_call(struct unit *unit, Dwarf_Die *inlined, struct th_dwarf_frame *frame)
{
	Dwarf_Word file = number_attribute(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	frame->line = (uint32_t)number_attribute(inlined, DW_AT_call_line);
	frame->file = NULL;
	if (dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && file < count)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Sets the location from the line table. */
static void
locate_address(struct unit *unit, Dwarf_Addr address, struct th_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, address);
	int number = 0;

	frame->line = 0;
	frame->file = NULL;
	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

size_t
th_dwarf_lookup(struct th_dwarf *dwarf, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX])
{
	const struct th_address_range *range = th_address_index_find(
		&dwarf->unit_index, address);
	Dwarf_Die chain[TH_DWARF_FRAMES_MAX];
	struct unit *unit;
	size_t count;

	frames[0] = (struct th_dwarf_frame){0};
	if (!range)
		return 0;
	unit = &dwarf->units[range->value];
	locate_address(unit, address - dwarf->bias, &frames[0]);
	read_unit(dwarf, unit);
	range = th_address_index_find(&unit->functions, address);
	if (!range)
		return 0;
	count = find_chain(&unit->function_dies[range->value], address - dwarf->bias, chain);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = &chain[count - 1 - i];

		frames[i].name = find_name(&unit->names, die, &frames[i].is_linkage);
		if (i > 0)
			locate_call(unit, die + 1, &frames[i]);
	}
	return count;
}
