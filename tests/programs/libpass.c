/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A malloc that forwards to libc's, like libraries that count or check blocks: by name it
 * provides malloc, although libc maps the memory.
 */
#include <stddef.h>

void *malloc(size_t bytes);
extern void *__libc_malloc(size_t bytes);

void *
malloc(size_t bytes)
{
	return __libc_malloc(bytes);
}
