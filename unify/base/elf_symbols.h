/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions at addresses of an ELF object, and the reverse, from its symbol table.  The table is read in chunks
 * and compared with all wanted addresses at once; no part of it is kept.  The object is not
 * trusted: every offset is checked, and the work is bounded.
 */
#ifndef TH_UNIFY_BASE_ELF_SYMBOLS_H
#define TH_UNIFY_BASE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Symbols examined in one table, at most: 48 MiB.  The largest VMs have 60,000. */
#define TH_ELF_SYMBOLS_MAX (1u << 21)

/* The bytes of an object. */
struct th_elf_bytes {
	/* Copies [at, at + bytes); false: not all of it can be read.  Checks for overflow. */
	bool (*read)(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes);
	/* Image: where its dynamic section is; `at` is an ELF virtual address.  0: a file. */
	uint64_t dynamic;
	uint64_t bias; /* image: address minus ELF virtual address */
};

/* An address that is to be named, and the function there. */
struct th_elf_wanted {
	uint64_t address;   /* ELF virtual address, the caller's; the array is sorted by it */
	uint64_t start;     /* of the function that covers it; set by th_elf_symbols_find() */
	uint64_t end;       /* exclusive; equal to `start`: none was found */
	uint64_t name;      /* position of its name */
	uint64_t name_room; /* bytes from there to the end of the table of names */
	uint32_t rank;      /* of its binding */
};

/*
 * Finds the innermost function around each of `count` addresses: in .symtab, or in .dynsym if
 * there is none; in an image, in .dynsym.  Only symbols with a size count, so an address
 * between two functions gets no name.  Of several symbols for one extent the one is taken that
 * the report would show: see rank_symbol() in report/symbols/symbols.c.  `scratch` is of
 * `scratch_bytes`, at least TH_ELF_SCRATCH_LEAST.  False: the object has no readable symbol
 * table. [any]
 */
#define TH_ELF_SCRATCH_LEAST 4096
bool th_elf_symbols_find(const struct th_elf_bytes *from, struct th_elf_wanted *wanted,
	size_t count, void *scratch, size_t scratch_bytes);

/*
 * Copies the name of the function that was found, NUL-terminated, to `name_ret`.  Returns its
 * length; 0: none was found, or its name is empty, malformed, or longer than `capacity` - 1.
 * [any]
 */
size_t th_elf_symbols_name(const struct th_elf_bytes *from, const struct th_elf_wanted *wanted,
	char *name_ret, size_t capacity);

/* The ELF virtual address of the symbol `name` that an image defines; 0: there is none. [any] */
uint64_t th_elf_symbols_address(const struct th_elf_bytes *from, const char *name);

#endif
