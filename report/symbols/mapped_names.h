/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The purpose of mapped memory: a label that is shown in place of the class of a Java object.
 *
 *   the VM's own     Java heap, metaspace, class space, code cache, class archive, collector,
 *                    virtual machine: by the functions of libjvm that mapped it, or that reserved
 *                    the address range
 *   arena of LIB     for blocks of an allocator: the one behind malloc, or one that is linked
 *                    into a library
 *   file, shared memory, program break, memory
 *
 * The owner of a mapping is the first module of its stack outside the C runtime.
 */
#ifndef TH_REPORT_SYMBOLS_MAPPED_NAMES_H
#define TH_REPORT_SYMBOLS_MAPPED_NAMES_H

#include "report/log/recording.h"
#include "report/symbols/frames.h"

/* The label of a mapped sample, a string number. */
uint32_t th_mapped_names_label(struct th_frames *frames, const struct th_recording *recording,
	const struct th_sample *sample);

/*
 * The owner of memory with that label if it is not the program: "[JVM-internal] metaspace", or
 * the arenas of malloc, whose blocks the native heap shows. NULL: the program.
 */
const char *th_mapped_names_business(const char *label);

/*
 * The heap whose blocks memory with that label holds: the VM's Java heap, or an arena of malloc.
 * 0: none of the heaps.
 */
enum th_heap th_mapped_names_contents(const char *label);

#endif
