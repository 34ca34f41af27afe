/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of PcDesc, in the order of their pc, has the offset of the scope of each call.  A scope is a
 * list of compressed numbers: the offset of the scope that it is inlined in (0: none), its method as
 * index + 1 of the metadata of the code, its bytecode index + 1.
 */
#include "jvmti/stacks/scopes.h"

#include "jvmti/vm/unsigned5.h"

struct pc_desc {
	int32_t pc; /* from the start of the code */
	int32_t scope;
	int32_t object;
	int32_t flags;
};

/* The tables of one nmethod. */
struct tables {
	struct th_safe_read memory;
	uintptr_t code;
	uintptr_t pcs;
	uintptr_t pcs_end;
	uintptr_t scopes;
	uintptr_t metadata;
};

/* Adds an unsigned field of so many bytes to *ret. */
static bool
add(struct tables *tables, uintptr_t object, int64_t offset, size_t bytes, uintptr_t *ret)
{
	uintptr_t value = 0; /* both processors are little-endian */

	if (!th_read_bytes(&tables->memory, object + (uintptr_t)offset, &value, bytes))
		return false;
	*ret += value;
	return true;
}

static bool
add_word(struct tables *tables, uintptr_t object, int64_t offset, uintptr_t *ret)
{
	return add(tables, object, offset, sizeof(uintptr_t), ret);
}

static bool
add_int(struct tables *tables, uintptr_t object, int64_t offset, uintptr_t *ret)
{
	return add(tables, object, offset, sizeof(uint32_t), ret);
}

static bool
find_metadata(struct tables *tables, const struct th_hotspot *hotspot, uintptr_t blob)
{
	if (hotspot->blob_mutable >= 0)
		return add_word(tables, blob, hotspot->blob_mutable, &tables->metadata) &&
		       add_int(tables, blob, hotspot->blob_relocation_size, &tables->metadata);
	tables->metadata = blob;
	if (hotspot->code_immutable < 0)
		return add_int(tables, blob, hotspot->code_metadata, &tables->metadata);
	return add_int(tables, blob, hotspot->blob_data, &tables->metadata) &&
	       add(tables, blob, hotspot->code_metadata, sizeof(uint16_t), &tables->metadata);
}

static bool
find_code(struct tables *tables, const struct th_hotspot *hotspot, uintptr_t blob)
{
	if (hotspot->blob_code >= 0)
		return add_word(tables, blob, hotspot->blob_code, &tables->code);
	tables->code = blob;
	return add_int(tables, blob, hotspot->blob_code_offset, &tables->code);
}

static bool
find_tables(struct tables *tables, const struct th_hotspot *hotspot, uintptr_t blob)
{
	uintptr_t data = 0;

	if (hotspot->code_immutable < 0)
		data = blob;
	else if (!add_word(tables, blob, hotspot->code_immutable, &data))
		return false;
	tables->pcs = data;
	tables->pcs_end = data;
	tables->scopes = hotspot->code_scopes_offset >= 0 ? data : 0;
	return add_int(tables, blob, hotspot->code_pcs, &tables->pcs) &&
	       add_int(tables, blob, hotspot->code_pcs_end, &tables->pcs_end) &&
	       (tables->scopes ? add_int(tables, blob, hotspot->code_scopes_offset,
					 &tables->scopes)
			       : add_word(tables, blob, hotspot->code_scopes,
					 &tables->scopes)) &&
	       find_code(tables, hotspot, blob) && find_metadata(tables, hotspot, blob);
}

/* The offset of the scope at `pc`; 0: none. */
static uint32_t
find_scope(struct tables *tables, uintptr_t pc)
{
	struct th_safe_read memory = {0};
	struct pc_desc found;
	uintptr_t low = 0;
	uintptr_t high = (tables->pcs_end - tables->pcs) / sizeof(found);

	while (low < high) {
		uintptr_t middle = low + (high - low) / 2;

		if (!th_read_bytes(&memory, tables->pcs + middle * sizeof(found), &found,
			    sizeof(found)))
			return 0;
		if (found.pc == (int32_t)(pc - tables->code))
			return (uint32_t)found.scope;
		if (found.pc < (int32_t)(pc - tables->code))
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

uint32_t
th_scopes_read(const struct th_hotspot *hotspot, unsigned byte_base, uintptr_t blob,
	uintptr_t pc, struct th_scope *scopes, uint32_t capacity)
{
	struct tables tables = {.memory = {0}};
	struct th_byte_stream stream = {.byte_base = byte_base};
	uint32_t count = 0;

	if (!find_tables(&tables, hotspot, blob))
		return 0;
	for (uint32_t at = find_scope(&tables, pc); at; count++) {
		stream.at = tables.scopes + at;
		at = th_unsigned5_read(&stream);
		uint32_t index = th_unsigned5_read(&stream);
		int32_t bci = (int32_t)th_unsigned5_read(&stream) - 1;

		if (stream.has_failed || !index || count == capacity ||
			!th_read_word(&tables.memory,
				tables.metadata + (index - 1) * sizeof(uintptr_t),
				&scopes[count].method))
			return 0;
		scopes[count].bci = bci;
	}
	return count;
}
