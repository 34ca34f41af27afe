/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format pprof: the protocol buffer of github.com/google/pprof, compressed by gzip.
 *
 * Concatenated parts of a protobuf message form one message, so the profile is written in
 * pieces, each with one string, function, location or sample, as soon as it is needed.  Only the
 * assigned ids stay in memory.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "profile.pb-c.h"
#include "report/base/allocate.h"
#include "report/base/gzip.h"
#include "report/base/heap_names.h"
#include "report/statistics/sampling_changes.h"
#include "report/views/export_part.h"
#include "report/views/locations.h"

/* Large enough for a location with a hundred inlined functions. */
#define PIECE_BYTES 4096

struct pprof {
	struct th_gzip *gzip;
	const struct th_export_part *part;
	const struct th_profile *profile;
	struct th_id_map
		strings; /* string number in the frames -> index in the profile's table */
	struct th_id_map functions; /* function << 32 | file -> id - 1 */
	struct th_id_map mappings;  /* index of the module, or 1 << 32 | path -> id - 1 */
	struct th_locations locations;
};

typedef Perftools__Profiles__Profile piece;

static void
write_piece(struct pprof *pprof, const piece *part)
{
	uint8_t small[PIECE_BYTES];
	size_t length = perftools__profiles__profile__get_packed_size(part);
	uint8_t *bytes = length > sizeof(small) ? th_allocate(length, 1) : small;

	perftools__profiles__profile__pack(part, bytes);
	th_gzip_write(pprof->gzip, bytes, length);
	if (bytes != small)
		free(bytes);
}

/* Strings */

/* Index in the profile's string table, whose entry 0 is "", of a string of the frames. */
static int64_t
string_index(struct pprof *pprof, uint32_t string)
{
	bool added;
	uint32_t index = th_id_map_intern(&pprof->strings, string, &added);

	if (added) {
		piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
		char *text = (char *)(uintptr_t)th_frames_string(
			pprof->profile->frames, string);

		part.string_table = &text;
		part.n_string_table = 1;
		write_piece(pprof, &part);
	}
	return index;
}

static int64_t
text_index(struct pprof *pprof, const char *text)
{
	return string_index(pprof, th_frames_intern(pprof->profile->frames, text));
}

/* Places */

static uint64_t
function_id(struct pprof *pprof, const struct th_frame *frame)
{
	const struct th_frames *frames = pprof->profile->frames;
	bool added;
	uint64_t id = th_id_map_intern(&pprof->functions,
			      (uint64_t)frame->function << 32 | frame->file, &added) +
		      1;

	if (added) {
		piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;

		/* No system name: pprof takes one that equals the name for a mangled name. */
		function.id = id;
		function.name = string_index(
			pprof, th_frames_function(frames, frame->function)->name);
		function.filename = string_index(pprof, frame->file);
		part.function = &(Perftools__Profiles__Function *){&function};
		part.n_function = 1;
		write_piece(pprof, &part);
	}
	return id;
}

/* `module` is NULL if only the path is known. */
static void
write_mapping(
	struct pprof *pprof, uint64_t id, const struct th_decoded_module *module, uint32_t path)
{
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;

	mapping.id = id;
	mapping.filename = string_index(pprof, path);
	if (module) {
		char *build_id = th_text_clean(module->build_id);

		mapping.memory_start = module->start;
		mapping.memory_limit = module->end;
		mapping.build_id = text_index(pprof, build_id);
		free(build_id);
	}
	/* Names are resolved: pprof need not read the file. */
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	mapping.has_inline_frames = true;
	part.mapping = &(Perftools__Profiles__Mapping *){&mapping};
	part.n_mapping = 1;
	write_piece(pprof, &part);
}

/* 0 for a frame without a file. */
static uint64_t
mapping_id(struct pprof *pprof, const struct th_frame *frame,
	const struct th_decoded_module *module)
{
	uint32_t path = th_frames_function(pprof->profile->frames, frame->function)->module;
	bool added;

	if (!path)
		return 0;
	const struct th_decoded_module *modules = pprof->profile->recording->modules;
	uint64_t key = module ? (uint64_t)(module - modules) : (uint64_t)1 << 32 | path;
	uint64_t id = th_id_map_intern(&pprof->mappings, key, &added) + 1;
	if (added)
		write_mapping(pprof, id, module, path);
	return id;
}

