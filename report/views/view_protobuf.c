/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export --format pprof and otlp: the protocol buffer of github.com/google/pprof, compressed by gzip,
 * and OpenTelemetry's ProfilesData (profiles.proto of release 1.11.0, v1development).  Both have tables
 * of strings, functions, mappings and locations, which are numbered alike; pprof's entries begin with
 * their id, OTLP's tables with the zero value, so that 0 means none.
 *
 * Concatenated parts of a message form one message, and its repeated fields may be interleaved, so a
 * table gets an entry as soon as a sample needs it.
 *
 * A location is a native frame with its inlined functions, a Java frame, or a synthetic frame of the
 * report.  Several addresses that print alike may share a location, which has the first one's address.
 * An OTLP profile has one value (alloc_space, ...), so a stack with four values has a sample in four.
 */
#include "report/views/view.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/bytes.h"
#include "report/base/gzip.h"
#include "report/base/heap_names.h"
#include "report/base/log_text.h"
#include "report/log/recording.h"
#include "report/profile/values.h"
#include "report/statistics/sampling_changes.h"
#include "report/views/export_part.h"

/* Field numbers. */
struct format {
	unsigned strings, functions, mappings, locations; /* the tables */
	unsigned first; /* the first field of an entry behind its id */
};
static const struct format pprof_format = {6, 5, 3, 4, 2};
static const struct format otlp_format = {5, 3, 1, 2, 1};
enum { PPROF_TYPES = 1, PPROF_SAMPLE, PPROF_BUILD_ID = 6, PPROF_TIME = 9 };
enum { PPROF_PERIOD_TYPE = 11, PPROF_COMMENT = 13, PPROF_DEFAULT_TYPE };
enum { OTLP_LINKS = 4, OTLP_ATTRIBUTES = 6, OTLP_STACKS };
enum { OTLP_TYPE = 1, OTLP_SAMPLES, OTLP_TIME, OTLP_DURATION, OTLP_PERIOD_TYPE };
enum { OTLP_PROFILE_ID = 7, OTLP_PROFILE_ATTRIBUTES = 11 };
enum { ANY_VALUE_STRING = 1, ANY_VALUE_INTEGER = 3 };

/* What numbers are given to, by key. */
enum table {
	STRINGS,    /* number in the frames */
	FUNCTIONS,  /* function << 32 | file, + 1 */
	MAPPINGS,   /* index of the module + 1, or 1 << 32 | path */
	ATTRIBUTES, /* string number of the key << 32 | of the text; of a number UINT32_MAX */
	STACKS,     /* path + 1 */
	LISTS,      /* of frames, innermost first: number of the tail << 32 | frame */
	TABLES,
};

struct output {
	const struct th_export_part *part; /* of OTLP the first one */
	const struct th_profile *profile;
	const struct format *format;
	struct th_bytes tables; /* the dictionary of OTLP; of pprof the whole message */
	struct th_id_map numbers[TABLES];
	TH_ARRAY(uint64_t, ids); /* of locations, by number of the list; 0 = none yet */
	uint64_t locations_count;
	TH_ARRAY(uint64_t, stack); /* locations of the current row, leaf first */
};

static bool
is_pprof(const struct output *out)
{
	return out->format == &pprof_format;
}

/* The number of a key in a table. */
static uint64_t
intern(struct output *out, enum table table, uint64_t key, bool *added_ret)
{
	return th_id_map_intern(&out->numbers[table], key, added_ret);
}

/* Begins an entry with this number. */
static void
put_id(const struct output *out, struct th_bytes *entry, uint64_t id)
{
	if (is_pprof(out))
		th_bytes_number(entry, 1, id);
}

/* Strings */

/* Index in the table, whose entry 0 is "", of a string of the frames. */
static uint64_t
string_index(struct output *out, uint32_t string)
{
	bool added;
	uint32_t index = intern(out, STRINGS, string, &added);

	if (added)
		th_bytes_text(&out->tables, out->format->strings,
			th_frames_string(out->profile->frames, string));
	return index;
}

