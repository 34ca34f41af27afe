/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the Java VM itself: the collector, the compilers, the VM's workers. */
#ifndef TH_REPORT_PROFILE_INTERNAL_THREADS_H
#define TH_REPORT_PROFILE_INTERNAL_THREADS_H

#include <stdbool.h>

#include "report/log/recording.h"
#include "report/symbols/frames.h"

/*
 * By index of the thread: whether the stacks of its samples have code of the VM and never Java or
 * other code.  The caller frees it.
 */
bool *
th_internal_threads_find(const struct th_recording *recording, const struct th_frames *frames);

#endif