static void
write_location(void *data, uint64_t id, const uint32_t *inner, size_t count)
{
	struct pprof *pprof = data;
	const struct th_frames *frames = pprof->profile->frames;
	const struct th_frame *first = th_frames_get(frames, *inner);
	const struct th_decoded_module *module = th_locations_module(
		pprof->profile, first->word);
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Line *lines = th_allocate(count, sizeof(*lines));
	Perftools__Profiles__Line **pointers = th_allocate(count, sizeof(*pointers));

	for (size_t i = 0; i < count; i++) {
		const struct th_frame *frame = th_frames_get(frames, *(inner - i));

		perftools__profiles__line__init(&lines[i]);
		lines[i].function_id = function_id(pprof, frame);
		lines[i].line = frame->line;
		pointers[i] = &lines[i];
	}
	location.id = id;
	location.mapping_id = mapping_id(pprof, first, module);
	if (module)
		location.address = module->bias + th_frame_offset(first->word);
	location.line = pointers;
	location.n_line = count;
	part.location = &(Perftools__Profiles__Location *){&location};
	part.n_location = 1;
	write_piece(pprof, &part);
	free(pointers);
	free(lines);
}

/* Samples */

/* The values of the part's set, without gaps; their number. */
static size_t
choose_values(const struct pprof *pprof, const th_export_row row, th_export_row values)
{
	size_t count = 0;

	for (int i = 0; i < TH_EXPORT_VALUES; i++) {
		if (pprof->part->values & 1u << i)
			values[count++] = row[i];
	}
	return count;
}

static void
write_sample(struct pprof *pprof, const struct th_row *row, const th_export_row row_values)
{
	const struct th_frames *frames = pprof->profile->frames;
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Label labels[3];
	Perftools__Profiles__Label *pointers[3] = {&labels[0], &labels[1], &labels[2]};
	th_export_row values;

	th_locations_find(&pprof->locations, row);
	for (size_t i = 0; i < 3; i++)
		perftools__profiles__label__init(&labels[i]);
	labels[0].key = text_index(pprof, "heap");
	labels[0].str = text_index(pprof, th_heap_word(row->heap));
	labels[1].key = text_index(pprof, "thread");
	labels[1].str = string_index(pprof, th_frames_function(frames, row->thread)->name);
	labels[2].key = text_index(pprof, "class");
	labels[2].str = string_index(pprof, row->class_name);
	sample.location_id = pprof->locations.stack;
	sample.n_location_id = pprof->locations.stack_count;
	sample.value = values;
	sample.n_value = choose_values(pprof, row_values, values);
	sample.label = pointers;
	sample.n_label = row->class_name ? 3 : 2;
	part.sample = &(Perftools__Profiles__Sample *){&sample};
	part.n_sample = 1;
	write_piece(pprof, &part);
}

/* Before the samples */

/* The value that the options select, if the part has it. */
static enum th_export_value
default_value(const struct th_export_part *part)
{
	static const enum th_export_value chosen[] = {
		[TH_VALUE_ALLOC_BYTES] = TH_EXPORT_ALLOC_SPACE,
		[TH_VALUE_ALLOC_OBJECTS] = TH_EXPORT_ALLOC_OBJECTS,
		[TH_VALUE_LIVE_BYTES] = TH_EXPORT_INUSE_SPACE,
		[TH_VALUE_LIVE_OBJECTS] = TH_EXPORT_INUSE_OBJECTS,
		[TH_VALUE_TEMPORARY_BYTES] = TH_EXPORT_ALLOC_SPACE,
		[TH_VALUE_TOUCHED_BYTES] = TH_EXPORT_INUSE_SPACE,
	};
	enum th_export_value value = chosen[part->profile->options->value];

	if (part->values & 1u << value)
		return value;
	return part->values & TH_EXPORT_ALLOC ? TH_EXPORT_ALLOC_SPACE : TH_EXPORT_INUSE_SPACE;
}

static void
write_sample_types(struct pprof *pprof)
{
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType types[TH_EXPORT_VALUES];
	Perftools__Profiles__ValueType *pointers[TH_EXPORT_VALUES];

	for (int i = 0; i < TH_EXPORT_VALUES; i++) {
		enum th_export_value value = (enum th_export_value)i;

		if (!(pprof->part->values & 1u << i))
			continue;
		perftools__profiles__value_type__init(&types[i]);
		types[i].type = text_index(pprof, th_export_value_name(value));
		types[i].unit = text_index(pprof, th_export_value_unit(value));
		pointers[part.n_sample_type++] = &types[i];
	}
	part.sample_type = pointers;
	part.default_sample_type = text_index(
		pprof, th_export_value_name(default_value(pprof->part)));
	write_piece(pprof, &part);
}