static uint64_t
text_index(struct output *out, const char *text)
{
	return string_index(out, th_frames_intern(out->profile->frames, text));
}

/* Fields 1 and 2 of a message: a key and its value, or a type and its unit. */
static void
put_pair(struct output *out, struct th_bytes *bytes, unsigned field, const char *first,
	const char *second)
{
	struct th_bytes message = {0};

	th_bytes_number(&message, 1, text_index(out, first));
	th_bytes_number(&message, 2, text_index(out, second));
	th_bytes_message(bytes, field, &message);
}

/* Attributes of OTLP */

/* The index of the entry of a key and a value, whose bytes become empty. */
static uint64_t
attribute_index(struct output *out, const char *key, uint32_t number, struct th_bytes *value,
	const char *unit)
{
	uint64_t word = (uint64_t)th_frames_intern(out->profile->frames, key) << 32 | number;
	struct th_bytes entry = {0};
	bool added;
	uint64_t index = intern(out, ATTRIBUTES, word, &added);

	if (!added) {
		free(value->items);
		return index;
	}
	th_bytes_number(&entry, 1, text_index(out, key));
	th_bytes_message(&entry, 2, value);
	th_bytes_number(&entry, 3, text_index(out, unit));
	th_bytes_message(&out->tables, OTLP_ATTRIBUTES, &entry);
	return index;
}

/* 0 for an empty text. */
static uint64_t
text_attribute(struct output *out, const char *key, const char *text)
{
	struct th_bytes value = {0};

	if (!text[0])
		return 0;
	th_bytes_text(&value, ANY_VALUE_STRING, text);
	return attribute_index(
		out, key, th_frames_intern(out->profile->frames, text), &value, "");
}

/* A key has at most one number in a message. */
static uint64_t
number_attribute(struct output *out, const char *key, double number)
{
	struct th_bytes value = {0};

	th_bytes_varint(&value, ANY_VALUE_INTEGER << 3);
	th_bytes_varint(
		&value, number < 0x1p62 ? (uint64_t)(int64_t)(number + 0.5) : INT64_MAX);
	return attribute_index(out, key, UINT32_MAX, &value, "By");
}

/* Functions and mappings */

static uint64_t
function_id(struct output *out, const struct th_frame *frame)
{
	const struct th_frames *frames = out->profile->frames;
	uint64_t word = ((uint64_t)frame->function << 32 | frame->file) + 1;
	bool added;
	uint64_t id = intern(out, FUNCTIONS, word, &added);
	struct th_bytes entry = {0};

	if (!added)
		return id;
	/* No system name: pprof takes one that equals the name for a mangled name. */
	uint64_t name = string_index(out, th_frames_function(frames, frame->function)->name);
	uint64_t file = string_index(out, frame->file);
	put_id(out, &entry, id);
	th_bytes_numbers(&entry, out->format->first, name, 0, file);
	th_bytes_message(&out->tables, out->format->functions, &entry);
	return id;
}

/* `module` is NULL if only the path is known. */
static void
add_mapping(
	struct output *out, uint64_t id, const struct th_decoded_module *module, uint32_t path)
{
	const char *build_id = module ? th_printed("{}", module->build_id) : NULL;
	struct th_bytes entry = {0};
	uint64_t name = string_index(out, path);
	uint64_t build = 0;

	if (module)
		build = is_pprof(out) ? text_index(out, build_id)
				      : text_attribute(out, "process.executable.build_id.gnu",
						build_id);
	put_id(out, &entry, id);
	th_bytes_numbers(&entry, out->format->first, module ? module->start : 0,
		module ? module->end : 0, 0, name);
	/* Names are resolved, functions, files, lines and inlining: pprof need not read the file. */
	if (is_pprof(out))
		th_bytes_numbers(&entry, PPROF_BUILD_ID, build, true, true, true, true);
	else
		th_bytes_packed(&entry, 5, &build, build != 0);
	th_bytes_message(&out->tables, out->format->mappings, &entry);
}

