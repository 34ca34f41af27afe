/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two levels of index: units by the ranges of their unit entry, functions of a unit by their
 * own ranges.  Inside a function the tree of inlined subroutines is walked anew for each
 * address: it is small, and callers remember answers.
 */
#include "report/dwarf_frames.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/demangle.h"

/* Namespaces, classes, functions and blocks around a function; a guard against damaged files. */
#define NESTING_MAX 64
#define UNNAMED_FUNCTION "(unnamed)"

/* A function without a linkage name, declared inside a namespace, class or function. */
struct scoped_name {
	Dwarf_Off offset; /* of its entry */
	char *name;
};

struct unit {
	Dwarf_Die skeleton; /* has the line table */
	Dwarf_Die die;      /* has the functions; another file's with split DWARF */
	bool is_read;
	struct th_address_index functions; /* value: index into function_dies */
	Dwarf_Die *function_dies;
	size_t function_count;
	size_t function_capacity;
	struct scoped_name *scoped_names; /* by offset */
	size_t scoped_count;
	size_t scoped_capacity;
};

/* What a walk has entered: innermost first, up to the unit. */
struct scope {
	const struct scope *parent; /* NULL: directly in the unit */
	Dwarf_Die *die;
};

struct th_dwarf {
	Dwarf *dwarf;
	uint64_t bias;
	const struct th_address_index *code;
	struct th_address_index unit_index; /* value: index into units */
	struct unit *units;
	size_t unit_count;
	size_t unit_capacity;
};

/* --- filling the indexes -------------------------------------------------------------------- */

/* Adds the ranges of `die` that hold code; *added_ret counts them.  False: memory is short. */
static bool
add_ranges(const struct th_dwarf *dwarf, Dwarf_Die *die, struct th_address_index *index,
	uint32_t value, size_t *added_ret)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	*added_ret = 0;
	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		start += dwarf->bias;
		end += dwarf->bias;
		if (end <= start || th_address_index_find(dwarf->code, start) == NULL)
			continue;
		if (!th_address_index_add(index, start, end, value, 0))
			return false;
		++*added_ret;
	}
	return true;
}

static bool
add_function(const struct th_dwarf *dwarf, struct unit *unit, Dwarf_Die *die)
{
	size_t added;

	if (unit->function_count == unit->function_capacity) {
		size_t capacity = 2 * unit->function_capacity + 16;
		Dwarf_Die *grown = reallocarray(unit->function_dies, capacity, sizeof(*grown));

		if (grown == NULL)
			return false;
		unit->function_dies = grown;
		unit->function_capacity = capacity;
	}
	if (!add_ranges(dwarf, die, &unit->functions, (uint32_t)unit->function_count, &added))
		return false;
	if (added != 0)
		unit->function_dies[unit->function_count++] = *die;
	return true;
}

