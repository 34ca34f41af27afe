/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF file of a loaded module, also when it was deleted or replaced after loading.
 */
#ifndef TH_UNIFY_LOG_MODULE_BYTES_H
#define TH_UNIFY_LOG_MODULE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/elf_symbols.h"
#include "unify/log/module.h"

/* Sources, in the order of preference. */
enum th_module_source {
	/* The file at the module's path, if it begins as the module did when it was met. */
	TH_SOURCE_PATH,
	/* The file that is mapped, also if deleted: /proc/self/map_files; if privileged. */
	TH_SOURCE_MAP_FILES,
	TH_SOURCE_IMAGE, /* the loaded segments, which lack .symtab */
	TH_SOURCES,
};

struct th_module_bytes {
	struct th_elf_bytes elf; /* for reading; first */
	uint64_t end;            /* IMAGE: end as an ELF virtual address */
	int descriptor;          /* PATH, MAP_FILES; else -1 */
	uint64_t unloads;        /* IMAGE: number of objects unloaded until it was opened */
};

/*
 * Opens one source of a module; false: it is not available, or the module is no longer loaded
 * (a PATH may still be).  Takes the loader's lock, so not on the malloc path, for some
 * microseconds in which objects cannot be unloaded.
 */
bool th_module_bytes_open(const struct th_module *module, enum th_module_source source,
	struct th_module_bytes *ret);

/*
 * Whether what was read so far was the module's: false for an IMAGE if an object was unloaded
 * since it was opened.
 */
bool th_module_bytes_are_valid(const struct th_module_bytes *bytes);

/* Legal after a failure, too. */
void th_module_bytes_close(struct th_module_bytes *bytes);

#endif