static uint64_t
mapping_of_module(struct output *out, const struct th_decoded_module *module, bool *added_ret)
{
	return intern(out, MAPPINGS, (uint64_t)(module - out->profile->recording->modules) + 1,
		added_ret);
}

/* 0 for a frame without a file. */
static uint64_t
mapping_id(struct output *out, const struct th_frame *frame,
	const struct th_decoded_module *module)
{
	uint32_t path = th_frames_function(out->profile->frames, frame->function)->module;
	bool added;

	if (!path)
		return 0;
	uint64_t id = module ? mapping_of_module(out, module, &added)
			     : intern(out, MAPPINGS, (uint64_t)1 << 32 | path, &added);
	if (added)
		add_mapping(out, id, module, path);
	return id;
}

/* Locations */

/* profile.frame.type of the semantic conventions; frames that the report makes up have none. */
static uint64_t
frame_type(struct output *out, const struct th_frame *frame)
{
	const char *type = frame->kind == TH_KIND_JAVA    ? "jvm"
			   : frame->kind == TH_KIND_GROUP ? ""
							  : "native";

	return text_attribute(out, "profile.frame.type", type);
}

/* The module of a frame word of the log; NULL if it has none. */
static const struct th_decoded_module *
module_of(const struct th_recording *recording, uint64_t word)
{
	if (!word || th_frame_kind(word) != TH_FRAME_NATIVE || !th_frame_module(word))
		return NULL;
	uint32_t index = th_id_map_find(&recording->modules_ids, th_frame_module(word));
	return index == TH_ID_MAP_NONE ? NULL : &recording->modules[index];
}

/* The `count` frames that end at `inner`, each inlined into the one before it. */
static void
add_location(struct output *out, uint64_t id, const uint32_t *inner, size_t count)
{
	const struct th_frames *frames = out->profile->frames;
	const struct th_frame first = *th_frames_get(frames, *inner);
	const struct th_decoded_module *module = module_of(out->profile->recording, first.word);
	unsigned field = out->format->first;
	uint64_t type = is_pprof(out) ? 0 : frame_type(out, &first);
	uint64_t mapping = mapping_id(out, &first, module);
	struct th_bytes entry = {0};

	put_id(out, &entry, id);
	th_bytes_numbers(&entry, field, mapping,
		module ? module->bias + th_frame_offset(first.word) : 0);
	for (size_t i = 0; i < count; i++) {
		const struct th_frame *frame = th_frames_get(frames, *(inner - i));
		struct th_bytes line = {0};
		uint64_t function = function_id(out, frame);

		th_bytes_numbers(&line, 1, function, frame->line);
		th_bytes_message(&entry, field + 2, &line);
	}
	th_bytes_packed(&entry, field + 3, &type, type != 0);
	th_bytes_message(&out->tables, out->format->locations, &entry);
}

static uint64_t
location_id(struct output *out, const uint32_t *inner, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++) {
		bool added;

		number = intern(out, LISTS, number << 32 | *(inner - i), &added) + 1;
		if (added)
			th_array_append(out, ids, 0);
	}
	if (!out->ids[number - 1]) {
		out->ids[number - 1] = ++out->locations_count;
		add_location(out, out->locations_count, inner, count);
	}
	return out->ids[number - 1];
}

