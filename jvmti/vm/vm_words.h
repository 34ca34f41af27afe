/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of the VM's objects and of stacks, which must be mapped. */
#ifndef TH_JVMTI_VM_VM_WORDS_H
#define TH_JVMTI_VM_VM_WORDS_H

#include <stdint.h>

#include "unify/base/return_address.h"

/* [any] */
static inline uintptr_t
th_word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/*
 * A return address, without its authentication code, with which code of the VM stores it on aarch64 with
 * -XX:UseBranchProtection. [any]
 */
static inline uintptr_t
th_return_address_at(uintptr_t address)
{
	return th_return_address_strip(th_word_at(address));
}

/* The field at `offset` of an object: a JavaThread, for example. [any] */
static inline uintptr_t
th_field_at(uintptr_t object, int64_t offset)
{
	return th_word_at(object + (uintptr_t)offset);
}

#endif
