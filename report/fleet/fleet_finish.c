/* SPDX-License-Identifier: Apache-2.0 */
/* Means and verdicts over the processes of each group, after the last recording. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/fleet/fleet.h"
#include "report/statistics/distribution.h"

/* 95 % intervals. */
#define MISS 0.05
/* The part of a line's processes that find a leak by themselves if all leak, at least. */
#define SHOWN_BY 0.05

/* Order of groups */

static int
compare_parts(const char *a, size_t a_length, const char *b, size_t b_length)
{
	char left[64], right[64];

	snprintf(left, sizeof(left), "%.*s", (int)a_length, a);
	snprintf(right, sizeof(right), "%.*s", (int)b_length, b);
	return strverscmp(left, right);
}

int
th_fleet_compare_versions(const char *a, const char *b)
{
	size_t a_length, b_length;
	int order;

	a += *a == 'v';
	b += *b == 'v';
	a_length = strcspn(a, "-");
	b_length = strcspn(b, "-");
	order = compare_parts(a, a_length, b, b_length);
	if (order)
		return order;
	/* "2.4.1-rc1" is before "2.4.1". */
	if (!a[a_length] || !b[b_length])
		return !a[a_length] - !b[b_length];
	return strverscmp(a + a_length, b + b_length);
}

static bool
is_version(const char *name)
{
	return isdigit((unsigned char)name[*name == 'v']);
}

static int
compare_groups(const void *a, const void *b, void *data)
{
	const struct th_fleet *fleet = ((void **)data)[0];
	const bool *has_versions = ((void **)data)[1];
	const struct th_fleet_group *left = &fleet->groups[*(const uint32_t *)a];
	const struct th_fleet_group *right = &fleet->groups[*(const uint32_t *)b];

	if (!*left->name != !*right->name)
		return *left->name ? 1 : -1;
	if (*has_versions)
		return th_fleet_compare_versions(left->name, right->name);
	return (left->start > right->start) - (left->start < right->start);
}

/* Sorts the groups, and renumbers them in the cells. */
static void
sort_groups(struct th_fleet *fleet)
{
	size_t count = fleet->groups_count;
	uint32_t *order = th_allocate(count + 1, sizeof(*order));
	uint32_t *numbers = th_allocate(count + 1, sizeof(*numbers));
	struct th_fleet_group *sorted = th_allocate(count + 1, sizeof(*sorted));
	bool has_versions = true;
	void *data[] = {fleet, &has_versions};

	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		has_versions &= !*fleet->groups[i].name || is_version(fleet->groups[i].name);
	}
	qsort_r(order, count, sizeof(*order), compare_groups, data);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = fleet->groups[order[i]];
		numbers[order[i]] = i;
	}
	for (size_t i = 0; i < fleet->cells_count; i++)
		fleet->cells[i].group = numbers[fleet->cells[i].group];
	free(fleet->groups);
	fleet->groups = sorted;
	fleet->groups_capacity = count + 1;
	free(numbers);
	free(order);
}

/* Verdicts */

/* P(X >= k) of n trials with probability p: independent false alarms of the processes. */
static double
chance_of_as_many(uint32_t k, uint32_t n, double p)
{
	return k ? th_distribution_misses(k, n - k, p, 1 - p, 1) : 1;
}

/*
 * Whether a line leaks in a group. Its mean growth is significant among all lines that were tested
 * (Bonferroni), most processes do not find that it has stopped growing or is freed again, and some
 * find a leak by themselves: only the times of survivors in one process tell a leak from a
 * structure that is filled in each process. Or more find a leak by themselves than by chance.
 */
