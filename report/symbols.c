/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables, all bounded by what was asked: modules by path and build id, answers by module
 * and address, display names by symbol name (a recording has many addresses and few names).
 */
#include "report/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/demangle.h"
#include "report/symbol_module.h"

#define FIRST_SLOTS 1024 /* of a hash table; a power of two */

struct module {
	uint64_t key; /* hash of path and build id: most comparisons end here */
	char *path;
	char *build_id;                  /* lower case, "" = none */
	struct th_symbol_module *module; /* NULL: has no file, or memory was short */
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
	struct module *modules;
	size_t module_count;
	size_t last_module; /* lookups come in runs */
	struct answer *answers;
	size_t answer_count;
	size_t answer_slots;
	struct name *names;
	size_t name_count;
	size_t name_slots;
};

/* FNV-1a, 64 bits. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

#define HASH_START 0xcbf29ce484222325u

static uint64_t
hash_number(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

struct th_symbols *
th_symbols_create(th_symbols_warn *warn, void *data)
{
	struct th_symbols *symbols = malloc(sizeof(*symbols));

	if (symbols == NULL)
		return NULL;
	*symbols = (struct th_symbols){.warn = warn, .warn_data = data};
	th_module_search_init(&symbols->search);
	symbols->answers = calloc(FIRST_SLOTS, sizeof(*symbols->answers));
	symbols->names = calloc(FIRST_SLOTS, sizeof(*symbols->names));
	if (symbols->answers == NULL || symbols->names == NULL) {
		th_symbols_destroy(symbols);
		return NULL;
	}
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
	if (symbols == NULL)
		return;
	for (size_t i = 0; i < symbols->answer_slots; i++)
		free_answer(&symbols->answers[i]);
	for (size_t i = 0; i < symbols->name_slots; i++)
		free(symbols->names[i].display);
	for (size_t i = 0; i < symbols->module_count; i++) {
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

bool
th_symbols_add_directory(struct th_symbols *symbols, const char *directory)
{
	return th_module_search_add(&symbols->search, directory);
}

/* --- modules -------------------------------------------------------------------------------- */

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The kernel's own object, and mappings without a file, go by names like "[vdso]". */
static bool
has_file(const char *path)
{
	return path[0] != '[' && strncmp(path, "linux-vdso.", 11) != 0 &&
	       strncmp(path, "linux-gate.", 11) != 0;
}

static void
warn_mismatch(const struct th_symbols *symbols, const struct module *module,
	enum th_module_match match, const char *found_id)
{
	char text[1024];

