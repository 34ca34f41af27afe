/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_TESTS_INTERRUPTED_H
#define TH_TESTS_INTERRUPTED_H

/* The size of the request during which libinterrupted.so raises SIGUSR1. */
#define INTERRUPTED_BYTES 12345

#endif
