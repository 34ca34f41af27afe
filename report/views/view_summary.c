/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary, and the brief form that `run` prints at its end.  Figures come from the profile; this
 * file formats them and picks the sites to list.
 *
 * Java objects count as live until a collection has found them dead, so the lines about collections
 * state how much of the live bytes may be garbage.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/profile/mapped_use.h"
#include "report/profile/sites.h"
#include "report/views/parts.h"

/* Sites listed for each heap in the brief form. */
#define BRIEF_SITES 2
/* Warnings listed in the brief form. */
#define BRIEF_WARNINGS 2
/* Unattributed part of a heap's total from which a warning is printed. */
#define NOTABLE_PART 0.01
/* Columns of figures in front of a site, and the minimum width of a site on a narrow terminal. */
#define SITE_FIGURE_COLUMNS 40
#define LEAST_SITE_COLUMNS 20
/* Longest command line shown without a terminal, in columns. */
#define COMMAND_COLUMNS 100
/* Sampling at a density that differs by more than this from the configured one is stated. */
#define ADAPTED 0.05
/* An event may be stamped slightly before or after what it describes. */
#define ABOUT_NS 1000000

/* What was recorded */

static void
print_command(FILE *file, const struct th_recording *recording)
{
	const char *text = th_printed("{}", recording->process.command); /* NUL is a blank */
	size_t length = strlen(text);
	int columns = th_terminal_columns(file);

	if (length && text[length - 1] == ' ')
		text = th_printed("{}", ((struct th_text){text, (uint32_t)length - 1}));
	th_format_cut(file, text[0] ? text : "[unknown command]",
		columns ? columns : COMMAND_COLUMNS);
}

static const char *
jvm_text(const struct th_recording *recording)
{
	return recording->has_jvm
		       ? th_printed("{} {}", recording->jvm.name, recording->jvm.version)
		       : "no Java VM";
}

static bool
has_samples(const struct th_recording *recording, enum th_heap heap)
{
	return th_recording_allocations(recording, heap)->items_count;
}

/* Whether a heap was sampled at another density than configured. */
static bool
is_adapted(const struct th_recording *recording, enum th_heap heap)
{
	double interval = (double)th_recording_interval(recording);
	double gap = (double)th_recording_gap(recording, heap);

	return has_samples(recording, heap) && fabs(gap - interval) > ADAPTED * interval;
}

const char *
th_view_sampling_text(const struct th_recording *recording)
{
	uint64_t interval = th_recording_interval(recording);
	double java = (double)th_recording_gap(recording, TH_HEAP_JAVA);
	double native = (double)th_recording_gap(recording, TH_HEAP_NATIVE);

	if (!interval)
		return "every allocation";
	if (!is_adapted(recording, TH_HEAP_JAVA) && !is_adapted(recording, TH_HEAP_NATIVE))
		return th_printed("one sample per {b}", interval);
	if (!has_samples(recording, TH_HEAP_JAVA))
		return th_printed("one sample per {b} of the native heap", native);
	if (!has_samples(recording, TH_HEAP_NATIVE))
		return th_printed("one sample per {b} of the Java heap", java);
	return th_printed(
		"one sample per {b} of the Java heap and {b} of the native heap", java, native);
}

static void
print_duration(FILE *file, const struct th_recording *recording)
{
	th_print(file, "recorded {s}, {}", th_recording_duration(recording),
		th_view_sampling_text(recording));
}

static void
print_recording(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_options *options = profile->options;
	double duration = th_recording_duration(recording);

	print_command(file, recording);
	th_print(file, "\npid {}, {}\n", recording->process.pid, jvm_text(recording));
	print_duration(file, recording);
	if (options->from > 0 || options->to < duration)
		th_print(file, ", showing {t} s to {t} s", options->from,
			options->to < duration ? options->to : duration);
	fputc('\n', file);
	th_view_filters(file, options);
	fputc('\n', file);
}

/* Totals */

/* A row of a table of heaps: bytes, objects and their confidence intervals. */
static void
print_row(FILE *file, enum th_heap heap, const struct th_estimate *bytes,
	const struct th_estimate *objects)
{
	th_print(file, "{-12} {9b}  {-17i} {8n}  {-15I} {9c}\n", th_heap_title(heap), bytes,
		bytes, objects, objects, bytes->samples);
}

static void
print_total(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->selected[heap][TH_MEASURE_ALLOC];

	if (!(profile->options->heaps & 1u << heap))
		return;
	if (!profile->heaps[heap].is_recorded) {
		th_print(file, "{-12} not recorded\n", th_heap_title(heap));
		return;
	}
	struct th_estimate bytes = th_profile_total(profile, heap);
	struct th_estimate objects = th_profile_objects(profile, heap, TH_MEASURE_ALLOC, sum);
	print_row(file, heap, &bytes, &objects);
}

