/* SPDX-License-Identifier: Apache-2.0 */
/* Holding the stacks of a report against what they have to be, frame by frame. */
#ifndef TESTS_E2E_STACKS_H
#define TESTS_E2E_STACKS_H

#include <jansson.h>

#include "tests/e2e/recording.h"

/*
 * Of all samples at a site, how many have to show exactly the expected stack; one more need not,
 * since the VM allocates below any Java method when it decides to compile it.
 */
#define TH_EXACT_SHARE 0.99
/* How many a site has at the least, if it allocates 4 MB at an interval of 64 KiB: 64 by the law. */
#define TH_SITE_SAMPLES_MIN 20
/* In a list of expected frames: any one frame of the VM. */
#define TH_ANY_VM_FRAME "[jvm]"

struct th_expected_stack {
	const char *heap;
	const char *thread;
	const char *site;    /* a frame of this site's stacks */
	const char *without; /* a frame that other stacks with that frame have; NULL: none */
	/*
	 * The stack from frames[0] on: these frames and no others, root first, NULL at the end.
	 * What stands before frames[0] is not looked at.
	 */
	const char *const *frames;
};

/*
 * Fails the test unless TH_EXACT_SHARE of the samples of each site have exactly its stack: each
 * frame's name, and its kind, which follows from the name.  Prints those that have not.  The
 * list ends with heap NULL.
 */
void th_recording_check_stacks(
	const struct th_recording *recording, const struct th_expected_stack *expected);

/* A string of a JSON object, "" if it is null or not there. */
const char *th_text_of(const json_t *object, const char *key);

#endif
