/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/hash.h"

#include <string.h>
#include <sys/random.h>

#include "unify/shared/clock.h"

uint64_t th_hash_key[2];

/* Used if the kernel has no randomness yet: the author of a log cannot know this time. */
__attribute__((constructor)) static void
make_key(void)
{
	if (getrandom(th_hash_key, sizeof(th_hash_key), GRND_NONBLOCK) != sizeof(th_hash_key)) {
		th_hash_key[0] = th_clock_now() * 0x9e3779b97f4a7c15u;
		th_hash_key[1] = th_clock_read(CLOCK_REALTIME) * 0xff51afd7ed558ccdu;
	}
	/* Odd, so that the product keeps all bits of the word. */
	th_hash_key[1] |= 1;
}

uint64_t
th_hash_text(const char *text)
{
	size_t length = strlen(text);
	uint64_t hash = length;

	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t left = length - at;

		memcpy(&word, text + at, left < sizeof(word) ? left : sizeof(word));
		hash = th_hash_next(hash, word);
	}
	return hash;
}
