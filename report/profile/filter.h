/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of every view that select samples and shape their stacks.
 *
 *   - --thread, --class, --include, --exclude and --focus select: by the names of a thread, of
 *     the class of an object, of any frame. They are applied to the whole stack, before hiding.
 *   - --focus, --hide and --group-by shape what is selected: a stack begins at the first frame
 *     from its root that --focus matches, frames that --hide matches are left out, and
 *     --group-by adds a frame with the group's name at the root.
 *
 * Shaping never changes a sum. Each name is matched once.
 */
#ifndef TH_REPORT_PROFILE_FILTER_H
#define TH_REPORT_PROFILE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/options.h"
#include "report/symbols/call_paths.h"
#include "report/symbols/frames.h"

/* Common properties of the samples of one thread, class and stack. */
struct th_subject {
	enum th_heap heap;
	uint32_t thread;     /* function number of the thread's label */
	uint32_t class_name; /* string number; 0 = none */
	uint32_t path;       /* unshaped */
	bool is_internal;    /* of a thread of the VM itself */
};

struct th_filter;

/*
 * `internal` is the function number of the group of the VM's own threads, whose name --include,
 * --exclude, --focus and --hide match like that of a frame. All arguments must outlive the
 * filter.
 */
struct th_filter *th_filter_create(const struct th_options *options, struct th_frames *frames,
	struct th_paths *paths, uint32_t internal);
void th_filter_destroy(struct th_filter *filter);

/* Whether the options select this subject. */
bool th_filter_selects(struct th_filter *filter, const struct th_subject *subject);

/* The number of the shaped path of a selected subject. */
uint32_t th_filter_shape(struct th_filter *filter, const struct th_subject *subject);

/* Whether a view shows the subject's thread at the root of its stack. */
bool th_filter_shows_thread(const struct th_filter *filter, const struct th_subject *subject);

/* The shaped path below a frame of the VM's group, if a view shows the subject there; else `path`. */
uint32_t th_filter_below_internal(
	struct th_filter *filter, const struct th_subject *subject, uint32_t path);

/*
 * The function number, of kind TH_KIND_GROUP, of the group that a subject belongs to.
 *
 *   package  of the Java method of the application nearest to the allocation, else of the Java
 *            runtime; without Java, as library
 *   library  of the allocating code, without the C runtime; "(Java)" for Java code
 *   class    of the object; "(native memory)"
 *   thread   its name
 */
uint32_t th_filter_group(
	struct th_filter *filter, enum th_group_by by, const struct th_subject *subject);

#endif
