/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/bytes.h"

#include <stdlib.h>
#include <string.h>

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

void
th_bytes_number(struct th_bytes *bytes, unsigned field, uint64_t value)
{
	if (!value)
		return;
	th_bytes_varint(bytes, field << 3);
	th_bytes_varint(bytes, value);
}

void
th_bytes_numbers_of(
	struct th_bytes *bytes, unsigned first, const uint64_t *values, size_t count)
{
	for (unsigned i = 0; i < count; i++)
		th_bytes_number(bytes, first + i, values[i]);
}

void
th_bytes_packed(struct th_bytes *bytes, unsigned field, const uint64_t *values, size_t count)
{
	struct th_bytes packed = {0};

	for (size_t i = 0; i < count; i++)
		th_bytes_varint(&packed, values[i]);
	if (count)
		th_bytes_message(bytes, field, &packed);
}

void
th_bytes_field(struct th_bytes *bytes, unsigned field, const void *items, size_t length)
{
	th_bytes_varint(bytes, field << 3 | 2);
	th_bytes_varint(bytes, length);
	th_bytes_add(bytes, items, length);
}

void
th_bytes_text(struct th_bytes *bytes, unsigned field, const char *text)
{
	th_bytes_field(bytes, field, text, strlen(text));
}

void
th_bytes_message(struct th_bytes *bytes, unsigned field, struct th_bytes *message)
{
	th_bytes_field(bytes, field, message->items, message->items_count);
	free(message->items);
	*message = (struct th_bytes){0};
}
