/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same stack walked three times: by th_unwind, by libgcc's _Unwind_Backtrace and by
 * libunwind's unw_step (opened at run time, where it is there), compared frame by frame.
 */
#ifndef TH_TESTS_UNWIND_ORACLE_H
#define TH_TESTS_UNWIND_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls th_unwind_init, and lets the frames of this program count although the unwinder is
 * linked into it.
 */
void oracle_init(void);

/* Whether libunwind could be opened. */
bool oracle_has_libunwind(void);

/*
 * Walks the stack of the caller all three ways.  A difference is printed, with `what` in front,
 * and counted; nothing is asserted, so it can be called on any stack and in signal handlers.
 */
void oracle_check(const char *what);

/* As oracle_check, with libgcc alone: libunwind 1.6.2 errs there, or caches what has gone. */
void oracle_check_libgcc(const char *what);

struct oracle_counts {
	unsigned checks;
	unsigned differences;
	unsigned given_up; /* the other walk ended where ours went on and there is no FDE */
	size_t frames;     /* compared, over all checks */
	size_t deepest;
};

/* The counts since the last call. */
struct oracle_counts oracle_take_counts(void);

#endif
