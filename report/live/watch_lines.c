/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats the lines of the live view.  The number of columns depends on the width of the
 * screen; the most important ones fit into 80.
 */
#include "report/live/watch_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"

/* Screen widths from which more columns are shown. */
#define WIDE 110
#define WIDER 140
/* Columns of totals in front of their curves, without the rate, and the width of the rate. */
#define TOTAL_COLUMNS 66
#define RATE_COLUMNS 12
/* Age from which figures are marked as old. */
#define OLD_S 2

/* Numbers */

static struct th_number
bytes(double value)
{
	return th_format_number(value, TH_UNIT_BYTES);
}

/* For example "+1.84 MiB/s"; less than one byte prints as 0. */
static struct th_number
rate(double value, bool with_sign)
{
	const char *sign = !with_sign ? "" : value > 0 ? "+" : "-";
	struct th_number number;

	if (fabs(value) < 1)
		snprintf(number.text, sizeof(number.text), "0");
	else
		snprintf(number.text, sizeof(number.text), "%s%.30s/s", sign,
			bytes(fabs(value)).text);
	return number;
}

static char *
clean_copy(struct th_text text)
{
	char *copy = th_text_clean(text);
	size_t length = strlen(copy);

	while (length && copy[length - 1] == ' ')
		copy[--length] = '\0';
	return copy;
}

/* Whole seconds, since the view is updated once per second. */
static struct th_number
seconds_text(double seconds)
{
	struct th_number number;

	if (seconds >= 60)
		return th_format_seconds(floor(seconds));
	snprintf(number.text, sizeof(number.text), "%.0f s", floor(seconds));
	return number;
}

/* Head */

/* The command without the directory of its program. */
char *
th_watch_line_title(const struct th_watch *watch)
{
	char *command = clean_copy(watch->recording->process.command);
	size_t program = strcspn(command, " ");

	while (program && command[program - 1] != '/')
		program--;
	char *line = th_format_new(
		"twinheap live  %s", command[0] ? command + program : "[unknown command]");
	free(command);
	return line;
}

static const char *
state_name(const struct th_watch *watch)
{
	switch (watch->state) {
	case TH_WATCH_ENDED:
		return "ended after";
	case TH_WATCH_GONE:
		return "GONE (killed?) after";
	default:
		return "running";
	}
}

char *
th_watch_line_state(const struct th_watch_view *view)
{
	const struct th_watch *watch = view->watch;
	double seconds = (double)(watch->now - watch->recording->start) / 1e9;
	double age = (double)(watch->now - watch->as_of) / 1e9;
	char of[64] = "";

	if (age > OLD_S)
		snprintf(of, sizeof(of), ", figures %s old", seconds_text(age).text);
	return th_format_new("%spid %u %s %s%s", view->is_paused ? "PAUSED  " : "",
		watch->recording->process.pid, state_name(watch), seconds_text(seconds).text,
		of);
}

static struct th_number
interval_text(const struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);
	uint64_t interval = header->control.interval ? header->control.interval
						     : header->interval;
	struct th_number number;

	if (interval)
		snprintf(number.text, sizeof(number.text), "1 sample per %.24s",
			bytes((double)interval).text);
	else
		snprintf(number.text, sizeof(number.text), "every allocation");
	return number;
}

/* Samples per second, over the last ten seconds. */
static double
samples_per_second(const struct th_watch *watch)
{
	uint64_t from = watch->as_of > 10 * (uint64_t)TH_NS_PER_S
				? watch->as_of - 10 * (uint64_t)TH_NS_PER_S
				: 0;
	double seconds = (double)(watch->as_of - watch->recording->start) / 1e9;
	double count = 0;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_samples *samples = th_recording_allocations(
			watch->recording, (enum th_heap)heap);

		for (size_t i = samples->items_count; i-- && samples->items[i].time >= from;)
			count++;
	}
	return count / fmin(fmax(seconds, 1), 10);
}

char *
th_watch_line_sampling(const struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	uint64_t count = 0;
	char *name = clean_copy(recording->jvm.name);
	char *version = clean_copy(recording->jvm.version);

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		count += th_recording_allocations(recording, (enum th_heap)heap)->items_count;
	char *line = th_format_new("%s, %.0f samples/s, %s in total; %s %s",
		interval_text(recording).text, samples_per_second(watch),
		th_format_count(count).text, recording->has_jvm ? name : "no Java VM", version);

	free(name);
	free(version);
	return line;
}

