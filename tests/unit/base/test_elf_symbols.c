/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in symbol tables: which of several is found, and that damaged files are harmless.  The
 * file is one block of memory; under the address sanitizer each byte beyond it is an error.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unify/base/elf_symbols.h"

#define LIBRARY TH_TEST_BUILD "/tests/programs/libvanishing.so"
#define SYMBOLS_MAX 8

struct memory {
	struct th_elf_bytes elf; /* first */
	const char *bytes;
	size_t count;
	unsigned reads;
};

static bool
read_bytes(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes)
{
	struct memory *memory = (struct memory *)(uintptr_t)from;

	memory->reads++;
	if (at > memory->count || bytes > memory->count - at)
		return false;
	memcpy(to, memory->bytes + at, bytes);
	return true;
}

/* A file with a symbol table and its names. */
struct file {
	ElfW(Ehdr) header;
	ElfW(Shdr) sections[3];
	ElfW(Sym) symbols[SYMBOLS_MAX];
	char names[128];
};

struct symbol {
	const char *name;
	uint64_t start;
	uint64_t bytes;
	int binding;
	int type;
	uint16_t section;
};

static struct file
make_file(const struct symbol *symbols)
{
	struct file file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				   ELFDATA2LSB},
			.e_shoff = offsetof(struct file, sections),
			.e_shentsize = sizeof(ElfW(Shdr)),
			.e_shnum = 3},
		.sections[1] = {.sh_type = SHT_SYMTAB,
			.sh_offset = offsetof(struct file, symbols),
			.sh_entsize = sizeof(ElfW(Sym)),
			.sh_link = 2},
		.sections[2] = {.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct file, names),
			.sh_size = sizeof(file.names)},
	};
	unsigned count = 1;
	size_t name = 1;

	for (; symbols->name; symbols++, count++) {
		file.symbols[count] = (ElfW(Sym)){
			.st_name = (uint32_t)name,
			.st_info = (unsigned char)ELF64_ST_INFO(
				symbols->binding, symbols->type),
			.st_shndx = symbols->section,
			.st_value = symbols->start,
			.st_size = symbols->bytes,
		};
		strcpy(file.names + name, symbols->name);
		name += strlen(symbols->name) + 1;
	}
	file.sections[1].sh_size = count * sizeof(ElfW(Sym));
	return file;
}

static struct memory
memory_of(const void *bytes, size_t count)
{
	return (struct memory){.elf = {.read = read_bytes}, .bytes = bytes, .count = count};
}

static bool
find(struct memory *memory, struct th_elf_wanted *wanted, size_t count)
{
	char scratch[TH_ELF_SCRATCH_LEAST];

	return th_elf_symbols_find(&memory->elf, wanted, count, scratch, sizeof(scratch));
}

static void
assert_name(const struct symbol *symbols, uint64_t address, const char *expected)
{
	struct file file = make_file(symbols);
	struct memory memory = memory_of(&file, sizeof(file));
	struct th_elf_wanted wanted = {.address = address};
	char name[64] = "";
	size_t length;

	assert_true(find(&memory, &wanted, 1));
	length = th_elf_symbols_name(&memory.elf, &wanted, name, sizeof(name));
	assert_int_equal(length, strlen(expected));
	assert_string_equal(length ? name : "", expected);
}

#define FUNCTION(name, start, bytes)                       \
	{                                                  \
		name, start, bytes, STB_LOCAL, STT_FUNC, 1 \
	}

static void
test_only_the_extent_has_the_name(void **state)
{
	const struct symbol symbols[] = {
		FUNCTION("one", 0x100, 0x10), FUNCTION("two", 0x120, 0x10), {0}};

	(void)state;
	assert_name(symbols, 0xff, "");
	assert_name(symbols, 0x100, "one");
	assert_name(symbols, 0x10f, "one");
	assert_name(symbols, 0x110, "");
	assert_name(symbols, 0x12f, "two");
	assert_name(symbols, 0x130, "");
}

static void
test_innermost_function(void **state)
{
	const struct symbol symbols[] = {FUNCTION("outer", 0x100, 0x100),
		FUNCTION("inner", 0x140, 0x10), FUNCTION("wide", 0x100, 0x200), {0}};

	(void)state;
	assert_name(symbols, 0x145, "inner");
	assert_name(symbols, 0x150, "outer");
	assert_name(symbols, 0x250, "wide");
}

