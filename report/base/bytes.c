/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

void
th_bytes_add(struct th_bytes *bytes, const void *items, size_t length)
{
	while (bytes->items_count + length > bytes->items_capacity)
		bytes->items = th_array_grow(
			bytes->items, bytes->items_capacity, &bytes->items_capacity, 1);
	if (length)
		memcpy(bytes->items + bytes->items_count, items, length);
	bytes->items_count += length;
}

void
th_bytes_move(struct th_bytes *bytes, struct th_bytes *other)
{
	th_bytes_add(bytes, other->items, other->items_count);
	free(other->items);
	*other = (struct th_bytes){0};
}

void
th_bytes_varint(struct th_bytes *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		th_bytes_add(bytes, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	th_bytes_add(bytes, &(uint8_t){(uint8_t)value}, 1);
}
