/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format pprof: the protocol buffer of github.com/google/pprof, compressed by gzip.
 *
 * Concatenated parts of a protobuf message form one message, so the profile is written in
 * pieces, each with one string, function, location or sample, as soon as it is needed.  Only the
 * assigned ids stay in memory.
 *
 * A location is a native frame with its inlined functions, a Java frame, or a synthetic frame
 * of the report.  Several addresses that print alike may share a location, which has the first
 * one's address.
 */
#include "report/views/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile.pb-c.h"
#include "report/base/allocate.h"
#include "report/base/gzip.h"
#include "report/base/heap_names.h"
#include "report/statistics/sampling_changes.h"

/* Values of a sample, in the order of the format. */
enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, VALUES };

/* Large enough for a location with a hundred inlined functions. */
#define PIECE_BYTES 4096

/* A sum of a thousand values of this size still fits a 64-bit integer. */
#define LARGEST_VALUE 0x1p53

struct pprof {
	struct th_gzip *gzip;
	const struct th_profile *profile;
	struct th_id_map
		strings; /* string number in the frames -> index in the profile's table */
	struct th_id_map functions; /* function << 32 | file -> id - 1 */
	struct th_id_map mappings;  /* index of the module, or 1 << 32 | path -> id - 1 */
	/*
	 * Ids of lists of frames, innermost first: number of the list's tail << 32
	 * frame.
	 */
	struct th_id_map locations;
	TH_ARRAY(bool,
		is_written); /* by number in `locations`: a location with this list is written */
	TH_ARRAY(uint64_t, stack);     /* locations of the current sample, leaf first */
	uint32_t internal_frame;       /* root frame of VM-internal threads */
	double sums[TH_HEAPS][VALUES]; /* of the samples written so far */
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

/* The module of a frame word of the log; NULL if it has none. */
static const struct th_decoded_module *
module_of(const struct pprof *pprof, uint64_t word)
{
	const struct th_recording *recording = pprof->profile->recording;

	if (!word || th_frame_kind(word) != TH_FRAME_NATIVE || !th_frame_module(word))
		return NULL;
	uint32_t index = th_id_map_find(&recording->modules_ids, th_frame_module(word));
	return index == TH_ID_MAP_NONE ? NULL : &recording->modules[index];
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

/* Writes the `count` frames that end at `inner`; each is inlined into the one before it. */
static void
write_location(struct pprof *pprof, uint64_t id, const uint32_t *inner, size_t count)
{
	const struct th_frames *frames = pprof->profile->frames;
	const struct th_frame *first = th_frames_get(frames, *inner);
	const struct th_decoded_module *module = module_of(pprof, first->word);
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

/* Location id of these frames; arguments as for write_location(). */
static uint64_t
location_id(struct pprof *pprof, const uint32_t *inner, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++) {
		bool added;

		number = th_id_map_intern(
				 &pprof->locations, number << 32 | *(inner - i), &added) +
			 1;
		if (added)
			th_array_append(pprof, is_written, false);
	}
	if (!pprof->is_written[number - 1]) {
		pprof->is_written[number - 1] = true;
		write_location(pprof, number, inner, count);
	}
	return number;
}

/* Samples */

/* Number of frames at the end of the path's first `end` frames that form one location. */
static size_t
location_frames(const struct pprof *pprof, const uint32_t *path, size_t end)
{
	const struct th_frames *frames = pprof->profile->frames;
	size_t count = 1;

	while (count < end) {
		const struct th_frame *inner = th_frames_get(frames, path[end - count]);
		const struct th_frame *outer = th_frames_get(frames, path[end - count - 1]);

		/* The frame around an inlined one may be missing from a filtered path. */
		if (!inner->is_inlined ||
			th_frames_function(frames, inner->function)->module !=
				th_frames_function(frames, outer->function)->module)
			break;
		count++;
	}
	return count;
}

static void
find_locations(struct pprof *pprof, const struct th_row *row)
{
	const struct th_profile *profile = pprof->profile;
	struct th_path path = th_paths_get(profile->paths, row->path);

	pprof->stack_count = 0;
	for (size_t end = path.count; end > 0;) {
		size_t count = location_frames(pprof, path.frames, end);
		uint64_t id = location_id(pprof, &path.frames[end - 1], count);

		th_array_append(pprof, stack, id);
		end -= count;
	}
	if (row->shows_internal) {
		uint64_t id = location_id(pprof, &pprof->internal_frame, 1);

		th_array_append(pprof, stack, id);
	}
}

/*
 * Rounds to integers that add up to the rounded sum: the remainder is carried to the next
 * sample.
 */
static void
round_values(struct pprof *pprof, const struct th_row *row, int64_t *values)
{
	const struct th_estimator *alloc = &row->sums[TH_MEASURE_ALLOC];
	const struct th_estimator *live = &row->sums[TH_MEASURE_LIVE];
	const double exact[VALUES] = {
		[ALLOC_OBJECTS] = th_sums_point(&alloc->objects),
		[ALLOC_SPACE] = th_sums_point(&alloc->bytes),
		[INUSE_OBJECTS] = th_sums_point(&live->objects),
		[INUSE_SPACE] = th_sums_point(&live->bytes),
	};

	for (int i = 0; i < VALUES; i++) {
		double *sum = &pprof->sums[row->heap][i];
		int64_t before = llround(*sum);

		*sum += fmin(exact[i], LARGEST_VALUE);
		values[i] = llround(*sum) - before;
	}
}

static void
write_sample(struct pprof *pprof, const struct th_row *row)
{
	const struct th_frames *frames = pprof->profile->frames;
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Label labels[3];
	Perftools__Profiles__Label *pointers[3] = {&labels[0], &labels[1], &labels[2]};
	int64_t values[VALUES];

	find_locations(pprof, row);
	round_values(pprof, row, values);
	for (size_t i = 0; i < 3; i++)
		perftools__profiles__label__init(&labels[i]);
	labels[0].key = text_index(pprof, "heap");
	labels[0].str = text_index(pprof, th_heap_word(row->heap));
	labels[1].key = text_index(pprof, "thread");
	labels[1].str = string_index(pprof, th_frames_function(frames, row->thread)->name);
	labels[2].key = text_index(pprof, "class");
	labels[2].str = string_index(pprof, row->class_name);
	sample.location_id = pprof->stack;
	sample.n_location_id = pprof->stack_count;
	sample.value = values;
	sample.n_value = VALUES;
	sample.label = pointers;
	sample.n_label = row->class_name ? 3 : 2;
	part.sample = &(Perftools__Profiles__Sample *){&sample};
	part.n_sample = 1;
	write_piece(pprof, &part);
}

/* Before the samples */

static void
write_sample_types(struct pprof *pprof)
{
	static const char *const types[VALUES] = {
		"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"};
	static const int chosen[] = {
		[TH_VALUE_ALLOC_BYTES] = ALLOC_SPACE,
		[TH_VALUE_ALLOC_OBJECTS] = ALLOC_OBJECTS,
		[TH_VALUE_LIVE_BYTES] = INUSE_SPACE,
		[TH_VALUE_LIVE_OBJECTS] = INUSE_OBJECTS,
		[TH_VALUE_TEMPORARY_BYTES] = ALLOC_SPACE,
		[TH_VALUE_TOUCHED_BYTES] = INUSE_SPACE,
	};
	piece part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType values[VALUES];
	Perftools__Profiles__ValueType *pointers[VALUES];

	for (int i = 0; i < VALUES; i++) {
		bool is_space = i == ALLOC_SPACE || i == INUSE_SPACE;

		perftools__profiles__value_type__init(&values[i]);
		values[i].type = text_index(pprof, types[i]);
		values[i].unit = text_index(pprof, is_space ? "bytes" : "count");
		pointers[i] = &values[i];
	}
	part.sample_type = pointers;
	part.n_sample_type = VALUES;
	part.default_sample_type = values[chosen[pprof->profile->options->value]].type;
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
	const struct th_recording *recording = pprof->profile->recording;
	char *executable = th_text_clean(recording->process.executable);
	bool added;

	for (size_t i = 0; i < recording->modules_count; i++) {
		const struct th_decoded_module *module = &recording->modules[i];

		char *path = th_text_clean(module->path);
		if (strcmp(path, executable) != 0) {
			free(path);
			continue;
		}
		uint32_t id = th_id_map_intern(&pprof->mappings, i, &added);
		write_mapping(
			pprof, id + 1, module, th_frames_intern(pprof->profile->frames, path));
		free(path);
		break;
	}
	free(executable);
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
	part.time_nanos = (int64_t)th_reader_header(recording->reader)->start_realtime;
	part.duration_nanos = (int64_t)(recording->end - recording->start);
	write_piece(pprof, &part);
	write_main_mapping(pprof);
}

void
th_view_pprof(FILE *file, const struct th_profile *profile)
{
	struct pprof pprof = {
		.gzip = th_gzip_create(file),
		.profile = profile,
		.internal_frame = th_frames_special(profile->frames,
			th_frames_function_name(profile->frames, profile->internal_group), "",
			TH_KIND_GROUP),
	};

	write_header(&pprof);
	for (size_t i = 0; i < profile->rows_count; i++) {
		if (!th_profile_contents(profile, &profile->rows[i]))
			write_sample(&pprof, &profile->rows[i]);
	}
	th_gzip_destroy(pprof.gzip);
	th_id_map_deinit(&pprof.strings);
	th_id_map_deinit(&pprof.functions);
	th_id_map_deinit(&pprof.mappings);
	th_id_map_deinit(&pprof.locations);
	free(pprof.is_written);
	free(pprof.stack);
}
