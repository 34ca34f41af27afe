/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of all mappings of the process, with their resident bytes. */
#ifndef TH_UNIFY_RESIDENT_ADDRESS_SPACE_H
#define TH_UNIFY_RESIDENT_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/resident/pagemap.h"
#include "unify/resident/smaps.h"

/* The default vm.max_map_count is 65,530. */
#define TH_MAPPINGS_MAX 65536u

struct th_address_space_entry {
	uintptr_t start;
	uintptr_t end;
	uint64_t resident;
	uint64_t swapped;
	uint32_t path; /* offset for th_address_space_path() */
	bool is_writable;
	bool is_accessible;
	bool is_shared;
	bool has_file;
	bool is_image;   /* the first mapping of a loaded ELF object */
	bool has_blocks; /* of an allocator other than libc's; set by owners.c */
};

struct th_address_space {
	struct th_address_space_entry *entries; /* sorted by address */
	uint32_t count;
	bool is_truncated; /* some mappings or paths did not fit */
	uint64_t resident; /* sums over all mappings */
	uint64_t swapped;
	char *paths;
	uint32_t paths_used;
	char *buffer; /* for reading */
};

/* Maps the tables, once; false: out of memory. */
bool th_address_space_init(struct th_address_space *space);

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

/* The mapping that contains `address`, NULL if there is none. [any] */
const struct th_address_space_entry *
th_address_space_find(const struct th_address_space *space, uintptr_t address);

/*
 * The end of the loaded image whose first mapping is `entry`: after its uninitialised data
 * (.bss), which is an anonymous mapping.  The end of the entry if unknown. [any]
 */
uintptr_t th_address_space_image_end(const struct th_address_space_entry *entry);

#endif