/* Number of frames at the end of the path's first `end` frames that form one location. */
static size_t
location_frames(const struct th_frames *frames, const uint32_t *path, size_t end)
{
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

/* Sets `stack` to the locations of a row. */
static void
find_stack(struct output *out, const struct th_row *row)
{
	struct th_path path = th_paths_get(out->profile->paths, row->shown);
	size_t count;

	out->stack_count = 0;
	for (size_t end = path.count; end > 0; end -= count) {
		count = location_frames(out->profile->frames, path.frames, end);
		uint64_t id = location_id(out, &path.frames[end - 1], count);

		th_array_append(out, stack, id);
	}
}

/* Both formats */

static void
output_init(struct output *out, const struct th_export_part *part, const struct format *format)
{
	bool added;

	*out = (struct output){
		.part = part,
		.profile = part->profile,
		.format = format,
	};
	string_index(out, 0);
	for (int table = FUNCTIONS; table <= STACKS; table++)
		intern(out, table, 0, &added);
}

static void
output_deinit(struct output *out)
{
	for (int table = 0; table < TABLES; table++)
		th_id_map_deinit(&out->numbers[table]);
	free(out->ids);
	free(out->stack);
	free(out->tables.items);
}

/* The mean distance of samples in bytes. */
static void
put_period(struct output *out, struct th_bytes *bytes, unsigned type_field)
{
	uint64_t interval = th_recording_interval(out->profile->recording);

	put_pair(out, bytes, type_field, "space", "bytes");
	th_bytes_number(bytes, type_field + 1, interval ? interval : 1);
}

/* pprof */

static void
write_sample(struct output *out, const struct th_row *row, const th_export_row values)
{
	const struct th_frames *frames = out->profile->frames;
	const char *const labels[][2] = {{"heap", th_heap_word(row->heap)},
		{"thread", th_frames_function_name(frames, row->thread)},
		{"class", th_frames_string(frames, row->class_name)}};
	struct th_bytes sample = {0};
	uint64_t chosen[TH_EXPORT_VALUES];
	size_t count = 0;

	find_stack(out, row);
	for (int i = 0; i < TH_EXPORT_VALUES; i++) {
		if (out->part->values & 1u << i)
			chosen[count++] = (uint64_t)values[i];
	}
	th_bytes_packed(&sample, 1, out->stack, out->stack_count);
	th_bytes_packed(&sample, 2, chosen, count);
	for (size_t i = 0; i < (row->class_name ? 3 : 2); i++)
		put_pair(out, &sample, 3, labels[i][0], labels[i][1]);
	th_bytes_message(&out->tables, PPROF_SAMPLE, &sample);
}

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
write_sample_types(struct output *out)
{
	for (enum th_export_value i = 0; i < TH_EXPORT_VALUES; i++) {
		if (out->part->values & 1u << i)
			put_pair(out, &out->tables, PPROF_TYPES, th_export_kinds[i].name,
				th_export_kinds[i].unit);
	}
	th_bytes_number(&out->tables, PPROF_DEFAULT_TYPE,
		text_index(out, th_export_kinds[default_value(out->part)].name));
}

static void
write_comment(void *data, const char *text)
{
	struct output *out = data;
	uint64_t index = text_index(out, text);

	th_bytes_packed(&out->tables, PPROF_COMMENT, &index, 1);
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
write_comments(struct output *out)
{
	const struct th_recording *recording = out->profile->recording;
	const struct th_labels *labels = out->part->labels;
	const char *filters = th_view_filters_text(out->profile->options);

	write_comment(out, "twinheap " TH_VERSION ": values are unbiased estimates of all that "
			   "was allocated; do not scale them by the period");
	/* NUL between arguments becomes a blank. */
	write_comment(out, th_printed("process {}: {}", recording->process.pid,
				   recording->process.command));
	if (leaves_out(out->profile))
		write_comment(out,
			"mapped memory that holds the Java heap or malloc's blocks is left "
			"out, because values of all heaps are added up; --heaps mapped has it");
	if (filters[0])
		write_comment(out, th_printed("only {}", filters));
	write_comment(out,
		th_printed("inuse values are those {}", th_profile_moment_text(out->profile)));
	th_sampling_changes_tell(recording, write_comment, out);
	if (recording->has_jvm)
		write_comment(out, th_printed("Java {}", recording->jvm.version));
	/* The format has no place for labels of a process. */
	for (size_t i = 0; labels && i < labels->items_count; i++)
		write_comment(
			out, th_printed("{}={}", labels->items[i].key, labels->items[i].value));
}

/* The module of the executable; NULL if unknown. */
static const struct th_decoded_module *
executable_of(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->modules_count; i++) {
		if (th_text_same(recording->modules[i].path, recording->process.executable))
			return &recording->modules[i];
	}
	return NULL;
}

static void
write_head(struct output *out)
{
	const struct th_decoded_module *module = executable_of(out->profile->recording);
	bool added;

	write_sample_types(out);
	write_comments(out);
	th_bytes_numbers(&out->tables, PPROF_TIME, out->part->start, out->part->duration);
	put_period(out, &out->tables, PPROF_PERIOD_TYPE);
	if (!module)
		return;
	/* The first mapping, the executable, gives the profile its name. */
	uint64_t id = mapping_of_module(out, module, &added);
	add_mapping(out, id, module,
		th_frames_intern(out->profile->frames, th_printed("{}", module->path)));
}

void
th_export_pprof(FILE *file, const struct th_export_part *part)
{
	struct output output;

	output_init(&output, part, &pprof_format);
	write_head(&output);
	for (size_t i = 0; i < part->profile->rows_count; i++) {
		if (th_export_part_has(part, i))
			write_sample(&output, &part->profile->rows[i], part->rows[i]);
	}
	FILE *gzip = th_gzip_open(file);
	fwrite(output.tables.items, 1, output.tables.items_count, gzip);
	fclose(gzip);
	output_deinit(&output);
}

void
th_view_pprof(FILE *file, const struct th_profile *profile)
{
	th_export_row *rows = th_export_rows(profile);
	struct th_export_part parts[2];

	th_export_both(profile, rows, NULL, parts);
	parts[0].values = TH_EXPORT_ALL;
	th_export_pprof(file, parts);
	free(rows);
}

/* OTLP */

static uint64_t
stack_index(struct output *out, const struct th_row *row)
{
	bool added;
	uint64_t index = intern(out, STACKS, (uint64_t)row->shown + 1, &added);
	struct th_bytes entry = {0};

	if (added) {
		find_stack(out, row);
		th_bytes_packed(&entry, 1, out->stack, out->stack_count);
		th_bytes_message(&out->tables, OTLP_STACKS, &entry);
	}
	return index;
}

/* The zero values at index 0 of the tables; a link has two ids. */
static void
add_zero_values(struct output *out)
{
	static const uint8_t zeros[16];
	const unsigned tables[] = {1, 2, 3, OTLP_LINKS, OTLP_ATTRIBUTES, OTLP_STACKS};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct th_bytes entry = {0};

		if (tables[i] == OTLP_LINKS) {
			th_bytes_field(&entry, 1, zeros, sizeof(zeros));
			th_bytes_field(&entry, 2, zeros, sizeof(zeros) / 2);
		}
		th_bytes_message(&out->tables, tables[i], &entry);
	}
}

