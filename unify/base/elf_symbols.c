/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's tables are found by its section headers (System V ABI, "Sections"), those of an
 * image by its dynamic section.
 */
#include "unify/base/elf_symbols.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/shared/bisect.h"

#define DYNAMIC_MAX 1024u
/*
 * Symbols that cover one address, at most, in the mean over all addresses; more than a few are
 * aliases of each other.
 */
#define COVERS_MAX 64u

/* A symbol table and its names; positions as for th_elf_bytes. */
struct table {
	uint64_t symbols;
	uint64_t count; /* 0: none */
	uint64_t names;
	uint64_t names_bytes;
};

static bool
read_at(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes)
{
	return from->read(from, at, to, bytes);
}

static bool
read_header(const struct th_elf_bytes *from, ElfW(Ehdr) * header)
{
	return read_at(from, 0, header, sizeof(*header)) &&
	       !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB;
}

/* Sections */

static bool
read_section(const struct th_elf_bytes *from, const ElfW(Ehdr) * header, uint64_t index,
	ElfW(Shdr) * ret)
{
	return read_at(from, header->e_shoff + index * sizeof(*ret), ret, sizeof(*ret));
}

static bool
use_section(const struct th_elf_bytes *from, const ElfW(Ehdr) * header,
	const ElfW(Shdr) * section, struct table *table)
{
	ElfW(Shdr) names;

	if (section->sh_entsize != sizeof(ElfW(Sym)) ||
		!read_section(from, header, section->sh_link, &names) ||
		names.sh_type != SHT_STRTAB)
		return false;
	table->symbols = section->sh_offset;
	table->count = section->sh_size / sizeof(ElfW(Sym));
	table->names = names.sh_offset;
	table->names_bytes = names.sh_size;
	return table->count != 0;
}

static bool
find_in_sections(const struct th_elf_bytes *from, struct table *table)
{
	ElfW(Ehdr) header;
	ElfW(Shdr) section;
	bool found = false;

	if (!read_header(from, &header) || !header.e_shoff ||
		header.e_shentsize != sizeof(section))
		return false;
	for (unsigned i = 1; i < header.e_shnum; i++) {
		if (!read_section(from, &header, i, &section))
			return found;
		if (section.sh_type == SHT_SYMTAB)
			return use_section(from, &header, &section, table);
		if (section.sh_type == SHT_DYNSYM)
			found = use_section(from, &header, &section, table);
	}
	return found;
}

/* Image */

/* False: it is past the last one. */
static bool
read_entry(const struct th_elf_bytes *from, unsigned number, ElfW(Dyn) * ret)
{
	return number < DYNAMIC_MAX &&
	       read_at(from, from->dynamic + number * sizeof(*ret), ret, sizeof(*ret)) &&
	       ret->d_tag != DT_NULL;
}

/* The dynamic linker of glibc replaces virtual addresses by addresses in memory. */
static uint64_t
address_in(const struct th_elf_bytes *from, const ElfW(Dyn) * entry)
{
	uint64_t value = entry->d_un.d_ptr;

	return value >= from->bias ? value - from->bias : value;
}

/* Whether an entry has the address of a table that linkers place beside the symbols. */
static bool
is_table(const ElfW(Dyn) * entry)
{
	static const ElfW(Sxword) tags[] = {DT_STRTAB, DT_GNU_HASH, DT_HASH, DT_VERSYM,
		DT_VERDEF, DT_VERNEED, DT_RELA, DT_JMPREL};

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (entry->d_tag == tags[i])
			return true;
	return false;
}

/*
 * The dynamic section does not tell the number of symbols: they end at the next table at the
 * latest.  Between the two there is nothing in 1,328 of 1,331 libraries of a distribution; what
 * patchelf leaves there in the others is no function that covers an address, or has no name.
 */
static bool
find_in_image(const struct th_elf_bytes *from, struct table *table)
{
	uint64_t end = UINT64_MAX;
	ElfW(Dyn) entry;

	for (unsigned i = 0; read_entry(from, i, &entry); i++) {
		if (entry.d_tag == DT_SYMTAB)
			table->symbols = address_in(from, &entry);
		else if (entry.d_tag == DT_STRTAB)
			table->names = address_in(from, &entry);
		else if (entry.d_tag == DT_STRSZ)
			table->names_bytes = entry.d_un.d_val;
	}
	for (unsigned i = 0; read_entry(from, i, &entry); i++)
		if (is_table(&entry) && address_in(from, &entry) > table->symbols)
			end = th_min(end, address_in(from, &entry));
	if (!table->symbols || !table->names || end == UINT64_MAX)
		return false;
	table->count = (end - table->symbols) / sizeof(ElfW(Sym));
	return table->count != 0;
}

/* Search */

