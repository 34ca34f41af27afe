/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/elision.h"

/* Items of the program that are wanted, among the first ones or beside them. */
#define PROGRAM_MAX 8

void
th_elide(enum th_elision *items, size_t count, size_t most)
{
	size_t kept = 0, program = 0;

	for (size_t i = 0; i < count; i++)
		kept += items[i] == TH_ELISION_NAMED;
	for (size_t i = 0; i < count; i++) {
		size_t wanted = items[i] == TH_ELISION_PROGRAM && program < PROGRAM_MAX;

		if (items[i] == TH_ELISION_NAMED)
			continue;
		if (kept >= most && !wanted)
			items[i] = TH_ELISION_OUT;
		kept++;
		program += wanted;
	}
}

size_t
th_elision_gap(const enum th_elision *items, size_t count, size_t item)
{
	size_t end = item;

	while (end < count && items[end] == TH_ELISION_OUT)
		end++;
	return end - item > 1 ? end - item : 0;
}
