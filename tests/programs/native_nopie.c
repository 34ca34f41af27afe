/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_nopie: built position-dependent, it takes the address of malloc, as Python does.  The
 * address is then an entry of the program itself, which dlsym() returns whatever library
 * defines malloc.
 */
#include "tests/programs/sites.h"

/* Set by code that contains the address. */
static void *(*volatile allocate)(size_t bytes);

static struct site address_site_truth = {"address_site", 0, 0};

__attribute__((noinline)) static void *
address_site(size_t bytes)
{
	void *block = allocate(bytes);

	__asm__ volatile("" : "+r"(block) : : "memory");
	count_block(&address_site_truth, bytes);
	return block;
}

TH_SITE(name_site)

int
main(void)
{
	allocate = malloc;
	allocate_and_free(address_site, 1000, 100);
	allocate_and_free(name_site, 1000, 100);
	print_site(&address_site_truth);
	print_site(&name_site_truth);
	return 0;
}
