/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/slot_copies.h"

#include <stdbool.h>

#include "unify/base/align.h"
#include "unify/base/observed.h"

struct search {
	const struct th_slot_function *functions;
	size_t count;
	uintptr_t
		lowest; /* the functions are in one or two libraries: most words are below or */
	uintptr_t highest; /* above all of them */
	size_t room;       /* bytes that may still be read */
	uint32_t found;
};

static void
find_bounds(struct search *search)
{
	search->lowest = UINTPTR_MAX;
	for (size_t i = 0; i < search->count; i++) {
		uintptr_t address = (uintptr_t)search->functions[i].original;

		if (!search->functions[i].is_allocation)
			continue;
		if (address < search->lowest)
			search->lowest = address;
		if (address > search->highest)
			search->highest = address;
	}
}

static bool
is_function(const struct search *search, uintptr_t word)
{
	if (word < search->lowest || word > search->highest)
		return false;
	for (size_t i = 0; i < search->count; i++)
		if (search->functions[i].is_allocation &&
			word == (uintptr_t)search->functions[i].original)
			return true;
	return false;
}

/* A copy, since the program may protect the page meanwhile. */
static void
search_page(struct search *search, uintptr_t start, size_t bytes)
{
	uintptr_t words[TH_PAGE_BYTES / sizeof(uintptr_t)];

	if (!th_observed_copy(start, words, bytes))
		return;
	for (size_t i = 0; i < bytes / sizeof(words[0]); i++)
		if (is_function(search, words[i]))
			search->found++;
}

static void
search_segment(struct search *search, uintptr_t start, size_t bytes)
{
	uintptr_t end = (start + bytes) & ~(uintptr_t)(sizeof(uintptr_t) - 1);

	start = (start + sizeof(uintptr_t) - 1) & ~(uintptr_t)(sizeof(uintptr_t) - 1);
	while (start < end && search->room) {
		uintptr_t next = th_align_down(start, TH_PAGE_BYTES) + TH_PAGE_BYTES;

		if (next > end)
			next = end;
		search_page(search, start, next - start);
		search->room -= next - start < search->room ? next - start : search->room;
		start = next;
	}
}

uint32_t
th_slot_copies_count(const struct dl_phdr_info *info, const struct th_slot_function *functions,
	size_t count, size_t *bytes)
{
	struct search search = {
		.functions = functions, .count = count, .room = TH_SLOT_COPIES_BYTES};

	find_bounds(&search);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
			search_segment(
				&search, info->dlpi_addr + segment->p_vaddr, segment->p_memsz);
	}
	*bytes += TH_SLOT_COPIES_BYTES - search.room;
	return search.found;
}
