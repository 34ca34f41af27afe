/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A malloc that is interrupted by a signal while its state is inconsistent, at each request for
 * INTERRUPTED_BYTES.  Reentering it at that time, in the handler or in a child forked by it,
 * ends the process.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/programs/interrupted.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

static __thread int is_inside __attribute__((tls_model("initial-exec")));

static void
enter(void)
{
	if (is_inside++)
		abort();
}

void *
malloc(size_t bytes)
{
	void *block;

	enter();
	if (bytes == INTERRUPTED_BYTES)
		raise(SIGUSR1);
	block = __libc_malloc(bytes);
	is_inside--;
	return block;
}

void *
calloc(size_t count, size_t bytes)
{
	void *block;

	enter();
	block = __libc_calloc(count, bytes);
	is_inside--;
	return block;
}

void *
realloc(void *block, size_t bytes)
{
	void *moved;

	enter();
	moved = __libc_realloc(block, bytes);
	is_inside--;
	return moved;
}

void
free(void *block)
{
	enter();
	__libc_free(block);
	is_inside--;
}
