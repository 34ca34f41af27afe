/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by tests with other allocators: the list of allocators, and figures of their
 * recordings.
 */
#ifndef TESTS_E2E_ALLOCATORS_H
#define TESTS_E2E_ALLOCATORS_H

#include "tests/e2e/harness.h"

#define TH_PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
/* Prints the allocations that it requested, see allocator_calls.cpp. */
#define TH_ALLOCATOR_CALLS TH_PROGRAM("allocator_calls")
#define TH_FORWARD_NEW TH_TEST_BUILD "/libtwinheap-new.so"
#define TH_FORWARD_MALLOCX TH_TEST_BUILD "/libtwinheap-mallocx.so"

struct th_allocator {
	const char *name; /* as accepted by `run --allocator` */
	const char *file;
	bool has_mallocx;
};

#define TH_ALLOCATORS 3
extern const struct th_allocator th_allocators[TH_ALLOCATORS];

/* The path of the library in Debian; NULL: not installed.  To be freed. */
char *th_allocator_path(const struct th_allocator *allocator);

/* A number in the JSON object printed by allocator_calls. */
double th_allocators_truth(const struct th_recording *recording, const char *key);

/* A total of the C heap. */
double th_allocators_native(const struct th_recording *recording, const char *value);

/* Number of events with that name in the log. */
double th_allocators_count(const struct th_recording *recording, const char *event);

/* Whether the summary contains a text. */
bool th_allocators_says(const struct th_recording *recording, const char *text);

/*
 * Asserts that bytes and objects equal the truth of `all` plus what the program allocates
 * anyway, `none`.
 */
void th_allocators_check_exact(const struct th_recording *all, const struct th_recording *none);

#endif
