/* SPDX-License-Identifier: Apache-2.0 */
/* What tests with other allocators share: the allocators, and figures of their recordings. */
#ifndef TESTS_E2E_ALLOCATORS_H
#define TESTS_E2E_ALLOCATORS_H

#include "tests/e2e/harness.h"

#define TH_PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
/* Says what it asked for: see there. */
#define TH_ALLOCATOR_CALLS TH_PROGRAM("allocator_calls")
#define TH_FORWARD_NEW TH_TEST_BUILD "/libtwinheap-new.so"
#define TH_FORWARD_MALLOCX TH_TEST_BUILD "/libtwinheap-mallocx.so"

struct th_allocator {
	const char *name; /* as `run --allocator` takes it */
	const char *file;
	bool has_mallocx;
};

#define TH_ALLOCATORS 3
extern const struct th_allocator th_allocators[TH_ALLOCATORS];

/* Where Debian puts it; NULL: it is not installed.  To be freed. */
char *th_allocator_path(const struct th_allocator *allocator);

/* A number of the JSON object that allocator_calls printed. */
double th_allocators_truth(const struct th_recording *recording, const char *key);

/* A total of the C heap. */
double th_allocators_native(const struct th_recording *recording, const char *value);

/* How many events of a name the log has. */
double th_allocators_count(const struct th_recording *recording, const char *event);

/* Whether the summary holds a text. */
bool th_allocators_says(const struct th_recording *recording, const char *text);

/* Bytes and objects are the truth of `all` and what the program does anyway, `none`. */
void th_allocators_check_exact(const struct th_recording *all, const struct th_recording *none);

#endif
