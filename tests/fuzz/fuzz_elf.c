/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables of ELF files, as the library reads them in the recorded process.
 *
 *     byte 0    0: a file; else an image of loaded segments, and the eighth of where its
 *               dynamic section is
 *     rest      the ELF file
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "unify/base/elf_symbols.h"

#define WANTED 8

struct memory {
	struct th_elf_bytes elf; /* first */
	const uint8_t *bytes;
	size_t count;
};

static bool
read_bytes(const struct th_elf_bytes *from, uint64_t at, void *to, size_t bytes)
{
	const struct memory *memory = (const struct memory *)from;

	if (at > memory->count || bytes > memory->count - at)
		return false;
	memcpy(to, memory->bytes + at, bytes);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {.elf = {.read = read_bytes}};
	struct th_elf_wanted wanted[WANTED];
	char scratch[TH_ELF_SCRATCH_LEAST];
	char name[64];

	if (!size)
		return 0;
	memory.elf.dynamic = UINT64_C(8) * data[0];
	memory.elf.bias = UINT64_C(0x7f0000000000);
	memory.bytes = data + 1;
	memory.count = size - 1;
	for (unsigned i = 0; i < WANTED; i++)
		wanted[i].address = 0x40 * (uint64_t)i;
	if (!th_elf_symbols_find(&memory.elf, wanted, WANTED, scratch, sizeof(scratch)))
		return 0;
	for (unsigned i = 0; i < WANTED; i++) {
		size_t length = th_elf_symbols_name(
			&memory.elf, &wanted[i], name, sizeof(name));

		/* What is found covers its address, and has a name of that length. */
		if (wanted[i].start != wanted[i].end &&
			(wanted[i].start > 0x40 * (uint64_t)i ||
				wanted[i].end <= 0x40 * (uint64_t)i))
			abort();
		if (length && strlen(name) != length)
			abort();
	}
	return 0;
}
