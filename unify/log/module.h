/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of loaded ELF objects that occur in stacks.  Objects are found by pc without a lock
 * (by _dl_find_object where libc has it, else in a list made outside the malloc path), numbered
 * from 1 in order of first occurrence, and never removed.  An unloaded object and another one
 * at the same address are two entries with two ids.
 */
#ifndef TH_UNIFY_LOG_MODULE_H
#define TH_UNIFY_LOG_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"

#define TH_BUILD_ID_MAX 32
/* With the terminator; a longer path is unknown. */
#define TH_MODULE_PATH_MAX 512
/* By which its file is recognized: the headers, and usually the build id. */
#define TH_MODULE_HEAD_BYTES 1024

enum th_module_file { TH_MODULE_FILE_UNKNOWN, TH_MODULE_HAS_FILE, TH_MODULE_NO_FILE };

struct th_module {
	uint32_t id;     /* 1.. */
	uint32_t logged; /* atomic, owned by capture: 1 = the log has its record */
	uint32_t
		unnamed; /* atomic: addresses that were met and not looked up (function_names.h) */
	enum th_module_file file; /* of function_names.c: whether a report will find it */
	uintptr_t start;          /* mapped range [start, end) */
	uintptr_t end;
	uintptr_t bias;           /* address minus ELF virtual address */
	const void *eh_frame_hdr; /* PT_GNU_EH_FRAME segment, NULL if none */
	bool is_self;             /* this library */
	uint32_t build_id_bytes;  /* 0 = none */
	uint64_t head;            /* hash of its first TH_MODULE_HEAD_BYTES; 0 = unknown */
	uint8_t build_id[TH_BUILD_ID_MAX];
	char path[TH_MODULE_PATH_MAX]; /* absolute if possible; "[vdso]"; "" = unknown */
	/* Private to module.c. */
	const uint8_t
		*build_id_there; /* in the object's memory, if it lies in its first page */
	uint64_t name_hash;
	bool is_published; /* stored with release when the other fields are complete */
};

/*
 * Prepares to find modules.  Once, outside the malloc path.  False: they cannot be found.  Takes
 * the loader's lock, so only at load time.
 */
bool th_module_init(void);

/*
 * The path of the executable, "" if unknown.  Looked up when it is first needed, before samples
 * are taken on several threads. [in-malloc]
 */
const char *th_module_executable(void);

/*
 * Where libc has no _dl_find_object: reads the list of loaded objects, if it has changed since the last
 * call.  Objects loaded since are not found until the next, so it is also called by functions that the
 * program calls after a dlopen.  Takes the loader's lock for a moment, so never in malloc.  Preserves
 * errno. [any]
 */
void th_module_refresh(void);

/*
 * The module that contains `pc`, registered on first occurrence; NULL if there is none or the
 * table is full.  All fields but the first ones are constant from then on. [in-malloc]
 */
struct th_module *th_module_find(uintptr_t pc);

/*
 * Entry by id, 1..th_module_count().  NULL if the id is out of range, or if the entry is
 * incomplete or unused (of two threads that registered the same object, one won). [any]
 */
struct th_module *th_module_get(uint32_t id);
uint32_t th_module_count(void);

/* The copy is for ids and paths. */
extern const struct th_observed_tables th_module_tables;

/* In a forked child: abandons a refresh by another thread.  Known modules are kept. */
void th_module_reset(void);

/* For tests: finds modules as under a libc without _dl_find_object. */
void th_module_use_snapshot(bool use);

#endif
