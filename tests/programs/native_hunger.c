/* SPDX-License-Identifier: Apache-2.0 */
/* native_hunger: keeps and touches blocks of 1 MiB until it is killed. */
#include <string.h>

#include "tests/programs/sites.h"

#define BLOCK_BYTES (1 << 20)
/* 64 GiB: it was not killed. */
#define BLOCKS_MAX (64 << 10)

TH_SITE(hungry_site)

int
main(void)
{
	for (int i = 0; i < BLOCKS_MAX; i++) {
		void *block = hungry_site(BLOCK_BYTES);

		if (!block)
			return 1;
		memset(block, 1, BLOCK_BYTES);
	}
	return 0;
}
