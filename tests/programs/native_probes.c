/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates 1,000 blocks of 300,000 bytes and frees every other one. */
#include <stdlib.h>

#define BLOCKS 1000
#define BLOCK_BYTES 300000

static void *volatile blocks[BLOCKS];

int
main(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	for (size_t i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	return blocks[BLOCKS - 1] ? 0 : 1;
}
