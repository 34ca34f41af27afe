/* SPDX-License-Identifier: Apache-2.0 */
/* Words are numbered, and the frames of each are looked up once. */
#include "report/symbols/frames.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/symbols/address_index.h"
#include "report/symbols/code_sources.h"
#include "report/symbols/java_names.h"
#include "report/symbols/names.h"
#include "unify/shared/bisect.h"

/* The frames of a word: a run of numbers in a pool. */
struct span {
	uint32_t start;
	uint32_t count;
};

/* Common data of the frames in one Java method. */
struct known_method {
	uint32_t function; /* plus one; 0 = not looked up */
	uint32_t file;
	struct th_words lines;
};

struct th_frames {
	const struct th_recording *recording;
	struct th_symbols *symbols;
	bool is_shared;                   /* the symbols are the caller's */
	struct th_address_index recorded; /* functions named by the log, by frame word */
	struct th_strings strings;
	struct th_java_families families;
	struct th_code_sources sources;
	th_symbols_warn *warn;
	void *warn_data;
	bool *is_told; /* by index of the recording's remarks */

	struct th_id_map function_ids; /* name << 32 | module << 2 | kind */
	TH_ARRAY(struct th_function, functions);
	struct th_id_map place_ids; /* file << 33 | is inlined << 32 | line */
	struct th_id_map frame_ids; /* function << 32 | place */
	TH_ARRAY(struct th_frame, frames);
	TH_ARRAY(uint8_t, kinds);            /* enum th_function_kind, by frame */
	TH_ARRAY(uint32_t, frame_functions); /* by frame */
	struct known_method *methods;        /* by method index */

	struct th_id_map word_ids;       /* frame word */
	TH_ARRAY(struct span, words);    /* by number of the word */
	TH_ARRAY(uint32_t, word_frames); /* innermost first */
};

enum th_style
th_frames_style(enum th_function_kind kind)
{
	switch (kind) {
	case TH_KIND_JAVA:
		return TH_STYLE_JAVA;
	case TH_KIND_NATIVE:
		return TH_STYLE_NATIVE;
	case TH_KIND_VM:
		return TH_STYLE_VM;
	default:
		return TH_STYLE_GROUP;
	}
}

/* Numbers */

/* Each container of C++ or Rust allocates through a dozen functions of the library. */
static bool
is_of_containers(const char *name)
{
	static const char *const starts[] = {"std::", "__gnu_cxx::", "operator new",
		"alloc::", "core::", "hashbrown::", "<alloc::", "__rust_", "__rdl_", "__rg_",
		NULL};

	return th_text_begins_any(name, starts);
}

/* Inline functions of libc, templates of Boost; the library of Rust, whose generic code is in each program. */
static const char *const plumbing_files[] = {
	"/usr/include/", "/rustc/", "library/alloc/", "library/core/", "library/std/", NULL};

/* Without namespace or class. */
static const char *
own_name(const char *name)
{
	const char *own = name;
	int depth = 0;

	for (; *name; name++) {
		depth += (*name == '<') - (*name == '>');
		if (!depth && name[0] == ':' && name[1] == ':')
			own = name + 2;
	}
	return own;
}

/* A program's own function in place of one of libc: xmalloc, g_strdup, MemoryContextAllocZero. */
static bool
is_allocation_wrapper(const char *name)
{
	static const char *const parts[] = {"alloc", "strdup", "strndup", "memdup"};
	const char *own = th_text_begins(name, "_GLOBAL__") ? "" : own_name(name);
	size_t length = strcspn(own, "<");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *found = strcasestr(own, parts[i]);

		if (found && found < own + length)
			return !strcasestr(own, "dealloc");
	}
	return false;
}

/* What follows from the name of a function, or from its library. */
static void
find_owner(struct th_frames *frames, struct th_function *function, const char *name)
{
	const char *module = th_strings_get(&frames->strings, function->module);

	function->is_runtime = th_is_runtime_module(th_text_of(th_text_base_name(module)));
	if (function->kind == TH_KIND_JAVA) {
		struct th_code_owner owner = th_code_sources_owner(&frames->sources, name);

		function->library = owner.library;
		function->is_application = !owner.is_runtime;
		function->is_program = owner.is_program;
	} else if (function->kind == TH_KIND_NATIVE) {
		function->library = th_strings_intern(
			&frames->strings, th_text_base_name(module));
		function->is_plumbing = is_of_containers(name) || is_allocation_wrapper(name);
	}
}

bool
th_frames_is_of_program(struct th_frames *frames, const char *member)
{
	return th_code_sources_owner(&frames->sources, member).is_program;
}

