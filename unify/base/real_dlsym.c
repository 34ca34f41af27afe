/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc has dlvsym, which is not interposed.  Where there is none (musl) or it finds nothing, the
 * symbol table of the object that contains libc is read directly.
 */
#include "unify/base/real_dlsym.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "unify/base/at_start.h"
#include "unify/base/atomic.h"

#if defined(__x86_64__)
#	define OLD_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#	define OLD_VERSION "GLIBC_2.17"
#endif

/* NULL: not glibc. */
#pragma weak dlvsym

TH_AT_START void *(*th_real_dlsym)(void *handle, const char *name);

/* glibc */

static void *
find_by_version(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");

	return found ? found : dlvsym(RTLD_NEXT, name, OLD_VERSION);
}

/* The symbol table of libc */

/* The dynamic symbols of an object. */
struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *hash;     /* DT_HASH */
	const uint32_t *gnu_hash; /* DT_GNU_HASH */
};

/* The address in an entry of the dynamic section, which some loaders relocate. */
static const void *
address_of(const struct dl_phdr_info *info, ElfW(Addr) value)
{
	return (const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static void
read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry, struct symbols *ret)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *at = address_of(info, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			ret->table = at;
		else if (entry->d_tag == DT_STRTAB)
			ret->names = at;
		else if (entry->d_tag == DT_HASH)
			ret->hash = at;
		else if (entry->d_tag == DT_GNU_HASH)
			ret->gnu_hash = at;
	}
}

/* One more than the last index in a table of DT_GNU_HASH (glibc, elf/dl-lookup.c). */
static uint32_t
count_by_gnu_hash(const uint32_t *header)
{
	uint32_t buckets = header[0];
	uint32_t first = header[1];
	const uint32_t *bucket = header + 4 +
				 header[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = bucket + buckets;
	uint32_t last = 0;

	for (uint32_t i = 0; i < buckets; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static uint32_t
count_symbols(const struct symbols *symbols)
{
	if (symbols->hash)
		return symbols->hash[1];
	return symbols->gnu_hash ? count_by_gnu_hash(symbols->gnu_hash) : 0;
}

static void *
find_symbol(const struct dl_phdr_info *info, const struct symbols *symbols, const char *name)
{
	uint32_t count = symbols->table && symbols->names ? count_symbols(symbols) : 0;

	for (uint32_t i = 1; i < count; i++) {
		const ElfW(Sym) *symbol = &symbols->table[i];

		if (symbol->st_shndx != SHN_UNDEF &&
			!strcmp(symbols->names + symbol->st_name, name))
			return (void *)(info->dlpi_addr + symbol->st_value);
	}
	return NULL;
}

static bool
contains(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
			address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

struct search {
	const char *name;
	void *found;
};

/* getauxval is in libc and not interposed. */
static int
find_in_libc(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct search *search = data;
	struct symbols symbols = {0};

	(void)bytes;
	if (!contains(info, (uintptr_t)getauxval))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic(info,
				(const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				&symbols);
	search->found = find_symbol(info, &symbols, search->name);
	return 1;
}

static void *
find_by_table(const char *name)
{
	struct search search = {.name = name};

	dl_iterate_phdr(find_in_libc, &search);
	return search.found;
}

void *
th_real_dlsym_next(const char *name)
{
	void *found = dlvsym ? find_by_version(name) : NULL;

	return found ? found : find_by_table(name);
}

bool
th_real_dlsym_find(void)
{
	void *found;

	if (th_real_dlsym)
		return true;
	found = th_real_dlsym_next("dlsym");
	/* Concurrent callers find the same function. */
	th_store_relaxed((void **)&th_real_dlsym, found);
	return found != NULL;
}
