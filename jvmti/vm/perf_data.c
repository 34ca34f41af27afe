/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: perfMemory.hpp, version 2.0 since JDK 5. */
#include "jvmti/vm/perf_data.h"

#include <stddef.h>
#include <string.h>

#define MAGIC_LITTLE_ENDIAN 0xc0c0feca
/* More entries than any VM has; a region with more is not valid. */
#define ENTRIES_MAX 4096

struct prologue {
	uint32_t magic;
	uint8_t byte_order;
	uint8_t major;
	uint8_t minor;
	uint8_t accessible;
	int32_t used; /* bytes */
	int32_t overflow;
	int64_t modified;
	int32_t entry_offset; /* of the first entry */
	int32_t entry_count;
};

struct entry {
	int32_t length; /* to the next entry */
	int32_t name_offset;
	int32_t vector_length; /* 0 = a scalar */
	uint8_t data_type;     /* as in a field descriptor: J, or B for text */
	uint8_t flags;
	uint8_t units;
	uint8_t variability;
	int32_t data_offset;
};

static const void *
find(const char *start, const char *name, uint8_t data_type)
{
	const struct prologue *prologue = (const void *)start;

	if (!start || prologue->magic != MAGIC_LITTLE_ENDIAN || prologue->major != 2)
		return NULL;
	int32_t offset = prologue->entry_offset;
	for (int i = 0; i < prologue->entry_count && i < ENTRIES_MAX; i++) {
		const struct entry *entry = (const void *)(start + offset);

		if (offset < 0 || offset >= prologue->used || entry->length <= 0)
			return NULL;
		if (entry->data_type == data_type &&
			!strcmp(start + offset + entry->name_offset, name))
			return start + offset + entry->data_offset;
		offset += entry->length;
	}
	return NULL;
}

const int64_t *
th_perf_data_long(const char *start, const char *name)
{
	return find(start, name, 'J');
}

const char *
th_perf_data_text(const char *start, const char *name)
{
	return find(start, name, 'B');
}
