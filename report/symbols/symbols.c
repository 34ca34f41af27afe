/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables, whose size depends only on the lookups made: modules by path and build id,
 * answers by module and address, display names by symbol name (a recording has many addresses
 * and few names).
 */
#include "report/symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/base/log_text.h"
#include "report/symbols/demangle.h"
#include "report/symbols/module_names.h"
#include "report/symbols/symbol_module.h"

#define FIRST_SLOTS 1024 /* of a hash table; a power of two */
/* A cache that exceeds these is not reused: bounds for push, which runs for months. */
#define FILES_MAX 128 /* modules with files, each with up to two descriptors */
#define MODULES_MAX 2048
#define ANSWERS_MAX 100000

struct module {
	uint64_t key; /* hash of path and build id: decides most comparisons */
	char *path;
	char *build_id;                  /* lower case, "" = none */
	struct th_symbol_module *module; /* NULL: has no file */
};

struct answer {
	uint64_t address;
	uint32_t module; /* index into modules */
	uint32_t count;  /* 0: the slot is free */
	struct th_symbol *frames;
};

struct name {
	const char *symbol; /* the module's string; NULL: the slot is free */
	char *display;
};

struct th_symbols {
	struct th_module_search search;
	th_symbols_warn *warn;
	void *warn_data;
	bool tolerates_missing;
	struct module *modules;
	size_t modules_count;
	size_t modules_capacity;
	size_t last_module; /* cache: consecutive lookups are often in one module */
	struct answer *answers;
	size_t answer_count;
	size_t answer_slots;
	struct name *names;
	size_t name_count;
	size_t name_slots;
};

/* Whether a hash table has no room for one more: it stays at most three quarters full. */
static bool
is_crowded(size_t count, size_t slots)
{
	return 4 * (count + 1) > 3 * slots;
}

struct th_symbols *
th_symbols_create(th_symbols_warn *warn, void *data)
{
	struct th_symbols *symbols = th_allocate(1, sizeof(*symbols));

	symbols->warn = warn;
	symbols->warn_data = data;
	th_module_search_init(&symbols->search);
	symbols->answers = th_allocate(FIRST_SLOTS, sizeof(*symbols->answers));
	symbols->names = th_allocate(FIRST_SLOTS, sizeof(*symbols->names));
	symbols->answer_slots = symbols->name_slots = FIRST_SLOTS;
	return symbols;
}

static void
free_answer(struct answer *answer)
{
	/* A stand-in is the only function string that is not in the table of names. */
	if (answer->count != 0 && !answer->frames[0].is_named)
		free((char *)answer->frames[0].function);
	free(answer->frames);
}

void
th_symbols_destroy(struct th_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->answer_slots; i++)
		free_answer(&symbols->answers[i]);
	for (size_t i = 0; i < symbols->name_slots; i++)
		free(symbols->names[i].display);
	for (size_t i = 0; i < symbols->modules_count; i++) {
		th_symbol_module_close(symbols->modules[i].module);
		free(symbols->modules[i].path);
		free(symbols->modules[i].build_id);
	}
	free(symbols->answers);
	free(symbols->names);
	free(symbols->modules);
	th_module_search_deinit(&symbols->search);
	free(symbols);
}

void
th_symbols_add_directory(struct th_symbols *symbols, const char *directory)
{
	th_module_search_add(&symbols->search, directory);
}

void
th_symbols_tolerate_missing(struct th_symbols *symbols, bool tolerate)
{
	symbols->tolerates_missing = tolerate;
}

bool
th_symbols_is_current(const struct th_symbols *symbols)
{
	size_t files = 0;

	for (size_t i = 0; i < symbols->modules_count; i++) {
		const struct th_symbol_module *module = symbols->modules[i].module;

		if (module && !th_symbol_module_is_current(module))
			return false;
		files += module && th_symbol_module_is_usable(module);
	}
	return files <= FILES_MAX && symbols->modules_count <= MODULES_MAX &&
	       symbols->answer_count <= ANSWERS_MAX;
}

struct th_symbols *
th_symbols_reuse(struct th_symbols *symbols)
{
	if (symbols && th_symbols_is_current(symbols))
		return symbols;
	th_symbols_destroy(symbols);
	return th_symbols_create(NULL, NULL);
}

/* Modules */

/* The vDSO and mappings without a file have names like "[vdso]". */
static bool
has_file(const char *path)
{
	return path[0] != '\0' && path[0] != '[' && !th_text_begins(path, "linux-vdso.") &&
	       !th_text_begins(path, "linux-gate.");
}

static void
warn_mismatch(const struct th_symbols *symbols, const struct module *module,
	enum th_module_match match, const char *found_id)
{
	char text[1024];

	if (!symbols->warn || match == TH_MODULE_FOUND ||
		(match == TH_MODULE_MISSING && symbols->tolerates_missing))
		return;
	if (match == TH_MODULE_MISSING)
		snprintf(text, sizeof(text), "%s: not found, so its functions have no names",
			module->path);
	else
		snprintf(text, sizeof(text),
			"%s: changed since the recording (build id %s, recorded %s), not used",
			module->path, found_id[0] != '\0' ? found_id : "none",
			module->build_id[0] != '\0' ? module->build_id : "none");
	symbols->warn(symbols->warn_data, text);
}

static char *
copy_lower(const char *text)
{
	char *copy = th_format_new("%s", text);

	for (char *c = copy; *c != '\0'; c++)
		*c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
	return copy;
}

