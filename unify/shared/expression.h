/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended regular expressions (POSIX ERE without back references and collating elements) for the
 * names of threads.  regcomp() and regexec() call malloc and read the locale, which the library
 * may not; these work in the caller's memory, on bytes, in time proportional to expression times
 * text.
 *
 * An expression becomes a program for a machine of states; matching follows all states at once.
 */
#ifndef TH_UNIFY_SHARED_EXPRESSION_H
#define TH_UNIFY_SHARED_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

/* Longest expression, with the terminator: what fits into the control page. */
#define TH_EXPRESSION_TEXT_MAX 64
#define TH_EXPRESSION_STATES_MAX 512

struct th_expression_state {
	uint16_t what; /* private */
	uint16_t a;
	uint16_t b;
};

struct th_expression {
	char text[TH_EXPRESSION_TEXT_MAX];
	uint32_t count;
	struct th_expression_state states[TH_EXPRESSION_STATES_MAX];
};

/* False: not an expression; `problem_ret` says why, a constant. [any] */
bool th_expression_compile(
	struct th_expression *expression, const char *text, const char **problem_ret);

/* Whether the expression matches somewhere in `text`. [in-malloc] */
bool th_expression_matches(const struct th_expression *expression, const char *text);

#endif