	if (symbols->warn == NULL || match == TH_MODULE_FOUND)
		return;
	if (match == TH_MODULE_MISSING)
		snprintf(text, sizeof(text), "%s: not found, its functions stay without names",
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
	char *copy = strdup(text);

	for (char *c = copy; c != NULL && *c != '\0'; c++)
		*c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
	return copy;
}

static bool
open_module(struct th_symbols *symbols, struct module *module)
{
	char found_id[TH_BUILD_ID_TEXT];
	enum th_module_match match;

	if (module->path == NULL || module->build_id == NULL)
		return false;
	if (module->path[0] == '\0' || !has_file(module->path))
		return true;
	module->module = th_symbol_module_open(
		&symbols->search, module->path, module->build_id, &match, found_id);
	if (module->module == NULL)
		return false;
	/* With a debug file instead nothing is lost, whatever has become of the module. */
	if (!th_symbol_module_is_usable(module->module))
		warn_mismatch(symbols, module, match, found_id);
	return true;
}

static bool
add_module(struct th_symbols *symbols, uint64_t key, const char *path, const char *build_id)
{
	struct module *grown = reallocarray(
		symbols->modules, symbols->module_count + 1, sizeof(*grown));
	struct module *module;

	if (grown == NULL)
		return false;
	symbols->modules = grown;
	module = &grown[symbols->module_count];
	*module = (struct module){
		.key = key, .path = strdup(path), .build_id = copy_lower(build_id)};
	if (!open_module(symbols, module)) {
		free(module->path);
		free(module->build_id);
		return false;
	}
	symbols->module_count++;
	return true;
}

/* Index of the module, opened on first sight; false when memory is short. */
static bool
find_module(struct th_symbols *symbols, const char *path, const char *build_id, size_t *ret)
{
	uint64_t key = hash_text(hash_text(HASH_START, path) * 31, build_id);
	size_t count = symbols->module_count;

	if (symbols->last_module < count && symbols->modules[symbols->last_module].key == key) {
		*ret = symbols->last_module;
		return true;
	}
	for (*ret = 0; *ret < count; ++*ret) {
		if (symbols->modules[*ret].key == key)
			break;
	}
	if (*ret == count && !add_module(symbols, key, path, build_id))
		return false;
	symbols->last_module = *ret;
	return true;
}

/* --- display names -------------------------------------------------------------------------- */

static struct name *
find_name(struct name *names, size_t slots, const char *symbol)
{
	size_t slot = hash_text(HASH_START, symbol) & (slots - 1);

	while (names[slot].symbol != NULL && strcmp(names[slot].symbol, symbol) != 0)
		slot = (slot + 1) & (slots - 1);
	return &names[slot];
}

static bool
grow_names(struct th_symbols *symbols)
{
	size_t slots = 2 * symbols->name_slots;
	struct name *grown = calloc(slots, sizeof(*grown));

	if (grown == NULL)
		return false;
	for (size_t i = 0; i < symbols->name_slots; i++) {
		if (symbols->names[i].symbol != NULL)
			*find_name(grown, slots, symbols->names[i].symbol) = symbols->names[i];
	}
	free(symbols->names);
	symbols->names = grown;
	symbols->name_slots = slots;
	return true;
}

/* The display form of a symbol, or the symbol itself when memory is short. */
static const char *
display_name(struct th_symbols *symbols, const char *symbol)
{
	struct name *name;

	if (4 * (symbols->name_count + 1) > 3 * symbols->name_slots && !grow_names(symbols))
		return symbol;
	name = find_name(symbols->names, symbols->name_slots, symbol);
	if (name->symbol == NULL) {
		name->display = th_demangle(symbol);
		if (name->display == NULL)
			return symbol;
		name->symbol = symbol;
		symbols->name_count++;
	}
	return name->display;
}

/* --- answers -------------------------------------------------------------------------------- */

static struct answer *
find_answer(struct answer *answers, size_t slots, uint32_t module, uint64_t address)
{
	size_t slot = hash_number(address ^ (uint64_t)module << 48) & (slots - 1);

	while (answers[slot].count != 0 &&
		(answers[slot].address != address || answers[slot].module != module))
		slot = (slot + 1) & (slots - 1);
	return &answers[slot];
}

static bool
grow_answers(struct th_symbols *symbols)
{
	size_t slots = 2 * symbols->answer_slots;
	struct answer *grown = calloc(slots, sizeof(*grown));

	if (grown == NULL)
		return false;
	for (size_t i = 0; i < symbols->answer_slots; i++) {
		struct answer *old = &symbols->answers[i];

		if (old->count != 0)
			*find_answer(grown, slots, old->module, old->address) = *old;
	}
	free(symbols->answers);
	symbols->answers = grown;
	symbols->answer_slots = slots;
	return true;
}

/* The name of an address that nothing is known about.  NULL when memory is short. */
static char *
format_stand_in(const char *path, uint64_t address)
{
	char *text;
	int length;

	if (path[0] == '\0')
		length = asprintf(&text, "0x%" PRIx64, address);
	else if (!has_file(path))
		length = asprintf(&text, "%s", path[0] == '[' ? path : "[vdso]");
	else
		length = asprintf(&text, "%s+0x%" PRIx64, base_name(path), address);
	return length >= 0 ? text : NULL;
}

static bool
fill_stand_in(const struct module *module, uint64_t address, const struct th_dwarf_frame *found,
	struct answer *answer)
{
	char *function = format_stand_in(module->path, address);

	answer->frames = malloc(sizeof(*answer->frames));
	if (function == NULL || answer->frames == NULL) {
		free(function);
		free(answer->frames);
		answer->frames = NULL;
		return false;
	}
	answer->frames[0] = (struct th_symbol){
		.function = function, .file = found->file, .line = found->line};
	answer->count = 1;
	return true;
}

/* Looks the address up in the files and fills the slot.  False when memory is short. */
static bool
fill_answer(struct th_symbols *symbols, struct answer *answer)
{
	const struct module *module = &symbols->modules[answer->module];
	struct th_dwarf_frame found[TH_DWARF_FRAMES_MAX] = {0};
	size_t count = 0;

	if (module->module != NULL)
		count = th_symbol_module_lookup(module->module, answer->address, found);
	if (count == 0)
		return fill_stand_in(module, answer->address, found, answer);
	answer->frames = calloc(count, sizeof(*answer->frames));
	if (answer->frames == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *symbol = found[i].linkage_name;

		answer->frames[i] = (struct th_symbol){
			.function = display_name(
				symbols, symbol != NULL ? symbol : found[i].name),
			.file = found[i].file,
			.line = found[i].line,
			.inlined = i + 1 < count,
			.is_named = true,
		};
	}
	answer->count = (uint32_t)count;
	return true;
}

static struct answer *
lookup(struct th_symbols *symbols, const char *path, const char *build_id, uint64_t address)
{
	struct answer *answer;
	size_t module;

	if (4 * (symbols->answer_count + 1) > 3 * symbols->answer_slots &&
		!grow_answers(symbols))
		return NULL;
	if (!find_module(symbols, path, build_id, &module))
		return NULL;
	answer = find_answer(
		symbols->answers, symbols->answer_slots, (uint32_t)module, address);
	if (answer->count != 0)
		return answer;
	answer->module = (uint32_t)module;
	answer->address = address;
	if (!fill_answer(symbols, answer))
		return NULL;
	symbols->answer_count++;
	return answer;
}

size_t
th_symbols_lookup(struct th_symbols *symbols, const char *path, const char *build_id,
	uint64_t address, const struct th_symbol **frames_ret)
{
	static const struct th_symbol no_memory = {.function = "(out of memory)"};
	const struct answer *answer = lookup(
		symbols, path != NULL ? path : "", build_id != NULL ? build_id : "", address);

	*frames_ret = answer != NULL ? answer->frames : &no_memory;
	return answer != NULL ? answer->count : 1;
}
