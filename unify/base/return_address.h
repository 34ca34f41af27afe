/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_BASE_RETURN_ADDRESS_H
#define TH_UNIFY_BASE_RETURN_ADDRESS_H

#include <stdint.h>

/* A return address without its authentication code, if it has one. [any] */
static inline uintptr_t
th_return_address_strip(uintptr_t address)
{
#if defined(__aarch64__)
	register uintptr_t link __asm__("x30") = address;

	/* xpaclri, a nop on processors without pointer authentication. */
	__asm__("hint #7" : "+r"(link));
	return link;
#else
	return address;
#endif
}

#endif