static enum th_verdict
judge(const struct th_fleet_cell *cell, uint32_t counted, double tests)
{
	uint32_t settled = cell->processes - cell->leaks - cell->unclear;
	bool is_kept = cell->leaks + cell->unclear > settled;
	bool is_shown = cell->leaks && cell->leaks >= SHOWN_BY * cell->processes;
	double limit = th_process_mean(&cell->value, 2 * TH_ERROR_RATE / fmax(tests, 1)).low;

	if ((limit > 0 && is_kept && is_shown) ||
		(cell->leaks && chance_of_as_many(cell->leaks, counted,
					TH_SITE_SHARE * TH_ERROR_RATE) <= TH_ERROR_RATE))
		return TH_VERDICT_LEAK;
	return cell->leaks || (limit > 0 && is_kept) ? TH_VERDICT_UNCLEAR : TH_VERDICT_PLATEAU;
}

static void
measure_cells(struct th_fleet *fleet)
{
	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];

		for (uint32_t k = line->first; k != TH_NO_CELL; k = fleet->cells[k].next) {
			struct th_fleet_cell *cell = &fleet->cells[k];
			uint32_t counted = fleet->groups[cell->group].counted[line->heap];

			/* A heap that was not recorded has nothing at any line. */
			if (counted < cell->processes)
				counted = cell->processes;
			th_process_sums_add_zeros(&cell->value, counted - cell->processes);
			th_process_sums_add_zeros(&cell->live, counted - cell->processes);
			cell->mean = th_process_mean(&cell->value, MISS);
			cell->average = th_process_mean(&cell->live, MISS);
		}
	}
}

/* Number of lines of a heap in a group that grow: those that are tested. */
static double
count_tests(const struct th_fleet *fleet, enum th_heap heap, uint32_t group)
{
	double tests = 0;

	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_cell *cell;

		if (fleet->lines[i].heap != heap || fleet->lines[i].is_internal)
			continue;
		cell = th_fleet_cell(fleet, &fleet->lines[i], group);
		tests += cell && cell->mean.estimate > 0;
	}
	return tests;
}

const struct th_fleet_cell *
th_fleet_cell(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	for (uint32_t i = line->first; i != TH_NO_CELL; i = fleet->cells[i].next) {
		if (fleet->cells[i].group == group)
			return &fleet->cells[i];
	}
	return NULL;
}

/* A line in a group of processes none of which has it: all are 0. */
static struct th_process_sums
sums_of(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);
	struct th_process_sums sums = {.count = fleet->groups[group].counted[line->heap]};

	return cell ? cell->value : sums;
}

static bool
leaks_in(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group)
{
	const struct th_fleet_cell *cell = th_fleet_cell(fleet, line, group);

	return cell && cell->verdict == TH_VERDICT_LEAK;
}

/*
 * The first of the last groups in each of which the line leaks, if it grew significantly less in
 * the one before that; else UINT32_MAX.
 */
static uint32_t
find_since(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	uint32_t first = (uint32_t)fleet->groups_count;

	while (first && leaks_in(fleet, line, first - 1))
		first--;
	if (!first || first == fleet->groups_count)
		return UINT32_MAX;
	struct th_process_sums before = sums_of(fleet, line, first - 1);
	struct th_process_sums after = sums_of(fleet, line, first);
	return th_process_difference(&before, &after, MISS).low > 0 ? first : UINT32_MAX;
}

/* The interval of the sum contains that of each process. */
static struct th_estimate
mean_of_leaking(const struct th_fleet_cell *cell)
{
	return (struct th_estimate){
		.estimate = cell->leaking.estimate / cell->leaks,
		.low = cell->leaking.low / cell->leaks,
		.high = cell->leaking.high / cell->leaks,
		.samples = cell->leaks,
	};
}

static void
judge_cells(struct th_fleet *fleet)
{
	for (uint32_t group = 0; group < fleet->groups_count; group++) {
		double tests[TH_HEAPS];

		for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
			tests[heap] = count_tests(fleet, (enum th_heap)heap, group);
		for (size_t i = 0; i < fleet->lines_count; i++) {
			struct th_fleet_line *line = &fleet->lines[i];
			struct th_fleet_cell *cell = (struct th_fleet_cell *)th_fleet_cell(
				fleet, line, group);

			if (!cell)
				continue;
			cell->verdict = line->is_internal
						? TH_VERDICT_PLATEAU
						: judge(cell, (uint32_t)cell->value.count,
							  tests[line->heap]);
			if (cell->verdict == TH_VERDICT_LEAK && cell->mean.low <= 0)
				cell->mean = mean_of_leaking(cell);
			if (cell->verdict < line->verdict)
				line->verdict = cell->verdict;
		}
	}
}