static void
write_comment(struct pprof *pprof, const char *text)
{
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t index = text_index(pprof, text);

	part.comment = &index;
	part.n_comment = 1;
	write_piece(pprof, &part);
}

static void
write_told(void *data, const char *text)
{
	write_comment(data, text);
}

/* The format has no place for labels of a process. */
static void
write_labels(struct pprof *pprof)
{
	const struct th_labels *labels = pprof->part->labels;

	for (size_t i = 0; labels && i < labels->items_count; i++) {
		char *text = th_format_new(
			"%s=%s", labels->items[i].key, labels->items[i].value);

		write_comment(pprof, text);
		free(text);
	}
}

static bool
leaves_out(const struct th_profile *profile)
{
	for (size_t i = 0; i < profile->rows_count; i++) {
		if (th_profile_contents(profile, &profile->rows[i]))
			return true;
	}
	return false;
}

static void
write_comments(struct pprof *pprof)
{
	const struct th_recording *recording = pprof->profile->recording;
	char *command = th_text_clean(recording->process.command); /* NUL becomes a blank */
	char *version = th_text_clean(recording->jvm.version);
	char *process = th_format_new("process %u: %s", recording->process.pid, command);
	char *jvm = th_format_new("Java %s", version);
	char *filters = th_options_filters_text(pprof->profile->options);
	char *only = th_format_new("only %s", filters);
	char *moment = th_profile_moment_text(pprof->profile);
	char *inuse = th_format_new("inuse values are those %s", moment);

	write_comment(pprof,
		"twinheap " TH_VERSION ": values are unbiased estimates of all that "
		"was allocated; do not scale them by the period");
	write_comment(pprof, process);
	if (leaves_out(pprof->profile))
		write_comment(pprof,
			"mapped memory that holds the Java heap or malloc's blocks is left "
			"out, because values of all heaps are added up; --heaps mapped has it");
	if (filters[0])
		write_comment(pprof, only);
	write_comment(pprof, inuse);
	th_sampling_changes_tell(recording, write_told, pprof);
	if (recording->has_jvm)
		write_comment(pprof, jvm);
	write_labels(pprof);
	free(inuse);
	free(moment);
	free(only);
	free(filters);
	free(jvm);
	free(process);
	free(version);
	free(command);
}

/* The first mapping, the executable, gives the profile its name. */
static void
write_main_mapping(struct pprof *pprof)
{
	const struct th_decoded_module *module = th_locations_executable(pprof->profile);
	bool added;

	if (!module)
		return;
	char *path = th_text_clean(module->path);
	uint32_t id = th_id_map_intern(&pprof->mappings,
		(uint64_t)(module - pprof->profile->recording->modules), &added);

	write_mapping(pprof, id + 1, module, th_frames_intern(pprof->profile->frames, path));
	free(path);
}

static void
write_header(struct pprof *pprof)
{
	const struct th_recording *recording = pprof->profile->recording;
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	uint64_t interval = th_recording_interval(recording);

	string_index(pprof, 0);
	write_sample_types(pprof);
	write_comments(pprof);
	period.type = text_index(pprof, "space");
	period.unit = text_index(pprof, "bytes");
	part.period_type = &period;
	part.period = interval ? (int64_t)interval : 1;
	part.time_nanos = (int64_t)pprof->part->start;
	part.duration_nanos = (int64_t)pprof->part->duration;
	write_piece(pprof, &part);
	write_main_mapping(pprof);
}

void
th_export_pprof(FILE *file, const struct th_export_part *part)
{
	struct pprof pprof = {
		.gzip = th_gzip_create(file),
		.part = part,
		.profile = part->profile,
	};

	th_locations_init(&pprof.locations, part->profile, write_location, &pprof);
	write_header(&pprof);
	for (size_t i = 0; i < part->profile->rows_count; i++) {
		if (th_export_part_has(part, i))
			write_sample(&pprof, &part->profile->rows[i], part->rows[i]);
	}
	th_gzip_destroy(pprof.gzip);
	th_id_map_deinit(&pprof.strings);
	th_id_map_deinit(&pprof.functions);
	th_id_map_deinit(&pprof.mappings);
	th_locations_deinit(&pprof.locations);
}

void
th_view_pprof(FILE *file, const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	th_export_row *rows = th_export_rows(profile);
	const struct th_export_part part = {
		.profile = profile,
		.rows = rows,
		.values = TH_EXPORT_ALL,
		.start = th_export_time(recording, recording->start),
		.duration = recording->end - recording->start,
	};

	th_export_pprof(file, &part);
	free(rows);
}
