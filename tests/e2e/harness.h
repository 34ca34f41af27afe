/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by end-to-end tests: cmocka, running commands, the JDKs of this machine, and reading
 * the tool's reports.  Helpers fail the running test when an error occurs that is not the
 * subject of any test (a command that cannot be started, JSON that does not parse).
 */
#ifndef TESTS_E2E_HARNESS_H
#define TESTS_E2E_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/e2e/command.h"
#include "tests/e2e/jdk.h"
#include "tests/e2e/recording.h"

/* A NULL-terminated list of strings, for arguments and environments. */
#define TH_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
