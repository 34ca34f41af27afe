/* SPDX-License-Identifier: Apache-2.0 */
/* heap_overflow: writes one byte past the end of a block, for tools that detect it. */
#include <stdlib.h>

int
main(int argc, char **argv)
{
	volatile char *block = (volatile char *)malloc(10);

	(void)argv;
	block[argc + 9] = 1;
	free((void *)block);
	return 0;
}