static uint32_t
intern_function(struct th_frames *frames, const char *name, const char *module,
	enum th_function_kind kind)
{
	struct th_function function = {
		.name = th_strings_intern(&frames->strings, name),
		.module = th_strings_intern(&frames->strings, module),
		.kind = kind,
	};
	bool added;
	uint32_t number = th_id_map_intern(&frames->function_ids,
		(uint64_t)function.name << 32 | (uint64_t)function.module << 2 | kind, &added);

	if (added) {
		find_owner(frames, &function, name);
		th_array_append(frames, functions, function);
	}
	return number;
}

/* The number of a frame; its kind follows from its function. */
static uint32_t
intern_frame(struct th_frames *frames, struct th_frame frame)
{
	bool added;
	uint64_t side = (uint64_t)frame.file << 1 | frame.is_inlined;
	uint32_t place = th_id_map_intern(&frames->place_ids, side << 32 | frame.line, NULL);
	uint32_t number = th_id_map_intern(
		&frames->frame_ids, (uint64_t)frame.function << 32 | place, &added);

	frame.kind = frames->functions[frame.function].kind;

	if (added) {
		th_array_append(frames, frames, frame);
		th_array_append(frames, kinds, (uint8_t)frame.kind);
		th_array_append(frames, frame_functions, frame.function);
	}
	return number;
}

uint32_t
th_frames_group(struct th_frames *frames, const char *name)
{
	return intern_function(frames, name, "", TH_KIND_GROUP);
}

uint32_t
th_frames_special(struct th_frames *frames, const char *name, const char *module,
	enum th_function_kind kind)
{
	return intern_frame(frames,
		(struct th_frame){.function = intern_function(frames, name, module, kind)});
}

/* Native frames */

static const struct th_decoded_module *
find_module(const struct th_frames *frames, uint32_t id)
{
	uint32_t index = id ? th_id_map_find(&frames->recording->modules_ids, id)
			    : TH_ID_MAP_NONE;

	return index == TH_ID_MAP_NONE ? NULL : &frames->recording->modules[index];
}

/* The last component of the module's path, empty if there is none. */
static struct th_text
module_base_name(const struct th_decoded_module *module)
{
	return th_text_last_part(module ? module->path : (struct th_text){NULL, 0});
}

static bool
is_vm_module(const struct th_decoded_module *module)
{
	return th_text_equals(module_base_name(module), "libjvm.so");
}

/* A native module as the frames of its words need it; texts are the caller's. */
struct native_module {
	const char *path;
	const char *build_id;
	const char *name; /* the path without random parts: the same in every run */
	enum th_function_kind kind;
};

static void
add_native_frame(struct th_frames *frames, uint64_t word,
	const struct th_decoded_native_frame *named, const struct native_module *module)
{
	char *clean = th_text_clean(named->function);
	struct th_frame frame = {
		.function = intern_function(frames, clean, module->name, module->kind),
		.file = th_strings_intern_text(&frames->strings, named->file),
		.line = named->line,
		.is_inlined = named->flags & TH_NATIVE_FRAME_INLINED,
		.word = word,
	};
	struct th_function *function = &frames->functions[frame.function];
	uint32_t number = intern_frame(frames, frame);

	function->is_plumbing |= th_text_begins_any(
		th_strings_get(&frames->strings, frame.file), plumbing_files);
	if (!function->build_id)
		function->build_id = th_strings_intern(&frames->strings, module->build_id);
	th_array_append(frames, word_frames, number);
	free(clean);
}

static void
index_recorded_names(struct th_frames *frames)
{
	const struct th_recording *recording = frames->recording;

	for (size_t i = 0; i < recording->functions_count; i++) {
		const struct th_decoded_symbol *symbol = &recording->functions[i];
		uint64_t start = th_frame_native(symbol->module, symbol->offset);

		th_address_index_add(
			&frames->recorded, start, start + symbol->size, (uint32_t)i, 0);
	}
	th_address_index_sort(&frames->recorded);
}

/* Whether the log has names of functions of the module of this word. */
static bool
has_recorded_names(const struct th_frames *frames, uint64_t word)
{
	const struct th_address_index *recorded = &frames->recorded;
	uint64_t first = th_frame_native(th_frame_module(word), 0);
	size_t at = th_bisect(recorded->ranges_count, i, recorded->ranges[i].start < first);

	return at < recorded->ranges_count &&
	       th_frame_module(recorded->ranges[at].start) == th_frame_module(word);
}

