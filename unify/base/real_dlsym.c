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
#include "unify/base/elf_symbols.h"

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

static bool
read_memory(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes)
{
	memcpy(to, (const void *)(from->bias + at), bytes);
	return true;
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
	struct th_elf_bytes libc = {.read = read_memory, .bias = info->dlpi_addr};
	struct search *search = data;

	(void)bytes;
	if (!contains(info, (uintptr_t)getauxval))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			libc.dynamic = info->dlpi_phdr[i].p_vaddr;
	uint64_t address = th_elf_symbols_address(&libc, search->name);
	search->found = address ? (void *)(info->dlpi_addr + address) : NULL;
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
