/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdwfl combines the parts of one module: the main file, the debug file, .symtab of either,
 * .dynsym and .gnu_debugdata. Each module has a separate session with load bias zero, so that
 * its addresses are the virtual addresses of the ELF file.
 *
 * The session has our own callback: libdwfl's would contact debuginfod servers. Symbols are
 * indexed here because dwfl_module_addrsym() searches all symbols for every address: libjvm.so
 * has some 70,000.
 */
#include "report/symbols/symbol_module.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"

/* A file that may change while the module is open. */
struct file {
	char *path;
	uint64_t stamp; /* stamp_of(), when it was opened */
};

struct th_symbol_module {
	const char *build_id; /* of every file that is used */
	struct file files[2]; /* unless NULL: main and debug file, or one that is not usable */
	Dwfl *dwfl;           /* NULL: no file can be used */
	Dwfl_Module *dwfl_module;
	struct th_address_index code; /* executable segments */
	struct th_address_index
		symbols;        /* value: number of the symbol for dwfl_module_getsym */
	struct th_dwarf *dwarf; /* NULL: none */
};

/* Opening */

/*
 * Finds the debug file. libdwfl uses the same callback for the supplementary file of dwz, which
 * has another build id: nothing is found here then, and libdw searches for it itself.
 */
static int
find_debug_file(Dwfl_Module *dwfl_module, void **data, const char *name, Dwarf_Addr base,
	const char *file_name, const char *link_name, GElf_Word link_checksum, char **path_ret)
{
	const struct th_symbol_module *module = *data;

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
open_session(struct th_symbol_module *module, const char *path, int fd)
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
index_code(struct th_symbol_module *module)
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
index_symbols(struct th_symbol_module *module)
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

/* Reads the files; false if the file cannot be used. */
static bool
read_files(struct th_symbol_module *module, const struct th_module_file *file)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (!open_session(module, file->path, file->fd) || !index_code(module))
		return false;
	index_symbols(module);
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

/* Remembers the files in use, or the one at `path` if it could not be used. */
static void
note_files(struct th_symbol_module *module, const char *path)
{
	const char *paths[2] = {path, NULL};

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
forget_files(struct th_symbol_module *module)
{
	th_dwarf_destroy(module->dwarf);
	th_address_index_deinit(&module->symbols);
	th_address_index_deinit(&module->code);
	if (module->dwfl)
		dwfl_end(module->dwfl);
	module->dwarf = NULL;
	module->dwfl = NULL;
}

struct th_symbol_module *
th_symbol_module_open(const char *path, const char *build_id, enum th_module_match *match_ret,
	char found_id_ret[TH_BUILD_ID_TEXT])
{
	struct th_symbol_module *module = th_allocate(1, sizeof(*module));
	struct th_module_file file;

	module->build_id = build_id;
	th_module_file_open(path, build_id, &file);
	if (file.fd >= 0 && !read_files(module, &file))
		forget_files(module);
	note_files(module, path);
	free(file.path);
	*match_ret = file.match;
	strcpy(found_id_ret, file.found_id);
	return module;
}

bool
th_symbol_module_is_usable(const struct th_symbol_module *module)
{
	return module->dwfl != NULL;
}

bool
th_symbol_module_is_current(const struct th_symbol_module *module)
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

void
th_symbol_module_close(struct th_symbol_module *module)
{
	if (!module)
		return;
	forget_files(module);
	for (int i = 0; i < 2; i++)
		free(module->files[i].path);
	free(module);
}

/* Lookup */

/* The name in the symbol table for `address`, NULL if there is none. */
static const char *
find_symbol(struct th_symbol_module *module, uint64_t address)
{
	const struct th_address_range *range = th_address_index_find(&module->symbols, address);
	GElf_Sym symbol;

	if (!range)
		return NULL;
	return dwfl_module_getsym(module->dwfl_module, (int)range->value, &symbol, NULL);
}

static bool
is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/*
 * Whether the name of the symbol table is better than DWARF's: with little debug information
 * (-g1) a function has no linkage name, and its plain name lacks the scope; and for the C
 * library it has the public name ("strdup", where the source says __strdup).
 */
static bool
is_better(const char *symbol, const struct th_dwarf_name *name)
{
	if (name->linkage)
		return false;
	return !name->plain || is_mangled(symbol) ||
	       (name->plain[0] == '_' && symbol[0] != '_');
}

/* An inlined function whose name cannot be read stays in the list, without a name. */
static void
fill_names(struct th_dwarf_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!frames[i].name.linkage && !frames[i].name.plain)
			frames[i].name.plain = "(unnamed)";
	}
}

size_t
th_symbol_module_lookup(struct th_symbol_module *module, uint64_t address,
	struct th_dwarf_frame frames[TH_DWARF_FRAMES_MAX])
{
	struct th_dwarf_frame location = {0};
	size_t count = 0;
	const char *symbol;

	frames[0] = location;
	if (!module->dwfl)
		return 0;
	symbol = find_symbol(module, address);
	if (module->dwarf)
		count = th_dwarf_lookup(module->dwarf, address, frames, &location);
	if (count == 0) {
		frames[0] = location;
		count = symbol != NULL;
	}
	if (count != 0 && symbol && is_better(symbol, &frames[count - 1].name))
		frames[count - 1].name.linkage = symbol;
	fill_names(frames, count);
	return count;
}
