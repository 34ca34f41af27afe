/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame_hdr: version, three encodings, the address of .eh_frame, the count, and pairs
 * (function, FDE) sorted by function; LSB 5.0, chapter "Exception Frames".  Every read stays
 * inside the module's mapped range.
 */
#include "unify/unwind/fde.h"

#include "unify/shared/bisect.h"
#include "unify/unwind/arch.h"
#include "unify/unwind/cursor.h"

/* The encoding of every linker: 32-bit offsets from the header. */
#define TABLE_ENCODING (TH_PE_DATAREL | TH_PE_SDATA4)

struct table_entry {
	int32_t start;
	int32_t fde;
};

struct header {
	uintptr_t address;
	const struct table_entry *table;
	size_t count;
};

static struct th_cursor
cursor_at(const struct th_module *module, uintptr_t address)
{
	bool inside = address >= module->start && address < module->end;

	return (struct th_cursor){
		.at = (const uint8_t *)address,
		.end = (const uint8_t *)(inside ? module->end : address),
		.failed = !inside,
	};
}

/* False: none with a table that can be searched. */
static bool
read_header(const struct th_module *module, struct header *ret)
{
	uintptr_t address = (uintptr_t)module->eh_frame_hdr;
	struct th_cursor cursor = cursor_at(module, address);
	uint8_t version = th_cursor_u8(&cursor);
	uint8_t frame_encoding = th_cursor_u8(&cursor);
	uint8_t count_encoding = th_cursor_u8(&cursor);
	uint8_t table_encoding = th_cursor_u8(&cursor);

	*ret = (struct header){.address = address};
	if (version != 1 || cursor.failed || count_encoding == TH_PE_OMIT ||
		table_encoding != TABLE_ENCODING)
		return false;
	if (frame_encoding != TH_PE_OMIT)
		th_cursor_formatted(&cursor, frame_encoding);
	ret->count = th_cursor_pointer(&cursor, count_encoding, address);
	ret->table = (const struct table_entry *)cursor.at;
	return !cursor.failed && (uintptr_t)cursor.at % sizeof(int32_t) == 0 &&
	       ret->count <= th_cursor_left(&cursor) / sizeof(*ret->table);
}

/* Address of the FDE whose function is the last to start at or before `pc`; 0 if none. */
static uintptr_t
search_table(const struct header *header, uintptr_t pc)
{
	intptr_t wanted = (intptr_t)(pc - header->address);
	size_t begun = th_bisect(header->count, i, header->table[i].start <= wanted);

	if (!begun)
		return 0;
	return header->address + (uintptr_t)(intptr_t)header->table[begun - 1].fde;
}

/* Narrows `cursor`, at the start of an entry, to the entry's body; false: end or malformed. */
static bool
open_entry(struct th_cursor *cursor)
{
	uint32_t length = th_cursor_u32(cursor);

	/* The escape to 64-bit lengths, all ones, also fails here: no tool writes it. */
	if (cursor->failed || !length || length > th_cursor_left(cursor))
		return false;
	cursor->end = cursor->at + length;
	return true;
}

/* Parses the letters of a CIE's augmentation after 'z'; fails on unknown ones. */
static bool
read_augmentation(struct th_cursor *cursor, const char *letters, struct th_fde *ret)
{
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			ret->pointer_encoding = th_cursor_u8(cursor);
			break;
		case 'P':
			encoding = th_cursor_u8(cursor);
			th_cursor_formatted(cursor, encoding);
			break;
		case 'L':
			th_cursor_u8(cursor);
			break;
		case 'S':
			ret->is_signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* aarch64: stack memory is tagged */
			break;
		default:
			return false;
		}
	}
	return !cursor->failed;
}

static bool
read_cie(const struct th_module *module, uintptr_t address, struct th_fde *ret)
{
	struct th_cursor cursor = cursor_at(module, address);
	const char *letters;
	uint8_t version;
	uint64_t return_column;

	if (!open_entry(&cursor) || th_cursor_u32(&cursor) != 0)
		return false;
	version = th_cursor_u8(&cursor);
	letters = (const char *)cursor.at;
	while (th_cursor_u8(&cursor))
		;
	if (cursor.failed || (version != 1 && version != 3))
		return false;
	ret->code_factor = th_cursor_uleb(&cursor);
	ret->data_factor = th_cursor_sleb(&cursor);
	return_column = version == 1 ? th_cursor_u8(&cursor) : th_cursor_uleb(&cursor);
	ret->pointer_encoding = TH_PE_ABSOLUTE;
	ret->is_signal = false;
	ret->is_augmented = *letters == 'z';
	if (ret->is_augmented) {
		uint64_t bytes = th_cursor_uleb(&cursor);
		struct th_cursor augmentation = cursor;

		th_cursor_take(&cursor, bytes);
		if (!read_augmentation(&augmentation, letters + 1, ret))
			return false;
	} else if (*letters) {
		return false;
	}
	ret->initial = cursor.at;
	ret->initial_end = cursor.end;
	return !cursor.failed && return_column == TH_DWARF_RETURN;
}

static bool
read_fde(const struct th_module *module, uintptr_t address, struct th_fde *ret)
{
	struct th_cursor cursor = cursor_at(module, address);
	uintptr_t cie_field;
	uint32_t cie_distance;

	if (!open_entry(&cursor))
		return false;
	cie_field = (uintptr_t)cursor.at;
	cie_distance = th_cursor_u32(&cursor);
	if (!cie_distance || !read_cie(module, cie_field - cie_distance, ret))
		return false;
	ret->start = th_cursor_pointer(&cursor, ret->pointer_encoding, 0);
	ret->end = ret->start + th_cursor_formatted(&cursor, ret->pointer_encoding);
	if (ret->is_augmented)
		th_cursor_take(&cursor, th_cursor_uleb(&cursor));
	ret->program = cursor.at;
	ret->program_end = cursor.end;
	return !cursor.failed;
}

bool
th_fde_find(const struct th_module *module, uintptr_t pc, struct th_fde *ret)
{
	struct header header;
	uintptr_t address;

	if (!module->eh_frame_hdr || !read_header(module, &header))
		return false;
	address = search_table(&header, pc);
	return address && read_fde(module, address, ret) && pc >= ret->start && pc < ret->end;
}
