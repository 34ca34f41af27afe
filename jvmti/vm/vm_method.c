/* SPDX-License-Identifier: Apache-2.0 */
/* method.hpp, constMethod.hpp, constantPool.hpp, symbol.hpp: the same in 11 to 25. */
#include "jvmti/vm/vm_method.h"

#include <string.h>

#include "unify/base/safe_read.h"
#include "unify/shared/hash.h"

/* In the table of lines: the next pair takes more than this byte. */
#define LONG_PAIR 0xff
#define HIDDEN_MARK "+0x"
/* Of a text, read at once. */
#define PART_BYTES 64
/*
 * The VM's compressed numbers (compressedStream.hpp; utilities/unsigned5.hpp): 1 to 5 bytes of base 64,
 * the lowest first; bytes from 192 on are continued.
 */
#define UNSIGNED5_LAST 192
#define UNSIGNED5_BYTES 5
/* No byte is 0: each is 1 more. */
#define FIRST_WITHOUT_ZERO 20

static bool
read_word_of(struct th_safe_read *memory, uintptr_t object, int64_t offset, uintptr_t *ret)
{
	return object && th_read_word(memory, object + (uintptr_t)offset, ret) && *ret;
}

static bool
read_short(struct th_safe_read *memory, uintptr_t object, int64_t offset, uint16_t *ret)
{
	return th_read_bytes(memory, object + (uintptr_t)offset, ret, sizeof(*ret));
}

/* ConstantPool::symbol_at() */
static bool
read_symbol(struct th_safe_read *memory, const struct th_hotspot *hotspot, uintptr_t pool,
	uint16_t index, uintptr_t *ret)
{
	int32_t length;

	return th_read_bytes(memory, pool + (uintptr_t)hotspot->pool_length, &length,
		       sizeof(length)) &&
	       index && index < length &&
	       read_word_of(memory, pool,
		       hotspot->pool_bytes + index * (int64_t)sizeof(uintptr_t), ret);
}

/* Not every class has one. */
static uintptr_t
find_source(struct th_safe_read *memory, const struct th_hotspot *hotspot, uintptr_t pool,
	uintptr_t holder)
{
	uintptr_t symbol;
	uint16_t index = 0;

	if (hotspot->pool_source >= 0)
		read_short(memory, pool, hotspot->pool_source, &index);
	else if (hotspot->class_source >= 0)
		read_short(memory, holder, hotspot->class_source, &index);
	return read_symbol(memory, hotspot, pool, index, &symbol) ? symbol : 0;
}

static bool
read_names(struct th_safe_read *memory, const struct th_hotspot *hotspot, uintptr_t fixed,
	uintptr_t pool, struct th_vm_method *ret)
{
	uint16_t name, signature;

	return read_short(memory, fixed, hotspot->fixed_name, &name) &&
	       read_short(memory, fixed, hotspot->fixed_signature, &signature) &&
	       read_symbol(memory, hotspot, pool, name, &ret->name) &&
	       read_symbol(memory, hotspot, pool, signature, &ret->signature);
}

bool
th_vm_method_read(const struct th_hotspot *hotspot, uintptr_t method, struct th_vm_method *ret)
{
	struct th_safe_read memory = {0}, pools = {0};
	uintptr_t fixed, pool, holder;
	uint16_t flags;

	if (!read_word_of(&memory, method, hotspot->method_fixed, &fixed) ||
		!read_short(&memory, method, hotspot->method_access, &ret->access) ||
		!read_word_of(&memory, fixed, hotspot->fixed_pool, &pool) ||
		!read_short(&memory, fixed, hotspot->fixed_flags, &flags) ||
		!read_short(&memory, fixed, hotspot->fixed_code_bytes, &ret->bytes) ||
		!read_names(&pools, hotspot, fixed, pool, ret) ||
		!read_word_of(&pools, pool, hotspot->pool_holder, &holder) ||
		!read_word_of(&memory, holder, hotspot->class_name, &ret->class_name))
		return false;
	ret->bytecodes = fixed + (uintptr_t)hotspot->fixed_bytes;
	ret->lines = flags & hotspot->fixed_has_lines ? ret->bytecodes + ret->bytes : 0;
	ret->source_file = find_source(&pools, hotspot, pool, holder);
	return true;
}

uint64_t
th_vm_symbol_hash(const struct th_hotspot *hotspot, uintptr_t symbol, uint64_t hash)
{
	uintptr_t at = symbol + (uintptr_t)hotspot->symbol_text;
	struct th_safe_read memory = {0};
	char part[PART_BYTES];
	uint16_t left = 0;

	if (symbol && !read_short(&memory, symbol, hotspot->symbol_length, &left))
		left = 0;
	while (left) {
		uint16_t bytes = left < PART_BYTES ? left : PART_BYTES;

		if (!th_read_bytes(&memory, at, part, bytes))
			return 0;
		hash = th_hash_bytes(hash, part, bytes);
		at += bytes;
		left = (uint16_t)(left - bytes);
	}
	return th_hash_bytes(hash, "", 1);
}

