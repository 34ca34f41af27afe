/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same stack walked three times: by th_unwind, by libgcc's _Unwind_Backtrace and by
 * libunwind's unw_step (loaded at run time, if available), compared frame by frame.
 */
#ifndef TH_TESTS_UNWIND_ORACLE_H
#define TH_TESTS_UNWIND_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls th_module_init, and makes the frames of this program visible although the unwinder is
 * linked into it.
 */
void oracle_init(void);

/* Whether libunwind is available. */
bool oracle_has_libunwind(void);

/*
 * Walks the stack of the caller in all three ways.  Differences are printed, prefixed with
 * `what`, and counted.  Nothing is asserted, so it can be called on any stack and in signal
 * handlers.
 */
void oracle_check(const char *what);

/* As oracle_check, with libgcc only: libunwind 1.6.2 is wrong there, or has outdated caches. */
void oracle_check_libgcc(const char *what);

struct oracle_counts {
	unsigned checks;
	unsigned differences;
	unsigned given_up; /* the other walk ended where ours continued and there is no FDE */
	size_t frames;     /* compared in all checks */
	size_t deepest;
};

/* Returns and resets the counts. */
struct oracle_counts oracle_take_counts(void);

#endif
