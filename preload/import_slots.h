/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The import slots of a loaded object: the words through which it calls functions of other
 * objects, or refers to them in its data (relocations of the types JUMP_SLOT, GLOB_DAT and 64-bit
 * absolute).  Copies of pointers to allocation functions in its data: from dlsym(), or made before the
 * import slots were redirected; calls by them are not seen.
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

/* A function that is redirected. */
struct th_slot_function {
	const char *name;
	const void *original; /* what the program calls */
	const void *ours;
	bool is_allocation; /* of blocks of the C heap, or their release */
};

/* Of one object; data beyond is not searched. */
#define TH_SLOT_COPIES_BYTES ((size_t)4 << 20)

/*
 * Counts the words in the writable segments of an object that hold the original of an allocation
 * function.  The object must stay loaded meanwhile; pages that cannot be read are skipped.  Adds the
 * bytes read to *bytes. [agent-thread]
 */
uint32_t th_slot_copies_count(const struct dl_phdr_info *info,
	const struct th_slot_function *functions, size_t count, size_t *bytes);

#endif
