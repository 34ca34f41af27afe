/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The import slots of a loaded object: the words through which it calls functions of other
 * objects, or refers to them in its data (relocations of the types JUMP_SLOT, GLOB_DAT and 64-bit
 * absolute).
 */
#ifndef TH_PRELOAD_IMPORT_SLOTS_H
#define TH_PRELOAD_IMPORT_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded object, by what dl_iterate_phdr() knows of it. */
struct th_import_object {
	uintptr_t base;
	const ElfW(Dyn) * dynamic; /* NULL: imports nothing */
	uintptr_t start;           /* mapped range [start, end) */
	uintptr_t end;
	uintptr_t
		sealed; /* whole pages that the loader makes read-only, [sealed, sealed_end) */
	uintptr_t sealed_end;
};

struct th_import_slot {
	uintptr_t *address;
	const char *name;
	bool may_be_lazy; /* may hold a stub that binds it at the first call */
	bool is_data;     /* a variable, which the program may change */
};

/* False: the object has no dynamic section. [any] */
bool th_import_object_read(const struct dl_phdr_info *info, struct th_import_object *ret);

/*
 * Calls `visit` for each slot of a symbol for which `is_meant` is true.  The object must stay
 * loaded meanwhile. [any]
 */
void
th_import_slots_each(const struct th_import_object *object, bool (*is_meant)(const char *name),
	void (*visit)(const struct th_import_slot *slot, void *data), void *data);

#endif
