/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables, whose size depends only on the lookups made: modules by path and build id, the
 * answers of each by address, display names by symbol name (a recording has many addresses and
 * few names).
 *
 * libdwfl combines the parts of one module: the main file, the debug file, .symtab of either,
 * .dynsym and .gnu_debugdata. Each module has a separate session with load bias zero, so that
 * its addresses are the virtual addresses of the ELF file.
 *
 * The session has our own callback: libdwfl's would contact debuginfod servers. Symbols are
 * indexed here because dwfl_module_addrsym() searches all symbols for every address: libjvm.so
 * has some 70,000.
 */
#include "report/symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/base/log_text.h"
#include "report/symbols/names.h"
#include "report/symbols/dwarf_frames.h"
#include "report/symbols/module_files.h"

/* A cache that exceeds these is not reused: bounds for push, which runs for months. */
#define FILES_MAX 128 /* modules with files, each with up to two descriptors */
#define MODULES_MAX 2048
#define ANSWERS_MAX 100000

struct answer {
	uint32_t count;
	struct th_symbol *frames;
};

/* A file that may change while the module is open. */
struct file {
	char *path;
	uint64_t stamp; /* stamp_of(), when it was opened */
};

struct module {
	char *path;
	char *build_id;       /* lower case, "" = none; of every file that is used */
	struct file files[2]; /* unless NULL: main and debug file, or one that is not usable */
	Dwfl *dwfl;           /* NULL: no file can be used */
	Dwfl_Module *dwfl_module;
	struct th_address_index code; /* executable segments */
	struct th_address_index
		symbols;        /* value: number of the symbol for dwfl_module_getsym */
	struct th_dwarf *dwarf; /* NULL: none */
	struct th_id_map addresses;
	TH_ARRAY(struct answer, answers); /* by number of the address */
};

struct th_symbols {
	th_symbols_warn *warn;
	void *warn_data;
	bool tolerates_missing;
	struct th_id_map module_ids; /* hash of path and build id */
	TH_ARRAY(struct module *, modules);
	struct th_strings names;    /* of symbols */
	TH_ARRAY(char *, displays); /* by number of the name */
};

/* Files */

/*
 * Finds the debug file. libdwfl uses the same callback for the supplementary file of dwz, which
 * has another build id: nothing is found here then, and libdw searches for it itself.
 */
static int
find_debug_file(Dwfl_Module *dwfl_module, void **data, const char *name, Dwarf_Addr base,
	const char *file_name, const char *link_name, GElf_Word link_checksum, char **path_ret)
{
	const struct module *module = *data;

	(void)dwfl_module;
	(void)name;
	(void)base;
	return file_name != NULL ? th_debug_file_open(file_name, module->build_id, link_name,
					   link_checksum, path_ret)
				 : -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_debug_file,
	.section_address = dwfl_offline_section_address,
};

/* False: libdwfl cannot use the file. Takes over `fd`. */
static bool
open_session(struct module *module, const char *path, int fd)
{
	void **data;

	module->dwfl = dwfl_begin(&callbacks);
	if (!module->dwfl) {
		close(fd);
		return false;
	}
	dwfl_report_begin(module->dwfl);
	module->dwfl_module = dwfl_report_elf(module->dwfl, path, path, fd, 0, true);
	if (!module->dwfl_module)
		close(fd);
	if (dwfl_report_end(module->dwfl, NULL, NULL) != 0 || !module->dwfl_module)
		return false;
	dwfl_module_info(module->dwfl_module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = module;
	return true;
}

static bool
index_code(struct module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module->dwfl_module, &bias);
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) == NULL || segment.p_type != PT_LOAD ||
			!(segment.p_flags & PF_X))
			continue;
		th_address_index_add(&module->code, segment.p_vaddr + bias,
			segment.p_vaddr + bias + segment.p_memsz, (uint32_t)i, 0);
	}
	th_address_index_sort(&module->code);
	return true;
}

/*
 * Of several names for one extent the one that linkers would bind to is shown, the same for
 * every address: a global name before a weak one before a local one, and names without leading
 * underscores before those with ("malloc" before "__libc_malloc").
 */