static void
put_sample(struct output *out, struct th_bytes *bytes, const struct th_row *row, int64_t value)
{
	const struct th_frames *frames = out->profile->frames;
	const char *const texts[][2] = {{"twinheap.heap", th_heap_word(row->heap)},
		{"thread.name", th_frames_function_name(frames, row->thread)},
		{"twinheap.class", th_frames_string(frames, row->class_name)}};
	struct th_bytes sample = {0};
	uint64_t attributes[3];
	size_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		attributes[count] = text_attribute(out, texts[i][0], texts[i][1]);
		count += attributes[count] != 0;
	}
	th_bytes_number(&sample, 1, stack_index(out, row));
	th_bytes_packed(&sample, 2, attributes, count);
	th_bytes_packed(&sample, 4, &(uint64_t){(uint64_t)value}, 1);
	th_bytes_message(bytes, OTLP_SAMPLES, &sample);
}

/* The 95 % intervals of the totals that have one, as attributes of the profile. */
static void
put_intervals(struct output *out, struct th_bytes *bytes, const struct th_export_part *part,
	enum th_export_value value)
{
	uint64_t indices[2 * TH_HEAPS];
	size_t count = 0;

	if ((value != TH_EXPORT_ALLOC_SPACE || !part->is_whole) &&
		value != TH_EXPORT_INUSE_SPACE)
		return;
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		struct th_estimate total = value == TH_EXPORT_INUSE_SPACE
						   ? th_profile_live(part->profile, heap)
						   : th_profile_total(part->profile, heap);