/* The name in the log of the function at a word, for display; NULL: none.  The caller frees it. */
static char *
copy_recorded_name(const struct th_frames *frames, uint64_t word)
{
	const struct th_address_range *range = th_address_index_find(&frames->recorded, word);

	if (!range)
		return NULL;
	char *symbol = th_text_clean(frames->recording->functions[range->value].name);
	char *name = th_demangle(symbol);
	free(symbol);
	return name;
}

/* The frame of one function by the files of this machine, or named by the log. */
static void
add_found_frame(struct th_frames *frames, uint64_t word, const struct th_symbol *symbol,
	const struct native_module *module)
{
	char *recorded = symbol->is_named ? NULL : copy_recorded_name(frames, word);
	struct th_decoded_native_frame named = {
		.function = th_text_of(recorded ? recorded : symbol->function),
		.file = th_text_of(symbol->file ? symbol->file : ""),
		.line = symbol->line,
		.flags = symbol->inlined ? TH_NATIVE_FRAME_INLINED : 0,
	};

	add_native_frame(frames, word, &named, module);
	free(recorded);
}

static void
look_up_frames(struct th_frames *frames, uint64_t word, const struct native_module *module)
{
	const struct th_symbol *symbols;

	if (!frames->symbols)
		frames->symbols = th_symbols_create(frames->warn, frames->warn_data);
	if (!frames->recorded.reach)
		index_recorded_names(frames);
	th_symbols_tolerate_missing(frames->symbols, has_recorded_names(frames, word));
	size_t count = th_symbols_lookup(frames->symbols, module->path, module->build_id,
		th_frame_offset(word), &symbols);

	for (size_t i = 0; i < count; i++)
		add_found_frame(frames, word, &symbols[i], module);
}

/*
 * Whether two modules are the same file for name lookups, for example when it was loaded twice.
 */
static bool
is_same_module(const struct th_decoded_module *a, const struct th_decoded_module *b)
{
	return a && b && th_text_same(a->path, b->path) &&
	       th_text_same(a->build_id, b->build_id);
}

/* Prints the bundle's remark on a module, once. */
static void
tell_remarks(struct th_frames *frames, const struct th_decoded_module *module)
{
	const struct th_recording *recording = frames->recording;

	for (size_t i = 0; i < recording->remarks_count; i++) {
		const struct th_decoded_module_remark *remark = &recording->remarks[i];

		if (frames->is_told[i] ||
			!is_same_module(find_module(frames, remark->module), module))
			continue;
		frames->is_told[i] = true;
		char *text = th_text_clean(remark->text);
		if (frames->warn)
			frames->warn(frames->warn_data, text);
		free(text);
	}
}

/* The frames of a word that are recorded in the log itself; NULL: none are. */
static const struct th_named_word *
find_named_word(const struct th_frames *frames, uint64_t word)
{
	uint32_t index = th_id_map_find(&frames->recording->named_words_ids, word);

	return index == TH_ID_MAP_NONE || !frames->recording->named_words[index].count
		       ? NULL
		       : &frames->recording->named_words[index];
}

static void
add_native_frames(struct th_frames *frames, uint64_t word)
{
	const struct th_decoded_module *module = find_module(frames, th_frame_module(word));
	const struct th_named_word *named = find_named_word(frames, word);
	struct th_text none = {"", 0};
	char *path = th_text_clean(module ? module->path : none);
	char *build_id = th_text_clean(module ? module->build_id : none);
	char *name = th_module_stable_path(path);
	const struct native_module native = {
		.path = path,
		.build_id = build_id,
		.name = name,
		.kind = is_vm_module(module) ? TH_KIND_VM : TH_KIND_NATIVE,
	};

	if (named)
		tell_remarks(frames, module);
	else
		look_up_frames(frames, word, &native);
	for (uint32_t i = 0; named && i < named->count; i++)
		add_native_frame(frames, word,
			&frames->recording->named_frames[named->first + i], &native);
	free(path);
	free(build_id);
	free(name);
}

/* Java frames */

/* The entry of the last line that starts at or before `bci`, plus one; 0: there is none. */
static uint32_t
find_line(const struct known_method *method, uint32_t bci)
{
	const struct th_words *lines = &method->lines;
	uint32_t best = 0;

	if (bci == TH_BCI_UNKNOWN || bci == TH_BCI_NATIVE)
		return 0;
	for (uint32_t i = 0; i < lines->count; i++) {
		if (lines->words[i] >> 32 <= bci &&
			(!best || lines->words[i] >= lines->words[best - 1]))
			best = i + 1;
	}
	return best;
}

uint32_t
th_frames_intern_class(struct th_frames *frames, struct th_text signature)
{
	char *name = th_java_class_name(&frames->families, signature);
	uint32_t number = th_frames_intern(frames, name);

	free(name);
	return number;
}