/* What native code holds: "; JNI references: 781 global, 12 weak"; the caller frees it. */
static char *
jni_text(const struct th_recording *recording)
{
	size_t count = recording->references_count;
	char threads[64] = "";

	if (recording->undetached_count)
		snprintf(threads, sizeof(threads), "; %zu threads ended while attached",
			recording->undetached_count);
	if (!count)
		return th_format_new("%s", threads);
	const struct th_decoded_jni_references *last = &recording->references[count - 1];
	return th_format_new("; JNI references: %s global, %s weak%s",
		th_format_count(last->globals).text, th_format_count(last->weaks).text,
		threads);
}

char *
th_watch_line_collections(const struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	size_t count = recording->collections_count;

	if (!recording->has_jvm)
		return th_format_new("%s", "");
	if (!count) {
		char *jni = jni_text(recording);
		char *line = th_format_new("no GC so far%s", jni);
		free(jni);
		return line;
	}
	const struct th_decoded_collection *last = &recording->collections[count - 1];
	char *kind = clean_copy(last->kind);
	double ago = watch->now > last->end ? (double)(watch->now - last->end) / 1e9 : 0;
	char in_use[128] = "";
	if (recording->heap_uses_count) {
		const struct th_decoded_heap_use *use =
			&recording->heap_uses[recording->heap_uses_count - 1];

		snprintf(in_use, sizeof(in_use), "%s of %s in use after ",
			bytes((double)use->used).text, bytes((double)use->committed).text);
	}
	char *jni = jni_text(recording);
	char *line = th_format_new("%sGC %s, %s ago: %s%s", in_use,
		th_format_count(last->number).text, seconds_text(ago).text, kind, jni);
	free(kind);
	free(jni);
	return line;
}

char *
th_watch_line_mapped(const struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	size_t count = recording->mapped_uses_count;

	if (!count)
		return th_format_new("%s", "");
	const struct th_decoded_mapped_use *use = &recording->mapped_uses[count - 1];
	return th_format_new("mapped (exact): %s accessible, %s of it files; %s reserved",
		bytes((double)use->accessible).text, bytes((double)use->files).text,
		bytes((double)use->reserved).text);
}

char *
th_watch_line_losses(const struct th_watch *watch)
{
	static const char *const names[] = {"dropped_log_full", "dropped_no_space",
		"dropped_log_unreachable", "dropped_busy", "dropped_stacks_full",
		"dropped_threads_full", "dropped_no_scratch"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct th_recording *recording = watch->recording;
		uint64_t value = th_recording_counter(recording, names[i]);

		for (size_t k = 0; value && k < recording->counters_count; k++) {
			if (!th_text_equals(recording->counters[k].name, names[i]))
				continue;
			char *text = clean_copy(recording->counters[k].description);
			char *line = th_format_new("%s %s", th_format_count(value).text, text);
			free(text);
			return line;
		}
	}
	return NULL;
}

/* Totals */

char *
th_watch_line_totals_heading(int columns)
{
	return th_format_new("%-11s %9s  %-18s %11s  %9s%s  last 60 s", "", "live", "95 % CI",
		"growth", "allocated", columns >= WIDE ? "        rate" : "");
}

/* A curve, with a blank in front, at most `columns` wide; shorter where there is no room. */
static char *
curve_text(const double *curve, int columns, bool ascii)
{
	if (columns < 1)
		return th_format_new("%s", "");
	if (columns > TH_WATCH_SECONDS)
		columns = TH_WATCH_SECONDS;
	char *text = th_allocate(3 * (size_t)columns + 1, 1);
	th_watch_sparkline(curve, TH_WATCH_SECONDS, columns, ascii, text);
	return text;
}

