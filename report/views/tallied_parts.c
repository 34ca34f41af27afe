/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/finding_parts.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/leaks/causes.h"
#include "report/profile/sites.h"
#include "report/views/json_parts.h"
#include "report/views/values.h"
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

/* "1,200", or "about 4,800" if not all were counted. */
static void
print_count(FILE *file, const struct th_tallied *tallied)
{
	th_print(file, "{}{c}", tallied->level ? "about " : "", tallied->alive + 0.5);
}

static void
print_threads(FILE *file, const struct th_tallied *tallied)
{
	print_count(file, tallied);
	th_print(file, " alive, {g}/s, {b} of stacks", th_tallied_rate(tallied),
		tallied->resident);
}

static void
print_loaders(FILE *file, const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	double each = tallied->alive > 0 ? tallied->resident / tallied->alive : 0;

	fputs("by ", file);
	print_count(file, tallied);
	if (tallied->class_name)
		th_print(file, " loaders of {}, ",
			th_frames_string(leaks->profile->frames, tallied->class_name));
	else
		fputs(" hidden classes, ", file);
	th_print(file, "{g}/s: metaspace {b}, {b}/s", th_tallied_rate(tallied),
		tallied->resident, each * th_tallied_rate(tallied));
}

static void
print_line(FILE *file, const struct th_frames *frames, const char *before, uint32_t number)
{
	if (number == TH_NO_FRAME)
		return;
	const struct th_frame *frame = th_frames_get(frames, number);
	th_print(file, "{}{}", before, th_frames_function_name(frames, frame->function));
	if (frame->file && frame->line)
		th_print(file, " ({}:{})", th_frames_string(frames, frame->file), frame->line);
}

void
th_tallied_print_headline(FILE *file, const struct th_leaks *leaks,
	const struct th_tallied *tallied, const char *between)
{
	const struct th_frames *frames = leaks->profile->frames;
	const char *made = is_threads(tallied) ? "threads started at " : "classes defined at ";
	uint32_t starter = th_causes_starter(
		leaks, th_causes_number_of_tallied(leaks, tallied));

	print_line(file, frames, made, starter);
	print_line(file, frames, starter == TH_NO_FRAME ? made : ", through ", tallied->line);
	print_line(file, frames, ", called from ", tallied->user);
	fputs(between, file);
	if (is_threads(tallied))
		print_threads(file, tallied);
	else
		print_loaders(file, leaks, tallied);
	if (tallied->vm.samples)
		th_print(file, " and {b} of the VM", tallied->vm.estimate);
	fputc('\n', file);
}

void
th_tallied_print(FILE *file, const struct th_held_samples *held,
	const struct th_tallied *tallied, th_tallied_print_parts *print_parts)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_leak_site site = site_of(leaks, tallied);
	uint32_t number = th_causes_number_of_tallied(leaks, tallied);
	char *why = th_tallied_explain(tallied);

	th_view_verdict(file, tallied->verdict, th_tallied_reason(tallied));
	th_tallied_print_headline(file, leaks, tallied, "\n         ");
	fprintf(file, "         why    %s\n", why);
	if (th_tallied_reason(tallied) == TH_REASON_UNCLOSED)
		th_print(file,
			"         do     close what this line makes; until then a GC ends the "
			"threads: jcmd {} GC.run\n",
			th_recording_pid(leaks->profile->recording).text);
	th_holder_parts_tallied_lines(file, held, tallied);
	if (tallied->verdict == TH_VERDICT_LEAK) {
		print_parts(file, leaks, number);
		th_stack_lines_of_leak(file, leaks, &site, number);
	}
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

/* Of the line, or of the one that started the threads on which it is. */
static json_t *
user_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	uint32_t frame = tallied->user;

	if (frame == TH_NO_FRAME)
		frame = th_causes_starter(leaks, th_causes_number_of_tallied(leaks, tallied));
	return th_json_frame(leaks->profile->frames, frame);
}

/*
 * Resident bytes and those of the C heap.  The metaspace is an estimate of unknown error, resident
 * bytes of stacks are exact.
 */
static json_t *
bytes_json(const struct th_tallied *tallied)
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
	return th_json_estimate(&(struct th_estimate){
		.estimate = number, .low = number, .high = number, .exact = !tallied->level});
}

struct th_path
th_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	struct th_leak_site site = site_of(leaks, tallied);

	return th_leaks_path(leaks, &site);
}

json_t *
th_tallied_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const struct th_frames *frames = leaks->profile->frames;
	char *why = th_tallied_explain(tallied);
	json_t *none = NULL; /* what other findings have and a counted leak has not */
	json_t *json = th_json(
		"verdict heap class? frames creator user live_bytes live_objects "
		"growth_objects_per_s growth_bytes_per_s",
		th_verdict_name_by(tallied->verdict, th_tallied_reason(tallied)),
		th_tallied_heap(tallied), th_frames_string(frames, tallied->class_name),
		th_json_frames(frames, th_tallied_path(leaks, tallied)),
		th_json_frame(frames, tallied->line), user_json(leaks, tallied),
		bytes_json(tallied), number_json(tallied, tallied->alive),
		number_json(tallied, th_tallied_rate(tallied)),
		number_json(tallied, th_tallied_growth(tallied)));

	th_json_set(json,
		"survivors_per_allocation resident_bytes reserved_bytes vm_bytes "
		"stacks still_growing why thread owner median_age_s "
		"collections_survived",
		tallied->made > 0 ? tallied->alive / tallied->made : 0.0, tallied->resident,
		tallied->bytes, &tallied->vm, tallied->stacks, (bool)true, why, none, none,
		none, none);
	if (!is_threads(tallied))
		th_json_set(json, "live_classes", tallied->parts);
	free(why);
	return json;
}