/* Warns about counted bytes that belong to no site, if they exceed NOTABLE_PART. */
static void
print_unattributed(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_calibration *calibration = &profile->heaps[heap];
	double unplaced = calibration->unplaced;

	if (th_profile_has_heap(profile, heap) &&
		unplaced > NOTABLE_PART * calibration->bytes.estimate)
		th_print(file,
			"warning: {b} of the {} were allocated by threads that the VM "
			"rarely sampled; no site includes them\n",
			unplaced, th_heap_title(heap));
}

/* What the filters removed from a heap; with the heap's line above, this is the total. */
static void
print_left_out(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->left_out[heap][TH_MEASURE_ALLOC];

	if (!th_profile_has_heap(profile, heap) || !sum->samples)
		return;
	struct th_estimate bytes = th_profile_bytes(profile, heap, TH_MEASURE_ALLOC, sum);
	th_print(file, "excluded from the {}: {e}\n", th_heap_title(heap), &bytes);
}

static void
print_totals(FILE *file, const struct th_profile *profile)
{
	th_print(file, "{#}{-12} {9}  {-17} {8}  {-15} {9}{/}\n", TH_STYLE_HEADING, "",
		"allocated", "95 % CI", "objects", "95 % CI", "samples");
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_total(file, profile, heap);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_left_out(file, profile, heap);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_unattributed(file, profile, heap);
}

/* Live memory */

static void
print_live_total(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->selected[heap][TH_MEASURE_LIVE];
	struct th_estimate bytes = th_profile_live(profile, heap);

	if (!th_profile_has_heap(profile, heap))
		return;
	if (heap == TH_HEAP_JAVA && profile->lifetimes.is_unjudged) {
		th_print(file, "{-12} {9}  up to {b}: no GC so far, reachability is unknown\n",
			th_heap_title(heap), "unknown", bytes.high);
		return;
	}
	struct th_estimate objects = th_profile_objects(profile, heap, TH_MEASURE_LIVE, sum);
	print_row(file, heap, &bytes, &objects);
}

/* Bytes of a heap, allocated in [from, to] and live at `moment`, ignoring the view's filters. */
static struct th_estimate
live_bytes(const struct th_profile *profile, enum th_heap heap, uint64_t from, uint64_t to,
	const struct th_moment *moment)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_samples *samples = &profile->recording->samples[heap];
	struct th_calibration calibration = profile->heaps[heap];
	struct th_estimator sum = {0};

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time >= from && sample->time <= to &&
			th_lifetimes_is_live(lifetimes, heap, i, moment))
			th_lifetimes_add(lifetimes, &calibration, heap, i, moment, &sum);
	}
	calibration = th_lifetimes_calibration(
		lifetimes, &calibration, heap, moment, sum.samples);
	struct th_estimate live = th_calibration_bytes(&calibration, &sum);
	return heap != TH_HEAP_JAVA
		       ? live
		       : th_heap_use_clamp(&live, th_heap_use_bound(profile->recording,
							  &profile->heaps[heap], moment->time));
}

/* Prints the peak of live bytes, unless it is the snapshot itself. */
static void
print_peak(FILE *file, const struct th_profile *profile)
{
	struct th_moment peak = th_profile_peak(profile);
	const char *before = ": ";

	if (llabs((long long)(peak.time - profile->at.time)) < ABOUT_NS)
		return;
	th_print(file, "peak of live bytes at {t} s (--at peak)",
		th_profile_seconds(profile, peak.time));
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(profile, heap))
			continue;
		struct th_estimate bytes = live_bytes(profile, heap, 0, UINT64_MAX, &peak);
		th_print(file, "{}{} {e}", before, th_heap_title(heap), &bytes);
		before = ", ";
	}
	fputc('\n', file);
}

void
th_view_live_moment(FILE *file, const struct th_profile *profile)
{
	if (th_profile_is_before_teardown(profile))
		th_print(file, "live values are those {} (--at exit: at the end)\n",
			th_profile_moment_text(profile));
}

static void
print_live(FILE *file, const struct th_profile *profile)
{
	if (profile->at.time == profile->recording->end)
		th_print(file, "{-12} ", "at the end");
	else
		th_print(file, "at {-9t} ", th_profile_seconds(profile, profile->at.time));
	th_print(file, "{9}  {-17} {8}  {-15} {9}\n", "live", "95 % CI", "objects", "95 % CI",
		"samples");
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_live_total(file, profile, heap);
	th_mapped_use_print(file, profile);
	th_view_live_moment(file, profile);
	if (!th_options_filter_stacks(profile->options))
		print_peak(file, profile);
}

/* Collections */

