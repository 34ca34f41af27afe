/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name without a size in the log is that of the addresses from it to the next start of a
 * function.  An ELF file without symbols still has these: the search table of its unwind
 * information, which stripping does not remove.
 *
 * .eh_frame_hdr (Linux Standard Base, "Exception Frame Header"): four bytes of version and
 * encodings, the address of .eh_frame, the number of entries, and a table of pairs, function
 * and its description, sorted by function, each relative to the header. Every linker writes the
 * same encodings; others are not supported.
 */
#include "report/symbols/recorded_names.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/symbols/address_index.h"
#include "report/symbols/module_files.h"
#include "unify/shared/bisect.h"

/* Starts of functions */

/* DW_EH_PE_: sdata4 relative to the pc, udata4, sdata4 relative to the header. */
static const unsigned char encodings[] = {1, 0x1b, 0x03, 0x3b};
#define TABLE_OFFSET 12
#define ENTRY_BYTES 8

struct function_starts {
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

static struct function_starts *
read_table(const unsigned char *header, size_t bytes, uint64_t address)
{
	uint32_t count;

	if (bytes < TABLE_OFFSET || memcmp(header, encodings, sizeof(encodings)) != 0)
		return NULL;
	memcpy(&count, header + 8, sizeof(count));
	if (!count || count > (bytes - TABLE_OFFSET) / ENTRY_BYTES)
		return NULL;
	struct function_starts *starts = th_allocate(1, sizeof(*starts));
	starts->starts = th_allocate(count, sizeof(*starts->starts));
	starts->count = count;
	for (size_t i = 0; i < count; i++) {
		const unsigned char *entry = header + TABLE_OFFSET + i * ENTRY_BYTES;

		starts->starts[i] = address + (uint64_t)(int64_t)read_signed(entry);
	}
	return starts;
}

static struct function_starts *
read_elf(Elf *elf)
{
	struct function_starts *starts = NULL;
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

/*
 * Reads the table of the module that was loaded from `path` with that build id. NULL when the
 * file is missing, has another build id, or has no such table.
 */
static struct function_starts *
open_starts(const char *path, const char *build_id)
{
	struct function_starts *starts = NULL;
	struct th_module_file file;

	th_module_file_open(path, build_id, &file);
	if (file.fd >= 0 && file.match == TH_MODULE_FOUND) {
		elf_version(EV_CURRENT);
		Elf *elf = elf_begin(file.fd, ELF_C_READ_MMAP, NULL);

		starts = read_elf(elf);
		elf_end(elf);
	}
	if (file.fd >= 0)
		close(file.fd);
	free(file.path);
	return starts;
}

static void
close_starts(struct function_starts *starts)
{
	if (!starts)
		return;
	free(starts->starts);
	free(starts);
}

/*
 * ELF virtual address of the start of the function around `address`; UINT64_MAX if `starts` is
 * NULL or no function starts before it.
 */
static uint64_t
find_start(const struct function_starts *starts, uint64_t address)
{
	size_t count = starts ? starts->count : 0;
	size_t begun = th_bisect(count, i, starts->starts[i] <= address);

	return begun ? starts->starts[begun - 1] : UINT64_MAX;
}

/* Names */

/* Where the functions of a module start, read on demand. */
struct starts {
	struct function_starts *table;
	bool is_known; /* reading was attempted */
};

struct th_recorded_names {
	const struct th_recording *recording;
	struct th_address_index functions; /* by frame word; value: index in the recording */
	TH_ARRAY(struct starts, starts);   /* by module index */
};

struct th_recorded_names *
th_recorded_names_create(const struct th_recording *recording)
{
	struct th_recorded_names *names = th_allocate(1, sizeof(*names));

	names->recording = recording;
	th_address_index_init(&names->functions);
	for (size_t i = 0; i < recording->functions_count; i++) {
		const struct th_named_function *function = &recording->functions[i];

		th_address_index_add(
			&names->functions, function->start, function->end, (uint32_t)i, 0);
	}
	th_address_index_sort(&names->functions);
	return names;
}

void
th_recorded_names_destroy(struct th_recorded_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->starts_count; i++)
		close_starts(names->starts[i].table);
	free(names->starts);
	th_address_index_deinit(&names->functions);
	free(names);
}

/* The name of a function without a size, by the start of the function around `word`. */
static const struct th_text *
find_by_start(
	struct th_recorded_names *names, uint64_t word, const char *path, const char *build_id)
{
	const struct th_recording *recording = names->recording;
	uint32_t module = th_id_map_find(&recording->modules_ids, th_frame_module(word));

	if (module == TH_ID_MAP_NONE || !recording->symbols_count)
		return NULL;
	while (names->starts_count <= module)
		th_array_append(names, starts, (struct starts){0});
	struct starts *starts = &names->starts[module];
	if (!starts->is_known)
		starts->table = open_starts(path, build_id);
	starts->is_known = true;
	uint64_t start = find_start(starts->table, th_frame_offset(word));
	uint32_t symbol = th_id_map_find(
		&recording->symbols_ids, th_frame_native(th_frame_module(word), start));
	return start == UINT64_MAX || symbol == TH_ID_MAP_NONE ? NULL
							       : &recording->symbols[symbol];
}

const struct th_text *
th_recorded_names_find(
	struct th_recorded_names *names, uint64_t word, const char *path, const char *build_id)
{
	const struct th_address_index *functions = &names->functions;
	const struct th_address_range *range = th_address_index_find(functions, word);

	return range ? &names->recording->functions[range->value].name
		     : find_by_start(names, word, path, build_id);
}

bool
th_recorded_names_has_module(struct th_recorded_names *names, uint32_t module)
{
	const struct th_address_index *functions = &names->functions;
	uint64_t first = th_frame_native(module, 0);
	size_t at = th_bisect(functions->ranges_count, i, functions->ranges[i].start < first);

	return at < functions->ranges_count &&
	       th_frame_module(functions->ranges[at].start) == module;
}
