/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second mapping is made of the page with the ELF header.  mremap(2) with MREMAP_DONTUNMAP
 * moves the page to a new address and leaves the old mapping in place, where the next access
 * reads the page from the file again; the new mapping is then extended over the whole file.  A
 * page that is not the file's any more would be lost at the old address: /proc/self/pagemap is
 * checked right before.  Nothing is unloaded meanwhile, see loader.h.
 */
#include "unify/log/module_bytes.h"

#include "unify/base/align.h"
#include "unify/base/observed.h"
#include "unify/base/proc_file.h"
#include "unify/base/system.h"
#include "unify/log/loader.h"
#include "unify/log/module_elf.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#	define MREMAP_DONTUNMAP 4
#endif

/* Bits of a word of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst. */
#define PAGE_IS_PRESENT (UINT64_C(1) << 63)
#define PAGE_IS_OF_FILE (UINT64_C(1) << 61)
/* Maximum size of a file that is mapped, in address space. */
#define FILE_MAX (UINT64_C(4) << 30)
/* Program headers of a file that are searched for its build id. */
#define SEGMENTS_MAX 32u
#define NOTES_MAX 4096u
/* Compared of a file and a module: the headers, and usually the build id. */
#define HEAD_BYTES 1024u

/* Reading */

static bool
read_memory(const struct th_elf_bytes *from, uint64_t at, void *to, size_t count)
{
	const struct th_module_bytes *bytes = (const struct th_module_bytes *)from;

	return at <= bytes->end && count <= bytes->end - at &&
	       th_observed_copy(bytes->start + at, to, count);
}

static bool
read_file(const struct th_elf_bytes *from, uint64_t at, void *to, size_t count)
{
	const struct th_module_bytes *bytes = (const struct th_module_bytes *)from;

	return at <= INT64_MAX &&
	       th_system_pread(bytes->descriptor, to, count, (off_t)at) == (ssize_t)count;
}

/* Second mapping */

/* Whether the process has locked memory: the old mapping would lose the lock. */
static bool
has_locked_memory(void)
{
	char status[4096];
	uint64_t bytes;

	return !th_proc_file_read("/proc/self/status", status, sizeof(status)) ||
	       !th_proc_field(status, "VmLck:", &bytes) || bytes;
}

/* Whether the page at `address` is in memory, unmodified since it was read from a file. */
static bool
is_page_of_file(int pagemap, uintptr_t address, size_t page_bytes)
{
	off_t at = (off_t)(address / page_bytes * sizeof(uint64_t));
	uint64_t word = 0;

	if (th_system_pread(pagemap, &word, sizeof(word), at) != sizeof(word))
		return false;
	return word & PAGE_IS_PRESENT && word & PAGE_IS_OF_FILE;
}

