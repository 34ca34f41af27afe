/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables, whose size depends only on the lookups made: modules by path and build id, the
 * answers of each by address, display names by symbol name (a recording has many addresses and
 * few names).
 */
#include "report/symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/base/log_text.h"
#include "report/symbols/demangle.h"
#include "report/symbols/module_names.h"
#include "report/symbols/symbol_module.h"

/* A cache that exceeds these is not reused: bounds for push, which runs for months. */
#define FILES_MAX 128 /* modules with files, each with up to two descriptors */
#define MODULES_MAX 2048
#define ANSWERS_MAX 100000

struct answer {
	uint32_t count;
	struct th_symbol *frames;
};

struct module {
	uint64_t key; /* hash of path and build id: decides most comparisons */
	char *path;
	char *build_id;                  /* lower case, "" = none */
	struct th_symbol_module *module; /* NULL: has no file */
	struct th_id_map addresses;
	struct answer *answers; /* by number of the address */
	size_t answers_count;
	size_t answers_capacity;
};

struct th_symbols {
	th_symbols_warn *warn;
	void *warn_data;
	bool tolerates_missing;
	struct module *modules;
	size_t modules_count;
	size_t modules_capacity;
	size_t last_module;      /* cache: consecutive lookups are often in one module */
	struct th_strings names; /* of symbols */
	char **displays;         /* by number of the name */
	size_t displays_count;
	size_t displays_capacity;
};

struct th_symbols *
th_symbols_create(th_symbols_warn *warn, void *data)
{
	struct th_symbols *symbols = th_allocate(1, sizeof(*symbols));

	symbols->warn = warn;
	symbols->warn_data = data;
	th_strings_init(&symbols->names);
	return symbols;
}

static void
free_answer(const struct answer *answer)
{
	/* A stand-in is the only function string that is not in the table of names. */
	if (!answer->frames[0].is_named)
		free((char *)answer->frames[0].function);
	free(answer->frames);
}

static void
free_module(struct module *module)
{
	th_symbol_module_close(module->module);
	for (size_t i = 0; i < module->answers_count; i++)
		free_answer(&module->answers[i]);
	th_id_map_deinit(&module->addresses);
	free(module->answers);
	free(module->path);
	free(module->build_id);
}

void
th_symbols_destroy(struct th_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->modules_count; i++)
		free_module(&symbols->modules[i]);
	for (size_t i = 0; i < symbols->displays_count; i++)
		free(symbols->displays[i]);
	free(symbols->modules);
	free(symbols->displays);
	th_strings_deinit(&symbols->names);
	free(symbols);
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
	size_t answers = 0;

	for (size_t i = 0; i < symbols->modules_count; i++) {
		const struct th_symbol_module *module = symbols->modules[i].module;

		answers += symbols->modules[i].answers_count;
		if (module && !th_symbol_module_is_current(module))
			return false;
		files += module && th_symbol_module_is_usable(module);
	}
	return files <= FILES_MAX && symbols->modules_count <= MODULES_MAX &&
	       answers <= ANSWERS_MAX;
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
		module->path, module->build_id, &match, found_id);
	/* With a debug file no names are missing, whatever happened to the module's file. */
	if (!th_symbol_module_is_usable(module->module))
		warn_mismatch(symbols, module, match, found_id);
}

/* The module, which is opened on first use. */
static struct module *
find_module(struct th_symbols *symbols, const char *path, const char *build_id)
{
	struct module module = {
		.key = th_hash_next(th_hash_text(path), th_hash_text(build_id))};

	if (symbols->last_module < symbols->modules_count &&
		symbols->modules[symbols->last_module].key == module.key)
		return &symbols->modules[symbols->last_module];
	for (size_t i = 0; i < symbols->modules_count; i++) {
		if (symbols->modules[i].key == module.key)
			return &symbols->modules[symbols->last_module = i];
	}
	module.path = th_format_new("%s", path);
	module.build_id = copy_lower(build_id);
	open_module(symbols, &module);
	symbols->last_module = symbols->modules_count;
	th_array_append(symbols, modules, module);
	return &symbols->modules[symbols->last_module];
}

/* Answers */

static const char *
display_name(struct th_symbols *symbols, const char *symbol)
{
	uint32_t number = th_strings_intern(&symbols->names, symbol);

	while (symbols->displays_count <= number) {
		const char *name = th_strings_get(
			&symbols->names, (uint32_t)symbols->displays_count);

		th_array_append(symbols, displays, th_demangle(name));
	}
	return symbols->displays[number];
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

/* Looks the address up in the files of the module. */
static struct answer
find_answer(struct th_symbols *symbols, const struct module *module, uint64_t address)
{
	struct th_dwarf_frame found[TH_DWARF_FRAMES_MAX];
	struct answer answer;
	size_t count = 0;

	found[0] = (struct th_dwarf_frame){0};
	if (module->module)
		count = th_symbol_module_lookup(module->module, address, found);
	answer.count = count > 0 ? (uint32_t)count : 1;
	answer.frames = th_allocate(answer.count, sizeof(*answer.frames));
	for (size_t i = 0; i < count; i++) {
		answer.frames[i] = make_symbol(symbols, &found[i]);
		answer.frames[i].inlined = i + 1 < count;
	}
	if (count == 0)
		answer.frames[0] = (struct th_symbol){
			.function = format_stand_in(module->path, address),
			.file = found[0].file,
			.line = found[0].line,
		};
	return answer;
}

size_t
th_symbols_lookup(struct th_symbols *symbols, const char *path, const char *build_id,
	uint64_t address, const struct th_symbol **frames_ret)
{
	struct module *module = find_module(
		symbols, path != NULL ? path : "", build_id != NULL ? build_id : "");
	bool is_new;
	uint32_t number = th_id_map_intern(&module->addresses, address, &is_new);

	if (is_new)
		th_array_append(module, answers, find_answer(symbols, module, address));
	*frames_ret = module->answers[number].frames;
	return module->answers[number].count;
}