/* A method has many frames, but its name is built once. */
static const struct known_method *
know_method(struct th_frames *frames, uint32_t index)
{
	struct known_method *known = &frames->methods[index];
	if (!known->function) {
		const struct th_decoded_method *method = &frames->recording->methods[index];
		char *name = th_java_method_name(
			&frames->families, method->class_signature, method->name);
		char *file = th_java_file_name(
			&frames->families, method->class_signature, method->source_file);

		*known = (struct known_method){
			.function = intern_function(frames, name, "", TH_KIND_JAVA) + 1,
			.file = th_strings_intern(&frames->strings, file),
			.lines = method->lines,
		};
		free(file);
		free(name);
	}
	return known;
}

/* The index of the method in a word, TH_ID_MAP_NONE if the log does not describe it. */
static uint32_t
find_method(const struct th_frames *frames, uint64_t word)
{
	const struct th_recording *recording = frames->recording;
	uint32_t index = th_id_map_find(&recording->methods_ids, th_frame_method(word));

	return index != TH_ID_MAP_NONE && recording->methods[index].method ? index
									   : TH_ID_MAP_NONE;
}

static void
add_java_frame(struct th_frames *frames, uint64_t word)
{
	uint32_t method = find_method(frames, word);
	struct th_frame frame = {.word = word};

	if (method == TH_ID_MAP_NONE) {
		frame.function = intern_function(
			frames, "[unknown Java method]", "", TH_KIND_JAVA);
	} else {
		const struct known_method *known = know_method(frames, method);
		uint32_t line = find_line(known, th_frame_bci(word));

		frame.function = known->function - 1;
		frame.file = known->file;
		frame.line = line ? (uint32_t)known->lines.words[line - 1] : 0;
	}
	uint32_t number = intern_frame(frames, frame);
	th_array_append(frames, word_frames, number);
}

/* All kinds */

static void
add_marker(struct th_frames *frames, uint64_t word)
{
	bool is_virtual = (uint32_t)word == TH_MARKER_VIRTUAL_THREAD;
	const char *name = is_virtual ? "[virtual thread]" : "[unknown marker]";
	uint32_t frame = th_frames_special(frames, name, "", TH_KIND_VM);

	th_array_append(frames, word_frames, frame);
}

static void
add_frames(struct th_frames *frames, uint64_t word)
{
	if (th_frame_kind(word) == TH_FRAME_NATIVE)
		add_native_frames(frames, word);
	else if (th_frame_kind(word) == TH_FRAME_JAVA)
		add_java_frame(frames, word);
	else
		add_marker(frames, word);
}

uint32_t
th_frames_expand(struct th_frames *frames, uint64_t word, const uint32_t **frames_ret)
{
	bool added;
	uint32_t number = th_id_map_intern(&frames->word_ids, word, &added);

	if (added) {
		struct span span = {.start = (uint32_t)frames->word_frames_count};

		add_frames(frames, word);
		span.count = (uint32_t)frames->word_frames_count - span.start;
		th_array_append(frames, words, span);
	}
	*frames_ret = &frames->word_frames[frames->words[number].start];
	return frames->words[number].count;
}

/* Threads of the Java VM itself */

/* What the raw frames of stacks belong to. */
enum { OF_JAVA = 1, OF_VM = 2, OF_OTHERS = 4 };

/* Of the C runtime: nothing. */
static unsigned
word_trait(const struct th_frames *frames, uint64_t word)
{
	if (th_frame_kind(word) == TH_FRAME_JAVA)
		return OF_JAVA;
	if (th_frame_kind(word) != TH_FRAME_NATIVE)
		return 0;
	const struct th_decoded_module *module = find_module(frames, th_frame_module(word));
	if (is_vm_module(module))
		return OF_VM;
	return th_is_runtime_module(module_base_name(module)) ? 0 : OF_OTHERS;
}

static uint8_t
stack_traits(const struct th_frames *frames, uint32_t stack)
{
	const struct th_words *words = &frames->recording->stacks[stack].frames;
	unsigned traits = 0;

	for (uint32_t i = 0; i < words->count; i++)
		traits |= word_trait(frames, words->words[i]);
	return (uint8_t)traits;
}

