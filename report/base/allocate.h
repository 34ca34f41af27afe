/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the tool. Running out of it is fatal, because no partial report is useful: these
 * functions end the program with one line and status 3 instead of returning NULL.
 */
#ifndef TH_REPORT_BASE_ALLOCATE_H
#define TH_REPORT_BASE_ALLOCATE_H

#include <stdarg.h>
#include <stddef.h>

/* Prints a message on stderr and ends the program. */
void th_out_of_memory(void) __attribute__((noreturn));

/* `count` zeroed elements of `bytes` each; an overflow of the product ends the program. */
void *th_allocate(size_t count, size_t bytes) __attribute__((malloc));

/* A growing array of `type`. */
#define TH_ARRAY(type, name) \
	type *name;          \
	size_t name##_count; \
	size_t name##_capacity

/*
 * Makes room for element number `count` in an array: returns `array`, or its larger copy, with
 * *capacity > count. New elements are not initialized.
 */
void *th_array_grow(void *array, size_t count, size_t *capacity, size_t element_bytes);

/* Appends one element to TH_ARRAY(type, items) of a struct. */
#define th_array_append(owner, items, value)                                                   \
	do {                                                                                   \
		if ((owner)->items##_count >= (owner)->items##_capacity)                       \
			(owner)->items = th_array_grow((owner)->items, (owner)->items##_count, \
				&(owner)->items##_capacity, sizeof(*(owner)->items));          \
		(owner)->items[(owner)->items##_count++] = (value);                            \
	} while (0)

/* A printed string, which the caller frees. */
char *th_format_new(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *
th_format_new_va(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
