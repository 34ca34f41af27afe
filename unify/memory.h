/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own memory: anonymous mappings, never the application's malloc.
 */
#ifndef TH_UNIFY_MEMORY_H
#define TH_UNIFY_MEMORY_H

#include <stddef.h>

/*
 * `bytes` of zeroed memory in whole pages, touched lazily; NULL when there is none.  Tables that
 * live as long as the process use it once; nothing is ever given back.  Preserves errno. [any]
 */
void *th_memory_map(size_t bytes);

#endif
