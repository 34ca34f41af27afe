/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary, and the brief form that `run` prints at its end.  Figures come from the profile; this
 * file formats them and picks the sites to list.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"
#include "report/views/ledger_parts.h"
#include "report/views/live_section.h"

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

static enum th_unit
unit_of(const struct th_profile *profile)
{
	return th_value_counts_objects(profile->options->value) ? TH_UNIT_OBJECTS
								: TH_UNIT_BYTES;
}

/* What was recorded */

static void
print_command(FILE *file, const struct th_recording *recording)
{
	char *text = th_text_clean(recording->process.command); /* replaces NUL by a blank */
	size_t length = strlen(text);
	int columns = th_terminal_columns(file);

	if (length && text[length - 1] == ' ')
		text[length - 1] = '\0';
	th_format_cut(file, text[0] ? text : "[unknown command]",
		columns ? columns : COMMAND_COLUMNS);
	free(text);
}

static void
print_jvm(FILE *file, const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;

	if (!recording->has_jvm) {
		fputs("no Java VM", file);
		return;
	}
	char *name = th_text_clean(jvm->name);
	char *version = th_text_clean(jvm->version);
	fprintf(file, "%s %s", name, version);
	free(name);
	free(version);
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

char *
th_view_sampling_text(const struct th_recording *recording)
{
	uint64_t interval = th_recording_interval(recording);
	double java = (double)th_recording_gap(recording, TH_HEAP_JAVA);
	double native = (double)th_recording_gap(recording, TH_HEAP_NATIVE);

	if (!interval)
		return th_format_new("every allocation");
	if (!is_adapted(recording, TH_HEAP_JAVA) && !is_adapted(recording, TH_HEAP_NATIVE))
		return th_format_new("one sample per %s",
			th_format_number((double)interval, TH_UNIT_BYTES).text);
	if (!has_samples(recording, TH_HEAP_JAVA))
		return th_format_new("one sample per %s of the native heap",
			th_format_number(native, TH_UNIT_BYTES).text);
	if (!has_samples(recording, TH_HEAP_NATIVE))
		return th_format_new("one sample per %s of the Java heap",
			th_format_number(java, TH_UNIT_BYTES).text);
	return th_format_new("one sample per %s of the Java heap and %s of the native heap",
		th_format_number(java, TH_UNIT_BYTES).text,
		th_format_number(native, TH_UNIT_BYTES).text);
}

static void
print_interval(FILE *file, const struct th_recording *recording)
{
	char *text = th_view_sampling_text(recording);

	fputs(text, file);
	free(text);
}

static void
print_window(FILE *file, const struct th_profile *profile)
{
	const struct th_options *options = profile->options;
	double duration = th_recording_duration(profile->recording);

	if (options->from > 0 || options->to < duration)
		fprintf(file, ", showing %s s to %s s", th_format_time(options->from).text,
			th_format_time(options->to < duration ? options->to : duration).text);
}

static void
print_recording(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	print_command(file, recording);
	fprintf(file, "\npid %u, ", recording->process.pid);
	print_jvm(file, recording);
	fprintf(file, "\nrecorded %s, ",
		th_format_seconds(th_recording_duration(recording)).text);
	print_interval(file, recording);
	print_window(file, profile);
	fputc('\n', file);
	th_view_filters(file, profile->options);
	fputc('\n', file);
}

/* Totals */

void
th_view_total(FILE *file, enum th_heap heap, const struct th_estimate *bytes,
	const struct th_estimate *objects)
{
	fprintf(file, "%-12s %9s  %-17s %8s  %-15s %9s\n", th_heap_title(heap),
		th_format_number(bytes->estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(bytes, TH_UNIT_BYTES).text,
		th_format_number(objects->estimate, TH_UNIT_OBJECTS).text,
		th_estimate_interval(objects, TH_UNIT_OBJECTS).text,
		th_format_count(bytes->samples).text);
}

static void
print_total(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->selected[heap][TH_MEASURE_ALLOC];

	if (!(profile->options->heaps & 1u << heap))
		return;
	if (!profile->heaps[heap].is_recorded) {
		fprintf(file, "%-12s not recorded\n", th_heap_title(heap));
		return;
	}
	struct th_estimate bytes = th_profile_total(profile, heap);
	struct th_estimate objects = th_profile_objects(profile, heap, TH_MEASURE_ALLOC, sum);
	th_view_total(file, heap, &bytes, &objects);
}

/* Warns about counted bytes that belong to no site, if they exceed NOTABLE_PART. */
static void
print_unattributed(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_calibration *calibration = &profile->heaps[heap];
	double unplaced = calibration->unplaced;

	if (th_profile_has_heap(profile, heap) &&
		unplaced > NOTABLE_PART * calibration->bytes.estimate)
		fprintf(file,
			"warning: %s of the %s were allocated by threads that the VM "
			"rarely sampled; no site includes them\n",
			th_format_number(unplaced, TH_UNIT_BYTES).text, th_heap_title(heap));
}

/* What the filters removed from a heap; with the heap's line above, this is the total. */
static void
print_left_out(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	const struct th_estimator *sum = &profile->left_out[heap][TH_MEASURE_ALLOC];

	if (!th_profile_has_heap(profile, heap) || !sum->samples)
		return;
	struct th_estimate bytes = th_profile_bytes(profile, heap, TH_MEASURE_ALLOC, sum);
	fprintf(file, "excluded from the %s: %s (%s)\n", th_heap_title(heap),
		th_format_number(bytes.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&bytes, TH_UNIT_BYTES).text);
}

static void
print_totals(FILE *file, const struct th_profile *profile)
{
	fprintf(file, "%s%-12s %9s  %-17s %8s  %-15s %9s%s\n",
		th_terminal_code(file, TH_STYLE_HEADING), "", "allocated", "95 % CI", "objects",
		"95 % CI", "samples", th_terminal_code(file, TH_STYLE_PLAIN));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_total(file, profile, (enum th_heap)heap);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_left_out(file, profile, (enum th_heap)heap);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_unattributed(file, profile, (enum th_heap)heap);
}

/* Sites */

static void
print_name(FILE *file, const struct th_profile *profile, const struct th_site *site)
{
	th_sites_print(file, profile->frames, site->class_name,
		(struct th_site_place){site->function, site->caller});
}

/* In the color of the allocating function, cut to the terminal's width. */
static void
print_cut_name(FILE *file, const struct th_profile *profile, const struct th_site *site)
{
	struct th_line line;

	th_line_begin(&line);
	print_name(line.stream, profile, site);
	fputs(th_terminal_code(
		      file, th_frames_style(
				    th_frames_function(profile->frames, site->function)->kind)),
		file);
	th_line_cut(
		&line, file, th_terminal_room(file, SITE_FIGURE_COLUMNS, LEAST_SITE_COLUMNS));
	fputs(th_terminal_code(file, TH_STYLE_PLAIN), file);
}

static void
print_site(FILE *file, const struct th_profile *profile, enum th_heap heap,
	const struct th_site *site)
{
	struct th_estimate value = th_profile_value(profile, heap, &site->sum);
	struct th_estimate whole = th_profile_value(
		profile, heap, th_profile_selected(profile, heap));
	enum th_unit unit = unit_of(profile);

	fprintf(file, "  %7s  %9s  %-17s ",
		th_format_share(value.estimate, whole.estimate).text,
		th_format_number(value.estimate, unit).text,
		th_estimate_interval(&value, unit).text);
	print_cut_name(file, profile, site);
	th_terminal_mark(file, site->function, site->caller, site->class_name);
	fputc('\n', file);
}

static const char *
ranked_by(enum th_view_value value)
{
	switch (value) {
	case TH_VALUE_ALLOC_OBJECTS:
		return ", by objects";
	case TH_VALUE_LIVE_BYTES:
		return ", by live bytes";
	case TH_VALUE_LIVE_OBJECTS:
		return ", by live objects";
	case TH_VALUE_TEMPORARY_BYTES:
		return ", by temporary bytes";
	case TH_VALUE_TOUCHED_BYTES:
		return ", by touched bytes";
	default:
		return "";
	}
}

static void
print_sites(FILE *file, const struct th_profile *profile, enum th_heap heap)
{
	enum th_group_by group_by = profile->options->group_by;
	struct th_sites sites;

	th_sites_init(&sites, profile, heap);
	size_t shown = sites.items_count;
	if (shown > profile->options->top)
		shown = profile->options->top;
	if (shown)
		fprintf(file, "\n%s%s: %s%s%s%s\n", th_terminal_code(file, TH_STYLE_HEADING),
			th_heap_title(heap),
			group_by ? "by " : "allocating functions and their callers",
			group_by ? th_group_by_name(group_by) : "",
			ranked_by(profile->options->value),
			th_terminal_code(file, TH_STYLE_PLAIN));
	for (size_t i = 0; i < shown; i++)
		print_site(file, profile, heap, &sites.items[i]);
	if (shown && shown < sites.items_count)
		fprintf(file, "  and %s more\n",
			th_format_count(sites.items_count - shown).text);
	th_sites_deinit(&sites);
}

void
th_view_sites(FILE *file, const struct th_profile *profile)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_sites(file, profile, (enum th_heap)heap);
}

/* Recording quality and next steps */

static void
print_health(FILE *file, const struct th_health *health)
{
	if (health->lines_count)
		fputs("\nRecording quality\n", file);
	for (size_t i = 0; i < health->lines_count; i++)
		fprintf(file, "  %s%s%s%s\n",
			th_terminal_code(file, health->lines[i].is_warning ? TH_STYLE_WARNING
									   : TH_STYLE_PLAIN),
			health->lines[i].is_warning ? "warning: " : "",
			th_terminal_code(file, TH_STYLE_PLAIN), health->lines[i].text);
}

/* Prints a word quoted for the shell; unprintable characters are replaced. */
void
th_view_quoted(FILE *file, const char *text)
{
	char *clean = th_text_clean(th_text_of(text));
	const char *word = clean;
	const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789_-./,:=+@%";

	if (word[0] && strspn(word, plain) == strlen(word)) {
		fputs(word, file);
		free(clean);
		return;
	}
	fputc('\'', file);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", file);
		else
			fputc(*word, file);
	}
	fputc('\'', file);
	free(clean);
}

