/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame_hdr (Linux Standard Base, "Exception Frame Header"): four bytes of version and
 * encodings, the address of .eh_frame, the number of entries, and a table of pairs, function
 * and its description, sorted by function, each relative to the header. Every linker writes the
 * same encodings; others are not supported.
 */
#include "report/symbols/function_starts.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/symbols/module_files.h"
#include "unify/shared/bisect.h"

/* DW_EH_PE_: sdata4 relative to the pc, udata4, sdata4 relative to the header. */
static const unsigned char encodings[] = {1, 0x1b, 0x03, 0x3b};
#define TABLE_OFFSET 12
#define ENTRY_BYTES 8

struct th_function_starts {
	uint64_t *starts; /* ascending */
	size_t count;
};

static int32_t
read_signed(const unsigned char *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static struct th_function_starts *
read_table(const unsigned char *header, size_t bytes, uint64_t address)
{
	uint32_t count;

	if (bytes < TABLE_OFFSET || memcmp(header, encodings, sizeof(encodings)) != 0)
		return NULL;
	memcpy(&count, header + 8, sizeof(count));
	if (!count || count > (bytes - TABLE_OFFSET) / ENTRY_BYTES)
		return NULL;
	struct th_function_starts *starts = th_allocate(1, sizeof(*starts));
	starts->starts = th_allocate(count, sizeof(*starts->starts));
	starts->count = count;
	for (size_t i = 0; i < count; i++) {
		const unsigned char *entry = header + TABLE_OFFSET + i * ENTRY_BYTES;

		starts->starts[i] = address + (uint64_t)(int64_t)read_signed(entry);
	}
	return starts;
}

static struct th_function_starts *
read_elf(Elf *elf)
{
	struct th_function_starts *starts = NULL;
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count))
		return NULL;
	for (size_t i = 0; i < count && !starts; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
			continue;
		Elf_Data *data = elf_getdata_rawchunk(
			elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
		if (data)
			starts = read_table(data->d_buf, data->d_size, segment.p_vaddr);
	}
	return starts;
}

struct th_function_starts *
th_function_starts_open(const char *path, const char *build_id)
{
	struct th_function_starts *starts = NULL;
	struct th_module_search search;
	struct th_module_file file;

	th_module_search_init(&search);
	th_module_file_open(&search, path, build_id, &file);
	if (file.fd >= 0 && file.match == TH_MODULE_FOUND) {
		elf_version(EV_CURRENT);
		Elf *elf = elf_begin(file.fd, ELF_C_READ_MMAP, NULL);

		starts = read_elf(elf);
		elf_end(elf);
	}
	if (file.fd >= 0)
		close(file.fd);
	free(file.path);
	th_module_search_deinit(&search);
	return starts;
}

void
th_function_starts_close(struct th_function_starts *starts)
{
	if (!starts)
		return;
	free(starts->starts);
	free(starts);
}

uint64_t
th_function_starts_find(const struct th_function_starts *starts, uint64_t address)
{
	size_t count = starts ? starts->count : 0;
	size_t begun = th_bisect(count, i, starts->starts[i] <= address);

	return begun ? starts->starts[begun - 1] : UINT64_MAX;
}
