/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/heap_names.h"

static const struct {
	const char *word;
	const char *title;
	const char *adjective;
} names[] = {
	[TH_HEAP_JAVA] = {"java", "Java heap", "Java"},
	[TH_HEAP_NATIVE] = {"native", "native heap", "native"},
	[TH_HEAP_MAPPED] = {"mapped", "mapped", "mapped"},
};

const char *
th_heap_word(enum th_heap heap)
{
	return names[heap].word;
}

const char *
th_heap_title(enum th_heap heap)
{
	return names[heap].title;
}

const char *
th_heap_adjective(enum th_heap heap)
{
	return names[heap].adjective;
}
