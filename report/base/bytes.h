/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of bytes, for binary formats. */
#ifndef TH_REPORT_BASE_BYTES_H
#define TH_REPORT_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty; `items` is to be freed. */
struct th_bytes {
	uint8_t *items;
	size_t items_count;
	size_t items_capacity;
};

void th_bytes_add(struct th_bytes *bytes, const void *items, size_t length);

/* Appends all bytes of `other`, which becomes empty. */
void th_bytes_move(struct th_bytes *bytes, struct th_bytes *other);

/* An unsigned number with 7 bits in a byte, lowest first (LEB128, as in protobuf). */
void th_bytes_varint(struct th_bytes *bytes, uint64_t value);

#endif