/* The last collection that ended by the snapshot; NULL if there is none. */
static const struct th_decoded_collection *
last_collection(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	const struct th_decoded_collection *last = NULL;

	for (size_t i = 0; i < recording->collections_count; i++) {
		const struct th_decoded_collection *collection = &recording->collections[i];

		if (collection->end <= profile->at.time &&
			(!last || collection->end > last->end))
			last = collection;
	}
	return last;
}

/* Start of the next collection: deaths found by a collection are recorded until then. */
static uint64_t
next_start(const struct th_recording *recording, uint64_t time)
{
	uint64_t next = recording->end;

	for (size_t i = 0; i < recording->collections_count; i++) {
		uint64_t start = recording->collections[i].start;

		if (start > time && start < next)
			next = start;
	}
	return next;
}

static void
print_coverage(
	FILE *file, const struct th_profile *profile, const struct th_decoded_heap_use *use)
{
	struct th_moment moment = th_lifetimes_moment(
		&profile->lifetimes, next_start(profile->recording, use->time));
	double used = (double)use->used;
	struct th_estimate live = live_bytes(profile, TH_HEAP_JAVA, 0, use->time, &moment);

	/* Of what was allocated before, more cannot be alive. */
	live = th_heap_use_clamp(&live, used);
	th_print(file,
		"  Java heap in use after it: {b} of {b}; live by samples then: {e}, {%} of "
		"that\n",
		used, use->committed, &live, &live, used);
	if (live.high < used)
		th_print(file,
			"  at least {b} of that are older than the recording or unreclaimed "
			"garbage\n",
			used - live.high);
}

/* Prints what counts as live only because no collection has tested its reachability. */
static void
print_unjudged(FILE *file, const struct th_profile *profile)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	uint64_t known = profile->at.known - 1;
	uint64_t judged = th_lifetimes_judged(lifetimes, known, false);
	uint64_t judged_old = th_lifetimes_judged(lifetimes, known, true);
	struct th_estimate since = live_bytes(
		profile, TH_HEAP_JAVA, judged, UINT64_MAX, &profile->at);

	if (since.estimate > 0)
		th_print(file,
			"  {e} of the live bytes were allocated since the last GC and may be "
			"garbage\n",
			&since);
	if (!judged_old)
		fputs("  no old-generation GC so far: dead old objects count as live\n", file);
	else if (judged_old < judged)
		th_print(file,
			"  the last old-generation GC was at {t} s: old objects that died "
			"since "
			"count as live\n",
			th_profile_seconds(profile, judged_old));
}

/* Which part of the Java heap that counts as live may be garbage. */
static void
print_doubts(FILE *file, const struct th_profile *profile)
{
	if (!th_profile_has_heap(profile, TH_HEAP_JAVA) || !profile->recording->has_jvm)
		return;
	if (last_collection(profile))
		print_unjudged(file, profile);
	else
		fputs("  no GC so far: all allocated objects count as live\n", file);
}

static void
print_collections(FILE *file, const struct th_profile *profile)
{
	const struct th_decoded_collection *last = last_collection(profile);

	if (!th_profile_has_heap(profile, TH_HEAP_JAVA) || !profile->recording->has_jvm)
		return;
	fputs("\nGarbage collections\n", file);
	if (!last) {
		print_doubts(file, profile);
		return;
	}
	double pause = (double)last->paused / 1e9;
	const struct th_decoded_heap_use *use = th_heap_use_after(
		profile->recording, last->end);
	th_print(file,
		"  {c}, with pauses of {t} s in total ({%} of the time); the last at {t} s: "
		"{}\n",
		last->number, pause, pause, th_profile_seconds(profile, profile->at.time),
		th_profile_seconds(profile, last->start),
		last->kind.length ? last->kind : th_text_of("[unknown]"));
	if (use)
		print_coverage(file, profile, use);
	print_doubts(file, profile);
}

/* Sites */

static void
print_site(FILE *file, const struct th_profile *profile, enum th_heap heap,
	const struct th_site *site)
{
	struct th_estimate value = th_profile_value(profile, heap, &site->sum);
	struct th_estimate whole = th_profile_value(
		profile, heap, th_profile_selected(profile, heap));
	enum th_unit unit = th_values[profile->options->value].unit;

	th_print(file, "  {7%}  {9}  {-17} {#}", &value, &whole,
		th_format_number(value.estimate, unit).text,
		th_estimate_interval(&value, unit).text,
		th_frames_style(
			th_frames_function(profile->frames, site->place.function)->kind));
	th_format_cut(file, th_sites_text(profile->frames, site->class_name, site->place),
		th_terminal_room(file, SITE_FIGURE_COLUMNS, LEAST_SITE_COLUMNS));
	fprintf(file, "%s\n", th_terminal_code(file, TH_STYLE_PLAIN));
}

