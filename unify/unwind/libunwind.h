/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native frames by libunwind (libunwind.so.8), for comparison with unwind.h: selected when the
 * process starts, never the default.
 *
 * For each frame libunwind calls dl_iterate_phdr, which takes a lock of the loader, and up to
 * the first frame without unwind information it reads the stack unchecked; docs/limits.md
 * describes the consequences.  Nothing is cached between walks, so frames of an unloaded
 * library are not attributed to a library loaded at the same address.
 */
#ifndef TH_UNIFY_UNWIND_LIBUNWIND_H
#define TH_UNIFY_UNWIND_LIBUNWIND_H

#include <stdbool.h>

#include "unify/unwind/unwind.h"

/*
 * Opens libunwind, finds its functions by `lookup`, a dlsym, and lets it initialize itself;
 * after th_module_init().  False: it is not installed, lacks a function, or the processor is
 * not x86-64.  In the constructor only: takes locks of the loader and allocates.
 */
bool th_libunwind_open(void *(*lookup)(void *library, const char *name));

/*
 * As th_unwind(), by libunwind, after th_libunwind_open() returned true.  The guard must be
 * held: libunwind may allocate and map memory. [in-malloc]
 */
size_t th_libunwind_walk(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret);

#endif