char *
th_watch_line_total(const struct th_watch *watch, enum th_heap heap, int columns, bool ascii)
{
	const struct th_watch_site *all = &watch->heaps[heap];
	const char *name = th_heap_title(heap);
	double curve[TH_WATCH_SECONDS];

	if (!watch->profile->heaps[heap].is_recorded)
		return th_format_new("%-11s not recorded", name);
	struct th_estimate live = th_profile_live(watch->profile, heap);
	struct th_estimate allocated = th_profile_total(watch->profile, heap);
	th_watch_live_curve(watch, all, curve);
	int curve_at = TOTAL_COLUMNS + (columns >= WIDE ? RATE_COLUMNS : 0);
	char *text = curve_text(curve, columns - curve_at, ascii);
	char *line = th_format_new("%-11s %9s  %-18s %11s  %9s%*s  %s", name,
		bytes(live.estimate).text, th_estimate_interval(&live, TH_UNIT_BYTES).text,
		rate(th_watch_growth(watch, all), true).text, bytes(allocated.estimate).text,
		columns >= WIDE ? RATE_COLUMNS : 0,
		columns >= WIDE ? rate(th_watch_rate(watch, all), false).text : "", text);
	free(text);
	return line;
}

/* The table */

static int
curve_columns(int columns)
{
	return columns >= WIDER ? 30 : columns >= WIDE ? 20 : 10;
}

/* Marks the heading of the sort column. */
static const char *
marked(const struct th_watch_view *view, enum th_watch_order order, char text[16])
{
	snprintf(text, 16, "%s%s", view->table.order == order ? "*" : "",
		th_watch_order_name(order));
	return text;
}

static const char *
heaps_name(unsigned heaps)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heaps == 1u << heap)
			return th_heap_adjective((enum th_heap)heap);
	}
	return heaps == TH_HEAPS_ALL ? "all heaps" : "both heaps";
}

char *
th_watch_line_table_heading(const struct th_watch_view *view, int columns)
{
	char texts[TH_WATCH_ORDERS][16];
	char *sites = th_format_new("%s: %s site%s%s%s%s", heaps_name(view->table.heaps),
		th_format_count(view->table.rows_count).text,
		view->table.rows_count == 1 ? "" : "s", view->filter[0] ? " /" : "",
		view->filter, view->filter[0] ? "/" : "");
	char *line = th_format_new("  %9s %s%11s %10s %*s %-*s %s",
		marked(view, TH_WATCH_BY_LIVE, texts[0]),
		columns >= WIDE ? " 95 % CI            " : "",
		marked(view, TH_WATCH_BY_GROWTH, texts[1]),
		marked(view, TH_WATCH_BY_ALLOCATED, texts[2]), columns >= WIDER ? 11 : 0,
		columns >= WIDER ? marked(view, TH_WATCH_BY_RATE, texts[3]) : "",
		curve_columns(columns), "last 60 s", sites);

	free(sites);
	return line;
}

char *
th_watch_line_figures(const struct th_watch *watch, uint32_t number, int columns, bool ascii)
{
	const struct th_watch_site *site = &watch->sites[number];
	struct th_estimate live = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_LIVE, &site->live);
	struct th_estimate allocated = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_ALLOC, &site->allocated);
	static const char letters[TH_HEAPS] = {
		[TH_HEAP_JAVA] = 'J', [TH_HEAP_NATIVE] = 'N', [TH_HEAP_MAPPED] = 'M'};
	double curve[TH_WATCH_SECONDS];
	char interval[64] = "";
	char per_second[32] = "";

	if (columns >= WIDE)
		snprintf(interval, sizeof(interval), " %-19.30s",
			th_estimate_interval(&live, TH_UNIT_BYTES).text);
	if (columns >= WIDER)
		snprintf(per_second, sizeof(per_second), "%11.20s",
			rate(th_watch_rate(watch, site), false).text);
	th_watch_live_curve(watch, site, curve);
	char *text = curve_text(curve, curve_columns(columns), ascii);
	char *line = th_format_new("%c %9s %s%11s %10s %s %s ", letters[site->heap],
		bytes(live.estimate).text, interval,
		rate(th_watch_growth(watch, site), true).text, bytes(allocated.estimate).text,
		per_second, text);
	free(text);
	return line;
}

/* A site */

char *
th_watch_line_live(const struct th_watch *watch, uint32_t number)
{
	const struct th_watch_site *site = &watch->sites[number];
	struct th_estimate live = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_LIVE, &site->live);

	return th_format_new("live       %9s  (%s), %s samples, growth %s",
		bytes(live.estimate).text, th_estimate_interval(&live, TH_UNIT_BYTES).text,
		th_format_count(live.samples).text,
		rate(th_watch_growth(watch, site), true).text);
}