static void
print_sites(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	enum th_group_by group_by = profile->options->group_by;
	enum th_view_value value = profile->options->value;
	struct th_sites sites;

	th_sites_init(&sites, profile, heap);
	size_t shown = sites.items_count;
	if (shown > profile->options->top)
		shown = profile->options->top;
	if (shown)
		th_print(file, "\n{#}{}: {}{}{}{}{/}\n", TH_STYLE_HEADING, th_heap_title(heap),
			group_by ? "by " : "allocating functions and their callers",
			group_by ? th_group_by_names[group_by] : "",
			value == TH_VALUE_ALLOC_BYTES ? "" : ", by ",
			value == TH_VALUE_ALLOC_BYTES     ? ""
			: value == TH_VALUE_ALLOC_OBJECTS ? "objects"
							  : th_values[value].title);
	for (size_t i = 0; i < shown; i++)
		print_site(file, profile, heap, &sites.items[i]);
	if (shown && shown < sites.items_count)
		th_print(file, "  and {c} more\n", sites.items_count - shown);
	th_sites_deinit(&sites);
}

/* Recording quality and next steps */

static void
print_health(FILE *file, const struct th_health *health)
{
	if (health->lines_count)
		fputs("\nRecording quality\n", file);
	for (size_t i = 0; i < health->lines_count; i++) {
		bool is_warning = health->lines[i].is_warning;

		th_print(file, "  {#}{}{/}{}\n", is_warning ? TH_STYLE_WARNING : TH_STYLE_PLAIN,
			is_warning ? "warning: " : "", health->lines[i].text);
	}
}

static void
print_next_command(FILE *file, const char *program, const char *verb, const char *log)
{
	th_print(file, "  {} {} {}\n", th_view_quoted(program), verb, th_view_quoted(log));
}

static bool
is_empty(const struct th_profile *profile)
{
	return !profile->rows_count;
}

static void
print_next(FILE *file, const struct th_profile *profile, const char *program)
{
	const char *log = profile->options->log;

	if (is_empty(profile)) {
		fputs("\nNo samples match. To list every record of the log:\n", file);
		print_next_command(file, program, "dump", log);
		return;
	}
	fputs("\nNext: the call tree of all heaps; leaks\n", file);
	print_next_command(file, program, "tree", log);
	print_next_command(file, program, "leaks", log);
}

void
th_view_summary(FILE *file, const struct th_profile *profile, const struct th_health *health,
	const char *program)
{
	print_recording(file, profile);
	print_totals(file, profile);
	print_live(file, profile);
	print_collections(file, profile);
	th_ledger_parts_summary(file, profile);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_sites(file, profile, heap);
	print_health(file, health);
	print_next(file, profile, program);
}

/* The brief form */

static void
print_brief_heap(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	struct th_sites sites;

	if (!th_profile_has_heap(profile, heap))
		return;
	struct th_estimate bytes = th_profile_total(profile, heap);
	struct th_estimate live = th_profile_live(profile, heap);
	const char *text = th_profile_moment_text(profile);
	/* The reason is printed once for all heaps. */
	struct th_text moment = {text, (uint32_t)strcspn(text, ",")};
	th_print(file, "{}: {b} allocated ({i}), {c} samples; ", th_heap_title(heap), &bytes,
		&bytes, bytes.samples);
	if (heap == TH_HEAP_JAVA && profile->lifetimes.is_unjudged)
		th_print(file, "up to {b} live {}\n", live.high, moment);
	else
		th_print(file, "{b} live {} ({i})\n", &live, moment, &live);
	if (heap == TH_HEAP_JAVA)
		print_doubts(file, profile);
	print_unattributed(file, profile, heap);
	th_sites_init(&sites, profile, heap);
	for (size_t i = 0; i < sites.items_count && i < BRIEF_SITES; i++)
		print_site(file, profile, heap, &sites.items[i]);
	th_sites_deinit(&sites);
}

void
th_view_brief(FILE *file, const struct th_profile *profile, const struct th_health *health,
	const char *program)
{
	size_t warnings = 0;

	print_duration(file, profile->recording);
	th_print(file, ", {}\n", jvm_text(profile->recording));
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_brief_heap(file, profile, heap);
	th_view_live_moment(file, profile);
	for (size_t i = 0; i < health->lines_count; i++) {
		if (health->lines[i].is_warning && ++warnings <= BRIEF_WARNINGS)
			th_print(file, "warning: {}\n", health->lines[i].text);
	}
	if (warnings > BRIEF_WARNINGS)
		th_print(file, "and {} more warnings\n", warnings - BRIEF_WARNINGS);
	fputs("next:", file);
	print_next_command(
		file, program, is_empty(profile) ? "dump" : "summary", profile->options->log);
}
