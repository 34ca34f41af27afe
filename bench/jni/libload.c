/* SPDX-License-Identifier: Apache-2.0 */
/* The C half of Load.java. */
#include <stdint.h>
#include <stdlib.h>

#include "Load.h"

#define BLOCKS_MAX 256
/* Sizes are 64 bytes << 0..14, small ones more often: the minimum of two random numbers. */
#define SIZES 15

static uint64_t
next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static size_t
next_size(uint64_t *random)
{
	uint64_t first = next_random(random) % SIZES;
	uint64_t second = next_random(random) % SIZES;
	uint64_t third = next_random(random) % SIZES;
	uint64_t lowest = first < second ? first : second;

	return (size_t)64 << (lowest < third ? lowest : third);
}

/* Checksum of a block of that size and the previous ones. */
static int64_t
touch(char *block, size_t size)
{
	block[0] = (char)size;
	block[size - 1] = 1;
	return block[size - 1];
}

JNIEXPORT jlong JNICALL
Java_Load_blocks(JNIEnv *env, jobject load, jlong seed, jint count)
{
	uint64_t random = (uint64_t)seed | 1;
	char *blocks[BLOCKS_MAX];
	int64_t checksum = 0;
	jmethodID back = (*env)->GetMethodID(
		env, (*env)->GetObjectClass(env, load), "back", "(I)I");

	if (!back || count > BLOCKS_MAX)
		return 0;
	for (jint i = 0; i < count; i++) {
		size_t size = next_size(&random);

		blocks[i] = malloc(size);
		checksum += touch(blocks[i], size);
		if (i % 8 == 0) {
			blocks[i] = realloc(blocks[i], size * 2);
			checksum += touch(blocks[i], size * 2);
		}
		if (i % 16 == 0)
			checksum += (*env)->CallIntMethod(env, load, back, (jint)(size + 1));
	}
	for (jint i = 0; i < count; i++)
		free(blocks[i]);
	return checksum;
}
