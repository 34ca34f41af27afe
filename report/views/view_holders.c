/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds the Java objects of each finding, or of a class, as the last walk of the heap found it:
 * the views of `holders`, and parts of `leaks`.
 */
#include "report/views/parts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/views/view.h"

/* Holders of a finding in `leaks`. */
#define LINES_SHOWN 3
#define LINE_COLUMN 16
/* Elements of a path in one line: so many at each end of a longer one. */
#define ENDS_SHOWN 4
/* Elements at the begin of a path that are left out if the path above has them, too. */
#define SHARED_MIN 4

static enum th_elision *
choose(struct th_frames *frames, const struct th_holder *holder)
{
	enum th_elision *items = th_allocate(holder->path_count, sizeof(*items));

	for (size_t i = 0; i < holder->path_count; i++)
		if (i < ENDS_SHOWN || holder->path_count - i <= ENDS_SHOWN)
			items[i] = TH_ELISION_NAMED;
		else if (th_frames_is_of_program(frames, holder->path[i].name))
			items[i] = TH_ELISION_PROGRAM;
	th_elide(items, holder->path_count, 0);
	return items;
}

const char *
th_holder_parts_path(struct th_frames *frames, const struct th_holder *holder)
{
	enum th_elision *items = choose(frames, holder);
	struct th_line line;

	th_line_begin(&line);
	for (size_t i = 0; i < holder->path_count; i++) {
		size_t gap = th_elision_gap(items, holder->path_count, i);

		fputs(i ? " -> " : "", line.stream);
		if (gap)
			th_print(line.stream, "({} more)", gap);
		else
			th_print(line.stream, "{}{}", holder->path[i].words,
				holder->path[i].name);
		i += gap ? gap - 1 : 0;
	}
	free(items);
	return th_line_text(&line);
}

/* Lines of leaks */

/* What has a path; what has none is mostly garbage that no collection has judged yet. */
static double
sum_of(const struct th_holders *holders)
{
	double sum = 0;

	for (size_t i = 0; i < holders->items_count; i++)
		sum += holders->items[i].share;
	return sum;
}

/* "99 % by static gw.Gateway.SESSIONS -> ...", with the function of C that made the root. */
static const char *
line_text(const struct th_profile *profile, const struct th_holder *holder, double all)
{
	const char *path = th_holder_parts_path(profile->frames, holder);
	double share = all > 0 ? 100 * holder->share / all : 0;

	if (holder->root_path == TH_HOLDERS_NO_PATH)
		return th_printed("{f} % by {}", share, path);
	struct th_path made = th_paths_get(profile->paths, holder->root_path);
	return th_printed("{f} % by {}, made by {}", share, path,
		th_frame_of(profile->frames, made.frames[made.count - 1]));
}

/* Those of at least 1 % of the bytes; the first of all in any case. */
static size_t
count_large(const struct th_holders *holders)
{
	size_t count = 0;

	while (count < holders->items_count &&
		(!count || holders->items[count].share >= sum_of(holders) / 100))
		count++;
	return count;
}

static void
print_unknown(FILE *file, const struct th_held_samples *held)
{
	const struct th_recording *recording = held->leaks->profile->recording;

	th_print(file, "         held   not known: twinheap ctl {} holders{}\n",
		th_recording_pid(recording).text,
		recording->is_complete ? " while the process runs" : "");
}

/* Those that are listed, and how to see the others; or how to find any. */
static void
print_lines(FILE *file, const struct th_held_samples *held, const struct th_holders *holders,
	bool is_leak, const char *others)
{
	size_t count = count_large(holders);

	for (size_t i = 0; i < count && i < LINES_SHOWN; i++)
		th_print_cut(file, i ? "                " : "         held   ", LINE_COLUMN,
			line_text(held->leaks->profile, &holders->items[i], sum_of(holders)));
	if (count > LINES_SHOWN)
		th_print(file, "                and {} more{}\n", count - LINES_SHOWN, others);
	if (!held->walk && is_leak)
		print_unknown(file, held);
}

void
th_holder_parts_lines(FILE *file, const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, size_t number)
{
	struct th_holders holders;

	if (th_holders_of_finding(held, listed, finding, &holders))
		print_lines(file, held, &holders, finding->evidence.verdict == TH_VERDICT_LEAK,
			th_printed(": twinheap holders --finding {}", number));
	th_holders_deinit(&holders);
}

/* Whether a leak of class loaders has holders, or would have them after a walk. */
static bool
has_loaders(const struct th_tallied *tallied)
{
	return tallied->kind == TH_TALLY_LOADERS && tallied->class_name;
}

void
th_holder_parts_tallied_lines(
	FILE *file, const struct th_held_samples *held, const struct th_tallied *tallied)
{
	struct th_holders holders;

	if (!has_loaders(tallied))
		return;
	th_holders_of_tallied(held, tallied, &holders);
	print_lines(file, held, &holders, tallied->verdict == TH_VERDICT_LEAK, "");
	th_holders_deinit(&holders);
}

/* Whole paths */

