/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers stacks by keys, so that most samples need no walk.
 *
 * The key of a stack covers its youngest native and Java callers and its depth in
 * bytes.  It does not prove what the other callers are; that one key has one stack is learned, and
 * checked as long as the key is used: after TH_STACK_MEMO_TRUSTED captures in a row that gave the
 * same stack, of n of them, a sample with this key is captured all the same with probability
 *
 *   max(1 / TH_STACK_MEMO_CHECKED, TH_STACK_MEMO_TRUSTED / 2n)
 *
 * A key that once gives another stack is never used again, and when more than one check in
 * TH_STACK_MEMO_RIGHT fails, none is.  Whether a stack is captured does not depend on what it is, so
 * the share of wrong ones among those remembered is at most that of the failed checks.
 */
#ifndef TH_UNIFY_SAMPLE_STACK_MEMO_H
#define TH_UNIFY_SAMPLE_STACK_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/capture.h"

#define TH_STACK_MEMO_TRUSTED 2
#define TH_STACK_MEMO_CHECKED 16
#define TH_STACK_MEMO_RIGHT 50

/* What samples of one key have in common. */
struct th_remembered {
	struct th_captured_stack stack;
	uint32_t detail; /* sample.h */
};

/*
 * The stack of `key`, which the log has; false: it has to be captured.  `random`: uniform.
 * [in-malloc]
 */
bool th_stack_memo_find(uint64_t key, uint64_t random, struct th_remembered *ret);

/* A capture gave this; key 0 and incomplete stacks are ignored. [in-malloc] */
void th_stack_memo_learn(uint64_t key, const struct th_remembered *captured);

/* In a forked child, or for another recording: forgets everything.  Not during captures. */
void th_stack_memo_reset(void);

#endif