/* A second mapping of the page at `address`; MAP_FAILED: none. */
static void *
duplicate_page(uintptr_t address, size_t page_bytes)
{
	int pagemap = th_system_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	long start = -1;

	if (pagemap < 0)
		return MAP_FAILED;
	if (is_page_of_file(pagemap, address, page_bytes))
		start = syscall(SYS_mremap, address, page_bytes, page_bytes,
			MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	th_system_close(pagemap);
	return (void *)start;
}

/* Extends the mapping to at least `bytes`; false: there is no such address space. */
static bool
extend(struct th_module_bytes *mapping, uint64_t bytes)
{
	long start;

	if (bytes <= mapping->end)
		return true;
	if (bytes > FILE_MAX)
		return false;
	bytes = th_align_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	start = syscall(SYS_mremap, mapping->start, mapping->end, bytes, MREMAP_MAYMOVE, NULL);
	if (start == -1)
		return false;
	mapping->start = (uintptr_t)start;
	mapping->end = bytes;
	return true;
}

/* Extends the mapping over all sections, which may be before or behind their headers. */
static bool
extend_over_sections(struct th_module_bytes *mapping, const ElfW(Ehdr) * header)
{
	ElfW(Shdr) section;
	uint64_t end = 0;

	if (header->e_shoff > FILE_MAX || header->e_shentsize != sizeof(section) ||
		!extend(mapping, header->e_shoff + header->e_shnum * sizeof(section)))
		return false;
	for (uint64_t i = 0; i < header->e_shnum; i++) {
		if (!read_memory(&mapping->elf, header->e_shoff + i * sizeof(section), &section,
			    sizeof(section)))
			return false;
		if (section.sh_type != SHT_NOBITS && section.sh_offset <= FILE_MAX &&
			section.sh_size <= FILE_MAX &&
			section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	return extend(mapping, end);
}

/* The page with the ELF header; under the loader's lock, so nothing more. */
static bool
map_header_again(uintptr_t address, struct th_module_bytes *ret)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char magic[SELFMAG];
	void *page;

	/* Reading it brings the page into memory. */
	if (address % page_bytes || !th_observed_copy(address, magic, sizeof(magic)) ||
		memcmp(magic, ELFMAG, SELFMAG) != 0)
		return false;
	page = duplicate_page(address, page_bytes);
	if (page == MAP_FAILED)
		return false;
	ret->start = (uintptr_t)page;
	ret->end = page_bytes;
	ret->elf = (struct th_elf_bytes){.read = read_memory};
	return true;
}

/* Extends the mapping of the header over the whole file; false: it is closed. */
static bool
map_rest(struct th_module_bytes *mapping)
{
	ElfW(Ehdr) header;

	if (read_memory(&mapping->elf, 0, &header, sizeof(header)) && header.e_shoff &&
		extend_over_sections(mapping, &header))
		return true;
	th_module_bytes_close(mapping);
	return false;
}

/* Files */

static bool
open_file(const char *path, struct th_module_bytes *ret)
{
	struct stat status;
	/* Opening a named pipe would wait for a writer. */
	int descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	if (descriptor < 0)
		return false;
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
		th_system_close(descriptor);
		return false;
	}
	ret->descriptor = descriptor;
	ret->elf = (struct th_elf_bytes){.read = read_file};
	return true;
}

/* /proc/self/map_files has one entry for each mapping, by its exact range. */
static bool
open_map_files(const struct th_elf *elf, uintptr_t start, struct th_module_bytes *ret)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char path[64];

	for (size_t i = 0; i < elf->count; i++) {
		const ElfW(Phdr) *segment = &elf->headers[i];
		uintptr_t end = th_align_up(
			elf->bias + segment->p_vaddr + segment->p_filesz, page_bytes);

		if (segment->p_type != PT_LOAD || segment->p_offset)
			continue;
		snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
			(unsigned long)start, (unsigned long)end);
		return open_file(path, ret);
	}
	return false;
}

/* Whether the notes of a segment of the file have the module's build id. */
static bool
has_build_id(const struct th_module_bytes *file, const struct th_module *module,
	const ElfW(Phdr) * segment)
{
	_Alignas(8) uint8_t notes[NOTES_MAX];
	const uint8_t *build_id;
	size_t bytes;

	if (segment->p_type != PT_NOTE || segment->p_filesz > sizeof(notes) ||
		!file->elf.read(&file->elf, segment->p_offset, notes, segment->p_filesz))
		return false;
	build_id = th_elf_note_build_id(
		notes, segment->p_filesz, segment->p_align == 8 ? 8 : 4, &bytes);
	return build_id && bytes == module->build_id_bytes &&
	       !memcmp(build_id, module->build_id, bytes);
}

static bool
is_file_of(const struct th_module_bytes *file, const struct th_module *module)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;

	if (!file->elf.read(&file->elf, 0, &header, sizeof(header)) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_phentsize != sizeof(segment))
		return false;
	for (unsigned i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
		uint64_t at = header.e_phoff + i * sizeof(segment);

		if (!file->elf.read(&file->elf, at, &segment, sizeof(segment)))
			return false;
		if (has_build_id(file, module, &segment))
			return true;
	}
	return false;
}