/* What a holder has: bytes and objects, or class loaders. */
static void
print_sums(FILE *file, const struct th_holder *holder)
{
	if (!holder->sum.samples)
		th_print(file, "{}{c} class loaders\n", holder->objects.exact ? "" : "about ",
			holder->objects.estimate + 0.5);
	else
		th_print(file, "{e}, {n} objects ({I})\n", &holder->bytes, &holder->objects,
			&holder->objects);
}

/*
 * The number of elements, from the root on, that a path shares with the one printed before it, which
 * are then printed as one line; without its last element, and 0 for a few.
 */
static size_t
count_shared(const struct th_holder *holder, const struct th_holder *before)
{
	size_t count = 0;

	while (before && count + 1 < holder->path_count && count < before->path_count &&
		!strcmp(holder->path[count].kind, before->path[count].kind) &&
		!strcmp(holder->path[count].name, before->path[count].name))
		count++;
	return count < SHARED_MIN || holder->root_path != before->root_path ? 0 : count;
}

static void
print_holder(FILE *file, const struct th_profile *profile, const struct th_holder *holder,
	const struct th_holder *before, double all)
{
	const size_t shared = count_shared(holder, before);

	th_print(file, "\n  {%}  ", holder->share, all);
	print_sums(file, holder);
	for (size_t i = 0; i < holder->path_count; i++) {
		th_print(file, "{}{}{}\n", i ? "           -> " : "      ",
			holder->path[i].words, holder->path[i].name);
		if (!i && shared) {
			th_print(file, "           -> ({} more, as above)\n", shared - 1);
			i = shared - 1;
		} else if (!i && holder->root_path != TH_HOLDERS_NO_PATH) {
			th_stack_lines_print(file, profile,
				th_paths_get(profile->paths, holder->root_path), "by");
		}
	}
}

void
th_holder_parts_print(FILE *file, const struct th_held_samples *held,
	const struct th_holders *holders, uint64_t top)
{
	const struct th_profile *profile = held->leaks->profile;

	for (size_t i = 0; i < holders->items_count && i < top; i++)
		print_holder(file, profile, &holders->items[i],
			i ? &holders->items[i - 1] : NULL, sum_of(holders));
	if (holders->items_count > top)
		th_print(file, "\n  and {c} more\n", holders->items_count - top);
	if (holders->unknown.samples)
		th_print(file,
			"\n  {b} more without a path: garbage since the last GC, or held in a "
			"way that the VM does not report\n",
			th_sums_point(&holders->unknown.bytes));
}

/* JSON */

static json_t *
holder_json(const struct th_profile *profile, const struct th_holder *holder)
{
	return th_json("path objects bytes root_frames",
		th_json_map(element, holder->path, holder->path_count,
			th_json("kind name", element->kind, element->name)),
		&holder->objects, &holder->bytes,
		holder->root_path == TH_HOLDERS_NO_PATH
			? NULL
			: th_json_path(profile, holder->root_path));
}

/* All, or the largest ones as lines of text. */
static json_t *
holders_json(
	const struct th_held_samples *held, const struct th_holders *holders, bool as_lines)
{
	const struct th_profile *profile = held->leaks->profile;
	size_t count = as_lines ? count_large(holders) : 0;

	if (as_lines)
		return th_json_map(holder, holders->items,
			count < LINES_SHOWN ? count : LINES_SHOWN,
			json_string(line_text(profile, holder, sum_of(holders))));
	return th_json_map(
		holder, holders->items, holders->items_count, holder_json(profile, holder));
}

json_t *
th_holder_parts_finding_json(const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding, bool as_lines)
{
	struct th_holders holders;

	if (!held->walk)
		return NULL;
	bool applies = th_holders_of_finding(held, listed, finding, &holders);
	json_t *json = applies ? holders_json(held, &holders, as_lines) : NULL;
	th_holders_deinit(&holders);
	return json;
}

json_t *
th_holder_parts_tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied, bool as_lines)
{
	struct th_holders holders;

	if (!held->walk || !has_loaders(tallied))
		return NULL;
	th_holders_of_tallied(held, tallied, &holders);
	json_t *json = holders_json(held, &holders, as_lines);
	th_holders_deinit(&holders);
	return json;
}

/* The views */

/* Where the output goes: one of the two. */
struct output {
	FILE *file;
	json_t *list;
};

static void
show_finding(const struct output *output, const struct th_held_samples *held, size_t index,
	const struct th_finding *finding, const struct th_holders *holders)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_profile *profile = leaks->profile;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	enum th_verdict verdict = leaks->findings[index].verdict;

	if (output->list) {
		json_array_append_new(output->list,
			th_json("finding verdict lines heap class? frames holders", index + 1,
				th_verdict_names[verdict], finding->lines ? finding->lines : 1,
				th_heap_word(place->heap),
				th_frames_string(profile->frames, place->class_name),
				th_json_frames(profile->frames, th_leaks_path(leaks, place)),
				holders_json(held, holders, false)));
		return;
	}
	th_print(output->file, "\n{}. ", index + 1);
	th_view_verdict(output->file, verdict, leaks->findings[index].reason);
	th_print(output->file, "{}\n", th_view_finding_title(leaks, finding));
	th_holder_parts_print(output->file, held, holders, held->leaks->profile->options->top);
}

