/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_TESTS_INTERRUPTED_H
#define TH_TESTS_INTERRUPTED_H

/* The size of a request in the middle of which libinterrupted.so raises SIGUSR1. */
#define INTERRUPTED_BYTES 12345

#endif
