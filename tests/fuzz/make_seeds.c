/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seed inputs of the fuzzers: below DIRECTORY, one directory for each target.
 *
 *     make_seeds DIRECTORY
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/views/every_view.h"

static const char *directory;

static void
check(bool is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static void
write_seed(const char *target, const char *name, const void *bytes, size_t size)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	check(!mkdir(path, 0777) || errno == EEXIST, path);
	snprintf(path, sizeof(path), "%s/%s/%s", directory, target, name);
	FILE *file = fopen(path, "w");
	check(file != NULL, path);
	fwrite(bytes, 1, size, file);
	check(!fclose(file), path);
}

static void
write_text(const char *target, unsigned number, char kind, const char *text)
{
	char bytes[1024];
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	snprintf(bytes, sizeof(bytes), "%c%s", kind, text);
	write_seed(target, name, bytes, strlen(bytes + 1) + 1);
}

static void
write_logs(void)
{
	struct log_builder log;

	every_event(&log);
	write_seed("log", "everything", log.bytes, log.length);
	log_deinit(&log);
	every_event_in_ring(&log);
	write_seed("log", "ring", log.bytes, log.length);
	log_deinit(&log);
	log_init(&log, 0);
	write_seed("log", "nothing", log.bytes, log.length);
	log_deinit(&log);
}

/* Each log, as a whole and as it grows, in each kind, with one change of a time. */
static void
write_changes(void)
{
	for (uint8_t log = 0; log < 6; log++) {
		for (uint8_t kind = 0; kind < 4; kind++) {
			const uint8_t bytes[] = {log, (uint8_t)(kind | 0x80), 5,
				(uint8_t)(40 + 7 * kind), 0, 0, 8, 0};
			const char name[] = {(char)('a' + log), (char)('0' + kind), '\0'};

			write_seed("views", name, bytes, sizeof(bytes));
		}
	}
}

static void
write_options(void)
{
	static const struct {
		char kind;
		const char *words;
	} lines[] = {
		{0, "--value\nlive-bytes\n--at\npeak\nx.thl"},
		{0, "--from=1.5\n--to\nmark:a\n--thread\nmain.*\nx.thl"},
		{1, "--fail-on\n12M\n--format\njson\n--top=3\nx.thl"},
		{2, "a.thl@12.5s\nb.thl@mark:late"},
		{3, "--format\npprof\n-o\n/dev/null\nx.thl"},
		{4, "--help"},
		{5, "--include\n[a-c]|d\n--class\nbyte\n--group-by\npackage\n--min\n1\nx.thl"},
		{7, "-o\nx-%p-%h.thl\n-i\n512k\n-r\n300\n--heaps\njava\n--\njava\n-version"},
		{7, "--depth\n12\n--follow\nall\n-q\ntrue"},
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		write_text("options", i, lines[i].kind, lines[i].words);
}

static void
write_texts(void)
{
	static const struct {
		char kind;
		const char *text;
	} lines[] = {
		{0, "512k"},
		{0, "18446744073709551615"},
		{0, "16GiB"},
		{1, "Size: 4 kB\nRss:    12 kB\n"},
		{1, " 7f001000"},
		{2, "_ZNSt6vectorIiSaIiEE9push_backEOi"},
		{2, "_RNvCs1234_7mycrate3foo"},
		{2, "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"},
		{2, "memcpy@@GLIBC_2.14"},
		{2, "work.constprop.0.cold"},
		{2, "[[Lapp/Main$$Lambda/0x0000000800c03000;"},
		{3, "7f00-7f10 r-xp 00001000 08:01 42   /lib/x.so (deleted)\nRss: 4 kB\n"
		    "Swap: 0 kB\nAnonymous: 4 kB\nVmFlags: rd ex\n7f20-7f30 rw-p 00000000 "
		    "00:00 0 [heap]\nRss: 8 kB\n"},
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		write_text("text", i, lines[i].kind, lines[i].text);
}

/* Unwind information */

/* A table with one function of 128 bytes at the module's start, its FDE and its CIE. */
struct tables {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t eh_frame;
	uint32_t count;
	int32_t start, fde;
	struct {
		uint32_t length, zero;
		uint8_t version;
		char letters[3];
		uint8_t code_factor, data_factor, return_column, data_bytes, encoding;
		uint8_t code[7];
	} cie;
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t bytes;
		uint8_t data_bytes;
		uint8_t code[11];
	} entry;
};

#define DISTANCE(to, from) \
	((int32_t)(offsetof(struct tables, to) - offsetof(struct tables, from)))

static void
write_tables(void)
{
	const int32_t start = -(int32_t)fuzz_place(sizeof(struct tables));
	const struct tables tables = {
		.version = 1,
		.frame_encoding = 0x1b,
		.count_encoding = 0x03,
		.table_encoding = 0x3b,
		.eh_frame = DISTANCE(cie, eh_frame),
		.count = 1,
		.start = start,
		.fde = DISTANCE(entry, version),
		/* CFA = r7 + 8, the return address at CFA - 8. */
		.cie = {.length = sizeof(tables.cie) - 4,
			.version = 1,
			.letters = "zR",
			.code_factor = 1,
			.data_factor = 0x78,
			.return_column = 16,
			.data_bytes = 1,
			.encoding = 0x1b,
			.code = {0x0c, 7, 8, 0x90, 1}},
		/* push rbp; mov rbp, rsp. */
		.entry = {.length = sizeof(tables.entry) - 4,
			.cie = (uint32_t)DISTANCE(entry.cie, cie),
			.start = start - DISTANCE(entry.start, version),
			.bytes = 128,
			.code = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6}},
	};
	uint8_t bytes[2 + sizeof(tables)] = {0, 10};

	memcpy(bytes + 2, &tables, sizeof(tables));
	write_seed("unwind", "table", bytes, sizeof(bytes));
	/* Without a table, the entries are searched one by one. */
	bytes[2 + offsetof(struct tables, table_encoding)] = 0xff;
	write_seed("unwind", "entries", bytes, sizeof(bytes));
}