char *
th_watch_line_allocated(const struct th_watch *watch, uint32_t number)
{
	const struct th_watch_site *site = &watch->sites[number];
	struct th_estimate allocated = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_ALLOC, &site->allocated);

	return th_format_new("allocated  %9s  (%s), %s samples, rate %s",
		bytes(allocated.estimate).text,
		th_estimate_interval(&allocated, TH_UNIT_BYTES).text,
		th_format_count(allocated.samples).text,
		rate(th_watch_rate(watch, site), false).text);
}

char *
th_watch_line_chart(const double *curve, int columns, int lines, int line, bool ascii)
{
	double *part = th_allocate((size_t)columns + 1, sizeof(*part));
	char *text = th_allocate(3 * (size_t)columns + 4, 1);
	double largest = 0;

	for (int i = 0; i < columns; i++)
		largest = fmax(largest, curve[i]);
	/* Each value's part of this line; the right column has the scale. */
	double height = largest / lines;
	double floor_of_line = height * (lines - 1 - line);
	for (int i = 0; i < columns; i++)
		part[i] = fmin(fmax(curve[i] - floor_of_line, 0), height);
	part[columns] = height;
	th_watch_sparkline(part, columns + 1, columns + 1, ascii, text);
	/* The scale is the last character. */
	size_t end = strlen(text);
	do
		end--;
	while (end && ((unsigned char)text[end] & 0xc0) == 0x80);
	text[largest > 0 ? end : 0] = '\0';
	free(part);
	return text;
}

char *
th_watch_line_axis(const struct th_watch *watch, const struct th_watch_site *site, int columns)
{
	double curve[TH_WATCH_SECONDS];
	double largest = 0;

	th_watch_live_curve(watch, site, curve);
	for (int i = TH_WATCH_SECONDS - columns; i < TH_WATCH_SECONDS; i++)
		largest = fmax(largest, curve[i]);
	return th_format_new("live over the last %d s, 0 .. %s", columns, bytes(largest).text);
}

/* Stacks */

char *
th_watch_line_stack(const struct th_watch_view *view, size_t index)
{
	const struct th_watch *watch = view->watch;
	const struct th_watch_site *site = &watch->sites[view->site];
	const struct th_watch_stack *stack = &view->stacks.items[index];
	struct th_estimate live = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_LIVE, &stack->live);
	struct th_estimate allocated = th_profile_bytes(
		watch->profile, site->heap, TH_MEASURE_ALLOC, &stack->allocated);

	return th_format_new("stack %zu of %zu: live %s (%s), allocated %s", index + 1,
		view->stacks.items_count, bytes(live.estimate).text,
		th_estimate_interval(&live, TH_UNIT_BYTES).text,
		bytes(allocated.estimate).text);
}

char *
th_watch_line_frame(const struct th_frames *frames, uint32_t number, bool is_leaf)
{
	const struct th_frame *frame = th_frames_get(frames, number);
	const struct th_function *function = th_frames_function(frames, frame->function);
	const char *module = th_frames_string(frames, function->module);
	const char *file = th_frames_string(frames, frame->file);
	const char *slash = strrchr(module, '/');
	const char *name = th_frames_string(frames, function->name);
	const char *arrow = is_leaf ? "  " : "< ";

	if (file[0] && frame->line)
		return th_format_new("%s%s (%s:%u)", arrow, name, file, frame->line);
	if (module[0] && !th_frames_is_nameless(frames, frame->function))
		return th_format_new("%s%s (%s)", arrow, name, slash ? slash + 1 : module);
	return th_format_new("%s%s", arrow, name);
}

/* Keys */

char *
th_watch_line_keys(const struct th_watch_view *view)
{
	const char *pause = view->is_paused ? "resume" : "pause";

	if (view->is_typing)
		return th_format_new("filter: %s_%s", view->typed,
			view->is_wrong ? "   invalid regular expression" : "");
	switch (view->page) {
	case TH_WATCH_HELP:
		return th_format_new("any key: back");
	case TH_WATCH_STACKS:
		return th_format_new("Esc back  left/right stack  up/down frames  p %s  h help"
				     "  q quit",
			pause);
	default:
		return th_format_new("q quit  p %s  s sort: %s  Tab heap  / filter  Enter "
				     "stacks  h help",
			pause, th_watch_order_name(view->table.order));
	}
}
