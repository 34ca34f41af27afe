/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's tables are found by its section headers (System V ABI, "Sections"), those of an
 * image by its dynamic section, where the number of symbols follows from the hash table that
 * the dynamic linker uses.
 */
#include "unify/base/elf_symbols.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "unify/shared/bisect.h"

#define SEGMENTS_MAX 256u
#define DYNAMIC_MAX 1024u
/* Buckets of a GNU hash table, at most: one for every two to four symbols. */
#define BUCKETS_MAX TH_ELF_SYMBOLS_MAX
/* Length of its last chain, at most; linkers make chains of a few symbols. */
#define CHAIN_MAX 4096u
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
	return read_at(from, from->header, header, sizeof(*header)) &&
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

/* Addresses in the dynamic section as ELF virtual addresses; 0 = none. */
struct dynamic {
	uint64_t symbols;
	uint64_t names;
	uint64_t names_bytes;
	uint64_t gnu_hash;
	uint64_t hash;
};

/* The dynamic linker of glibc replaces virtual addresses by addresses in memory. */
static uint64_t
virtual_address(const struct th_elf_bytes *from, uint64_t value)
{
	return value >= from->bias ? value - from->bias : value;
}

static void
use_dynamic(const struct th_elf_bytes *from, const ElfW(Dyn) * entry, struct dynamic *ret)
{
	uint64_t address = virtual_address(from, entry->d_un.d_ptr);

	switch (entry->d_tag) {
	case DT_SYMTAB:
		ret->symbols = address;
		break;
	case DT_STRTAB:
		ret->names = address;
		break;
	case DT_STRSZ:
		ret->names_bytes = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
		ret->gnu_hash = address;
		break;
	case DT_HASH:
		ret->hash = address;
		break;
	default:
		break;
	}
}

static bool
read_dynamic(const struct th_elf_bytes *from, uint64_t at, struct dynamic *ret)
{
	ElfW(Dyn) entry;

	*ret = (struct dynamic){0};
	for (unsigned i = 0; i < DYNAMIC_MAX; i++, at += sizeof(entry)) {
		if (!read_at(from, at, &entry, sizeof(entry)))
			return false;
		if (entry.d_tag == DT_NULL)
			break;
		use_dynamic(from, &entry, ret);
	}
	return ret->symbols && ret->names;
}

static bool
find_dynamic(const struct th_elf_bytes *from, struct dynamic *ret)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;

	if (!read_header(from, &header) || header.e_phentsize != sizeof(segment))
		return false;
	for (unsigned i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
		uint64_t at = from->header + header.e_phoff + i * sizeof(segment);

		if (!read_at(from, at, &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_DYNAMIC)
			return read_dynamic(from, segment.p_vaddr, ret);
	}
	return false;
}

/* The highest symbol at which a bucket's chain starts. */
static uint32_t
last_chain(const struct th_elf_bytes *from, uint64_t buckets, uint32_t count)
{
	uint32_t some[64];
	uint32_t last = 0;

	for (uint32_t i = 0; i < count; i += 64) {
		uint32_t now = count - i < 64 ? count - i : 64;

		if (!read_at(from, buckets + 4 * (uint64_t)i, some, 4 * (size_t)now))
			return 0;
		for (uint32_t j = 0; j < now; j++)
			last = some[j] > last ? some[j] : last;
	}
	return last;
}

/*
 * Number of symbols by a GNU hash table: four words (buckets, first hashed symbol, words of the
 * Bloom filter, shift), the filter, the buckets, and a word for each hashed symbol, which is odd
 * for the last one of a chain.
 */
static uint64_t
count_by_gnu_hash(const struct th_elf_bytes *from, uint64_t at)
{
	uint32_t header[4];
	uint32_t word = 0;

	if (!read_at(from, at, header, sizeof(header)) || header[0] > BUCKETS_MAX)
		return 0;
	uint64_t buckets = at + sizeof(header) + 8 * (uint64_t)header[2];
	uint64_t chains = buckets + 4 * (uint64_t)header[0];
	uint64_t last = last_chain(from, buckets, header[0]);
	if (last < header[1])
		return header[1];
	for (unsigned i = 0; !(word & 1) && i < CHAIN_MAX; i++, last++)
		if (!read_at(from, chains + 4 * (last - header[1]), &word, sizeof(word)))
			return 0;
	return last;
}

/* A hash table of the System V ABI: its second word is the number of symbols. */
static uint64_t
count_by_hash(const struct th_elf_bytes *from, uint64_t at)
{
	uint32_t header[2];

	return read_at(from, at, header, sizeof(header)) ? header[1] : 0;
}

static bool
find_in_image(const struct th_elf_bytes *from, struct table *table)
{
	struct dynamic dynamic;

	if (!find_dynamic(from, &dynamic))
		return false;
	table->symbols = dynamic.symbols;
	table->names = dynamic.names;
	table->names_bytes = dynamic.names_bytes;
	table->count = dynamic.hash ? count_by_hash(from, dynamic.hash) : 0;
	if (!table->count && dynamic.gnu_hash)
		table->count = count_by_gnu_hash(from, dynamic.gnu_hash);
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
	if (!count || !(from->is_image ? find_in_image(from, &table)
				       : find_in_sections(from, &table)))
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
