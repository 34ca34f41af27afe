/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates steadily until the file named by its argument exists: a block that is freed at once
 * and, in every tenth step, one that stays.
 */
#include <stdlib.h>
#include <unistd.h>

#define SHORT_BYTES 30000
#define KEPT_BYTES 50000
#define KEPT_MAX 100000

static void *kept[KEPT_MAX];

__attribute__((noinline)) static void
allocate_short(void)
{
	/* Volatile: a compiler may leave out a block that is freed unused. */
	void *volatile block = malloc(SHORT_BYTES);

	free(block);
}

__attribute__((noinline)) static void
allocate_kept(size_t index)
{
	kept[index] = calloc(1, KEPT_BYTES);
}

int
main(int count, char **arguments)
{
	for (size_t i = 0; i < 10 * KEPT_MAX && count > 1; i++) {
		allocate_short();
		if (i % 10 == 0)
			allocate_kept(i / 10);
		if (access(arguments[1], F_OK) == 0)
			break;
		usleep(500);
	}
	return kept[0] ? 0 : 1;
}
