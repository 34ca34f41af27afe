/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counting interposer: counts every allocation by the address that it returns to, in the file
 * that the variable COUNTS names.  bench/attach-seen preloads it into a process that is attached
 * to: what reached the library's import slots returns into the library, all else was not seen.
 *
 * Under the allocation functions of glibc, which export their own names for this.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Return addresses are some hundreds; a full table would be an endless search. */
#define ROWS 65536

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

struct row {
	uint64_t address; /* atomic; 0: free */
	uint64_t calls;   /* atomic */
	uint64_t bytes;   /* atomic */
};

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct row *rows; /* NULL: not counted */

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv(
		"COUNTS"); /* created by the first process: a child is not counted */
	int file = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	void *mapped = MAP_FAILED;

	if (file >= 0 && !ftruncate(file, ROWS * sizeof(*rows)))
		mapped = mmap(NULL, ROWS * sizeof(*rows), PROT_READ | PROT_WRITE, MAP_SHARED,
			file, 0);
	if (mapped != MAP_FAILED)
		rows = mapped;
}

static void
count(uintptr_t caller, size_t bytes)
{
	struct row *row;

	if (!rows)
		return;
	for (uint64_t i = caller * UINT64_C(0x9e3779b97f4a7c15) >> 48;; i++) {
		uint64_t found = 0;

		row = &rows[i % ROWS];
		if (__atomic_load_n(&row->address, __ATOMIC_RELAXED) == caller ||
			__atomic_compare_exchange_n(&row->address, &found, caller, 0,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			found == caller)
			break;
	}
	__atomic_fetch_add(&row->calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&row->bytes, bytes, __ATOMIC_RELAXED);
}

EXPORT void *
malloc(size_t size)
{
	count(CALLER, size);
	return __libc_malloc(size);
}

EXPORT void *
calloc(size_t number, size_t size)
{
	count(CALLER, number * size);
	return __libc_calloc(number, size);
}

EXPORT void *
realloc(void *block, size_t size)
{
	if (size)
		count(CALLER, size);
	return __libc_realloc(block, size);
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
	count(CALLER, size);
	return __libc_memalign(alignment, size);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
	count(CALLER, size);
	return __libc_memalign(alignment, size);
}

EXPORT int
posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	void *block = __libc_memalign(alignment, size);

	count(CALLER, size);
	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}
