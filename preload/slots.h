/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import slots of all loaded objects, redirected to the library where it was loaded late.  A slot
 * is written only if it holds the function that the program would call, or a stub that would bind
 * that function; anything else in a slot is another tool's and stays.
 */
#ifndef TH_PRELOAD_SLOTS_H
#define TH_PRELOAD_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/import_slots.h"

/* Upper bounds; objects beyond are not seen, and counted. */
#define TH_SLOTS_OBJECTS_MAX 2048

struct th_slots_report {
	uint32_t objects; /* with redirected slots */
	uint32_t slots;   /* redirected */
	uint32_t foreign; /* slots that hold another tool's function */
	uint32_t failed;  /* objects that could not be kept loaded or written */
	uint32_t usurped; /* slots of ours that were overwritten by another tool */
};

/*
 * Redirects the slots of all loaded objects, but of this library, the dynamic loader, and the
 * object at `except` (any address in it; NULL: none).  `functions` stay the caller's and must
 * remain valid.  Takes the loader's lock: not from the malloc path.  Takes a few milliseconds.
 */
void th_slots_redirect(const struct th_slot_function *functions, size_t count,
	const void *except, struct th_slots_report *report_ret);

/* Whether objects were loaded or unloaded since the slots were last examined. [any] */
bool th_slots_have_changed(void);

/*
 * Redirects slots of objects that were loaded since, and of ours that hold the original again;
 * examines all.  Not concurrently with the other functions. [agent-thread]
 */
void th_slots_review(struct th_slots_report *report_ret);

/*
 * Searches the data of objects that were not searched yet for copies of pointers (import_slots.h), and
 * calls `visit` for each of them: with the number of copies, and the path that the loader has, "" for
 * the program.  Some 4 MiB of data in one call, under the loader's lock.  Not concurrently with the
 * others. [agent-thread]
 */
void th_slots_search(void (*visit)(const char *path, uint32_t copies));

/* Restores all slots that are still ours.  Not concurrently with the others. [agent-thread] */
void th_slots_restore(void);

#endif