static void
print_next_command(FILE *file, const char *program, const char *verb, const char *log)
{
	fputs("  ", file);
	th_view_quoted(file, program);
	fprintf(file, " %s ", verb);
	th_view_quoted(file, log);
	fputc('\n', file);
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
	th_live_section_totals(file, profile);
	th_live_section_collections(file, profile);
	th_ledger_parts_summary(file, profile);
	th_view_sites(file, profile);
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
	char *moment = th_profile_moment_text(profile);
	/* The reason is printed once for all heaps. */
	moment[strcspn(moment, ",")] = '\0';
	fprintf(file, "%s: %s allocated (%s), %s samples; ", th_heap_title(heap),
		th_format_number(bytes.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&bytes, TH_UNIT_BYTES).text,
		th_format_count(bytes.samples).text);
	if (th_lifetimes_is_unjudged(&profile->lifetimes, heap))
		fprintf(file, "up to %s live %s\n",
			th_format_number(live.high, TH_UNIT_BYTES).text, moment);
	else
		fprintf(file, "%s live %s (%s)\n",
			th_format_number(live.estimate, TH_UNIT_BYTES).text, moment,
			th_estimate_interval(&live, TH_UNIT_BYTES).text);
	free(moment);
	if (heap == TH_HEAP_JAVA)
		th_live_section_doubts(file, profile);
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

	fprintf(file, "recorded %s, ",
		th_format_seconds(th_recording_duration(profile->recording)).text);
	print_interval(file, profile->recording);
	fputs(", ", file);
	print_jvm(file, profile->recording);
	fputc('\n', file);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_brief_heap(file, profile, (enum th_heap)heap);
	th_live_section_moment(file, profile);
	for (size_t i = 0; i < health->lines_count; i++) {
		if (health->lines[i].is_warning && ++warnings <= BRIEF_WARNINGS)
			fprintf(file, "warning: %s\n", health->lines[i].text);
	}
	if (warnings > BRIEF_WARNINGS)
		fprintf(file, "and %zu more warnings\n", warnings - BRIEF_WARNINGS);
	fputs("next:", file);
	print_next_command(
		file, program, is_empty(profile) ? "dump" : "summary", profile->options->log);
}
