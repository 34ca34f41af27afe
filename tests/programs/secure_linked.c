/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with the library, so that it is loaded even if the linker ignores LD_PRELOAD:
 * allocates from a constructor on, and prints AT_SECURE and the descriptors in the range that
 * the library uses.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define BLOCKS 1000
#define BYTES 4096
#define FIRST_DESCRIPTOR 512
#define DESCRIPTORS 1024

static void *volatile kept;

__attribute__((constructor)) static void
allocate(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		kept = realloc(malloc(BYTES), (size_t)2 * BYTES);
		free(kept);
	}
}

int
main(void)
{
	allocate();
	printf("secure %lu\n", getauxval(AT_SECURE));
	for (int i = FIRST_DESCRIPTOR; i < DESCRIPTORS; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			printf("descriptor %d\n", i);
	}
	return 0;
}
