/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/allocate.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of x86-64, and of aarch64 with pages of 4 KiB. */
#define HUGE_PAGE ((size_t)2 << 20)
/* Blocks from this size on get them; the last page of a block is half unused on average. */
#define LARGE (4 * HUGE_PAGE)
/* At least what the allocator adds to a block that it maps. */
#define HEADER 64

void
th_out_of_memory(void)
{
	fputs("twinheap: out of memory\n", stderr);
	exit(3);
}

/* Large blocks take whole huge pages: the kernel maps and moves those at such addresses. */
static size_t
whole_pages(size_t bytes)
{
	if (bytes < LARGE || bytes > SIZE_MAX - 2 * HUGE_PAGE)
		return bytes;
	return ((bytes + HEADER + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)) - HEADER;
}

/*
 * Large arrays are accessed at random, which costs a miss of the TLB each in small pages. Only a
 * request: the kernel may ignore it. It is for the whole mapping, which could not be moved in
 * parts.
 */
static void
prefer_huge_pages(void *memory, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)memory & ~(page - 1);

	if (bytes >= LARGE)
		madvise((void *)start, (uintptr_t)memory + malloc_usable_size(memory) - start,
			MADV_HUGEPAGE);
}

void *
th_allocate(size_t count, size_t bytes)
{
	size_t all;
	void *memory = NULL;

	if (!__builtin_mul_overflow(count ? count : 1, bytes, &all))
		memory = calloc(1, whole_pages(all));
	if (!memory)
		th_out_of_memory();
	prefer_huge_pages(memory, all);
	return memory;
}

void *
th_array_grow(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
	size_t larger = *capacity + *capacity / 2 + 16;
	void *moved = NULL;
	size_t bytes;

	if (count < *capacity)
		return array;
	if (larger > count && !__builtin_mul_overflow(larger, element_bytes, &bytes))
		moved = realloc(array, whole_pages(bytes));
	if (!moved)
		th_out_of_memory();
	prefer_huge_pages(moved, bytes);
	*capacity = whole_pages(bytes) / element_bytes;
	return moved;
}

char *
th_format_new_va(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		th_out_of_memory();
	return text;
}

char *
th_format_new(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = th_format_new_va(format, arguments);
	va_end(arguments);
	return text;
}
