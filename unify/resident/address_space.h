/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of all mappings of the process, with their resident bytes.  For smaps the kernel walks
 * the page tables of the whole process and looks at each page.
 */
#ifndef TH_UNIFY_RESIDENT_ADDRESS_SPACE_H
#define TH_UNIFY_RESIDENT_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/resident/pagemap.h"

/* The default vm.max_map_count is 65,530. */
#define TH_MAPPINGS_MAX 65536u
/* Maximum length of a path, with the terminator; of longer ones the end is stored. */
#define TH_MAPPING_PATH_MAX 256
/* Lines of the kernel have up to 512 bytes; of longer ones the beginning is used. */
#define TH_MAPPING_LINE_MAX 512

struct th_address_space_entry {
	uintptr_t start;
	uintptr_t end;
	uint64_t resident; /* bytes with a page table entry */
	uint64_t swapped;
	uint32_t path; /* offset for th_address_space_path() */
	bool is_writable;
	bool is_accessible; /* any of read, write, execute */
	bool is_shared;
	bool has_file;
	bool is_image;   /* the first mapping of a loaded ELF object */
	bool has_blocks; /* of an allocator other than libc's; set by owners.c */
};

struct th_address_space {
	struct th_address_space_entry *entries; /* sorted by address; one more than fit */
	uint32_t count;
	bool is_truncated; /* some mappings or paths did not fit */
	/*
	 * Sums over all mappings: the RSS, since the kernel counts page table entries in both, so a page
	 * that is mapped twice counts twice.
	 */
	uint64_t resident;
	uint64_t swapped;
	char *paths;
	uint32_t paths_used;
	char *buffer; /* for reading */
	/* Of the text that is being read. */
	bool is_malformed;                   /* the rest is ignored */
	struct th_address_space_entry *last; /* NULL: none yet */
	size_t line_length;
	char line[TH_MAPPING_LINE_MAX];
};

/* Maps the tables, once; false: out of memory. */
bool th_address_space_init(struct th_address_space *space);

/*
 * Parses the text of /proc/PID/smaps, or of maps, which has no resident bytes, in pieces of any length.
 * End, false: the text is neither. [any]
 */
void th_address_space_begin(struct th_address_space *space);
void th_address_space_feed(struct th_address_space *space, const char *text, size_t length);
bool th_address_space_end(const struct th_address_space *space);

/* Reads the file "maps" or "smaps" of the observed process; false: not possible. [any] */
bool th_address_space_read_file(struct th_address_space *space, const char *name);

/*
 * Reads the mappings of the observed process, and their resident bytes by a scan of `pages`, which is
 * open, or by smaps; false: neither can be read. [any]
 */
bool th_address_space_read(struct th_address_space *space, struct th_page_map *pages);

static inline const char *
th_address_space_path(
	const struct th_address_space *space, const struct th_address_space_entry *entry)
{
	return space->paths + entry->path;
}

/* Whether it is memory without a file, to which the kernel gives no name. */
static inline bool
th_address_space_is_nameless(
	const struct th_address_space *space, const struct th_address_space_entry *entry)
{
	return !entry->has_file && !*th_address_space_path(space, entry);
}

/* The mapping that contains `address`, NULL if there is none. [any] */
const struct th_address_space_entry *
th_address_space_find(const struct th_address_space *space, uintptr_t address);

/*
 * The end of the loaded image whose first mapping is `entry`: after its uninitialised data
 * (.bss), which is an anonymous mapping.  The end of the entry if unknown. [any]
 */
uintptr_t th_address_space_image_end(const struct th_address_space_entry *entry);

#endif
