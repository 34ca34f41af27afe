/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of bytes, for binary formats. */
#ifndef TH_REPORT_BASE_BYTES_H
#define TH_REPORT_BASE_BYTES_H

#include <stdint.h>

#include "report/base/allocate.h"

/* A zeroed struct is empty; `items` is to be freed. */
struct th_bytes {
	TH_ARRAY(uint8_t, items);
};

void th_bytes_add(struct th_bytes *bytes, const void *items, size_t length);

/* Appends all bytes of `other`, which becomes empty. */
void th_bytes_move(struct th_bytes *bytes, struct th_bytes *other);

/* An unsigned number with 7 bits in a byte, lowest first (LEB128, as in protobuf). */
void th_bytes_varint(struct th_bytes *bytes, uint64_t value);

/* Fields of a protobuf message. */

/* A number; nothing for 0. */
void th_bytes_number(struct th_bytes *bytes, unsigned field, uint64_t value);

/* Numbers of consecutive fields, which have no side effects. */
#define th_bytes_numbers(bytes, first, ...)                                \
	th_bytes_numbers_of(bytes, first, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void th_bytes_numbers_of(
	struct th_bytes *bytes, unsigned first, const uint64_t *values, size_t count);

/* A field with many numbers; nothing without any. */
void
th_bytes_packed(struct th_bytes *bytes, unsigned field, const uint64_t *values, size_t count);

/* Bytes, a text, or a message, which becomes empty; also if they are empty. */
void th_bytes_field(struct th_bytes *bytes, unsigned field, const void *items, size_t length);
void th_bytes_text(struct th_bytes *bytes, unsigned field, const char *text);
void th_bytes_message(struct th_bytes *bytes, unsigned field, struct th_bytes *message);

#endif
