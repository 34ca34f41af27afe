/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the stacks of a report with the expected ones, frame by frame. */
#ifndef TESTS_E2E_STACKS_H
#define TESTS_E2E_STACKS_H

#include <jansson.h>

#include "tests/e2e/recording.h"

/*
 * Share of a site's samples that must have exactly the expected stack; one more may differ,
 * since the VM allocates below any Java method when it decides to compile it.
 */
#define TH_EXACT_SHARE 0.99
/*
 * Minimum number of samples of a site that allocates 4 MB at an interval of 64 KiB; 64 are
 * expected.
 */
#define TH_SITE_SAMPLES_MIN 20
/* In a list of expected frames: any single frame of the VM. */
#define TH_ANY_VM_FRAME "[jvm]"

struct th_expected_stack {
	const char *heap;
	const char *thread;
	const char *site;    /* a frame in this site's stacks */
	const char *without; /* a frame of other stacks that contain `site`; NULL: none */
	/*
	 * The stack from frames[0] on: exactly these frames, root first, NULL at the end.
	 * Frames before frames[0] are not checked.
	 */
	const char *const *frames;
};

/*
 * Fails the test unless TH_EXACT_SHARE of the samples of each site have exactly its stack: each
 * frame's name, and its kind, which follows from the name.  Prints those that differ.  The list
 * ends with heap NULL.
 */
void th_recording_check_stacks(
	const struct th_recording *recording, const struct th_expected_stack *expected);

/* A string of a JSON object; "" if it is null or missing. */
const char *th_text_of(const json_t *object, const char *key);

#endif
