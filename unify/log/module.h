/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of loaded ELF objects that occur in stacks: found by pc without a lock
 * (_dl_find_object where libc has it, else a list made outside the malloc path), numbered from 1
 * in order of first sight, never removed.  An object that was unloaded and another at its place
 * are two entries, with two ids.
 */
#ifndef TH_UNIFY_LOG_MODULE_H
#define TH_UNIFY_LOG_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"

#define TH_BUILD_ID_MAX 32

struct th_module {
	uint32_t id;     /* 1.. */
	uint32_t logged; /* atomic, owned by capture: 1 = its record is in the log */
	uintptr_t start; /* mapped range [start, end) */
	uintptr_t end;
	uintptr_t bias;           /* address minus ELF virtual address */
	const void *eh_frame_hdr; /* PT_GNU_EH_FRAME segment, NULL if none */
	const char *path; /* absolute where it can be made so; "[vdso]"; "" = not known */
	bool is_self;     /* this library */
	uint32_t build_id_bytes; /* 0 = none */
	uint8_t build_id[TH_BUILD_ID_MAX];
};

/*
 * Once, outside the malloc path: learns this library's own range and the executable's path.
 * False: modules cannot be found.  Takes the loader's lock, so at load only.
 */
bool th_module_init(void);

/* The path of the executable, "" where nothing tells it. After th_module_init(). [any] */
const char *th_module_executable(void);

/*
 * Learns which objects are loaded, where libc has no _dl_find_object; does nothing elsewhere.
 * Takes the loader's lock, so never on the malloc path.  Objects loaded since the last call are
 * not found until the next. [agent-thread]
 */
void th_module_refresh(void);

/*
 * The module that `pc` lies in, registered on first sight; NULL if there is none or the table is
 * full.  All fields but `logged` stay as they are from then on. [in-malloc]
 */
struct th_module *th_module_find(uintptr_t pc);

/*
 * Entry by id, 1..th_module_count(); NULL outside, and for an entry that is not finished or will
 * never be (two threads met the same object first, one of them won). [any]
 */
struct th_module *th_module_get(uint32_t id);
uint32_t th_module_count(void);

/* In the tool: the table becomes that of the observed process, for ids and paths. */
struct th_observed_part th_module_part(void);
bool th_module_observe(const void *part);
/* In a forked child: forgets a refresh that another thread was in.  The modules stay known. */
void th_module_reset(void);

/* For tests: modules are found as under a libc without _dl_find_object. */
void th_module_use_snapshot(bool use);

#endif
