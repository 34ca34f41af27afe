/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/tallied_parts.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/leaks/causes.h"
#include "report/profile/sites.h"
#include "report/views/holder_parts.h"
#include "report/views/json_parts.h"
#include "report/views/view.h"

static bool
is_threads(const struct th_tallied *tallied)
{
	return tallied->kind == TH_TALLY_THREADS;
}

/* A site with the stack of the maker. */
static struct th_leak_site
site_of(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const struct th_profile *profile = leaks->profile;
	const struct th_frame *line = th_frames_get(profile->frames, tallied->line);

	return (struct th_leak_site){
		.heap = is_threads(tallied) ? TH_HEAP_NATIVE : TH_HEAP_JAVA,
		.class_name = tallied->class_name,
		.creator = th_sites_is_application(profile->frames, line->function),
		.path = tallied->path,
		.thread = th_frames_special_function(profile->frames, "", "", TH_KIND_GROUP),
	};
}

/* Text */

static void
print_line(FILE *file, const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);

	fputs(th_frames_function_name(frames, frame->function), file);
	if (frame->file && frame->line)
		fprintf(file, " (%s:%u)", th_frames_string(frames, frame->file), frame->line);
}

/* "1,200", or "about 4,800" if not all were counted. */
static void
print_count(FILE *file, const struct th_tallied *tallied, double count)
{
	fprintf(file, "%s%s", tallied->level ? "about " : "",
		th_format_count((uint64_t)(count + 0.5)).text);
}

static void
print_bytes(FILE *file, double bytes)
{
	fputs(th_format_number(bytes, TH_UNIT_BYTES).text, file);
}

static void
print_threads(FILE *file, const struct th_tallied *tallied)
{
	print_count(file, tallied, tallied->alive);
	fprintf(file, " alive, %.3g/s, ", th_tallied_rate(tallied));
	print_bytes(file, tallied->resident);
	fputs(" of stacks", file);
}

static void
print_loaders(FILE *file, const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	double each = tallied->alive > 0 ? tallied->resident / tallied->alive : 0;

	fputs("by ", file);
	print_count(file, tallied, tallied->alive);
	if (tallied->class_name)
		fprintf(file, " loaders of %s, ",
			th_frames_string(leaks->profile->frames, tallied->class_name));
	else
		fputs(" hidden classes, ", file);
	fprintf(file, "%.3g/s: metaspace ", th_tallied_rate(tallied));
	print_bytes(file, tallied->resident);
	fputs(", ", file);
	print_bytes(file, each * th_tallied_rate(tallied));
	fputs("/s", file);
}

static void
print_vm(FILE *file, const struct th_tallied *tallied)
{
	if (!tallied->vm.samples)
		return;
	fputs(" and ", file);
	print_bytes(file, tallied->vm.estimate);
	fputs(" of the VM", file);
}

/* ", from threads started at app.Pool.grow (Pool.java:31)" */
static void
print_starter(FILE *file, const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	uint32_t line = th_causes_starter(leaks, th_causes_number_of_tallied(leaks, tallied));

	if (line == TH_NO_FRAME)
		return;
	fputs(", on threads started at ", file);
	print_line(file, leaks->profile->frames, line);
}

void
th_tallied_print_headline(FILE *file, const struct th_leaks *leaks,
	const struct th_tallied *tallied, const char *between)
{
	const struct th_frames *frames = leaks->profile->frames;

	fprintf(file, "%s at ", is_threads(tallied) ? "threads started" : "classes defined");
	print_line(file, frames, tallied->line);
	if (tallied->user != TH_NO_FRAME) {
		fputs(", called from ", file);
		print_line(file, frames, tallied->user);
	}
	print_starter(file, leaks, tallied);
	fputs(between, file);
	if (is_threads(tallied))
		print_threads(file, tallied);
	else
		print_loaders(file, leaks, tallied);
	print_vm(file, tallied);
	fputc('\n', file);
}

