/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/shared/heaps.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *word;
	unsigned heaps;
} words[] = {
	{"all", TH_HEAPS_ALL},
	{"both", TH_HEAPS_BOTH},
	{"java", 1u << TH_HEAP_JAVA},
	{"native", 1u << TH_HEAP_NATIVE},
	{"mapped", 1u << TH_HEAP_MAPPED},
};

static unsigned
heaps_of(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].word) == length && !strncmp(words[i].word, text, length))
			return words[i].heaps;
	}
	return 0;
}

bool
th_heaps_parse(const char *text, unsigned *heaps_ret)
{
	unsigned heaps = 0;

	for (;; text++) {
		size_t length = strcspn(text, ",");
		unsigned some = heaps_of(text, length);

		if (!some)
			return false;
		heaps |= some;
		text += length;
		if (!*text)
			break;
	}
	*heaps_ret = heaps;
	return true;
}

const char *
th_heaps_text(unsigned heaps)
{
	/* Indexed by the bits of java, native and mapped. */
	static const char *const texts[] = {
		"", "java", "native", "both", "mapped", "java,mapped", "native,mapped", "all"};

	return texts[heaps >> TH_HEAP_JAVA & 7];
}
