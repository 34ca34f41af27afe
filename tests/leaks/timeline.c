/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timed script of live memory: grows, holds, drops a part, grows by realloc(), drops all.
 * Prints after each step what is live until the next one.
 */
#include "tests/leaks/truth.h"

#include <stdlib.h>

#define BLOCKS_MAX 20000
#define HOLD_MS 400
/* Freed as soon as they are allocated, at each step: they are never live. */
#define CHURN 20000

static void *blocks[BLOCKS_MAX];
static size_t count;

static NOINLINE void *
create_block(size_t bytes)
{
	void *block = malloc(bytes);

	KEEP(block);
	return block;
}

static NOINLINE void *
grow_block(void *block, size_t bytes)
{
	block = realloc(block, bytes);
	KEEP(block);
	return block;
}

static void
resize(size_t wanted, size_t bytes)
{
	while (count < wanted)
		blocks[count++] = create_block(bytes);
	while (count > wanted)
		free(blocks[--count]);
	for (size_t i = 0; i < CHURN; i++)
		free(create_block(bytes));
}

static void
tell(size_t bytes, size_t grown, size_t grown_bytes)
{
	truth_print(NULL, "create_block", (count - grown) * bytes, count - grown);
	truth_print(NULL, "grow_block", grown * grown_bytes, grown);
	truth_sleep(HOLD_MS);
}

int
main(void)
{
	resize(6000, 5000);
	tell(5000, 0, 0);
	resize(15000, 5000);
	tell(5000, 0, 0);
	resize(3000, 5000);
	tell(5000, 0, 0);
	/* realloc() ends the life of the old block and starts one at its own line. */
	for (size_t i = 0; i < 2000; i++)
		blocks[i] = grow_block(blocks[i], 12000);
	tell(5000, 2000, 12000);
	resize(0, 5000);
	tell(5000, 0, 0);
	return 0;
}
