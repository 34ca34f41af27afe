/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the JSON outputs that several views share: functions, filters, and the recorded part of
 * the process's life.
 */
#include "report/views/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/statistics/sampling_changes.h"
#include "report/views/view.h"
#include "unify/shared/heaps.h"

json_t *
th_json_frames(const struct th_frames *frames, struct th_path path)
{
	return th_json_map(frame, path.frames, path.count, th_json_frame(frames, *frame));
}

json_t *
th_json_path(const struct th_profile *profile, uint32_t path)
{
	return th_json_frames(profile->frames, th_paths_get(profile->paths, path));
}

/* Filters */

json_t *
th_json_filters(const struct th_options *options)
{
	const struct {
		const char *name;
		const struct th_pattern *pattern;
	} patterns[] = {
		{"thread", &options->thread},
		{"class", &options->class_name},
		{"include", &options->include},
		{"exclude", &options->exclude},
		{"focus", &options->focus},
		{"hide", &options->hide},
	};
	json_t *json = json_object();

	if (options->heaps != TH_HEAPS_ALL)
		th_json_put(json, "heaps", th_heaps_text(options->heaps));
	if (options->from > 0)
		th_json_put(json, "from", th_printed("{t}", options->from));
	if (isfinite(options->to))
		th_json_put(json, "to", th_printed("{t}", options->to));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (patterns[i].pattern->is_given)
			th_json_put(
				json, patterns[i].name, th_text_of(patterns[i].pattern->text));
	}
	if (options->group_by)
		th_json_put(json, "group-by", th_group_by_names[options->group_by]);
	if (options->all_vm_frames)
		th_json_put(json, "vm-frames", "all");
	return json;
}

const char *
th_view_quoted(const char *word)
{
	const char *clean = th_printed("{}", th_text_of(word));
	struct th_line line;

	if (clean[0] &&
		!clean[strspn(clean, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_-./,:=+@%")])
		return clean;
	th_line_begin(&line);
	fputc('\'', line.stream);
	for (; *clean; clean++)
		fprintf(line.stream, *clean == '\'' ? "'\\%c'" : "%c", *clean);
	fputc('\'', line.stream);
	return th_line_text(&line);
}

const char *
th_view_filters_text(const struct th_options *options)
{
	json_t *filters = th_json_filters(options);
	const char *text = "";
	const char *name;
	json_t *value;

	json_object_foreach(filters, name, value)
	{
		bool has_value = strcmp(name, "vm-frames");

		text = th_printed("{}{}--{}{}{}", text, *text ? " " : "", name,
			has_value ? " " : "",
			has_value ? th_view_quoted(json_string_value(value)) : "");
	}
	json_decref(filters);
	return text;
}

void
th_view_filters(FILE *file, const struct th_options *options)
{
	const char *text = th_view_filters_text(options);

	if (text[0])
		th_print(file, "only {}\n", text);
}

/* Recorded */

static double
seconds_at(const struct th_recording *recording, uint64_t time)
{
	return time > recording->start ? (double)(time - recording->start) / 1e9 : 0;
}

json_t *
th_json_heap_names(uint64_t heaps)
{
	json_t *json = json_array();

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heaps >> heap & 1)
			json_array_append_new(json, json_string(th_heap_word(heap)));
	}
	return json;
}

/* A change of the sampled heaps, with its time. */
static json_t *
change_json(const struct th_recording *recording, const struct th_decoded_control *change)
{
	double at = seconds_at(recording, change->time);

	if (th_text_equals(change->name, "heaps"))
		return th_json("from_s heaps", at, th_json_heap_names(change->value));
	return NULL;
}

/* When recording was stopped on request while the process went on; null if it was not. */
static json_t *
stop_json(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->changes_count; i++) {
		if (th_text_equals(recording->changes[i].name, "stop"))
			return json_real(seconds_at(recording, recording->changes[i].time));
	}
	return NULL;
}

static json_t *
sampled_json(const struct th_recording *recording)
{
	return th_json_heaps(heap, (double)th_sampling_changes_sampled(
					   recording, heap, recording->start, recording->end) /
					   1e9);
}

json_t *
th_json_recorded(const struct th_recording *recording)
{
	json_t *pauses = json_array();
	uint64_t from, to;

	for (size_t i = 0; th_sampling_changes_next_pause(recording, &i, &from, &to);)
		json_array_append_new(
			pauses, th_json("from_s to_s", seconds_at(recording, from),
					seconds_at(recording, to)));
	return th_json("heaps pauses changes stopped_s sampled_s",
		th_json_heap_names(th_recording_heaps(recording)), pauses,
		th_json_map(change, recording->changes, recording->changes_count,
			change_json(recording, change)),
		stop_json(recording), sampled_json(recording));
}

json_t *
th_json_moment(const struct th_profile *profile)
{
	return th_json("at_s before", th_profile_seconds(profile, profile->at.time),
		th_profile_is_before_teardown(profile) ? th_teardown_reason(&profile->teardown)
						       : NULL);
}

char *
th_json_dump(json_t *json, size_t flags)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | flags);

	if (!text)
		th_out_of_memory();
	json_decref(json);
	return text;
}

void
th_json_write(FILE *file, const char *before, json_t *json, size_t flags)
{
	char *text = th_json_dump(json, flags);

	fprintf(file, "%s%s", before, text);
	free(text);
}

/* Texts of frames */

void
th_frame_texts_deinit(struct th_frame_texts *texts)
{
	for (size_t i = 0; i < texts->items_count; i++)
		free(texts->items[i]);
	free(texts->items);
}

/* The number, or the text of th_json_frame(); owned by `texts`. */
static const char *
get(struct th_frame_texts *texts, uint32_t frame)
{
	while (texts->items_count <= frame)
		th_array_append(texts, items, NULL);
	if (!texts->items[frame])
		texts->items[frame] = th_json_dump(
			texts->number_of ? json_integer(texts->number_of(texts->data, frame))
					 : th_json_frame(texts->frames, frame),
			0);
	return texts->items[frame];
}

/* The beginning of a mark, in JSON. */
static const char mark_text[] = "\"\\u0001";

json_t *
th_frame_texts_mark(const uint32_t *frames, uint32_t count)
{
	struct th_line line;

	th_line_begin(&line);
	fputc('\1', line.stream);
	for (uint32_t i = 0; i < count; i++)
		fprintf(line.stream, "%s%u", i ? "," : "", frames[i]);
	char *text = th_line_end(&line);
	json_t *json = json_string(text);
	free(text);
	return json;
}

/* Prints the frames of the mark at `at`; returns what follows it. */
static const char *
print_mark(struct th_frame_texts *texts, FILE *file, const char *at)
{
	char *end = (char *)(uintptr_t)at + sizeof(mark_text) - 1;

	while (*end != '"') {
		fputs_unlocked(get(texts, (uint32_t)strtoul(end, &end, 10)), file);
		if (*end == ',')
			putc_unlocked(*end++, file);
	}
	return end + 1;
}

void
th_frame_texts_write(struct th_frame_texts *texts, FILE *file, const char *before, json_t *json)
{
	char *text = th_json_dump(json, 0);
	const char *at = text;
	const char *mark;

	fputs(before, file);
	while ((mark = strstr(at, mark_text))) {
		fwrite(at, 1, (size_t)(mark - at), file);
		at = print_mark(texts, file, mark);
	}
	fputs(at, file);
	free(text);
}
