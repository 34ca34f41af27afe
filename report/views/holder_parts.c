/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/holder_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/views/frame_texts.h"
#include "report/views/json_parts.h"

/* Holders of a finding in `leaks`. */
#define LINES_SHOWN 3
/* Frames of the native stack of a JNI global reference. */
#define FRAMES_SHOWN 6
#define LINE_COLUMN 16
/* Elements of a path in one line: so many at each end of a longer one. */
#define ENDS_SHOWN 4
/* Elements at the begin of a path that are left out if the path above has them, too. */
#define SHARED_MIN 4

/* "static ", "JNI global of ", ...: what the first element of a path is. */
static const char *
root_words(const struct th_holder_element *element)
{
	static const struct {
		const char *kind;
		const char *words;
	} roots[] = {
		{"static", "static "},
		{"jni-global", "JNI global of "},
		{"thread-local", "thread local of "},
		{"thread", "thread "},
		{"stack", "local variable of "},
		{"loader", "class loader "},
		{"vm", "the VM "},
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (!strcmp(element->kind, roots[i].kind))
			return roots[i].words;
	return "";
}

static void
print_element(FILE *file, const struct th_holder_element *element)
{
	fprintf(file, "%s%s", root_words(element), element->name);
}

/* The function of C that made the root. */
static void
print_maker(FILE *file, const struct th_profile *profile, const struct th_holder *holder)
{
	if (holder->root_path == TH_HOLDERS_NO_PATH)
		return;
	struct th_path path = th_paths_get(profile->paths, holder->root_path);
	fputs(", made by ", file);
	th_frame_texts_line(file, profile->frames, path.frames[path.count - 1]);
}

char *
th_holder_parts_path(const struct th_holder *holder)
{
	struct th_line line;

	th_line_begin(&line);
	for (size_t i = 0; i < holder->path_count; i++) {
		fputs(i ? " -> " : "", line.stream);
		if (i == ENDS_SHOWN && holder->path_count > 2 * ENDS_SHOWN + 1) {
			size_t left_out = holder->path_count - 2 * ENDS_SHOWN;

			fprintf(line.stream, "(%zu more) -> ", left_out);
			i += left_out;
		}
		print_element(line.stream, &holder->path[i]);
	}
	return th_line_end(&line);
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

/* "99 % by static gw.Gateway.SESSIONS -> ..." */
static void
write_line(FILE *file, const struct th_profile *profile, const struct th_holder *holder,
	double all)
{
	char *path = th_holder_parts_path(holder);

	fprintf(file, "%.0f %% by %s", all > 0 ? 100 * holder->share / all : 0, path);
	print_maker(file, profile, holder);
	free(path);
}

static void
print_line(FILE *file, const struct th_profile *profile, const struct th_holder *holder,
	double all, bool is_first)
{
	struct th_line line;

	fputs(is_first ? "         held   " : "                ", file);
	th_line_begin(&line);
	write_line(line.stream, profile, holder, all);
	th_line_cut(&line, file, th_terminal_room(file, LINE_COLUMN, LINE_COLUMN));
	fputc('\n', file);
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

/* Those that are listed; returns the number of further ones. */
static size_t
print_lines(FILE *file, const struct th_held_samples *held, const struct th_holders *holders)
{
	size_t count = count_large(holders);

	for (size_t i = 0; i < count && i < LINES_SHOWN; i++)
		print_line(file, held->leaks->profile, &holders->items[i], sum_of(holders), !i);
	return count > LINES_SHOWN ? count - LINES_SHOWN : 0;
}

static const char *
while_it_runs(const struct th_held_samples *held)
{
	return held->leaks->profile->recording->is_complete ? " while the process runs" : "";
}

/* False: the walk did not answer for the finding. */
static bool
print_finding(FILE *file, const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding)
{
	struct th_holders holders;

	th_holders_of_finding(held, listed, finding, &holders);
	bool is_answered = holders.items_count || !held->selected_count;
	size_t more = print_lines(file, held, &holders);
	if (more)
		fprintf(file, "                and %zu more: twinheap holders --finding %zu\n",
			more, (size_t)(listed - held->leaks->findings) + 1);
	th_holders_deinit(&holders);
	return is_answered;
}

void
th_holder_parts_lines(FILE *file, const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, size_t number)
{
	if (!th_holders_apply(held->leaks, listed, finding))
		return;
	if (held->walk && print_finding(file, held, listed, finding))
		return;
	if (finding->evidence.verdict == TH_VERDICT_LEAK)
		fprintf(file,
			"         held   not known: twinheap ctl %s holders --finding %zu%s\n",
			th_recording_pid(held->leaks->profile->recording).text, number,
			while_it_runs(held));
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
	size_t more = print_lines(file, held, &holders);
	if (more)
		fprintf(file, "                and %zu more\n", more);
	if ((!held->walk || held->selected_count) && tallied->verdict == TH_VERDICT_LEAK)
		fprintf(file, "         held   not known: twinheap ctl %s holders%s\n",
			th_recording_pid(held->leaks->profile->recording).text,
			while_it_runs(held));
	th_holders_deinit(&holders);
}

static json_t *
texts_json(const struct th_held_samples *held, const struct th_holders *holders)
{
	size_t count = count_large(holders);
	json_t *list = json_array();

	for (size_t i = 0; i < count && i < LINES_SHOWN; i++) {
		struct th_line line;

		th_line_begin(&line);
		write_line(
			line.stream, held->leaks->profile, &holders->items[i], sum_of(holders));
		char *text = th_line_end(&line);
		json_array_append_new(list, json_string(text));
		free(text);
	}
	return list;
}

json_t *
th_holder_parts_texts_json(const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding)
{
	struct th_holders holders;

	if (!held->walk || !th_holders_apply(held->leaks, listed, finding))
		return json_null();
	th_holders_of_finding(held, listed, finding, &holders);
	json_t *list = texts_json(held, &holders);
	th_holders_deinit(&holders);
	return list;
}

json_t *
th_holder_parts_tallied_texts_json(
	const struct th_held_samples *held, const struct th_tallied *tallied)
{
	struct th_holders holders;

	if (!held->walk || !has_loaders(tallied))
		return json_null();
	th_holders_of_tallied(held, tallied, &holders);
	json_t *list = texts_json(held, &holders);
	th_holders_deinit(&holders);
	return list;
}

/* Whole paths */

static void
print_stack(FILE *file, const struct th_profile *profile, const struct th_holder *holder)
{
	if (holder->root_path == TH_HOLDERS_NO_PATH)
		return;
	struct th_path path = th_paths_get(profile->paths, holder->root_path);
	for (uint32_t i = 0; i < path.count && i < FRAMES_SHOWN; i++) {
		fputs(i ? "              < " : "      made by ", file);
		th_frame_texts_line(file, profile->frames, path.frames[path.count - 1 - i]);
		fputc('\n', file);
	}
}

/* What a holder has: bytes and objects, or class loaders. */
static void
print_sums(FILE *file, const struct th_holder *holder)
{
	if (!holder->sum.samples)
		fprintf(file, "%s%s class loaders", holder->objects.exact ? "" : "about ",
			th_format_count((uint64_t)(holder->objects.estimate + 0.5)).text);
	else
		fprintf(file, "%s (%s), %s objects (%s)",
			th_format_number(holder->bytes.estimate, TH_UNIT_BYTES).text,
			th_estimate_interval(&holder->bytes, TH_UNIT_BYTES).text,
			th_format_number(holder->objects.estimate, TH_UNIT_OBJECTS).text,
			th_estimate_interval(&holder->objects, TH_UNIT_OBJECTS).text);
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

	fprintf(file, "\n  %s  ", th_format_share(holder->share, all).text);
	print_sums(file, holder);
	fputc('\n', file);
	for (size_t i = 0; i < holder->path_count; i++) {
		fputs(i ? "           -> " : "      ", file);
		print_element(file, &holder->path[i]);
		fputc('\n', file);
		if (!i && shared) {
			fprintf(file, "           -> (%zu more, as above)\n", shared - 1);
			i = shared - 1;
		} else if (!i) {
			print_stack(file, profile, holder);
		}
	}
}

void
th_holder_parts_print(FILE *file, const struct th_held_samples *held,
	const struct th_holders *holders, uint64_t top)
{
	double all = sum_of(holders);

	for (size_t i = 0; i < holders->items_count && i < top; i++)
		print_holder(file, held->leaks->profile, &holders->items[i],
			i ? &holders->items[i - 1] : NULL, all);
	if (holders->items_count > top)
		fprintf(file, "\n  and %s more\n",
			th_format_count(holders->items_count - top).text);
	if (holders->unknown.samples)
		fprintf(file,
			"\n  %s more without a path: garbage since the last GC, or held in a "
			"way "
			"that the VM does not report\n",
			th_format_number(th_sums_point(&holders->unknown.bytes), TH_UNIT_BYTES)
				.text);
}

/* JSON */

static json_t *
frames_json(const struct th_profile *profile, const struct th_holder *holder)
{
	json_t *list;

	if (holder->root_path == TH_HOLDERS_NO_PATH)
		return json_null();
	struct th_path path = th_paths_get(profile->paths, holder->root_path);
	list = json_array();
	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(list, th_json_frame(profile->frames, path.frames[i]));
	return list;
}

static json_t *
holder_json(const struct th_profile *profile, const struct th_holder *holder)
{
	json_t *path = json_array();

	for (size_t i = 0; i < holder->path_count; i++)
		json_array_append_new(
			path, json_pack("{s:s, s:s}", "kind", holder->path[i].kind, "name",
				      holder->path[i].name));
	return json_pack("{s:o, s:o, s:o, s:o}", "path", path, "objects",
		th_json_estimate(&holder->objects), "bytes", th_json_estimate(&holder->bytes),
		"root_frames", frames_json(profile, holder));
}

json_t *
th_holder_parts_json(const struct th_held_samples *held, const struct th_holders *holders)
{
	json_t *list = json_array();

	for (size_t i = 0; i < holders->items_count; i++)
		json_array_append_new(
			list, holder_json(held->leaks->profile, &holders->items[i]));
	return list;
}

json_t *
th_holder_parts_finding_json(const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding)
{
	struct th_holders holders;

	if (!held->walk || !th_holders_apply(held->leaks, listed, finding))
		return json_null();
	th_holders_of_finding(held, listed, finding, &holders);
	json_t *json = th_holder_parts_json(held, &holders);
	th_holders_deinit(&holders);
	return json;
}

json_t *
th_holder_parts_tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied)
{
	struct th_holders holders;

	if (!held->walk || !has_loaders(tallied))
		return json_null();
	th_holders_of_tallied(held, tallied, &holders);
	json_t *json = th_holder_parts_json(held, &holders);
	th_holders_deinit(&holders);
	return json;
}