/* As in reports: see rank_symbol() in report/symbols/symbols.c. */
static void
test_best_of_several_names(void **state)
{
	const struct symbol bindings[] = {{"local", 16, 16, STB_LOCAL, STT_FUNC, 1},
		{"global", 16, 16, STB_GLOBAL, STT_FUNC, 1},
		{"weak", 16, 16, STB_WEAK, STT_FUNC, 1}, {0}};
	const struct symbol underscores[] = {{"malloc", 16, 16, STB_GLOBAL, STT_FUNC, 1},
		{"__libc_malloc", 16, 16, STB_GLOBAL, STT_FUNC, 1}, {0}};

	(void)state;
	assert_name(bindings, 16, "global");
	assert_name(underscores, 16, "malloc");
}

static void
test_symbols_that_are_no_functions(void **state)
{
	const struct symbol symbols[] = {{"data", 16, 16, STB_GLOBAL, STT_OBJECT, 1},
		{"undefined", 32, 16, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"label", 48, 0, STB_GLOBAL, STT_FUNC, 1},
		{"wraps", 64, UINT64_MAX, STB_GLOBAL, STT_FUNC, 1},
		{"", 80, 16, STB_GLOBAL, STT_FUNC, 1},
		{"assembler", 96, 16, STB_LOCAL, STT_NOTYPE, 1}, {0}};

	(void)state;
	assert_name(symbols, 16, "");
	assert_name(symbols, 32, "");
	assert_name(symbols, 48, "");
	assert_name(symbols, 64, "");
	assert_name(symbols, 80, "");
	assert_name(symbols, 96, "assembler");
}

static void
test_several_addresses_at_once(void **state)
{
	const struct symbol symbols[] = {FUNCTION("b", 0x20, 0x10), FUNCTION("a", 0x10, 0x10),
		FUNCTION("d", 0x40, 0x10), {0}};
	struct file file = make_file(symbols);
	struct memory memory = memory_of(&file, sizeof(file));
	struct th_elf_wanted wanted[] = {{.address = 0x8}, {.address = 0x10}, {.address = 0x1f},
		{.address = 0x25}, {.address = 0x30}, {.address = 0x4f}};
	static const uint64_t starts[] = {0, 0x10, 0x10, 0x20, 0, 0x40};

	(void)state;
	assert_true(find(&memory, wanted, 6));
	for (int i = 0; i < 6; i++)
		assert_int_equal(wanted[i].start, starts[i]);
}

/* A name without end, one that is too long, one beyond the table. */
static void
test_malformed_names(void **state)
{
	const struct symbol symbols[] = {FUNCTION("name", 0x10, 0x10), {0}};
	struct file file = make_file(symbols);
	struct memory memory = memory_of(&file, sizeof(file));
	struct th_elf_wanted wanted = {.address = 0x10};
	char name[8];

	(void)state;
	assert_true(find(&memory, &wanted, 1));
	assert_int_equal(th_elf_symbols_name(&memory.elf, &wanted, name, 5), 4);
	assert_int_equal(th_elf_symbols_name(&memory.elf, &wanted, name, 4), 0);
	memset(file.names, 'x', sizeof(file.names));
	assert_int_equal(th_elf_symbols_name(&memory.elf, &wanted, name, sizeof(name)), 0);
	file.symbols[1].st_name = sizeof(file.names);
	assert_true(find(&memory, &wanted, 1));
	assert_int_equal(wanted.end, 0);
}

