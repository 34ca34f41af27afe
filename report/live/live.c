/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a growing log on and sums it up: state, rates, filters. */
#include "report/live/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "unify/shared/clock.h"

/* An update may take at most 1/SHARE of the time. */
#define SHARE 10
/* No growth is shown of less, nor of a recording's first seconds. */
#define WARM_UP_NS (5 * (uint64_t)TH_NS_PER_S)

/* Rows */

/* Whether a function is in a row's stack, or the label of its thread. */
static bool
has_function(const struct th_profile *profile, const struct th_row *row, uint32_t function)
{
	struct th_path path = th_paths_get(profile->paths, row->path);
	uint32_t i = 0;

	if (function == row->thread ||
		(row->is_internal && function == profile->internal_group))
		return true;
	while (i < path.count &&
		th_frames_get(profile->frames, path.frames[i])->function != function)
		i++;
	return i < path.count;
}

bool
th_live_shows(const struct th_live *live, const struct th_row *row)
{
	const uint32_t *mark = live->mark;

	if (live->view != TH_LIVE_STACKS)
		return true;
	return (!mark[TH_LIVE_CLASS] || mark[TH_LIVE_CLASS] == row->class_name) &&
	       has_function(live->profile, row, mark[TH_LIVE_FUNCTION]) &&
	       (mark[TH_LIVE_CALLER] == UINT32_MAX ||
		       has_function(live->profile, row, mark[TH_LIVE_CALLER]));
}

/* Rates */

/*
 * Growth is shown without the first fifth of the recording, WARM_UP_NS at least, in which a program
 * maps its heaps and fills its caches; 0 = too early.
 */
static uint64_t
find_start_of_growth(const struct th_live *live)
{
	uint64_t age = live->as_of - live->recording->start;
	uint64_t warm = age / 5 > WARM_UP_NS ? age / 5 : WARM_UP_NS;
	uint64_t window = live->seconds * (uint64_t)TH_NS_PER_S;

	if (age < warm + WARM_UP_NS)
		return 0;
	return live->as_of - (age - warm < window ? age - warm : window);
}

/*
 * The part of the last seconds that contains a time; negative if it is older. Deaths found by a full
 * GC at exit, which still counts, are later than `as_of`.
 */
static int
point_of(const struct th_live *live, uint64_t time)
{
	double back = time < live->as_of ? (double)(live->as_of - time) / 1e9 : 0;

	return TH_LIVE_POINTS - 1 - (int)(back * TH_LIVE_POINTS / live->seconds);
}

/* Adds a change of live bytes. */
static void
add_change(const struct th_live *live, struct th_live_rate *rate, uint64_t time, double bytes)
{
	if (point_of(live, time) >= 0)
		rate->curve[point_of(live, time)] += bytes;
	if (live->grows_from && time >= live->grows_from)
		rate->growth += bytes;
}

/* Adds the allocation and the death of a sample (by index) if they are recent. */
static void
add_sample(
	const struct th_live *live, enum th_heap heap, size_t index, struct th_live_rate *rate)
{
	const struct th_profile *profile = live->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_sample *sample = &live->recording->samples[heap].items[index];
	uint64_t end = th_lifetimes_end_by(lifetimes, heap, index, &profile->at);
	bool is_new = sample->time <= live->as_of && point_of(live, sample->time) >= 0;
	bool is_ended = end != TH_END_NEVER && point_of(live, end) >= 0;
	struct th_estimator allocated = {0}, alive = {0};

	if (is_new) {
		th_calibration_add(&profile->heaps[heap], live->recording, sample, &allocated);
		rate->allocated += th_sums_point(&allocated.bytes);
		rate->samples += !(heap == TH_HEAP_MAPPED && sample->is_part);
	}
	if ((!is_new && !is_ended) ||
		!th_lifetimes_follows(lifetimes, heap, index, &profile->at))
		return;
	th_lifetimes_add(lifetimes, &profile->heaps[heap], heap, index, sample,
		th_lifetimes_keep(lifetimes, heap, &profile->at), &alive);
	if (is_new)
		add_change(live, rate, sample->time, th_sums_point(&alive.bytes));
	if (is_ended)
		add_change(live, rate, end, -th_sums_point(&alive.bytes));
}

/* From changes to the values after each of them, backwards from the present one. */
static void
finish_curve(const struct th_live *live, struct th_live_rate *rate, double bytes)
{
	int start = point_of(live, live->recording->start);

	for (int i = TH_LIVE_POINTS - 1; i >= 0; i--) {
		double change = rate->curve[i];

		rate->curve[i] = i >= start ? fmax(bytes, 0) : 0;
		bytes -= change;
	}
}

/* The samples of the rows that are shown. */
static void
add_samples(struct th_live *live, const bool *is_shown, enum th_heap heap)
{
	for (size_t i = 0; i < live->recording->samples[heap].items_count; i++) {
		uint32_t row = live->profile->sample_rows[heap][i];

		if (row != TH_NO_ROW && is_shown[row])
			add_sample(live, heap, i, &live->rates[heap]);
	}
}