void
th_tallied_print(FILE *file, const struct th_held_samples *held,
	const struct th_tallied *tallied, th_tallied_print_parts *print_parts,
	th_tallied_print_stack *print_stack)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_leak_site site = site_of(leaks, tallied);
	char *why = th_tallied_explain(tallied);

	th_view_verdict(file, tallied->verdict, th_tallied_reason(tallied));
	th_tallied_print_headline(file, leaks, tallied, "\n         ");
	fprintf(file, "         why    %s\n", why);
	if (th_tallied_reason(tallied) == TH_REASON_UNCLOSED)
		fprintf(file,
			"         do     close what this line makes; until then a GC ends the "
			"threads: jcmd %s GC.run\n",
			th_recording_pid(leaks->profile->recording).text);
	th_holder_parts_tallied_lines(file, held, tallied);
	if (tallied->verdict == TH_VERDICT_LEAK)
		print_parts(file, leaks, th_causes_number_of_tallied(leaks, tallied));
	if (tallied->verdict == TH_VERDICT_LEAK)
		print_stack(file, leaks, &site);
	free(why);
}

void
th_tallied_print_causes(FILE *file, const struct th_leaks *leaks)
{
	for (size_t i = 0; leaks && i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (th_causes_is_part(leaks, (uint32_t)i))
			continue;
		fputs("  leak: ", file);
		th_tallied_print_headline(
			file, leaks, tallied, is_threads(tallied) ? ": " : " ");
	}
}

/* JSON */

static json_t *
frames_json(const struct th_leaks *leaks, const struct th_leak_site *site)
{
	struct th_path path = th_leaks_path(leaks, site);
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(
			list, th_json_frame(leaks->profile->frames, path.frames[i]));
	return list;
}

static json_t *
line_json(const struct th_leaks *leaks, uint32_t frame)
{
	return frame == TH_NO_FRAME ? json_null()
				    : th_json_frame(leaks->profile->frames, frame);
}

json_t *
th_tallied_bytes_json(const struct th_tallied *tallied)
{
	const struct th_estimate bytes = {
		.estimate = tallied->resident + tallied->vm.estimate,
		.low = tallied->resident + tallied->vm.low,
		.high = tallied->resident + tallied->vm.high,
		.samples = tallied->vm.samples,
	};

	return th_json_estimate(&bytes);
}

static json_t *
number_json(const struct th_tallied *tallied, double number)
{
	const struct th_estimate count = {
		.estimate = number, .low = number, .high = number, .exact = !tallied->level};

	return th_json_estimate(&count);
}

/* What other findings have and a counted leak has not. */
static void
set_missing(json_t *json)
{
	static const char *const names[] = {
		"thread", "owner", "median_age_s", "collections_survived"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_set_new(json, names[i], json_null());
}

json_t *
th_tallied_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	struct th_leak_site site = site_of(leaks, tallied);
	double rate = th_tallied_rate(tallied);
	char *why = th_tallied_explain(tallied);
	json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, "
				 "s:f, s:o, s:I, s:b, "
				 "s:s}",
		"verdict", th_verdict_name_by(tallied->verdict, th_tallied_reason(tallied)),
		"heap", th_tallied_heap(tallied), "class",
		th_json_text_or_null(
			th_frames_string(leaks->profile->frames, tallied->class_name)),
		"frames", frames_json(leaks, &site), "creator", line_json(leaks, tallied->line),
		"user", line_json(leaks, tallied->user), "live_bytes",
		th_tallied_bytes_json(tallied), "live_objects",
		number_json(tallied, tallied->alive), "growth_objects_per_s",
		number_json(tallied, rate), "growth_bytes_per_s",
		number_json(tallied, th_tallied_growth(tallied)), "survivors_per_allocation",
		tallied->made > 0 ? tallied->alive / tallied->made : 0, "resident_bytes",
		tallied->resident, "reserved_bytes", tallied->bytes, "vm_bytes",
		th_json_estimate(&tallied->vm), "stacks", (json_int_t)tallied->stacks,
		"still_growing", true, "why", why);

	set_missing(json);
	if (!is_threads(tallied))
		json_object_set_new(json, "live_classes", json_real(tallied->parts));
	free(why);
	return json;
}
