/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of `leaks` for the page, and the rows that belong to each.  A worker computes
 * them while other parts of the page are printed.
 */
#include "report/html/page_leaks.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/html/page_columns.h"
#include "report/html/page_findings.h"
#include "report/html/page_source.h"
#include "report/views/json_parts.h"

/* Maximum number of findings, worst first; each carries its stack. */
#define FINDINGS_MAX 200

/* The findings that are printed: those of threads and class loaders, then those of samples. */
static size_t
shown_count(const struct th_leaks *leaks)
{
	return leaks->findings_count < FINDINGS_MAX ? leaks->findings_count : FINDINGS_MAX;
}

/* Their totals as well, which take as long. */
static void *
find(void *data)
{
	th_leaks_find(data);
	th_leaks_totals(data);
	return NULL;
}

void
th_page_leaks_begin(struct th_page_leaks *leaks, struct th_page_names *names)
{
	const struct th_profile *profile = names->profile;

	*leaks = (struct th_page_leaks){0};
	th_leaks_prepare(&leaks->leaks, profile);
	const struct th_tallies *tallies = &leaks->leaks.tallies;
	for (size_t i = 0; i < tallies->items_count; i++)
		th_page_names_add(
			names, th_page_tallied_path(&leaks->leaks, &tallies->items[i]));
	if (profile->options->group_by)
		find(&leaks->leaks);
	else
		th_worker_begin(&leaks->aside, find, &leaks->leaks);
}

void
th_page_leaks_wait(struct th_page_leaks *leaks)
{
	th_worker_end(&leaks->aside);
}

/* The finding of each site, plus one; 0: none. */
static uint32_t *
number_places(const struct th_leaks *leaks)
{
	size_t count = leaks->places.items_count;
	uint32_t *numbers = th_allocate(count, sizeof(*numbers));
	struct th_leak_part *parts = th_allocate(count, sizeof(*parts));
	size_t tallies = leaks->tallies.items_count;

	for (size_t i = 0; i < shown_count(leaks); i++) {
		double live;
		size_t found = th_leaks_parts(leaks, &leaks->findings[i], parts, count, &live);

		for (size_t k = 0; k < found && k < count; k++)
			numbers[parts[k].place] = (uint32_t)(tallies + i + 1);
	}
	free(parts);
	return numbers;
}

/*
 * The same for each row of the page.  Options that shape stacks may join the rows of several
 * findings; such a row belongs to the worst of them.
 */
static uint32_t *
number_rows(const struct th_leaks *leaks, const struct th_profile *profile)
{
	uint32_t *places = number_places(leaks);
	uint32_t *rows = th_allocate(profile->rows_count, sizeof(*rows));

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (size_t i = 0; i < profile->recording->samples[heap].items_count; i++) {
			uint32_t row = profile->sample_rows[heap][i];
			uint32_t whole = leaks->profile->sample_rows[heap][i];

			if (row == TH_NO_ROW || whole == TH_NO_ROW)
				continue;
			uint32_t number = places[leaks->places.of_row[whole]];
			if (number && (!rows[row] || number < rows[row]))
				rows[row] = number;
		}
	}
	free(places);
	return rows;
}

static void
print_rows(FILE *file, const struct th_leaks *leaks, const struct th_profile *profile)
{
	uint32_t *rows = number_rows(leaks, profile);
	struct th_page_column column;

	th_page_column_begin(&column, file, ",\n", "finding_rows");
	for (size_t i = 0; i < profile->rows_count; i++)
		th_page_column_add_integer(&column, (int64_t)rows[i] - 1);
	th_page_column_end(&column);
	free(rows);
}

void
th_page_leaks_print(
	FILE *file, const struct th_page_names *names, const struct th_page_leaks *found)
{
	const struct th_leaks *leaks = &found->leaks;
	const struct th_tallies *tallies = &leaks->tallies;
	struct th_held_samples held;

	fputs(",\n\"outcome\":", file);
	th_page_print_json(file, th_json_outcome(leaks, true));
	th_held_samples_init(&held, leaks);
	th_page_begin_list(file, ",\n", "leaks");
	for (size_t i = 0; i < tallies->items_count; i++) {
		fputs(i ? ",\n" : "\n", file);
		th_page_print_json(
			file, th_page_tallied_json(names, &held, &tallies->items[i]));
	}
	for (size_t i = 0; i < shown_count(leaks); i++) {
		fputs(i || tallies->items_count ? ",\n" : "\n", file);
		th_page_print_json(
			file, th_page_finding_json(names, &held, &leaks->findings[i]));
	}
	th_held_samples_deinit(&held);
	fprintf(file, "],\n\"leaks_left_out\":%zu", leaks->findings_count - shown_count(leaks));
	print_rows(file, leaks, names->profile);
	th_page_source_print(file, names, leaks);
}

void
th_page_leaks_end(struct th_page_leaks *leaks)
{
	th_leaks_deinit(&leaks->leaks);
}