static uint32_t
rank_symbol(const GElf_Sym *symbol, const char *name)
{
	uint32_t rank = name[0] != '_';

	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return rank + 4;
	case STB_WEAK:
		return rank + 2;
	default:
		return rank;
	}
}

/* Functions, and labels without a type, which are common in hand-written assembler. */
static bool
names_code(const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return name[0] != '\0';
	case STT_NOTYPE:
		/* "$x", "$d": marks of the ARM assemblers, not names */
		return name[0] != '\0' && name[0] != '$';
	default:
		return false;
	}
}

static void
index_symbols(struct module *module)
{
	int count = dwfl_module_getsymtab(module->dwfl_module);

	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr start;
		GElf_Word section;
		const char *name = dwfl_module_getsym_info(
			module->dwfl_module, i, &symbol, &start, &section, NULL, NULL);

		if (!name || section == SHN_UNDEF || !names_code(&symbol, name) ||
			th_address_index_find(&module->code, start) == NULL)
			continue;
		th_address_index_add(&module->symbols, start, start + symbol.st_size,
			(uint32_t)i, rank_symbol(&symbol, name));
	}
	th_address_index_sort(&module->symbols);
	th_address_index_extend_labels(&module->symbols, &module->code);
}

/*
 * Reads the files; false if the file cannot be used.  Of the runtimes, which are in every stack, only the
 * symbols: to read the debug information of glibc takes longer than all the rest of most commands.
 */
static bool
read_files(struct module *module, const struct th_module_file *file)
{
	struct th_text name = th_text_of(th_text_base_name(module->path));
	Dwarf *dwarf = NULL;
	Dwarf_Addr bias;

	if (!open_session(module, file->path, file->fd) || !index_code(module))
		return false;
	index_symbols(module);
	if (!th_is_runtime_module(name))
		dwarf = dwfl_module_getdwarf(module->dwfl_module, &bias);
	if (dwarf)
		module->dwarf = th_dwarf_create(dwarf, bias, &module->code);
	return true;
}

/* Differs for other contents of the file; 0: there is none. */
static uint64_t
stamp_of(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return 0;
	uint64_t inode = th_hash_next(status.st_dev, status.st_ino);
	uint64_t time = th_hash_next(
		(uint64_t)status.st_ctim.tv_sec, (uint64_t)status.st_ctim.tv_nsec);
	return th_hash_next(th_hash_next(inode, (uint64_t)status.st_size), time);
}

/* Remembers the files in use, or the module's own if it could not be used. */
static void
note_files(struct module *module)
{
	const char *paths[2] = {module->path, NULL};

	if (module->dwfl)
		dwfl_module_info(module->dwfl_module, NULL, NULL, NULL, NULL, NULL, &paths[0],
			&paths[1]);
	for (int i = 0; i < 2; i++) {
		if (paths[i])
			module->files[i] = (struct file){
				th_format_new("%s", paths[i]), stamp_of(paths[i])};
	}
}

/* Releases the files; the module remains, without names. */
static void
forget_files(struct module *module)
{
	th_dwarf_destroy(module->dwarf);
	th_address_index_deinit(&module->symbols);
	th_address_index_deinit(&module->code);
	if (module->dwfl)
		dwfl_end(module->dwfl);
	module->dwarf = NULL;
	module->dwfl = NULL;
}

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
	forget_files(module);
	for (int i = 0; i < 2; i++)
		free(module->files[i].path);
	for (size_t i = 0; i < module->answers_count; i++)
		free_answer(&module->answers[i]);
	th_id_map_deinit(&module->addresses);
	free(module->answers);
	free(module->path);
	free(module->build_id);
	free(module);
}

void
th_symbols_destroy(struct th_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->modules_count; i++)
		free_module(symbols->modules[i]);
	for (size_t i = 0; i < symbols->displays_count; i++)
		free(symbols->displays[i]);
	th_id_map_deinit(&symbols->module_ids);
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

static bool
is_current(const struct module *module)
{
	for (int i = 0; i < 2; i++) {
		const struct file *file = &module->files[i];
		uint64_t stamp = file->path ? stamp_of(file->path) : 0;

		/* A file that was removed keeps its contents. */
		if (stamp && stamp != file->stamp)
			return false;
	}
	return true;
}

