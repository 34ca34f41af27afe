/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked reads of memory that may not be there: stacks whose shape is only guessed.
 *
 * A page is proved by a system call that reads it without any other effect, 110 ns, and the
 * proof is kept as one range of addresses for the duration of a walk: a walk climbs through few
 * pages.  Proofs must not be kept longer than the stack they were made on is in use.
 */
#ifndef TH_UNIFY_BASE_SAFE_READ_H
#define TH_UNIFY_BASE_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/base/align.h"

/* Memory proved readable: [low, high), whole pages. */
struct th_safe_read {
	uintptr_t low;
	uintptr_t high;
};

/* Nothing proved yet but the page that `inside` lies in; NULL: nothing at all. [any] */
static inline void
th_safe_read_init(struct th_safe_read *readable, const void *inside)
{
	readable->low = th_align_down((uintptr_t)inside, TH_PAGE_BYTES);
	readable->high = inside ? readable->low + TH_PAGE_BYTES : 0;
}

/* Proves [address, address + bytes) and remembers it; false: not readable. [in-malloc] */
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
 * What lies on other functions' stacks is read as the machine sees it: in instrumented builds
 * parts of it are marked as out of bounds.
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
	/* Volatile, or compilers make it a memcpy, which checks. */
	const volatile uint8_t *from = (const volatile uint8_t *)address;
	uint8_t *to = ret;

	if (!th_is_readable(readable, address, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[i];
	return true;
}

#endif
