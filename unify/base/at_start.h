/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_BASE_AT_START_H
#define TH_UNIFY_BASE_AT_START_H

/*
 * For small variables that are written whenever the library is loaded, also in processes that are
 * not recorded: they lie beside those that the loader relocates, in pages that are written
 * anyway.  A page of its own for each would cost the start of a small program some
 * microseconds.
 */
#define TH_AT_START __attribute__((section(".data")))

#endif
