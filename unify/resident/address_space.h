/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All mappings of the process at one moment, with what of them is resident.
 */
#ifndef TH_UNIFY_RESIDENT_ADDRESS_SPACE_H
#define TH_UNIFY_RESIDENT_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/resident/smaps.h"

/* vm.max_map_count allows 65,530 unless somebody raised it. */
#define TH_MAPPINGS_MAX 65536u

struct th_address_space_entry {
	uintptr_t start;
	uintptr_t end;
	uint64_t resident;
	uint64_t swapped;
	uint32_t path; /* for th_address_space_path() */
	bool is_writable;
	bool is_accessible;
	bool is_shared;
	bool has_file;
	bool is_image;   /* the first mapping of a loaded ELF object */
	bool has_blocks; /* of an allocator other than libc's: for who looks for them to set */
};

struct th_address_space {
	struct th_address_space_entry *entries; /* by address */
	uint32_t count;
	bool is_truncated; /* there are more mappings or longer paths than fit */
	uint64_t resident; /* sums over all mappings */
	uint64_t swapped;
	char *paths;
	uint32_t paths_used;
	char *buffer; /* for reading */
};

/* Maps room for it, once; false: no memory. */
bool th_address_space_init(struct th_address_space *space);

/* Reads the mappings of the observed process; false: smaps cannot be read. [any] */
bool th_address_space_read(struct th_address_space *space);

static inline const char *
th_address_space_path(
	const struct th_address_space *space, const struct th_address_space_entry *entry)
{
	return space->paths + entry->path;
}

/* The mapping that `address` lies in, NULL if there is none. [any] */
const struct th_address_space_entry *
th_address_space_find(const struct th_address_space *space, uintptr_t address);

/*
 * Where the loaded image ends whose first mapping is `entry`: behind its data without contents
 * (.bss), which is an anonymous mapping.  The entry's own end when that cannot be told. [any]
 */
uintptr_t th_address_space_image_end(const struct th_address_space_entry *entry);

#endif
