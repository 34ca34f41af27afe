/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_load SECONDS: a service for bench/push.  Once per second a request allocates 2,000
 * blocks of 64 bytes to 16 KiB, 8 MB, at 64 call paths; the last 2,000 blocks stay.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TURN_US 1000000
#define BLOCKS 2000
#define KEPT 2000
#define LEVELS 6 /* 2^LEVELS call paths */

static void *kept[KEPT];
static uint32_t state = 1;

static uint32_t
next_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

static void *go_right(uint32_t way, unsigned level);

static __attribute__((noinline)) void *
go_left(uint32_t way, unsigned level)
{
	void *volatile block;

	if (!level)
		block = malloc(64u << next_random() % 9);
	else
		block = way & 1 ? go_right(way >> 1, level - 1) : go_left(way >> 1, level - 1);
	return block;
}

static __attribute__((noinline)) void *
go_right(uint32_t way, unsigned level)
{
	void *volatile block;

	if (!level)
		block = malloc(128u << next_random() % 8);
	else
		block = way & 1 ? go_right(way >> 1, level - 1) : go_left(way >> 1, level - 1);
	return block;
}

int
main(int count, char **words)
{
	time_t end = time(NULL) + (count > 1 ? atol(words[1]) : 1);

	while (time(NULL) < end) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			void **slot = &kept[next_random() % KEPT];

			free(*slot);
			*slot = go_left(next_random(), LEVELS);
		}
		usleep(TURN_US);
	}
	return 0;
}
