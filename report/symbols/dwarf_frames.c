/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two levels of index: units by the ranges of their unit entry, functions of a unit by their
 * own ranges. Inside a function the tree of inlined subroutines is walked for each address: it
 * is small, and callers cache answers.
 */
#include "report/symbols/dwarf_frames.h"

#include <dwarf.h>
#include <stdlib.h>

#include "report/base/allocate.h"

/* Namespaces, classes, functions and blocks around a function; a limit for damaged files. */
#define NESTING_MAX 64

struct unit {
	Dwarf_Die skeleton; /* has the line table */
	Dwarf_Die die;      /* has the functions; from another file with split DWARF */
	bool is_read;
	struct th_address_index functions; /* value: index into function_dies */
	Dwarf_Die *function_dies;
	size_t function_dies_count;
	size_t function_dies_capacity;
	struct th_dwarf_names names;
};

struct th_dwarf {
	Dwarf *dwarf;
	uint64_t bias;
	const struct th_address_index *code;
	struct th_address_index unit_index; /* value: index into units */
	struct unit *units;
	size_t units_count;
	size_t units_capacity;
};

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
	const struct th_dwarf_scope *scope)
{
	if (add_ranges(dwarf, die, &unit->functions, unit->function_dies_count))
		th_array_append(unit, function_dies, *die);
	th_dwarf_names_add(&unit->names, die, scope);
}

/* Collects the functions among the descendants of `parent`. */
static void
collect_functions(const struct th_dwarf *dwarf, struct unit *unit, Dwarf_Die *parent,
	const struct th_dwarf_scope *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth > NESTING_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		const struct th_dwarf_scope inner = {scope, &child};
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add_function(dwarf, unit, &child, scope);
		if (th_dwarf_is_scope(tag))
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
		th_dwarf_names_deinit(&unit->names);
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
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX], struct th_dwarf_frame *location_ret)
{
	const struct th_address_range *range = th_address_index_find(
		&dwarf->unit_index, address);
	Dwarf_Die chain[TH_DWARF_FRAMES_MAX];
	struct unit *unit;
	size_t count;

	*location_ret = (struct th_dwarf_frame){0};
	if (!range)
		return 0;
	unit = &dwarf->units[range->value];
	locate_address(unit, address - dwarf->bias, location_ret);
	read_unit(dwarf, unit);
	range = th_address_index_find(&unit->functions, address);
	if (!range)
		return 0;
	count = find_chain(&unit->function_dies[range->value], address - dwarf->bias, chain);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = &chain[count - 1 - i];

		frames[i].name = th_dwarf_names_find(&unit->names, die);
		if (i == 0)
			locate_address(unit, address - dwarf->bias, &frames[i]);
		else
			locate_call(unit, die + 1, &frames[i]);
	}
	return count;
}
