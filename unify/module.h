/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of loaded ELF objects that occur in stacks: found by pc without a lock
 * (_dl_find_object where libc has it), numbered from 1 in order of first sight, never removed.
 * An object that was unloaded and another at its place are two entries.
 */
#ifndef TH_UNIFY_MODULE_H
#define TH_UNIFY_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TH_BUILD_ID_MAX 32

struct th_module {
	uint32_t id;     /* 1.. */
	uintptr_t start; /* mapped range [start, end) */
	uintptr_t end;
	uintptr_t bias;                     /* address minus ELF virtual address */
	const void *eh_frame_hdr;           /* PT_GNU_EH_FRAME segment, NULL if none */
	bool is_self;                       /* this library */
	uint32_t build_id_bytes;            /* 0 = none */
	uint8_t build_id[TH_BUILD_ID_MAX];
	char path[256]; /* absolute where it can be made so */
	uint32_t logged; /* atomic, owned by capture: 1 = its record is in the log */
};

/* Once, outside the malloc path: learns this library's own range and the executable's path. */
void th_module_init(void);

/* The module that `pc` lies in, registered on first sight; NULL if none or the table is full. [in-malloc] */
struct th_module *th_module_find(uintptr_t pc);

/* Entry by id, 1..th_module_count(); NULL outside. [any] */
struct th_module *th_module_get(uint32_t id);
uint32_t th_module_count(void);

#endif