static void
write_programs(void)
{
	/* CIE: CFA = r7 + 8.  Then remember, change, restore, and two expressions. */
	static const uint8_t program[] = {1, 40, 5, 0x0c, 7, 8, 0x90, 1, 0x02, 4, 0x0a, 0x0e,
		16, 0x86, 2, 0x02, 8, 0x0b, 0x0f, 3, 0x77, 8, 0x06, 0x10, 3, 2, 0x76, 0x78,
		0x09, 12, 13, 0x2e, 16};
	/* The expression of a PLT entry: rsp + 8 + ((rip & 15) >= 11) << 3. */
	static const uint8_t expression[] = {
		2, 7, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};

	write_seed("unwind", "program", program, sizeof(program));
	/* The negation of the least number, which overflows. */
	static const uint8_t negation[] = {1, 40, 0xf4, 0x2f, 0xfe, 0, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 0x80, 0x10, 0x80, 0x80, 0x80, 0x10};

	write_seed("unwind", "expression", expression, sizeof(expression));
	write_seed("unwind", "negation", negation, sizeof(negation));
}

/* A small library: a file by its sections, an image by its dynamic section. */
struct library {
	uint8_t kind; /* see fuzz_elf.c */
	struct __attribute__((packed)) {
		ElfW(Ehdr) header;
		ElfW(Shdr) sections[3];
		ElfW(Dyn) dynamic[4];
		ElfW(Sym) symbols[3];
		char names[16];
	} elf;
} __attribute__((packed));
#define AT(member) offsetof(__typeof__(((struct library *)0)->elf), member)

static void
write_elf_files(void)
{
	static struct library library = {
		.elf = {
			.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB},
				.e_shoff = AT(sections),
				.e_shentsize = sizeof(ElfW(Shdr)),
				.e_shnum = 3},
			.sections = {{0},
				{.sh_type = SHT_SYMTAB,
					.sh_offset = AT(symbols),
					.sh_size = 3 * sizeof(ElfW(Sym)),
					.sh_entsize = sizeof(ElfW(Sym)),
					.sh_link = 2},
				{.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = 16}},
			.dynamic = {{DT_SYMTAB, {AT(symbols)}}, {DT_STRTAB, {AT(names)}},
				{DT_STRSZ, {16}}, {DT_NULL, {0}}},
			.symbols = {{0},
				{.st_name = 1,
					.st_info = STT_FUNC,
					.st_shndx = 1,
					.st_value = 0x40,
					.st_size = 0x60},
				{.st_name = 5,
					.st_info = STT_FUNC | STB_GLOBAL << 4,
					.st_shndx = 1,
					.st_value = 0x80,
					.st_size = 0x20}},
			.names = "\0one\0two",
		}};

	write_seed("elf", "file", &library, sizeof(library));
	library.kind = AT(dynamic) / 8;
	write_seed("elf", "image", &library, sizeof(library));
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_seeds DIRECTORY\n");
		return 2;
	}
	directory = argv[1];
	check(!mkdir(directory, 0777) || errno == EEXIST, directory);
	write_logs();
	write_changes();
	write_options();
	write_texts();
	write_tables();
	write_programs();
	write_elf_files();
	return 0;
}
