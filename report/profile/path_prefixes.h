/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path prefixes: the functions of a path from its root, all of them or the first n, without
 * lines. Equal prefixes have equal numbers.
 */
#ifndef TH_REPORT_PROFILE_PATH_PREFIXES_H
#define TH_REPORT_PROFILE_PATH_PREFIXES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/id_map.h"
#include "report/symbols/call_paths.h"
#include "report/symbols/frames.h"

#define TH_NO_WAY UINT32_MAX

struct th_path_prefix {
	uint32_t path;     /* a path with this prefix */
	uint32_t length;   /* its number of functions */
	uint32_t function; /* the last of them */
	uint64_t hash;
};

struct th_path_prefixes {
	const struct th_frames *frames;
	const struct th_paths *paths;
	struct th_id_map ids; /* by hash, stepped on collision */
	TH_ARRAY(struct th_path_prefix, items);
};

/* Contains only prefix 0, the empty one. Frames and paths must outlive it. */
void th_path_prefixes_init(struct th_path_prefixes *ways, const struct th_frames *frames,
	const struct th_paths *paths);
void th_path_prefixes_deinit(struct th_path_prefixes *ways);

/*
 * The number of the prefix that is a whole path; *prefix_ret becomes that of its first `length`
 * functions.
 */
uint32_t th_path_prefixes_add(
	struct th_path_prefixes *ways, uint32_t path, uint32_t length, uint32_t *prefix_ret);

/* Iterates over a prefix from its last function to the root. */
struct th_path_prefix_cursor {
	const struct th_path_prefixes *ways;
	uint32_t path;
	uint32_t length; /* remaining functions */
	uint64_t hash;
};

struct th_path_prefix_cursor
th_path_prefixes_last(const struct th_path_prefixes *ways, uint32_t way);

/* Removes the last remaining function; false: none remains. */
bool th_path_prefixes_step(struct th_path_prefix_cursor *cursor, uint32_t *function_ret);

/* The number of the remaining prefix; TH_NO_WAY if it has none. */
uint32_t th_path_prefixes_left(const struct th_path_prefix_cursor *cursor);

#endif
