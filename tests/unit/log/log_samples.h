/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that a reader can verify: every field is determined by thread and number. */
#ifndef TH_TESTS_LOG_SAMPLES_H
#define TH_TESTS_LOG_SAMPLES_H

#include "tests/unit/log/log_fixture.h"

/* Appends one; returns the result of th_log_append(). */
uint64_t log_samples_append(uint32_t thread, uint64_t number);

/* Appends samples 0, 1, ... of thread 0 until the log refuses one; returns their number. */
uint64_t log_samples_fill(void);

void log_samples_assert_is(const void *record, uint32_t thread, uint64_t number);

/* The log that was opened last has samples 0..count-1 of thread 0, in order, and no damage. */
void log_samples_assert_held(uint64_t count);

#endif
