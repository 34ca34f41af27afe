/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_entry_points [none]: calls every allocation function, with success and failure, and
 * checks the requirements of the standards: errno, alignment, contents, usable size.  Prints
 * errors on stderr and exits with 1.  Prints on stdout, per kind of function (enum
 * th_alloc_function), the bytes successfully requested.  With "none" it is the same program
 * without the allocations.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A value that no function assigns to errno. */
#define SENTINEL 77
/* More than any machine has, with and without the top bit. */
#define HUGE ((size_t)PTRDIFF_MAX - 4096)
#define ROUNDS 10

enum kind { MALLOC = 1, CALLOC, REALLOC, ALIGNED, KINDS };

static struct {
	uint64_t objects;
	uint64_t bytes;
} tally[KINDS];

static uint64_t frees;
static int status;

static void
check(bool right, const char *what)
{
	if (right)
		return;
	dprintf(STDERR_FILENO, "%s (errno %d)\n", what, errno);
	status = 1;
}

/*
 * Hides sizes and blocks from the compiler, which would otherwise warn about, or omit, intended
 * calls.
 */
static size_t
opaque(size_t value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
	return value;
}

static void *
hide(void *block)
{
	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

/* Checks common to all successful calls. */
static void *
succeeded(enum kind kind, void *block, size_t bytes, size_t alignment, const char *what)
{
	check(block != NULL, what);
	check(errno == SENTINEL, what);
	check((uintptr_t)block % alignment == 0, what);
	check(malloc_usable_size(block) >= bytes, what);
	memset(block, 0xa5, bytes);
	tally[kind].objects++;
	tally[kind].bytes += bytes;
	errno = SENTINEL;
	return hide(block);
}

static void
release(void *block)
{
	errno = SENTINEL;
	free(block);
	check(errno == SENTINEL, "free changes errno");
	frees += block != NULL;
}

static void
failed(void *block, int expected, const char *what)
{
	check(block == NULL, what);
	check(errno == expected, what);
	errno = SENTINEL;
}

/* Success */

static void
allocate_plain(size_t bytes)
{
	errno = SENTINEL;
	release(succeeded(MALLOC, malloc(bytes), bytes, 16, "malloc"));
	void *block = calloc(1, opaque(bytes));
	for (size_t i = 0; i < bytes; i++)
		check(((char *)block)[i] == 0, "calloc does not clear");
	release(succeeded(CALLOC, block, bytes, 16, "calloc"));
	release(succeeded(CALLOC, calloc(opaque(bytes), 3), 3 * bytes, 16, "calloc of 3"));
	release(succeeded(
		REALLOC, realloc(hide(NULL), opaque(bytes)), bytes, 16, "realloc(NULL)"));
	release(succeeded(
		REALLOC, reallocarray(NULL, 5, opaque(bytes)), 5 * bytes, 16, "reallocarray"));
}

static void
allocate_aligned(size_t alignment, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (bytes + page - 1) / page * page;
	void *block = NULL;

	errno = SENTINEL;
	check(posix_memalign(&block, alignment, bytes) == 0, "posix_memalign");
	release(succeeded(ALIGNED, block, bytes, alignment, "posix_memalign"));
	release(succeeded(ALIGNED, aligned_alloc(alignment, opaque(bytes)), bytes, alignment,
		"aligned_alloc"));
	release(succeeded(
		ALIGNED, memalign(alignment, opaque(bytes)), bytes, alignment, "memalign"));
	release(succeeded(ALIGNED, valloc(opaque(bytes)), bytes, page, "valloc"));
	/*
	 * pvalloc rounds up; a whole number of pages is requested, because requests are
	 * counted.
	 */
	release(succeeded(ALIGNED, pvalloc(opaque(whole)), whole, page, "pvalloc"));
}

/* A block that grows, shrinks and keeps its contents. */
static void
reallocate(void)
{
	char *block = NULL;
	size_t old = 0;

	for (size_t bytes = 1; bytes < 300000; bytes = bytes * 3 + 1) {
		errno = SENTINEL;
		block = realloc(block, opaque(bytes));
		for (size_t i = 0; i < old; i++)
			check(block[i] == (char)0xa5, "realloc loses contents");
		frees += old != 0;
		block = succeeded(REALLOC, block, bytes, 16, "realloc");
		old = bytes;
	}
	block = succeeded(REALLOC, realloc(block, 10), 10, 16, "realloc to less");
	frees++;
	/* glibc frees the block and returns NULL. */
	errno = SENTINEL;
	check(hide(realloc(block, opaque(0))) == NULL, "realloc to 0");
	check(errno == SENTINEL, "realloc to 0 changes errno");
	frees++;
}

static void
duplicate(void)
{
	errno = SENTINEL;
	release(succeeded(MALLOC, strdup("twenty-one characters"), 22, 16, "strdup"));
	release(succeeded(MALLOC, strndup("twenty-one characters", 10), 11, 16, "strndup"));
}

static void
allocate_nothing(void)
{
	errno = SENTINEL;
	release(succeeded(MALLOC, malloc(opaque(0)), 0, 16, "malloc(0)"));
	release(succeeded(CALLOC, calloc(opaque(0), 8), 0, 16, "calloc(0)"));
	release(NULL);
	check(malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL)");
}

/* Failure */

static void
fail_for_memory(size_t bytes)
{
	void *block = (void *)&status;

	errno = SENTINEL;
	failed(malloc(opaque(bytes)), ENOMEM, "malloc of too much");
	failed(calloc(1, opaque(bytes)), ENOMEM, "calloc of too much");
	failed(realloc(hide(NULL), opaque(bytes)), ENOMEM, "realloc(NULL) of too much");
	failed(memalign(64, opaque(bytes)), ENOMEM, "memalign of too much");
	failed(aligned_alloc(64, opaque(bytes)), ENOMEM, "aligned_alloc of too much");
	failed(valloc(opaque(bytes)), ENOMEM, "valloc of too much");
	failed(pvalloc(opaque(bytes)), ENOMEM, "pvalloc of too much");
	check(posix_memalign(&block, 64, opaque(bytes)) == ENOMEM,
		"posix_memalign of too much");
	check(errno == SENTINEL || errno == ENOMEM, "posix_memalign of too much: errno");
	check(block == (void *)&status, "posix_memalign of too much: result");
}

static void
fail_for_overflow(void)
{
	errno = SENTINEL;
	failed(calloc(opaque(SIZE_MAX / 2), 3), ENOMEM, "calloc overflow");
	failed(calloc(opaque(SIZE_MAX), opaque(SIZE_MAX)), ENOMEM, "calloc overflow");
	failed(reallocarray(NULL, opaque(SIZE_MAX / 2), 3), ENOMEM, "reallocarray overflow");
}

static void
fail_for_alignment(void)
{
	void *block = (void *)&status;

	errno = SENTINEL;
	check(posix_memalign(&block, opaque(24), 100) == EINVAL, "posix_memalign by 24");
	check(posix_memalign(&block, opaque(2), 100) == EINVAL, "posix_memalign by 2");
	check(posix_memalign(&block, opaque(0), 100) == EINVAL, "posix_memalign by 0");
	check(block == (void *)&status, "posix_memalign: result of a failure");
	check(errno == SENTINEL, "posix_memalign sets errno");
	failed(memalign(opaque(SIZE_MAX / 2 + 2), 100), EINVAL, "memalign beyond all");
}

/* A block that cannot grow still exists, is still tracked, and can be freed. */
static void
fail_to_grow(size_t bytes)
{
	char *block;

	errno = SENTINEL;
	block = succeeded(MALLOC, malloc(100), 100, 16, "malloc of 100");
	failed(realloc(hide(block), opaque(bytes)), ENOMEM, "realloc of too much");
	failed(reallocarray(hide(block), opaque(SIZE_MAX / 2), 3), ENOMEM,
		"reallocarray overflow");
	for (size_t i = 0; i < 100; i++)
		check(block[i] == (char)0xa5, "a failed realloc loses contents");
	release(block);
}

static void
run_all(void)
{
	static const size_t sizes[] = {1, 16, 100, 4096, 70000, 1 << 20};
	static const size_t refused[] = {
		HUGE, SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 4 * 3};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		allocate_plain(sizes[i]);
		for (size_t alignment = sizeof(void *); alignment <= 8192; alignment *= 4)
			allocate_aligned(alignment, sizes[i]);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		fail_for_memory(refused[i]);
		fail_to_grow(refused[i]);
	}
	fail_for_overflow();
	fail_for_alignment();
	reallocate();
	duplicate();
	allocate_nothing();
}

int
main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "none") != 0) {
		for (int i = 0; i < ROUNDS; i++)
			run_all();
	}
	for (int kind = MALLOC; kind < KINDS; kind++) {
		dprintf(STDOUT_FILENO,
			"{\"function\": %d, \"objects\": %llu, \"bytes\": %llu}\n", kind,
			(unsigned long long)tally[kind].objects,
			(unsigned long long)tally[kind].bytes);
	}
	dprintf(STDOUT_FILENO, "{\"frees\": %llu}\n", (unsigned long long)frees);
	return status;
}