		for (int end = 0; end < 2 && th_profile_has_heap(part->profile, heap); end++) {
			const char *key = th_printed("twinheap.{}.{}.ci95.{}",
				th_export_kinds[value].name, th_heap_word(heap),
				end ? "high" : "low");

			indices[count++] = number_attribute(
				out, key, end ? total.high : total.low);
		}
	}
	th_bytes_packed(bytes, OTLP_PROFILE_ATTRIBUTES, indices, count);
}

static void
put_head(struct output *out, struct th_bytes *bytes, const struct th_export_part *part,
	enum th_export_value value)
{
	const uint64_t id[2] = {part->id[0], part->id[1] + value};

	put_pair(out, bytes, OTLP_TYPE, th_export_kinds[value].name,
		th_export_kinds[value].unit);
	if (part->start) {
		th_bytes_varint(bytes, OTLP_TIME << 3 | 1);
		th_bytes_add(bytes, &part->start, sizeof(part->start));
	}
	th_bytes_number(bytes, OTLP_DURATION, part->duration);
	put_period(out, bytes, OTLP_PERIOD_TYPE);
	if (part->id[0])
		th_bytes_field(bytes, OTLP_PROFILE_ID, id, sizeof(id));
	put_intervals(out, bytes, part, value);
}

static void
put_profile(struct output *out, struct th_bytes *scope, const struct th_export_part *part,
	enum th_export_value value)
{
	struct th_bytes profile = {0};

	put_head(out, &profile, part, value);
	for (size_t i = 0; i < part->profile->rows_count; i++) {
		if (part->rows[i][value])
			put_sample(
				out, &profile, &part->profile->rows[i], part->rows[i][value]);
	}
	th_bytes_message(scope, 2, &profile);
}

static void
put_resource(struct th_bytes *bytes, const struct th_labels *labels)
{
	struct th_bytes resource = {0};

	for (size_t i = 0; i < labels->items_count; i++) {
		struct th_bytes value = {0}, pair = {0};

		th_bytes_text(&value, ANY_VALUE_STRING, labels->items[i].value);
		th_bytes_text(&pair, 1, labels->items[i].key);
		th_bytes_message(&pair, 2, &value);
		th_bytes_message(&resource, 1, &pair);
	}
	th_bytes_message(bytes, 1, &resource);
}

uint8_t *
th_export_otlp(const struct th_export_part *parts, size_t parts_count, size_t *length_ret)
{
	struct th_bytes name = {0}, scope = {0}, process = {0}, data = {0};
	struct output output;

	output_init(&output, parts, &otlp_format);
	add_zero_values(&output);
	th_bytes_text(&name, 1, "twinheap");
	th_bytes_text(&name, 2, TH_VERSION);
	th_bytes_message(&scope, 1, &name);
	for (size_t i = 0; i < parts_count; i++) {
		for (enum th_export_value value = 0; value < TH_EXPORT_VALUES; value++) {
			if (parts[i].values & 1u << value)
				put_profile(&output, &scope, &parts[i], value);
		}
	}
	put_resource(&process, parts[0].labels);
	th_bytes_message(&process, 2, &scope);
	th_bytes_message(&data, 1, &process);
	th_bytes_message(&data, 2, &output.tables);
	output_deinit(&output);
	*length_ret = data.items_count;
	return data.items;
}

void
th_view_otlp(FILE *file, const struct th_profile *profile)
{
	th_export_row *rows = th_export_rows(profile);
	struct th_labels labels = {0};
	struct th_export_part parts[2];
	size_t length;

	th_recording_labels(profile->recording, &labels);
	th_recording_given_labels(profile->recording, &labels);
	th_export_both(profile, rows, &labels, parts);
	uint8_t *bytes = th_export_otlp(parts, 2, &length);
	fwrite(bytes, 1, length, file);
	free(bytes);
	th_labels_deinit(&labels);
	free(rows);
}
