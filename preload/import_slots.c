/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/import_slots.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/observed.h"
#include "unify/log/module_elf.h"

#if defined(__x86_64__)
#	define JUMP_SLOT R_X86_64_JUMP_SLOT
#	define GLOB_DAT R_X86_64_GLOB_DAT
#	define ABSOLUTE R_X86_64_64
#elif defined(__aarch64__)
#	define JUMP_SLOT R_AARCH64_JUMP_SLOT
#	define GLOB_DAT R_AARCH64_GLOB_DAT
#	define ABSOLUTE R_AARCH64_ABS64
#endif

/* The parts of the dynamic section that are needed; addresses are absolute. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * relocations;
	size_t relocation_bytes;
	size_t relative_count; /* they come first, and name no symbol */
	const ElfW(Rela) * calls;
	size_t call_bytes;
};

/* The loader has added the base to the addresses in the section, except in read-only ones. */
static const void *
address_in(const struct th_import_object *object, uintptr_t value)
{
	return (const void *)(value < object->base ? object->base + value : value);
}

static struct tables
read_tables(const struct th_import_object *object)
{
	struct tables tables = {0};

	for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
		uintptr_t value = entry->d_un.d_val;

		switch (entry->d_tag) {
		case DT_SYMTAB:
			tables.symbols = address_in(object, value);
			break;
		case DT_STRTAB:
			tables.names = address_in(object, value);
			break;
		case DT_RELA:
			tables.relocations = address_in(object, value);
			break;
		case DT_RELASZ:
			tables.relocation_bytes = value;
			break;
		case DT_RELACOUNT:
			tables.relative_count = value;
			break;
		case DT_JMPREL:
			tables.calls = address_in(object, value);
			break;
		case DT_PLTRELSZ:
			tables.call_bytes = value;
			break;
		default:
			break;
		}
	}
	return tables;
}

static bool
is_slot(const ElfW(Rela) * relocation)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case JUMP_SLOT:
	case GLOB_DAT:
	case ABSOLUTE:
		return !relocation->r_addend;
	default:
		return false;
	}
}

struct visitor {
	const struct th_import_object *object;
	const struct tables *tables;
	bool (*is_meant)(const char *name);
	void (*visit)(const struct th_import_slot *slot, void *data);
	void *data;
};

static void
visit_relocation(const struct visitor *visitor, const ElfW(Rela) * relocation)
{
	const ElfW(Sym) *symbol = &visitor->tables->symbols[ELF64_R_SYM(relocation->r_info)];
	const char *name = visitor->tables->names + symbol->st_name;
	const struct th_import_slot slot = {
		.address = (uintptr_t *)(visitor->object->base + relocation->r_offset),
		.name = name,
		.may_be_lazy = ELF64_R_TYPE(relocation->r_info) == JUMP_SLOT,
		.is_data = ELF64_R_TYPE(relocation->r_info) == ABSOLUTE,
	};

	if (visitor->is_meant(name))
		visitor->visit(&slot, visitor->data);
}

static void
visit_relocations(const struct visitor *visitor, const ElfW(Rela) * first, size_t bytes)
{
	const ElfW(Rela) *end = first + bytes / sizeof(*first);

	for (; first && first < end; first++)
		if (is_slot(first))
			visit_relocation(visitor, first);
}

void
th_import_slots_each(const struct th_import_object *object, bool (*is_meant)(const char *name),
	void (*visit)(const struct th_import_slot *slot, void *data), void *data)
{
	const struct tables tables = read_tables(object);
	const struct visitor visitor = {object, &tables, is_meant, visit, data};
	size_t relative_bytes = tables.relative_count * sizeof(*tables.relocations);

	if (!tables.symbols || !tables.names)
		return;
	if (relative_bytes < tables.relocation_bytes)
		visit_relocations(&visitor, tables.relocations + tables.relative_count,
			tables.relocation_bytes - relative_bytes);
	visit_relocations(&visitor, tables.calls, tables.call_bytes);
}

bool
th_import_object_read(const struct dl_phdr_info *info, struct th_import_object *ret)
{
	const struct th_elf elf = {info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	*ret = (struct th_import_object){
		.base = elf.bias, .dynamic = th_elf_segment(&elf, PT_DYNAMIC)};
	th_elf_range(&elf, &ret->start, &ret->end);
	for (size_t i = 0; i < elf.count; i++) {
		uintptr_t start = elf.bias + elf.headers[i].p_vaddr;

		if (elf.headers[i].p_type != PT_GNU_RELRO)
			continue;
		ret->sealed = th_align_down(start, page);
		ret->sealed_end = th_align_down(start + elf.headers[i].p_memsz, page);
	}
	return ret->dynamic != NULL;
}

/* Copies of pointers */

struct search {
	const struct th_slot_function *functions;
	size_t count;
	uintptr_t
		lowest; /* the functions are in one or two libraries: most words are below or */
	uintptr_t highest; /* above all of them */
	size_t room;       /* bytes that may still be read */
	uint32_t found;
};

static void
find_bounds(struct search *search)
{
	search->lowest = UINTPTR_MAX;
	for (size_t i = 0; i < search->count; i++) {
		uintptr_t address = (uintptr_t)search->functions[i].original;

		if (!search->functions[i].is_allocation)
			continue;
		if (address < search->lowest)
			search->lowest = address;
		if (address > search->highest)
			search->highest = address;
	}
}

static bool
is_function(const struct search *search, uintptr_t word)
{
	if (word < search->lowest || word > search->highest)
		return false;
	for (size_t i = 0; i < search->count; i++)
		if (search->functions[i].is_allocation &&
			word == (uintptr_t)search->functions[i].original)
			return true;
	return false;
}

/* A copy, since the program may protect the page meanwhile. */
static void
search_page(struct search *search, uintptr_t start, size_t bytes)
{
	uintptr_t words[TH_PAGE_BYTES / sizeof(uintptr_t)];

	if (!th_observed_copy(start, words, bytes))
		return;
	for (size_t i = 0; i < bytes / sizeof(words[0]); i++)
		if (is_function(search, words[i]))
			search->found++;
}

static void
search_segment(struct search *search, uintptr_t start, size_t bytes)
{
	uintptr_t end = th_align_down(start + bytes, sizeof(uintptr_t));

	start = th_align_up(start, sizeof(uintptr_t));
	while (start < end && search->room) {
		uintptr_t next = th_min(
			th_align_down(start, TH_PAGE_BYTES) + TH_PAGE_BYTES, end);

		search_page(search, start, next - start);
		search->room -= th_min(next - start, search->room);
		start = next;
	}
}

uint32_t
th_slot_copies_count(const struct dl_phdr_info *info, const struct th_slot_function *functions,
	size_t count, size_t *bytes)
{
	struct search search = {
		.functions = functions, .count = count, .room = TH_SLOT_COPIES_BYTES};

	find_bounds(&search);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
			search_segment(
				&search, info->dlpi_addr + segment->p_vaddr, segment->p_memsz);
	}
	*bytes += TH_SLOT_COPIES_BYTES - search.room;
	return search.found;
}