bool
th_symbols_is_current(const struct th_symbols *symbols)
{
	size_t files = 0;
	size_t answers = 0;

	for (size_t i = 0; i < symbols->modules_count; i++) {
		const struct module *module = symbols->modules[i];

		if (!is_current(module))
			return false;
		answers += module->answers_count;
		files += module->dwfl != NULL;
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
	const struct th_module_file *file)
{
	char text[1024];

	if (!symbols->warn || file->match == TH_MODULE_FOUND ||
		(file->match == TH_MODULE_MISSING && symbols->tolerates_missing))
		return;
	if (file->match == TH_MODULE_MISSING)
		snprintf(text, sizeof(text), "%s: not found, so its functions have no names",
			module->path);
	else
		snprintf(text, sizeof(text),
			"%s: changed since the recording (build id %s, recorded %s), not used",
			module->path, file->found_id[0] != '\0' ? file->found_id : "none",
			module->build_id[0] != '\0' ? module->build_id : "none");
	symbols->warn(symbols->warn_data, text);
}

static void
open_module(struct th_symbols *symbols, struct module *module)
{
	struct th_module_file file;

	if (!has_file(module->path))
		return;
	th_module_file_open(module->path, module->build_id, &file);
	if (file.fd >= 0 && !read_files(module, &file))
		forget_files(module);
	note_files(module);
	free(file.path);
	/* With a debug file no names are missing, whatever happened to the module's file. */
	if (!module->dwfl)
		warn_mismatch(symbols, module, &file);
}

/* The module, which is opened on first use. */
static struct module *
find_module(struct th_symbols *symbols, const char *path, const char *build_id)
{
	bool is_new;
	uint32_t number = th_id_map_intern(&symbols->module_ids,
		th_hash_next(th_hash_text(path), th_hash_text(build_id)), &is_new);

	if (!is_new)
		return symbols->modules[number];
	struct module *module = th_allocate(1, sizeof(*module));
	module->path = th_format_new("%s", path);
	module->build_id = th_format_new("%s", build_id);
	open_module(symbols, module);
	th_array_append(symbols, modules, module);
	return module;
}

/* Lookup */

/* The name in the symbol table for `address`, NULL if there is none. */
static const char *
find_symbol(struct module *module, uint64_t address)
{
	const struct th_address_range *range = th_address_index_find(&module->symbols, address);
	GElf_Sym symbol;

	if (!range)
		return NULL;
	return dwfl_module_getsym(module->dwfl_module, (int)range->value, &symbol, NULL);
}

/*
 * Whether the name of the symbol table is better than DWARF's: with little debug information
 * (-g1) a function has no linkage name, and its plain name lacks the scope.
 */
static bool
is_better(const char *symbol, const struct th_dwarf_frame *frame)
{
	return !frame->is_linkage && (!frame->name || th_is_mangled(symbol));
}

/*
 * The functions at an address in the files of the module, innermost first; all but the last are
 * inlined. Returns their number, 0 = nothing is known;
 * frames[0] then still has file and line if the line table has them.
 */
static size_t
look_up(struct module *module, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX])
{
	size_t count = 0;

	frames[0] = (struct th_dwarf_frame){0};
	if (!module->dwfl)
		return 0;
	if (module->dwarf)
		count = th_dwarf_lookup(module->dwarf, address, frames);
	const char *symbol = find_symbol(module, address);
	if (count == 0 && symbol)
		count = 1;
	if (symbol && is_better(symbol, &frames[count - 1]))
		frames[count - 1].name = symbol;
	return count;
}

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
	return (struct th_symbol){
		/* An inlined function whose name cannot be read stays in the list. */
		.function = display_name(symbols, found->name ? found->name : "(unnamed)"),
		.file = found->file,
		.line = found->line,
		.is_named = true,
	};
}

static struct answer
find_answer(struct th_symbols *symbols, struct module *module, uint64_t address)
{
	struct th_dwarf_frame found[TH_DWARF_FRAMES_MAX];
	struct answer answer;
	size_t count = look_up(module, address, found);

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
	uint32_t number = th_id_map_enter(&module->addresses, address, module, answers,
		find_answer(symbols, module, address));

	*frames_ret = module->answers[number].frames;
	return module->answers[number].count;
}