size_t
th_vm_symbol_read(
	const struct th_hotspot *hotspot, uintptr_t symbol, char *text, size_t capacity)
{
	struct th_safe_read memory = {0};
	uint16_t length = 0;

	if (!symbol || !read_short(&memory, symbol, hotspot->symbol_length, &length))
		length = 0;
	if (length >= capacity)
		length = (uint16_t)(capacity - 1);
	if (!th_read_bytes(&memory, symbol + (uintptr_t)hotspot->symbol_text, text, length))
		length = 0;
	text[length] = '\0';
	return length;
}

/* The name of a hidden class ends in "+0x" and its address, where the signature has a period. */
static void
mark_hidden(char *text)
{
	char *last = strrchr(text, '+');

	if (last && !strncmp(last, HIDDEN_MARK, sizeof(HIDDEN_MARK) - 1))
		*last = '.';
}

size_t
th_vm_class_signature_read(
	const struct th_hotspot *hotspot, uintptr_t symbol, char *text, size_t capacity)
{
	size_t length = th_vm_symbol_read(hotspot, symbol, text + 1, capacity - 2);

	if (!length)
		return *text = '\0', 0;
	mark_hidden(text + 1);
	text[0] = 'L';
	text[length + 1] = ';';
	text[length + 2] = '\0';
	return length + 2;
}

/* Compressed numbers */

struct byte_stream {
	struct th_safe_read memory;
	uintptr_t at;
	unsigned byte_base; /* of each byte */
	bool has_failed;    /* it could not be read */
};

static unsigned
byte_base(const struct th_hotspot *hotspot)
{
	return hotspot->release >= FIRST_WITHOUT_ZERO;
}

/* 0 if it cannot be read. */
static uint8_t
next_byte(struct byte_stream *stream)
{
	uint8_t byte = 0;

	stream->has_failed |= !th_read_bytes(&stream->memory, stream->at++, &byte, 1);
	return byte;
}

static uint32_t
read_unsigned(struct byte_stream *stream)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < UNSIGNED5_BYTES; i++) {
		uint8_t byte = next_byte(stream);

		value += (uint32_t)(byte - stream->byte_base) << 6 * i;
		if (byte < UNSIGNED5_LAST)
			break;
	}
	return value;
}

/* Zigzag. */
static int32_t
read_signed(struct byte_stream *stream)
{
	uint32_t value = read_unsigned(stream);

	return (int32_t)(value >> 1 ^ (0u - (value & 1)));
}

/* CompressedLineNumberReadStream::read_pair() */
uint32_t
th_vm_method_lines(const struct th_hotspot *hotspot, const struct th_vm_method *method,
	uint64_t *lines, uint32_t capacity)
{
	struct byte_stream stream = {.at = method->lines, .byte_base = byte_base(hotspot)};
	uint32_t bci = 0, line = 0, count = 0;

	while (method->lines && count < capacity) {
		uint8_t pair = next_byte(&stream);

		if (!pair)
			break;
		bci += pair == LONG_PAIR ? (uint32_t)read_signed(&stream) : pair >> 3;
		line += pair == LONG_PAIR ? (uint32_t)read_signed(&stream) : pair & 7;
		if (stream.has_failed)
			break;
		lines[count++] = (uint64_t)bci << 32 | line;
	}
	return count;
}

/*
 * Scopes
 *
 * A table of PcDesc, in the order of their pc, has the offset of the scope of each call.  A scope is a
 * list of compressed numbers: the offset of the scope that it is inlined in (0: none), its method as
 * index + 1 of the metadata of the code, its bytecode index + 1.
 */

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
th_scopes_read(const struct th_hotspot *hotspot, uintptr_t blob, uintptr_t pc,
	struct th_scope *scopes, uint32_t capacity)
{
	struct tables tables = {.memory = {0}};
	struct byte_stream stream = {.byte_base = byte_base(hotspot)};
	uint32_t count = 0;

	if (!find_tables(&tables, hotspot, blob))
		return 0;
	for (uint32_t at = find_scope(&tables, pc); at; count++) {
		stream.at = tables.scopes + at;
		at = read_unsigned(&stream);
		uint32_t index = read_unsigned(&stream);
		int32_t bci = (int32_t)read_unsigned(&stream) - 1;

		if (stream.has_failed || !index || count == capacity ||
			!th_read_word(&tables.memory,
				tables.metadata + (index - 1) * sizeof(uintptr_t),
				&scopes[count].method))
			return 0;
		scopes[count].bci = bci;
	}
	return count;
}
