/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading DWARF data: a cursor that never passes its end.  Reads beyond it return 0 and set
 * `failed`, so a decoder checks once, at the end.  All functions [in-malloc].
 */
#ifndef TH_UNIFY_UNWIND_CURSOR_H
#define TH_UNIFY_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct th_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/*
 * Pointer encodings (LSB, chapter "DWARF Extensions"), without those of variable length and of two
 * bytes, which no linker and no compiler chooses.
 */
enum {
	TH_PE_ABSOLUTE = 0x00,
	TH_PE_UDATA4 = 0x03,
	TH_PE_UDATA8 = 0x04,
	TH_PE_SDATA4 = 0x0b,
	TH_PE_SDATA8 = 0x0c,
	TH_PE_FORMAT = 0x0f,
	TH_PE_PCREL = 0x10,
	TH_PE_DATAREL = 0x30,
};

static inline size_t
th_cursor_left(const struct th_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline bool
th_cursor_is_done(const struct th_cursor *cursor)
{
	return cursor->failed || cursor->at >= cursor->end;
}

/* Advances by `bytes`; returns the previous position, NULL if fewer bytes are left. */
static inline const uint8_t *
th_cursor_take(struct th_cursor *cursor, uint64_t bytes)
{
	const uint8_t *at = cursor->at;

	if (cursor->failed || bytes > th_cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

#define TH_CURSOR_READER(name, type)                                      \
	static inline type th_cursor_##name(struct th_cursor *cursor)     \
	{                                                                 \
		const uint8_t *at = th_cursor_take(cursor, sizeof(type)); \
		type value = 0;                                           \
                                                                          \
		if (at)                                                   \
			memcpy(&value, at, sizeof(value));                \
		return value;                                             \
	}
TH_CURSOR_READER(u8, uint8_t)
TH_CURSOR_READER(u16, uint16_t)
TH_CURSOR_READER(u32, uint32_t)
TH_CURSOR_READER(u64, uint64_t)
#undef TH_CURSOR_READER

static inline uint64_t
th_cursor_uleb(struct th_cursor *cursor)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0;; shift += 7) {
		byte = th_cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t
th_cursor_sleb(struct th_cursor *cursor)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = th_cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* A value in one of the formats, without any base; unknown formats fail. */
static inline uint64_t
th_cursor_formatted(struct th_cursor *cursor, uint8_t encoding)
{
	switch (encoding & TH_PE_FORMAT) {
	case TH_PE_ABSOLUTE:
	case TH_PE_UDATA8:
	case TH_PE_SDATA8:
		return th_cursor_u64(cursor);
	case TH_PE_UDATA4:
		return th_cursor_u32(cursor);
	case TH_PE_SDATA4:
		return (uint64_t)(int32_t)th_cursor_u32(cursor);
	default:
		cursor->failed = true;
		return 0;
	}
}

/*
 * An encoded pointer.  Indirect pointers fail, and those from another base: the unwinder needs none.
 */
static inline uintptr_t
th_cursor_pointer(struct th_cursor *cursor, uint8_t encoding)
{
	uintptr_t here = (uintptr_t)cursor->at;
	uintptr_t value = th_cursor_formatted(cursor, encoding);

	switch (encoding & ~TH_PE_FORMAT) {
	case TH_PE_ABSOLUTE:
		return value;
	case TH_PE_PCREL:
		return here + value;
	default:
		cursor->failed = true;
		return 0;
	}
}

#endif