static bool
open_path(const struct th_module *module, struct th_module_bytes *ret)
{
	if (!module->build_id_bytes || *module->path != '/' || !open_file(module->path, ret))
		return false;
	if (is_file_of(ret, module))
		return true;
	th_module_bytes_close(ret);
	return false;
}

/* The loaded object */

struct visit {
	const struct th_module *module;
	enum th_module_source source;
	struct th_module_bytes *ret;
	bool found;
};

/* By build id; without one by name, which ends the path as th_module_find() stored it. */
static bool
is_module(const struct th_module *module, const struct th_elf *elf, const char *name)
{
	size_t bytes;
	const uint8_t *build_id = th_elf_build_id(elf, &bytes);
	size_t path = strlen(module->path);
	size_t length = name ? strlen(name) : 0;

	if (module->build_id_bytes)
		return build_id && bytes == module->build_id_bytes &&
		       !memcmp(build_id, module->build_id, bytes);
	return length <= path &&
	       !memcmp(module->path + path - length, name ? name : "", length);
}

static void
open_image(const struct th_elf *elf, const struct th_module *module, uint64_t unloads,
	struct th_module_bytes *ret)
{
	ret->start = elf->bias;
	ret->end = module->end - elf->bias;
	ret->unloads = unloads;
	ret->elf = (struct th_elf_bytes){
		.read = read_memory,
		.is_image = true,
		.header = module->start - elf->bias,
		.bias = elf->bias,
	};
}

static int
open_object(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	struct th_elf elf = {info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr};
	struct visit *visit = closure;
	const struct th_module *module = visit->module;
	uintptr_t start;
	uintptr_t end;

	(void)bytes;
	if (elf.bias != module->bias)
		return 0;
	th_elf_range(&elf, &start, &end);
	if (th_align_down(start, TH_PAGE_BYTES) != module->start ||
		!is_module(module, &elf, info->dlpi_name))
		return 0;
	visit->found = true;
	if (visit->source == TH_SOURCE_MAPPING)
		visit->found = map_header_again(module->start, visit->ret);
	else if (visit->source == TH_SOURCE_MAP_FILES)
		visit->found = open_map_files(&elf, module->start, visit->ret);
	else
		open_image(&elf, module, info->dlpi_subs, visit->ret);
	return 1;
}

static int
read_unloads(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	(void)bytes;
	*(uint64_t *)closure = info->dlpi_subs;
	return 1;
}

bool
th_module_bytes_open(const struct th_module *module, enum th_module_source source,
	struct th_module_bytes *ret)
{
	struct visit visit = {module, source, ret, false};

	*ret = (struct th_module_bytes){.descriptor = -1};
	if (source == TH_SOURCE_PATH)
		return open_path(module, ret);
	if (source == TH_SOURCE_MAPPING && has_locked_memory())
		return false;
	th_loader_visit(open_object, &visit);
	if (visit.found && source == TH_SOURCE_MAPPING)
		return map_rest(ret);
	return visit.found;
}

bool
th_module_bytes_are_valid(const struct th_module_bytes *bytes)
{
	uint64_t unloads = bytes->unloads;

	return !bytes->elf.is_image ||
	       (th_loader_visit(read_unloads, &unloads) && unloads == bytes->unloads);
}

void
th_module_bytes_close(struct th_module_bytes *bytes)
{
	if (bytes->descriptor >= 0)
		th_system_close(bytes->descriptor);
	else if (!bytes->elf.is_image)
		syscall(SYS_munmap, bytes->start, bytes->end);
}

bool
th_module_has_file(const struct th_module *module)
{
	struct th_module_bytes file = {.descriptor = -1};
	char ours[HEAD_BYTES];
	char theirs[HEAD_BYTES];
	bool is_same;

	if (*module->path != '/' || !open_file(module->path, &file))
		return false;
	is_same = file.elf.read(&file.elf, 0, theirs, sizeof(theirs)) &&
		  th_observed_copy(module->start, ours, sizeof(ours)) &&
		  !memcmp(ours, theirs, sizeof(ours));
	th_module_bytes_close(&file);
	return is_same;
}
