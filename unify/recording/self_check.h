/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests an unwinder in this process when recording starts: one that fails is not used, with a note in the
 * log, before it can make a report wrong.
 */
#ifndef TH_UNIFY_RECORDING_SELF_CHECK_H
#define TH_UNIFY_RECORDING_SELF_CHECK_H

#include <stdbool.h>

#include "unify/unwind/unwind.h"

/*
 * A walk through three known functions finds the return address of each, and the stack pointer
 * moves towards the root.  After th_unwind_init(). [any]
 */
bool th_self_check_walk(th_unwind_function *walk);

#endif