static void
find_rates(struct th_live *live)
{
	const struct th_profile *profile = live->profile;
	double grown = (double)(live->as_of - live->grows_from) / 1e9;
	double age = (double)(live->as_of - live->recording->start) / 1e9;
	double seconds = fmax(fmin(age, live->seconds), 1);
	bool *is_shown = th_allocate(profile->rows_count, sizeof(*is_shown));

	memset(live->rates, 0, sizeof(live->rates));
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];

		is_shown[i] = th_live_shows(live, row);
		if (is_shown[i])
			th_estimator_merge(&live->rates[row->heap].live,
				th_profile_row_sum(profile, row, TH_MEASURE_LIVE));
	}
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		struct th_live_rate *rate = &live->rates[heap];

		add_samples(live, is_shown, (enum th_heap)heap);
		rate->allocated /= seconds;
		rate->samples /= seconds;
		rate->growth /= grown;
		finish_curve(live, rate, th_sums_point(&rate->live.bytes));
	}
	free(is_shown);
}

/* Updates */

/* The current time. The clocks differ if the recorded process is in another time namespace. */
static uint64_t
present(const struct th_live *live)
{
	uint64_t now = live->world->now();

	return live->state == TH_LIVE_RUNNING && now > live->recording->end
		       ? now
		       : live->recording->end;
}

static bool
is_alive(const struct th_live *live)
{
	return live->world->is_alive(th_reader_header(live->recording->reader));
}

/* Reads on. If the process is gone, unfinished records stay unfinished. */
static bool
read_on(struct th_live *live)
{
	bool is_new = th_recording_update(live->recording);
	bool is_gone = !live->recording->is_complete && !is_alive(live);

	while ((is_gone || live->recording->is_complete) &&
		th_recording_update(live->recording))
		is_new = true;
	if (live->recording->is_complete)
		live->state = TH_LIVE_ENDED;
	else if (is_gone)
		live->state = TH_LIVE_GONE;
	return is_new;
}

/* Without one, a line about nothing. */
static struct th_live_line
selected_line(const struct th_live *live)
{
	return live->selected < live->lines_count ? live->lines[live->selected]
						  : (struct th_live_line){0};
}

/* The selection stays on the line about the same thing, or on the first line. */
static void
select_again(struct th_live *live, const struct th_live_line *old)
{
	size_t last = live->lines_count ? live->lines_count - 1 : 0;

	if (live->selected > last)
		live->selected = last;
	for (size_t i = 0; live->selected && old->is_marked && i <= last; i++) {
		const struct th_live_line *line = &live->lines[i];

		if (line->is_marked && !memcmp(line->mark, old->mark, sizeof(old->mark))) {
			live->selected = i;
			return;
		}
	}
}

void
th_live_show(struct th_live *live, bool is_changed)
{
	struct th_live_line old = selected_line(live);

	if (!live->profile)
		live->profile = th_profile_create(live->recording, &live->options, NULL, NULL);
	else if (is_changed)
		th_profile_renew(live->profile);
	/* What the process freed at its end does not count. */
	if (live->state != TH_LIVE_RUNNING)
		live->as_of = live->profile->at.time;
	live->grows_from = find_start_of_growth(live);
	find_rates(live);
	th_live_print(live);
	select_again(live, &old);
}

void
th_live_update(struct th_live *live)
{
	uint64_t begin = live->world->now();

	if (live->state != TH_LIVE_RUNNING || live->is_paused)
		return;
	live->now = present(live);
	if (begin < live->due && is_alive(live))
		return;
	bool is_new = read_on(live);
	live->now = live->as_of = present(live);
	if (live->state != TH_LIVE_RUNNING)
		live->judged_due = 0;
	th_live_show(live, is_new);
	uint64_t end = live->world->now();
	live->due = end + SHARE * (end - begin);
}

/* Filters */

bool
th_live_filter(struct th_live *live, enum th_live_filter which, const char *text)
{
	struct th_options *options = &live->options;
	struct th_pattern *const patterns[] = {[TH_LIVE_FUNCTIONS] = &options->include,
		[TH_LIVE_CLASSES] = &options->class_name,
		[TH_LIVE_THREADS] = &options->thread};
	struct th_pattern *pattern = patterns[which];
	regex_t regex;

	if (text[0] && regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_ICASE))
		return false;
	if (pattern->is_given)
		regfree(&pattern->regex);
	snprintf(live->patterns[which], TH_LIVE_PATTERN_MAX, "%s", text);
	*pattern = (struct th_pattern){.is_given = text[0], .text = live->patterns[which]};
	if (text[0])
		pattern->regex = regex;
	return true;
}

/* Life */

static const struct th_live_world real_world = {th_running_is_alive, th_clock_now};

struct th_error *
th_live_open(const char *path, const struct th_options *options,
	const struct th_live_world *world, struct th_live *live)
{
	*live = (struct th_live){
		.world = world ? world : &real_world,
		.options = *options,
		.seconds = 60,
	};
	live->options.value = TH_VALUE_LIVE_BYTES;
	struct th_error *error = th_recording_follow(path, &live->recording);
	if (error)
		return error;
	if (options->no_command)
		th_recording_hide_command(live->recording);
	th_live_update(live);
	return NULL;
}

void
th_live_close(struct th_live *live)
{
	for (int which = 0; which < TH_LIVE_FILTERS; which++)
		th_live_filter(live, (enum th_live_filter)which, "");
	th_live_forget_lines(live);
	free(live->lines);
	free(live->headline);
	free(live->warning);
	th_profile_destroy(live->profile);
	th_recording_destroy(live->recording);
}
