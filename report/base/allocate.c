/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/allocate.h"

#include <stdio.h>
#include <stdlib.h>

void
th_out_of_memory(void)
{
	fputs("twinheap: out of memory\n", stderr);
	exit(3);
}

void *
th_allocate(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		th_out_of_memory();
	return memory;
}

void *
th_array_grow(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
	if (count < *capacity)
		return array;
	size_t larger = *capacity + *capacity / 2 + 16;
	void *moved = larger > count ? reallocarray(array, larger, element_bytes) : NULL;
	if (!moved)
		th_out_of_memory();
	*capacity = larger;
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