bool *
th_frames_find_vm_threads(const struct th_frames *frames)
{
	const struct th_recording *recording = frames->recording;
	bool *is_of_vm = th_allocate(recording->threads_count, sizeof(*is_of_vm));
	uint8_t *stacks = th_allocate(recording->stacks_count, 1);
	uint8_t *threads = th_allocate(recording->threads_count, 1);

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct th_samples *samples = &recording->samples[heap];

		for (size_t i = 0; i < samples->items_count; i++) {
			const struct th_sample *sample = &samples->items[i];
			uint8_t *thread = &threads[th_recording_thread(recording, sample)];
			uint8_t *stack = &stacks[sample->stack];

			/* Most threads are known to be the program's by their first sample. */
			if (*thread & ~OF_VM)
				continue;
			if (!*stack)
				*stack = stack_traits(frames, sample->stack);
			*thread |= *stack;
		}
	}
	for (uint32_t i = 0; i < recording->threads_count; i++)
		is_of_vm[i] = threads[i] == OF_VM;
	free(stacks);
	free(threads);
	return is_of_vm;
}

/* Public functions */

struct th_frames *
th_frames_create(const struct th_recording *recording, struct th_symbols *symbols,
	th_symbols_warn *warn, void *warn_data)
{
	struct th_frames *frames = th_allocate(1, sizeof(*frames));

	frames->recording = recording;
	frames->symbols = symbols;
	frames->is_shared = symbols;
	frames->warn = warn;
	frames->warn_data = warn_data;
	frames->is_told = th_allocate(recording->remarks_count, sizeof(bool));
	frames->methods = th_allocate(recording->methods_count, sizeof(*frames->methods));
	th_strings_init(&frames->strings);
	th_code_sources_init(&frames->sources, recording, &frames->strings);
	for (size_t i = 0; i < recording->methods_count; i++)
		th_java_families_add(&frames->families, recording->methods[i].class_signature);
	for (size_t i = 0; i < recording->classes_count; i++)
		th_java_families_add(&frames->families, recording->classes[i].signature);
	return frames;
}

void
th_frames_destroy(struct th_frames *frames)
{
	if (!frames)
		return;
	if (!frames->is_shared)
		th_symbols_destroy(frames->symbols);
	th_address_index_deinit(&frames->recorded);
	free(frames->is_told);
	th_code_sources_deinit(&frames->sources);
	th_java_families_deinit(&frames->families);
	th_strings_deinit(&frames->strings);
	th_id_map_deinit(&frames->function_ids);
	th_id_map_deinit(&frames->place_ids);
	th_id_map_deinit(&frames->frame_ids);
	th_id_map_deinit(&frames->word_ids);
	free(frames->functions);
	free(frames->frames);
	free(frames->kinds);
	free(frames->frame_functions);
	free(frames->methods);
	free(frames->words);
	free(frames->word_frames);
	free(frames);
}

const struct th_frame *
th_frames_get(const struct th_frames *frames, uint32_t frame)
{
	return &frames->frames[frame];
}

enum th_function_kind
th_frames_kind(const struct th_frames *frames, uint32_t frame)
{
	return (enum th_function_kind)frames->kinds[frame];
}

uint32_t
th_frames_function_at(const struct th_frames *frames, uint32_t frame)
{
	return frames->frame_functions[frame];
}

const struct th_function *
th_frames_function(const struct th_frames *frames, uint32_t function)
{
	return &frames->functions[function];
}

const struct th_function *
th_frames_function_of(const struct th_frames *frames, uint32_t frame)
{
	return &frames->functions[frames->frame_functions[frame]];
}

const char *
th_frames_string(const struct th_frames *frames, uint32_t string)
{
	return th_strings_get(&frames->strings, string);
}

const char *
th_frames_function_name(const struct th_frames *frames, uint32_t function)
{
	return th_frames_string(frames, frames->functions[function].name);
}

const char *
th_frames_library(const struct th_frames *frames, uint32_t function)
{
	const struct th_function *item = &frames->functions[function];
	const char *module = th_frames_string(frames, item->module);

	return item->kind == TH_KIND_NATIVE ? th_text_base_name(module) : "";
}

bool
th_frames_is_nameless(const struct th_frames *frames, uint32_t function)
{
	const char *name = th_frames_function_name(frames, function);
	const char *library = th_frames_library(frames, function);
	size_t length = strlen(library);

	return length && strncmp(name, library, length) == 0 &&
	       th_text_begins(name + length, "+0x");
}

bool
th_frames_is_generated(const struct th_frames *frames, uint32_t function)
{
	return frames->functions[function].kind == TH_KIND_JAVA &&
	       strchr(th_frames_function_name(frames, function), '#');
}

uint32_t
th_frames_function_count(const struct th_frames *frames)
{
	return (uint32_t)frames->functions_count;
}

uint32_t
th_frames_intern(struct th_frames *frames, const char *string)
{
	return th_strings_intern(&frames->strings, string);
}

uint32_t
th_frames_find_string(const struct th_frames *frames, const char *string)
{
	return th_strings_find(&frames->strings, string);
}
