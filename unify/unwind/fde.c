/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame_hdr: version, three encodings, the address of .eh_frame, the count, and pairs
 * (function, FDE) sorted by function; LSB 5.0, chapter "Exception Frames".  Every read stays
 * inside the module's mapped range.
 */
#include "unify/unwind/fde.h"

#include <string.h>

#include "unify/shared/bisect.h"
#include "unify/unwind/arch.h"
#include "unify/unwind/cursor.h"

/* The header, with the encodings of every linker: offsets of 32 bits. */
struct header {
	uint8_t version;
	uint8_t encodings[3];
	int32_t frames;
	uint32_t count;
	struct {
		int32_t start;
		int32_t fde;
	} table[]; /* from the header */
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

/* NULL: none with a table that can be searched. */
static const struct header *
find_header(const struct th_module *module)
{
	static const uint8_t known[] = {
		1, TH_PE_PCREL | TH_PE_SDATA4, TH_PE_UDATA4, TH_PE_DATAREL | TH_PE_SDATA4};
	uintptr_t address = (uintptr_t)module->eh_frame_hdr;
	struct th_cursor cursor = cursor_at(module, address);
	const struct header *header = (const void *)th_cursor_take(&cursor, sizeof(*header));

	return header && address % _Alignof(struct header) == 0 &&
			       !memcmp(header, known, sizeof(known)) &&
			       header->count <=
				       th_cursor_left(&cursor) / sizeof(header->table[0])
		       ? header
		       : NULL;
}

/* Address of the FDE whose function is the last to start at or before `pc`; 0 if none. */
static uintptr_t
search_table(const struct header *header, uintptr_t pc)
{
	intptr_t wanted = (intptr_t)(pc - (uintptr_t)header);
	size_t begun = th_bisect(header->count, i, header->table[i].start <= wanted);

	if (!begun)
		return 0;
	return (uintptr_t)header + (uintptr_t)(intptr_t)header->table[begun - 1].fde;
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
	struct th_cursor augmentation;
	const char *letters;
	uint8_t version;
	uint64_t return_column;
	uint64_t bytes;

	if (!open_entry(&cursor) || th_cursor_u32(&cursor) != 0)
		return false;
	version = th_cursor_u8(&cursor);
	letters = (const char *)cursor.at;
	while (th_cursor_u8(&cursor))
		;
	/* Every assembler writes a 'z': the length of the augmentation. */
	if (cursor.failed || (version != 1 && version != 3) || *letters != 'z')
		return false;
	ret->code_factor = th_cursor_uleb(&cursor);
	ret->data_factor = th_cursor_sleb(&cursor);
	return_column = version == 1 ? th_cursor_u8(&cursor) : th_cursor_uleb(&cursor);
	ret->pointer_encoding = TH_PE_ABSOLUTE;
	ret->is_signal = false;
	bytes = th_cursor_uleb(&cursor);
	augmentation = cursor;
	th_cursor_take(&cursor, bytes);
	if (!read_augmentation(&augmentation, letters + 1, ret))
		return false;
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
	ret->start = th_cursor_pointer(&cursor, ret->pointer_encoding);
	ret->end = ret->start + th_cursor_formatted(&cursor, ret->pointer_encoding);
	th_cursor_take(&cursor, th_cursor_uleb(&cursor));
	ret->program = cursor.at;
	ret->program_end = cursor.end;
	return !cursor.failed;
}

bool
th_fde_find(const struct th_module *module, uintptr_t pc, struct th_fde *ret)
{
	const struct header *header = module->eh_frame_hdr ? find_header(module) : NULL;
	uintptr_t address = header ? search_table(header, pc) : 0;

	return address && read_fde(module, address, ret) && pc >= ret->start && pc < ret->end;
}