/* A string attribute of `die` or of what it is an instance of. */
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
compare_scoped_names(const void *left, const void *right)
{
	const struct scoped_name *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The name with its scopes, NULL if it has none or they lie in another unit. */
static const char *
find_scoped_name(const struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Die declaration = find_declaration(die);
	const struct scoped_name wanted = {.offset = dwarf_dieoffset(&declaration)};
	const struct scoped_name *found;

	if (unit->scoped_count == 0)
		return NULL;
	found = bsearch(&wanted, unit->scoped_names, unit->scoped_count, sizeof(wanted),
		compare_scoped_names);
	return found != NULL ? found->name : NULL;
}

static void
name_function(const struct unit *unit, Dwarf_Die *die, struct th_dwarf_frame *frame)
{
	frame->name = NULL;
	frame->linkage_name = integrated_string(die, DW_AT_linkage_name);
	if (frame->linkage_name == NULL)
		frame->name = find_scoped_name(unit, die);
	if (frame->name == NULL)
		frame->name = integrated_string(die, DW_AT_name);
}

/* Puts "name::" before `tail`, which it takes over.  NULL when memory is short. */
static char *
prepend_scope(const char *name, char *tail)
{
	char *joined = NULL;

	if (tail != NULL && asprintf(&joined, "%s::%s", name, tail) < 0)
		joined = NULL;
	free(tail);
	return joined;
}

/* The same with the whole name of a function, which has its own scopes in it. */
static char *
prepend_function(const struct unit *unit, Dwarf_Die *die, char *tail)
{
	struct th_dwarf_frame frame;
	char *name;

	name_function(unit, die, &frame);
	name = th_demangle(frame.linkage_name != NULL ? frame.linkage_name
			   : frame.name != NULL       ? frame.name
						      : UNNAMED_FUNCTION);
	tail = prepend_scope(name != NULL ? name : UNNAMED_FUNCTION, tail);
	free(name);
	return tail;
}

/* How a namespace or class without a name is shown. */
static const char *
unnamed_scope(int tag, const char *member)
{
	if (tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strcmp(member, "operator()") == 0 ? "{lambda}" : "{unnamed type}";
}

/* "outer::inner::name"; NULL when memory is short. */
static char *
join_scopes(const struct unit *unit, const struct scope *scope, const char *name)
{
	char *tail = strdup(name);

	for (; scope != NULL && tail != NULL; scope = scope->parent) {
		int tag = dwarf_tag(scope->die);
		const char *own = dwarf_diename(scope->die);

		if (tag == DW_TAG_subprogram)
			return prepend_function(unit, scope->die, tail);
		tail = prepend_scope(own != NULL ? own : unnamed_scope(tag, tail), tail);
	}
	return tail;
}

/*
 * gcc gives no linkage name to functions of internal linkage, and their plain name says little
 * ("operator()", "get").  The names of such functions are put together while the tree is
 * walked: an entry does not know its parent.
 */
static bool
add_scoped_name(struct unit *unit, Dwarf_Die *die, const struct scope *scope)
{
	const char *name = dwarf_diename(die);
	struct scoped_name *scoped;

	if (scope == NULL || name == NULL || dwarf_hasattr(die, DW_AT_linkage_name) ||
		dwarf_hasattr(die, DW_AT_abstract_origin) ||
		dwarf_hasattr(die, DW_AT_specification))
		return true;
	if (unit->scoped_count == unit->scoped_capacity) {
		size_t capacity = 2 * unit->scoped_capacity + 16;
		struct scoped_name *grown = reallocarray(
			unit->scoped_names, capacity, sizeof(*grown));

		if (grown == NULL)
			return false;
		unit->scoped_names = grown;
		unit->scoped_capacity = capacity;
	}
	scoped = &unit->scoped_names[unit->scoped_count];
	scoped->offset = dwarf_dieoffset(die);
	scoped->name = join_scopes(unit, scope, name);
	unit->scoped_count += scoped->name != NULL;
	return scoped->name != NULL;
}

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

/* Collects the functions among the descendants of `parent`.  False: memory is short. */
static bool
collect_functions(const struct th_dwarf *dwarf, struct unit *unit, Dwarf_Die *parent,
	const struct scope *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth > NESTING_MAX || dwarf_child(parent, &child) != 0)
		return true;
	do {
		int tag = dwarf_tag(&child);
		const struct scope inner = {scope, &child};

		if (!is_scope(tag) && tag != DW_TAG_lexical_block)
			continue;
		if (tag == DW_TAG_subprogram && (!add_function(dwarf, unit, &child) ||
							!add_scoped_name(unit, &child, scope)))
			return false;
		if (!collect_functions(
			    dwarf, unit, &child, is_scope(tag) ? &inner : scope, depth + 1))
			return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

static bool
read_unit(const struct th_dwarf *dwarf, struct unit *unit)
{
	if (unit->is_read)
		return true;
	unit->is_read = true;
	if (collect_functions(dwarf, unit, &unit->die, NULL, 0) &&
		th_address_index_sort(&unit->functions))
		return true;
	th_address_index_deinit(&unit->functions);
	return false;
}

/* A unit that does not say what it covers is read at once, to take that from its functions. */
static bool
add_ranges_of_functions(struct th_dwarf *dwarf, struct unit *unit, uint32_t number)
{
	if (!read_unit(dwarf, unit))
		return false;
	for (size_t i = 0; i < unit->functions.count; i++) {
		const struct th_address_range *range = &unit->functions.ranges[i];

		if (!th_address_index_add(
			    &dwarf->unit_index, range->start, range->end, number, 0))
			return false;
	}
	return true;
}

static bool
add_unit(struct th_dwarf *dwarf, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	uint32_t number = (uint32_t)dwarf->unit_count;
	struct unit *unit;
	size_t added;

	if (dwarf->unit_count == dwarf->unit_capacity) {
		size_t capacity = 2 * dwarf->unit_capacity + 16;
		struct unit *grown = reallocarray(dwarf->units, capacity, sizeof(*grown));

		if (grown == NULL)
			return false;
		dwarf->units = grown;
		dwarf->unit_capacity = capacity;
	}
	unit = &dwarf->units[dwarf->unit_count++];
	*unit = (struct unit){.skeleton = *skeleton, .die = *skeleton};
	if (dwarf_tag(split) != DW_TAG_invalid)
		unit->die = *split;
	th_address_index_init(&unit->functions);
	if (!add_ranges(dwarf, skeleton, &dwarf->unit_index, number, &added))
		return false;
	if (dwarf_hasattr(skeleton, DW_AT_ranges) || dwarf_hasattr(skeleton, DW_AT_low_pc))
		return true;
	return add_ranges_of_functions(dwarf, unit, number);
}

static bool
collect_units(struct th_dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!add_unit(dwarf, &die, &split))
			return false;
	}
	return th_address_index_sort(&dwarf->unit_index);
}

struct th_dwarf *
th_dwarf_create(Dwarf *dwarf, uint64_t bias, const struct th_address_index *code)
{
	struct th_dwarf *created = malloc(sizeof(*created));

	if (created == NULL)
		return NULL;
	*created = (struct th_dwarf){.dwarf = dwarf, .bias = bias, .code = code};
	th_address_index_init(&created->unit_index);
	if (!collect_units(created)) {
		th_dwarf_destroy(created);
		return NULL;
	}
	return created;
}

void
th_dwarf_destroy(struct th_dwarf *dwarf)
{
	if (dwarf == NULL)
		return;
	for (size_t i = 0; i < dwarf->unit_count; i++) {
		th_address_index_deinit(&dwarf->units[i].functions);
		free(dwarf->units[i].function_dies);
		for (size_t j = 0; j < dwarf->units[i].scoped_count; j++)
			free(dwarf->units[i].scoped_names[j].name);
		free(dwarf->units[i].scoped_names);
	}
	th_address_index_deinit(&dwarf->unit_index);
	free(dwarf->units);
	free(dwarf);
}

/* --- looking up ----------------------------------------------------------------------------- */

/*
 * The child of `parent` around `address`, an inlined function or a block, or false.  An entry
 * without ranges of its own is passed over.
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

/* Where an inlined function was called. */
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

/* What the line table says. */
static void
locate_address(struct unit *unit, Dwarf_Addr address, struct th_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, address);
	int number = 0;

	frame->line = 0;
	frame->file = NULL;
	if (line == NULL)
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
	if (range == NULL)
		return 0;
	unit = &dwarf->units[range->value];
	locate_address(unit, address - dwarf->bias, location_ret);
	range = read_unit(dwarf, unit) ? th_address_index_find(&unit->functions, address)
				       : NULL;
	if (range == NULL)
		return 0;
	count = find_chain(&unit->function_dies[range->value], address - dwarf->bias, chain);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = &chain[count - 1 - i];

		name_function(unit, die, &frames[i]);
		if (i == 0)
			locate_address(unit, address - dwarf->bias, &frames[i]);
		else
			locate_call(unit, die + 1, &frames[i]);
	}
	return count;
}
