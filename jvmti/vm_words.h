/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of the VM's objects and of stacks, which must be mapped. */
#ifndef TH_JVMTI_VM_WORDS_H
#define TH_JVMTI_VM_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* [any] */
static inline uintptr_t
th_word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* The field at `offset` of an object: a JavaThread, for example. [any] */
static inline uintptr_t
th_field_at(uintptr_t object, int64_t offset)
{
	return th_word_at(object + (uintptr_t)offset);
}

/* Whether `address` is aligned, and `bytes` from there on are in [low, high).  Any values. [any] */
static inline bool
th_has_bytes_at(uintptr_t address, uintptr_t bytes, uintptr_t low, uintptr_t high)
{
	return !(address & 7) && address >= low && address < high && high - address >= bytes;
}

#endif
