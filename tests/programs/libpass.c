/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A malloc that passes on to libc's, as libraries that count or check blocks do: malloc's library
 * by name, though libc maps what it hands out.
 */
#include <stddef.h>

void *malloc(size_t bytes);
extern void *__libc_malloc(size_t bytes);

void *
malloc(size_t bytes)
{
	return __libc_malloc(bytes);
}
