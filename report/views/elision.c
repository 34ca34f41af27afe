/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/elision.h"

#include <stdlib.h>

#include "report/base/allocate.h"

void
th_elision_init(struct th_elision *elision, const void *list, size_t count)
{
	*elision = (struct th_elision){
		.list = list,
		.is_kept = th_allocate(count, sizeof(*elision->is_kept)),
		.count = count,
	};
}

void
th_elision_deinit(struct th_elision *elision)
{
	free(elision->is_kept);
}

void
th_elision_keep(struct th_elision *elision, th_elision_wants *is_wanted, size_t most)
{
	for (size_t i = 0; i < elision->count && elision->kept < most; i++) {
		if (elision->is_kept[i] || !is_wanted(elision->list, i))
			continue;
		elision->is_kept[i] = true;
		elision->kept++;
	}
}

void
th_elision_keep_program(struct th_elision *elision, th_elision_wants *is_of_program)
{
	size_t missing = TH_ELISION_PROGRAM_MAX;

	for (size_t i = 0; i < elision->count && missing; i++)
		missing -= elision->is_kept[i] && is_of_program(elision->list, i);
	th_elision_keep(elision, is_of_program, elision->kept + missing);
}

size_t
th_elision_gap(const struct th_elision *elision, size_t item)
{
	size_t end = item;

	while (end < elision->count && !elision->is_kept[end])
		end++;
	return end - item > 1 ? end - item : 0;
}