/* A table in which each symbol covers each address costs no more than another of its size. */
static void
test_work_is_bounded(void **state)
{
	enum { WANTED = 64, SYMBOLS = 100000 };
	const size_t bytes = sizeof(struct file) + SYMBOLS * sizeof(ElfW(Sym));
	const struct symbol none[] = {{0}};
	struct file *file = calloc(1, bytes);
	struct memory memory = memory_of(file, bytes);
	struct th_elf_wanted wanted[WANTED];

	(void)state;
	assert_non_null(file);
	*file = make_file(none);
	file->sections[1].sh_offset = sizeof(*file);
	file->sections[1].sh_size = SYMBOLS * sizeof(ElfW(Sym));
	for (size_t i = 0; i < SYMBOLS; i++)
		((ElfW(Sym) *)(void *)(file + 1))[i] = (ElfW(Sym)){.st_name = 1,
			.st_info = STT_FUNC,
			.st_shndx = 1,
			.st_value = 0,
			.st_size = 1 << 20};
	for (size_t i = 0; i < WANTED; i++)
		wanted[i].address = i;
	assert_true(find(&memory, wanted, WANTED));
	/* Two reads for each comparison of two names, up to 64 a wanted address. */
	assert_true(memory.reads < 2 * 64 * WANTED + 1000);
	free(file);
}

/* Damage */

static char *
read_library(size_t *bytes)
{
	FILE *file = fopen(LIBRARY, "rb");
	char *contents;
	long end;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	end = ftell(file);
	assert_true(end > 0);
	rewind(file);
	contents = malloc((size_t)end);
	assert_non_null(contents);
	assert_int_equal(fread(contents, 1, (size_t)end, file), end);
	fclose(file);
	*bytes = (size_t)end;
	return contents;
}

/* As a file, and as an image: of a small library, most virtual addresses are file offsets. */
static void
try(const char *bytes, size_t count, uint64_t dynamic)
{
	struct memory memory = memory_of(bytes, count);
	struct th_elf_wanted wanted[] = {{.address = 0x1100}, {.address = 0x1150}};
	char name[64];

	for (int image = 0; image < 2; image++) {
		memory.elf.dynamic = image ? dynamic : 0;
		if (find(&memory, wanted, 2))
			th_elf_symbols_name(&memory.elf, &wanted[1], name, sizeof(name));
	}
}

static uint64_t
dynamic_of(const char *library)
{
	const ElfW(Ehdr) *header = (const void *)library;
	const ElfW(Phdr) *segment = (const void *)(library + header->e_phoff);

	while (segment->p_type != PT_DYNAMIC)
		segment++;
	return segment->p_vaddr;
}

static void
test_damaged_files(void **state)
{
	static const char values[] = {0, 1, 0x7f, (char)0x80, (char)0xff};
	size_t bytes;
	char *contents = read_library(&bytes);
	const uint64_t dynamic = dynamic_of(contents);
	char *cut;

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		const char before = contents[i];

		for (size_t j = 0; j < sizeof(values); j++) {
			contents[i] = values[j];
			try(contents, bytes, dynamic);
		}
		contents[i] = before;
	}
	for (size_t length = 0; length < bytes; length += 7) {
		cut = malloc(length + 1);
		assert_non_null(cut);
		memcpy(cut, contents, length);
		cut = realloc(cut, length ? length : 1);
		try(cut, length, dynamic);
		free(cut);
	}
	free(contents);
}

static bool
read_process(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes)
{
	memcpy(to, (const void *)(uintptr_t)(from->bias + at), bytes);
	return true;
}

static void
test_address_of_a_symbol(void **state)
{
	struct th_elf_bytes libc = {.read = read_process};
	void *function = dlsym(RTLD_DEFAULT, "getauxval");
	struct link_map *map;
	Dl_info info;

	(void)state;
	assert_true(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	libc.bias = map->l_addr;
	libc.dynamic = (uintptr_t)map->l_ld - map->l_addr;
	assert_int_equal(libc.bias + th_elf_symbols_address(&libc, "getauxval"), function);
	assert_int_equal(th_elf_symbols_address(&libc, "getauxva"), 0);
	assert_int_equal(th_elf_symbols_address(&libc, "getauxval2"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_extent_has_the_name),
		cmocka_unit_test(test_innermost_function),
		cmocka_unit_test(test_best_of_several_names),
		cmocka_unit_test(test_symbols_that_are_no_functions),
		cmocka_unit_test(test_several_addresses_at_once),
		cmocka_unit_test(test_malformed_names),
		cmocka_unit_test(test_work_is_bounded),
		cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_address_of_a_symbol),
	};

	return cmocka_run_group_tests_name("ELF symbols", tests, NULL, NULL);
}
