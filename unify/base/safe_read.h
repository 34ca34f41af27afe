/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked reads of memory that may not be mapped: stacks of uncertain layout.
 *
 * A page is checked by a system call that reads it without any other effect, 110 ns.  The
 * result is kept as one range of addresses for the duration of a walk, which touches few pages.
 * It must not be kept longer than the checked stack is in use.  errno is preserved.
 */
#ifndef TH_UNIFY_BASE_SAFE_READ_H
#define TH_UNIFY_BASE_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/align.h"

/* Memory known to be readable: [low, high), whole pages. */
struct th_safe_read {
	uintptr_t low;
	uintptr_t high;
};

/* Only the page that contains `inside` is known to be readable; NULL: nothing is. [any] */
static inline void
th_safe_read_init(struct th_safe_read *readable, const void *inside)
{
	readable->low = th_align_down((uintptr_t)inside, TH_PAGE_BYTES);
	readable->high = inside ? readable->low + TH_PAGE_BYTES : 0;
}

/*
 * Whether this kernel can be asked what is readable; false: only what is known to be readable is
 * read, and walks end there. [in-malloc]
 */
bool th_safe_read_works(void);

/*
 * Checks [address, address + bytes) and remembers the result; false: not readable. [in-malloc]
 */
bool th_safe_read_extend(struct th_safe_read *readable, uintptr_t address, size_t bytes);

/* Whether [address, address + bytes) can be read. [in-malloc] */
static inline bool
th_is_readable(struct th_safe_read *readable, uintptr_t address, size_t bytes)
{
	if (address >= readable->low && address < readable->high &&
		bytes <= readable->high - address)
		return true;
	return th_safe_read_extend(readable, address, bytes);
}

/*
 * Stacks of other functions are read as plain memory: sanitizers mark parts of them as out of
 * bounds.
 */
#define TH_READS_FOREIGN_MEMORY __attribute__((no_sanitize_address))

/* Reads one aligned word; false: not aligned or not readable. [in-malloc] */
TH_READS_FOREIGN_MEMORY static inline bool
th_read_word(struct th_safe_read *readable, uintptr_t address, uintptr_t *ret)
{
	if (address % sizeof(uintptr_t) || !th_is_readable(readable, address, sizeof(*ret)))
		return false;
	*ret = *(const uintptr_t *)address;
	return true;
}

/* Reads `bytes` bytes at any alignment; false: not readable. [in-malloc] */
TH_READS_FOREIGN_MEMORY static inline bool
th_read_bytes(struct th_safe_read *readable, uintptr_t address, void *ret, size_t bytes)
{
	/* Volatile, or compilers turn it into memcpy, which sanitizers check. */
	const volatile uint8_t *from = (const volatile uint8_t *)address;
	uint8_t *to = ret;

	if (!th_is_readable(readable, address, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[i];
	return true;
}

#endif
