/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc's dlsym.  The library exports its own (preload/java.c), which a call by name would
 * reach.
 */
#ifndef TH_UNIFY_BASE_REAL_DLSYM_H
#define TH_UNIFY_BASE_REAL_DLSYM_H

#include <stdbool.h>

/* NULL before th_real_dlsym_find(). */
extern void *(*th_real_dlsym)(void *handle, const char *name);

/* Looks it up on the first call; false: not found.  Not from the malloc path. */
bool th_real_dlsym_find(void);

/*
 * The definition of one of libc's functions that follows the library, found without dlsym; NULL: none.
 * Waits for no other thread but in the loader.  Not from the malloc path.
 */
void *th_real_dlsym_next(const char *name);

#endif