static void
open_module(struct th_symbols *symbols, struct module *module)
{
	char found_id[TH_BUILD_ID_TEXT];
	enum th_module_match match;

	if (!has_file(module->path))
		return;
	module->module = th_symbol_module_open(
		&symbols->search, module->path, module->build_id, &match, found_id);
	/* With a debug file no names are missing, whatever happened to the module's file. */
	if (!th_symbol_module_is_usable(module->module))
		warn_mismatch(symbols, module, match, found_id);
}

/* Index of the module, which is opened on first use. */
static size_t
find_module(struct th_symbols *symbols, const char *path, const char *build_id)
{
	struct module module = {
		.key = th_hash_next(th_hash_text(path), th_hash_text(build_id))};

	if (symbols->last_module < symbols->modules_count &&
		symbols->modules[symbols->last_module].key == module.key)
		return symbols->last_module;
	for (size_t i = 0; i < symbols->modules_count; i++) {
		if (symbols->modules[i].key == module.key)
			return symbols->last_module = i;
	}
	module.path = th_format_new("%s", path);
	module.build_id = copy_lower(build_id);
	open_module(symbols, &module);
	th_array_append(symbols, modules, module);
	return symbols->last_module = symbols->modules_count - 1;
}

/* Display names */

static struct name *
find_name(struct name *names, size_t slots, const char *symbol)
{
	size_t slot = th_hash_text(symbol) & (slots - 1);

	while (names[slot].symbol && strcmp(names[slot].symbol, symbol) != 0)
		slot = (slot + 1) & (slots - 1);
	return &names[slot];
}

static void
grow_names(struct th_symbols *symbols)
{
	size_t slots = 2 * symbols->name_slots;
	struct name *grown = th_allocate(slots, sizeof(*grown));

	for (size_t i = 0; i < symbols->name_slots; i++) {
		if (symbols->names[i].symbol)
			*find_name(grown, slots, symbols->names[i].symbol) = symbols->names[i];
	}
	free(symbols->names);
	symbols->names = grown;
	symbols->name_slots = slots;
}

static const char *
display_name(struct th_symbols *symbols, const char *symbol)
{
	struct name *name;

	if (is_crowded(symbols->name_count, symbols->name_slots))
		grow_names(symbols);
	name = find_name(symbols->names, symbols->name_slots, symbol);
	if (!name->symbol) {
		*name = (struct name){symbol, th_demangle(symbol)};
		symbols->name_count++;
	}
	return name->display;
}

/* Answers */

static struct answer *
find_answer(struct answer *answers, size_t slots, uint32_t module, uint64_t address)
{
	size_t slot = th_hash_next(address, module) & (slots - 1);

	while (answers[slot].count != 0 &&
		(answers[slot].address != address || answers[slot].module != module))
		slot = (slot + 1) & (slots - 1);
	return &answers[slot];
}

static void
grow_answers(struct th_symbols *symbols)
{
	size_t slots = 2 * symbols->answer_slots;
	struct answer *grown = th_allocate(slots, sizeof(*grown));

	for (size_t i = 0; i < symbols->answer_slots; i++) {
		struct answer *old = &symbols->answers[i];

		if (old->count != 0)
			*find_answer(grown, slots, old->module, old->address) = *old;
	}
	free(symbols->answers);
	symbols->answers = grown;
	symbols->answer_slots = slots;
}

/* The name of an address without a known function. */
static char *
format_stand_in(const char *path, uint64_t address)
{
	if (path[0] == '\0')
		return th_format_new("0x%" PRIx64, address);
	if (!has_file(path))
		return th_format_new("%s", path[0] == '[' ? path : "[vdso]");
	char *stable = th_module_stable_path(path);
	char *name = th_format_new("%s+0x%" PRIx64, th_text_base_name(stable), address);
	free(stable);
	return name;
}

static struct th_symbol
make_symbol(struct th_symbols *symbols, const struct th_dwarf_frame *found)
{
	const char *symbol = found->name.linkage != NULL ? found->name.linkage
							 : found->name.plain;

	return (struct th_symbol){
		.function = display_name(symbols, symbol),
		.file = found->file,
		.line = found->line,
		.is_named = true,
	};
}

/* Looks the address up in the files and fills the slot. */
static void
fill_answer(struct th_symbols *symbols, struct answer *answer)
{
	const struct module *module = &symbols->modules[answer->module];
	struct th_dwarf_frame found[TH_DWARF_FRAMES_MAX];
	size_t count = 0;

	found[0] = (struct th_dwarf_frame){0};
	if (module->module)
		count = th_symbol_module_lookup(module->module, answer->address, found);
	answer->count = count > 0 ? (uint32_t)count : 1;
	answer->frames = th_allocate(answer->count, sizeof(*answer->frames));
	for (size_t i = 0; i < count; i++) {
		answer->frames[i] = make_symbol(symbols, &found[i]);
		answer->frames[i].inlined = i + 1 < count;
	}
	if (count == 0)
		answer->frames[0] = (struct th_symbol){
			.function = format_stand_in(module->path, answer->address),
			.file = found[0].file,
			.line = found[0].line,
		};
}

size_t
th_symbols_lookup(struct th_symbols *symbols, const char *path, const char *build_id,
	uint64_t address, const struct th_symbol **frames_ret)
{
	uint32_t module = (uint32_t)find_module(
		symbols, path != NULL ? path : "", build_id != NULL ? build_id : "");
	struct answer *answer;

	if (is_crowded(symbols->answer_count, symbols->answer_slots))
		grow_answers(symbols);
	answer = find_answer(symbols->answers, symbols->answer_slots, module, address);
	if (answer->count == 0) {
		answer->module = module;
		answer->address = address;
		fill_answer(symbols, answer);
		symbols->answer_count++;
	}
	*frames_ret = answer->frames;
	return answer->count;
}
