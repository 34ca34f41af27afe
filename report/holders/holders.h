/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds the Java objects of a finding, as the last walk of the heap found it: paths from roots,
 * each with the objects at its end, estimated from the sampled ones as everywhere.
 *
 * Bytes are those of the objects themselves, not of what they hold in turn.
 */
#ifndef TH_REPORT_HOLDERS_HOLDERS_H
#define TH_REPORT_HOLDERS_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/leaks.h"

#define TH_HOLDERS_NO_PATH UINT32_MAX

/* An element of a path; root first. */
struct th_holder_element {
	const char *kind;  /* "static", "jni-global", "thread-local", "field", ... */
	const char *words; /* in front of a root's name: "static ", "JNI global of " */
	char *name;        /* printable */
};

struct th_holder {
	TH_ARRAY(struct th_holder_element, path);
	uint32_t root_path; /* of the native stack that made the root; TH_HOLDERS_NO_PATH */
	struct th_estimator sum;
	struct th_estimate bytes;
	struct th_estimate objects;
	double share; /* what its share of all is computed of: bytes, or class loaders */
};

/* The holders of some objects, those of most bytes first. */
struct th_holders {
	TH_ARRAY(struct th_holder, items);
	struct th_estimator unknown; /* alive, without a path */
	uint64_t samples;            /* with a path */
};

/* The step of each Java sample in the last walk. */
struct th_held_samples {
	const struct th_leaks *leaks;
	const struct th_decoded_holder_walk *walk; /* NULL: there was none */
	uint32_t *steps;                           /* by index of the sample; 0 = none */
	TH_ARRAY(size_t, samples); /* indexes of those with a step, or alive at the walk */
	uint32_t *by_number;       /* by number: index of the step, plus one */
	uint32_t step_max;
	uint32_t
		*root_paths; /* by number: path of the stack that made a JNI global reference */
	struct th_moment moment; /* of the walk */
};

/* The leaks must outlive the result.  Resolves paths of the profile. */
void th_held_samples_init(struct th_held_samples *held, const struct th_leaks *leaks);
void th_held_samples_deinit(struct th_held_samples *held);

/* A selection of Java samples: by site, or by class. */
struct th_holders_of {
	const bool *places;  /* by site; NULL: all */
	uint32_t class_name; /* string number; 0: all */
};

/* The holders of the selected objects; to be freed by th_holders_deinit(). */
void th_holders_find(const struct th_held_samples *held, const struct th_holders_of *of,
	struct th_holders *ret);

/*
 * The same of a finding: of its Java objects, or if it has none, of the Java objects that own its
 * blocks.  False: it has neither, or the owners were collected.
 */
bool th_holders_of_finding(const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding, struct th_holders *ret);
void th_holders_deinit(struct th_holders *holders);

/* The same of class loaders: objects without bytes. */
void th_holders_of_tallied(const struct th_held_samples *held, const struct th_tallied *tallied,
	struct th_holders *ret);

#endif
