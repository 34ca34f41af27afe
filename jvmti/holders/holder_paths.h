/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths to sampled objects as a tree of steps, from the roots down.  Paths are merged where their
 * steps are the same: not the objects, but the fields, arrays and roots.  A step that is already on
 * the path above is not repeated, so the nodes of a list, or of a tree, are one step, however long
 * the list is.
 */
#ifndef TH_JVMTI_HOLDERS_HOLDER_PATHS_H
#define TH_JVMTI_HOLDERS_HOLDER_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/holders/holder_walk.h"

/* Distinct steps; further ones are left out, so their objects are listed at the step above. */
#define TH_HOLDER_STEPS_MAX 65536
/* Steps of one path. */
#define TH_HOLDER_DEPTH_MAX 64

struct th_holder_step {
	uint32_t parent;
	uint32_t depth;
	uint32_t kind;   /* enum th_holder_kind */
	uint32_t detail; /* index of a field; class of the object of a JNI global; ... */
	uint64_t what;   /* with the kind: equal for equal steps */
	uint64_t take;   /* JNI_GLOBAL: LEDGER_TAKE */
};

struct th_holder_paths {
	struct th_holder_walk *walk;
	struct th_holder_step *steps; /* from 2; 1 is above all roots */
	uint32_t step_count;
	uint32_t *slots; /* hash table of steps */
};

/* Reserves the tables, for as long as the graph; false: there is no memory. [agent-thread] */
bool th_holder_paths_init(struct th_holder_paths *paths, struct th_holder_walk *walk);

/* Adds the path to a node; the number of its last step, 0: it was not reached. [agent-thread] */
uint32_t th_holder_paths_add(struct th_holder_paths *paths, uint32_t node);

/* Writes all steps with their names, then the objects of the walk, sorted. [agent-thread] */
void th_holder_paths_log(struct th_holder_paths *paths, uint32_t number, uint64_t time);

#endif