/* Lines */

/* What lines are sorted by: growth in the last group, or the size of the change. */
static double
rank(const struct th_fleet *fleet, const struct th_fleet_line *line)
{
	const struct th_fleet_cell *cell;

	if (!fleet->is_growth)
		return fabs(line->change.estimate);
	cell = th_fleet_cell(fleet, line, (uint32_t)fleet->groups_count - 1);
	return cell ? cell->mean.estimate : 0;
}

static bool
is_significant(const struct th_fleet_line *line)
{
	return line->change.low > 0 || line->change.high < 0;
}

static int
compare_lines(const void *a, const void *b, void *data)
{
	const struct th_fleet *fleet = data;
	const struct th_fleet_line *left = a;
	const struct th_fleet_line *right = b;
	double order = rank(fleet, right) - rank(fleet, left);

	if (left->verdict != right->verdict)
		return left->verdict < right->verdict ? -1 : 1;
	if (!fleet->is_growth && is_significant(left) != is_significant(right))
		return is_significant(left) ? -1 : 1;
	if (order != 0)
		return order > 0 ? 1 : -1;
	return (left->key > right->key) - (left->key < right->key);
}

/* The group of this name; the default is `number`. */
static struct th_error *
choose_group(const struct th_fleet *fleet, const char *option, const char *name,
	uint32_t number, uint32_t *ret)
{
	*ret = number;
	if (!name)
		return NULL;
	for (uint32_t i = 0; i < fleet->groups_count; i++) {
		if (!strcmp(fleet->groups[i].name, name)) {
			*ret = i;
			return NULL;
		}
	}
	return fleet->options->by
		       ? th_error_create(TH_ERROR_USAGE, "--%s %s: no recording has this %s",
				 option, name, fleet->options->by)
		       : th_error_create(TH_ERROR_UNREADABLE, "%s: no log could be read", name);
}

static struct th_error *
choose_groups(struct th_fleet *fleet)
{
	uint32_t last = (uint32_t)fleet->groups_count - 1;
	struct th_error *error;

	if (fleet->groups_count < 2 && !fleet->options->new_group)
		return NULL;
	error = choose_group(fleet, "new", fleet->options->new_group, last, &fleet->new_group);
	if (!error)
		error = choose_group(fleet, "old", fleet->options->old_group,
			fleet->new_group ? fleet->new_group - 1 : 1, &fleet->old_group);
	return error;
}

static void
compare_values(struct th_fleet *fleet)
{
	if (fleet->new_group == UINT32_MAX)
		return;
	for (size_t i = 0; i < fleet->lines_count; i++) {
		struct th_fleet_line *line = &fleet->lines[i];
		struct th_process_sums before = sums_of(fleet, line, fleet->old_group);
		struct th_process_sums after = sums_of(fleet, line, fleet->new_group);

		line->change = th_process_difference(&before, &after, MISS);
	}
}

struct th_error *
th_fleet_finish(struct th_fleet *fleet)
{
	struct th_error *error;

	sort_groups(fleet);
	error = choose_groups(fleet);
	if (error)
		return error;
	for (size_t i = 0; i < fleet->lines_count; i++)
		fleet->lines[i].verdict = TH_VERDICT_PLATEAU;
	measure_cells(fleet);
	if (fleet->is_growth)
		judge_cells(fleet);
	compare_values(fleet);
	for (size_t i = 0; fleet->is_growth && i < fleet->lines_count; i++)
		fleet->lines[i].since = find_since(fleet, &fleet->lines[i]);
	if (fleet->lines_count)
		qsort_r(fleet->lines, fleet->lines_count, sizeof(*fleet->lines), compare_lines,
			fleet);
	return NULL;
}
