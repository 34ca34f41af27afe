/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The youngest native callers, for hashes: a walk finds their return addresses and remembers where
 * on the stack they are.  Next time at the same depth they are looked for there, which takes a tenth
 * of the time of a walk; if one of them is not there, the stack is walked again.  On x86-64 only:
 * elsewhere it is always walked.
 *
 * That a caller is found again does not prove that the callers between are the same as well, where
 * frames have no fixed size.
 */
#ifndef TH_UNIFY_UNWIND_CALLERS_H
#define TH_UNIFY_UNWIND_CALLERS_H

#include "unify/unwind/unwind.h"

#include <stddef.h>
#include <stdint.h>

#define TH_CALLERS_MAX 8

/*
 * Writes the return addresses of at most TH_CALLERS_MAX callers outside this library, the youngest
 * first; returns their number.  `depth` identifies the stack and the stack pointer in it.
 * [in-malloc]
 */
size_t th_unwind_callers(const struct th_registers *registers,
	const struct th_unwind_limits *limits, uint64_t depth, uintptr_t *callers);

/* In a forked child: forgets everything. */
void th_unwind_callers_reset(void);

#endif
