/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stacks of frame words to readable stacks: one path from the thread's first frame,
 * through Java, JNI and C, to the function that allocated.
 *
 *   - The allocation functions themselves are left out.
 *   - In a stack of the Java heap, the VM's frames between the allocation and the sample are
 *     left out; the JNI function that allocated stays.
 *   - A run of several frames of the VM becomes one, "[jvm] NAME", unless all are requested.
 *     NAME is the JNI function that was called where there is one, else the run's first entry.
 *
 * Paths are numbered; equal paths have equal numbers.
 */
#ifndef TH_REPORT_SYMBOLS_CALL_PATHS_H
#define TH_REPORT_SYMBOLS_CALL_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/symbols/frames.h"

struct th_path {
	const uint32_t *frames; /* root first */
	uint32_t count;         /* at least 1 */
	bool is_virtual;        /* of a virtual thread; its first frame says so */
};

struct th_paths;

/* Recording and frames must outlive the paths. */
struct th_paths *th_paths_create(
	const struct th_recording *recording, struct th_frames *frames, bool all_vm_frames);
void th_paths_destroy(struct th_paths *paths);

/*
 * The number of the path of a stack (by index) as shown for a sample of `heap`.  The first time is fastest
 * in the order of the log, in which neighbors have most frames in common.
 */
uint32_t th_paths_resolve(struct th_paths *paths, uint32_t stack, enum th_heap heap);

/* The number of the path with these frames, root first. */
uint32_t th_paths_intern(struct th_paths *paths, const uint32_t *frames, uint32_t count);

/* Index of the Java frame nearest to the leaf; the path's length: there is none. */
uint32_t th_path_last_java(const struct th_frames *frames, const struct th_path *path);

/* By number; valid until the next path is numbered. */
struct th_path th_paths_get(const struct th_paths *paths, uint32_t path);

#endif