/* The findings that have holders, at most --top as text. */
static void
show_findings(const struct output *output, const struct th_held_samples *held)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_options *options = leaks->profile->options;
	uint64_t left = output->list ? UINT64_MAX : options->top;

	for (size_t i = 0; i < leaks->findings_count && left; i++) {
		struct th_holders holders;

		if (options->finding && options->finding != i + 1)
			continue;
		struct th_finding finding = th_leaks_next(leaks, leaks->findings[i].group);
		th_holders_of_finding(held, &leaks->findings[i], &finding, &holders);
		left -= holders.items_count > 0;
		if (holders.items_count)
			show_finding(output, held, i, &finding, &holders);
		th_holders_deinit(&holders);
	}
}

static void
show_tallied(const struct output *output, const struct th_held_samples *held,
	const struct th_tallied *tallied, const struct th_holders *holders)
{
	if (output->list) {
		const struct th_frames *frames = held->leaks->profile->frames;
		json_t *none = NULL;

		json_array_append_new(output->list,
			th_json("finding verdict lines heap class? frames holders", none,
				th_verdict_name_by(
					tallied->verdict, th_tallied_reason(tallied)),
				none, th_tallied_heap(tallied),
				th_frames_string(frames, tallied->class_name),
				th_json_frames(frames, th_tallied_path(held->leaks, tallied)),
				holders_json(held, holders, false)));
		return;
	}
	fputc('\n', output->file);
	th_view_verdict(output->file, tallied->verdict, th_tallied_reason(tallied));
	th_print(output->file, "{}\n", th_tallied_headline(held->leaks, tallied, " "));
	th_holder_parts_print(output->file, held, holders, held->leaks->profile->options->top);
}

/* The leaks of class loaders that have holders. */
static void
show_tallies(const struct output *output, const struct th_held_samples *held)
{
	const struct th_tallies *tallies = &held->leaks->tallies;

	for (size_t i = 0; i < tallies->items_count && !held->leaks->profile->options->finding;
		i++) {
		struct th_holders holders;

		th_holders_of_tallied(held, &tallies->items[i], &holders);
		if (holders.items_count)
			show_tallied(output, held, &tallies->items[i], &holders);
		th_holders_deinit(&holders);
	}
}

/* The holders of the objects of --class. */
static void
show_class(const struct output *output, const struct th_held_samples *held)
{
	const char *class_name = held->leaks->profile->options->held_class;
	struct th_holders_of of = {
		.class_name = th_frames_find_string(held->leaks->profile->frames, class_name)};
	struct th_holders holders = {0};
	json_t *none = NULL;

	if (of.class_name != TH_NO_STRING && of.class_name)
		th_holders_find(held, &of, &holders);
	if (!output->list) {
		th_print(output->file, "\n{}{}\n", class_name,
			holders.items_count ? ""
					    : ": no sampled object of this class has a path");
		th_holder_parts_print(
			output->file, held, &holders, held->leaks->profile->options->top);
	} else if (holders.items_count) {
		json_array_append_new(output->list,
			th_json("finding verdict lines heap class frames holders", none, none,
				none, th_heap_word(TH_HEAP_JAVA), class_name, json_array(),
				holders_json(held, &holders, false)));
	}
	th_holders_deinit(&holders);
}

static void
show(const struct output *output, const struct th_held_samples *held)
{
	if (held->leaks->profile->options->held_class) {
		show_class(output, held);
	} else {
		show_tallies(output, held);
		show_findings(output, held);
	}
}

void
th_view_holders(FILE *file, const struct th_leaks *leaks)
{
	struct th_held_samples held;

	th_held_samples_init(&held, leaks);
	const struct th_decoded_holder_walk *walk = held.walk;
	th_print(file,
		"walk of the Java heap at {t} s: {b} in use, the VM was stopped for {p}\n"
		"{c} of {c} sampled objects have a path from a root\n",
		th_profile_seconds(leaks->profile, walk->time), walk->heap,
		(double)walk->paused / 1e9, walk->found, walk->wanted);
	show(&(struct output){.file = file}, &held);
	th_held_samples_deinit(&held);
}

void
th_view_holders_json(FILE *file, const struct th_leaks *leaks)
{
	struct th_held_samples held;
	json_t *list = json_array();

	th_held_samples_init(&held, leaks);
	const struct th_decoded_holder_walk *walk = held.walk;
	show(&(struct output){.list = list}, &held);
	json_t *json = th_json("time_s paused_s expected_pause_s cpu_s heap_bytes objects "
			       "references memory_bytes samples samples_with_path",
		th_profile_seconds(leaks->profile, walk->time), (double)walk->paused / 1e9,
		(double)walk->expected / 1e9, (double)walk->cpu / 1e9, walk->heap,
		walk->objects, walk->references, walk->memory, walk->wanted, walk->found);
	th_json_print(file, th_json("twinheap walk findings", 1, json, list));
	th_held_samples_deinit(&held);
}