/* False for symbols that are not code with a known extent, and for undefined ones. */
static bool
is_function(const ElfW(Sym) * symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_name && symbol->st_size &&
	       symbol->st_value + symbol->st_size > symbol->st_value;
}

static uint32_t
rank_binding(const ElfW(Sym) * symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

static bool
has_underscore(const struct th_elf_bytes *from, uint64_t name)
{
	char first = 0;

	return read_at(from, name, &first, 1) && first == '_';
}

static bool
is_better(const struct th_elf_bytes *from, const struct th_elf_wanted *one,
	const struct th_elf_wanted *other)
{
	if (other->start == other->end || one->start != other->start)
		return one->start > other->start || other->start == other->end;
	if (one->end != other->end)
		return one->end < other->end;
	if (one->rank != other->rank)
		return one->rank > other->rank;
	return !has_underscore(from, one->name) || has_underscore(from, other->name);
}

struct search {
	const struct th_elf_bytes *from;
	const struct table *table;
	struct th_elf_wanted *wanted;
	size_t count;
	size_t covers_left; /* the search ends when there are none */
};

static void
consider(struct search *search, const ElfW(Sym) * symbol)
{
	struct th_elf_wanted found = {
		.start = symbol->st_value,
		.end = symbol->st_value + symbol->st_size,
		.name = search->table->names + symbol->st_name,
		.name_room = search->table->names_bytes - symbol->st_name,
		.rank = rank_binding(symbol),
	};
	size_t i;

	if (found.end <= search->wanted[0].address ||
		found.start > search->wanted[search->count - 1].address)
		return;
	i = th_bisect(search->count, j, search->wanted[j].address < found.start);
	for (; i < search->count && search->wanted[i].address < found.end; i++) {
		if (!search->covers_left)
			return;
		search->covers_left--;
		found.address = search->wanted[i].address;
		if (is_better(search->from, &found, &search->wanted[i]))
			search->wanted[i] = found;
	}
}

static void
scan(struct search *search, ElfW(Sym) * chunk, uint64_t capacity)
{
	const struct table *table = search->table;
	uint64_t total = table->count < TH_ELF_SYMBOLS_MAX ? table->count : TH_ELF_SYMBOLS_MAX;

	for (uint64_t done = 0; done < total && search->covers_left;) {
		uint64_t now = total - done < capacity ? total - done : capacity;

		if (!read_at(search->from, table->symbols + done * sizeof(*chunk), chunk,
			    now * sizeof(*chunk)))
			return;
		for (uint64_t i = 0; i < now; i++)
			if (is_function(&chunk[i]) && chunk[i].st_name < table->names_bytes)
				consider(search, &chunk[i]);
		done += now;
	}
}

bool
th_elf_symbols_find(const struct th_elf_bytes *from, struct th_elf_wanted *wanted, size_t count,
	void *scratch, size_t scratch_bytes)
{
	struct table table = {0};
	struct search search = {from, &table, wanted, count, COVERS_MAX * count};

	for (size_t i = 0; i < count; i++)
		wanted[i].start = wanted[i].end = 0;
	if (!count ||
		!(from->dynamic ? find_in_image(from, &table) : find_in_sections(from, &table)))
		return false;
	scan(&search, scratch, scratch_bytes / sizeof(ElfW(Sym)));
	return true;
}

size_t
th_elf_symbols_name(const struct th_elf_bytes *from, const struct th_elf_wanted *wanted,
	char *name_ret, size_t capacity)
{
	size_t room = wanted->name_room < capacity ? wanted->name_room : capacity;
	const char *end;

	if (wanted->start == wanted->end || !room ||
		!read_at(from, wanted->name, name_ret, room))
		return 0;
	end = memchr(name_ret, '\0', room);
	return end ? (size_t)(end - name_ret) : 0;
}

static bool
has_name(const struct th_elf_bytes *from, const struct table *table, const ElfW(Sym) * symbol,
	const char *name)
{
	size_t bytes = strlen(name) + 1;
	char found[64];

	return bytes <= sizeof(found) && symbol->st_name < table->names_bytes &&
	       bytes <= table->names_bytes - symbol->st_name &&
	       read_at(from, table->names + symbol->st_name, found, bytes) &&
	       !memcmp(found, name, bytes);
}

uint64_t
th_elf_symbols_address(const struct th_elf_bytes *from, const char *name)
{
	struct table table = {0};
	ElfW(Sym) symbol;

	if (!find_in_image(from, &table))
		return 0;
	for (uint64_t i = 1; i < table.count && i < TH_ELF_SYMBOLS_MAX; i++)
		if (read_at(from, table.symbols + i * sizeof(symbol), &symbol,
			    sizeof(symbol)) &&
			symbol.st_shndx != SHN_UNDEF && has_name(from, &table, &symbol, name))
			return symbol.st_value;
	return 0;
}
