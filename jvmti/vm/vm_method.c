/* SPDX-License-Identifier: Apache-2.0 */
/* method.hpp, constMethod.hpp, constantPool.hpp, symbol.hpp: the same in 11 to 25. */
#include "jvmti/vm/vm_method.h"

#include <string.h>

#include "jvmti/vm/unsigned5.h"
#include "unify/shared/hash.h"

/* In the table of lines: the next pair takes more than this byte. */
#define LONG_PAIR 0xff
#define HIDDEN_MARK "+0x"
/* Of a text, read at once. */
#define PART_BYTES 64

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

/* CompressedLineNumberReadStream::read_pair() */
uint32_t
th_vm_method_lines(const struct th_vm_method *method, unsigned byte_base, uint64_t *lines,
	uint32_t capacity)
{
	struct th_byte_stream stream = {.at = method->lines, .byte_base = byte_base};
	uint32_t bci = 0, line = 0, count = 0;

	while (method->lines && count < capacity) {
		uint8_t pair = th_byte_read(&stream);

		if (!pair)
			break;
		bci += pair == LONG_PAIR ? (uint32_t)th_signed5_read(&stream) : pair >> 3;
		line += pair == LONG_PAIR ? (uint32_t)th_signed5_read(&stream) : pair & 7;
		if (stream.has_failed)
			break;
		lines[count++] = (uint64_t)bci << 32 | line;
	}
	return count;
}
