/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page_names.h"

#include <stdlib.h>

#include "report/allocate.h"
#include "report/json_parts.h"
#include "report/page_columns.h"

/* Numbering */

static uint32_t
add_string(struct th_page_names *names, uint32_t string)
{
	bool added;
	uint32_t index = th_map_intern(&names->strings, string, &added);

	if (added)
		th_array_append(names, string_numbers, string);
	return index;
}

static uint32_t
add_function(struct th_page_names *names, uint32_t number)
{
	const struct th_function *function = th_frames_function(names->profile->frames, number);
	bool added;
	uint32_t index = th_map_intern(&names->functions, number, &added);

	if (added) {
		th_array_append(names, function_numbers, number);
		add_string(names, function->name);
		add_string(names, function->module);
	}
	return index;
}

static uint32_t
add_frame(struct th_page_names *names, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(names->profile->frames, number);
	bool added;
	uint32_t index = th_map_intern(&names->frames, number, &added);

	if (added) {
		th_array_append(names, frame_numbers, number);
		add_function(names, frame->function);
		add_string(names, frame->file);
	}
	return index;
}

/* The node of `frame` below a node; nodes are numbered from 1, 0 is the root. */
static uint32_t
add_node(struct th_page_names *names, uint32_t parent, uint32_t frame)
{
	bool added;
	uint32_t number = th_map_intern(&names->nodes, (uint64_t)parent << 32 | frame, &added);

	if (added) {
		th_array_append(names, node_parents, parent);
		th_array_append(names, node_frames, frame);
	}
	return number + 1;
}

static uint32_t
add_path(struct th_page_names *names, const struct th_row *row)
{
	struct th_path path = th_paths_get(names->profile->paths, row->path);
	uint32_t node = 0;

	if (row->shows_internal)
		node = add_node(names, node, add_frame(names, names->internal_frame));
	for (uint32_t i = 0; i < path.count; i++)
		node = add_node(names, node, add_frame(names, path.frames[i]));
	return node;
}

/* The name of the group that a row's stack, as it is shown, belongs to. */
static uint32_t
add_group(struct th_page_names *names, enum th_group_by by, const struct th_row *row)
{
	const struct th_profile *profile = names->profile;
	struct th_subject subject = {
		.heap = row->heap,
		.thread = row->thread,
		.class_name = row->class_name,
		.path = row->path,
	};
	uint32_t group = th_filter_group(profile->filter, by, &subject);

	return add_string(names, th_frames_function(profile->frames, group)->name);
}

static void
number_everything(struct th_page_names *names)
{
	const struct th_profile *profile = names->profile;

	add_string(names, 0);
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];

		add_string(names, th_frames_function(profile->frames, row->thread)->name);
		add_string(names, row->class_name);
		names->row_nodes[i] = add_path(names, row);
		names->row_packages[i] = add_group(names, TH_GROUP_PACKAGE, row);
		names->row_libraries[i] = add_group(names, TH_GROUP_LIBRARY, row);
	}
}

/* Printing */

static void
print_strings(FILE *file, const struct th_page_names *names)
{
	th_page_begin_column(file, ",\n", "strings");
	for (size_t i = 0; i < names->string_numbers_count; i++) {
		if (i)
			fputc(',', file);
		th_page_print_json(file, json_string(th_frames_string(names->profile->frames,
						 names->string_numbers[i])));
	}
	fputc(']', file);
}

static void
print_functions(FILE *file, const struct th_page_names *names)
{
	const struct th_frames *frames = names->profile->frames;

	th_page_begin_column(file, ",\n\"functions\":{", "name");
	for (size_t i = 0; i < names->function_numbers_count; i++)
		th_page_print_integer(file, i,
			th_page_names_string(names,
				th_frames_function(frames, names->function_numbers[i])->name));
	th_page_begin_column(file, "],", "module");
	for (size_t i = 0; i < names->function_numbers_count; i++)
		th_page_print_integer(file, i,
			th_page_names_string(
				names, th_frames_function(frames, names->function_numbers[i])
					       ->module));
	th_page_begin_column(file, "],", "kind");
	for (size_t i = 0; i < names->function_numbers_count; i++)
		th_page_print_integer(
			file, i, th_frames_function(frames, names->function_numbers[i])->kind);
	fputs("]}", file);
}

static const struct th_frame *
frame_at(const struct th_page_names *names, size_t index)
{
	return th_frames_get(names->profile->frames, names->frame_numbers[index]);
}

static void
print_frames(FILE *file, const struct th_page_names *names)
{
	th_page_begin_column(file, ",\n\"frames\":{", "function");
	for (size_t i = 0; i < names->frame_numbers_count; i++)
		th_page_print_integer(
			file, i, th_page_names_function(names, frame_at(names, i)->function));
	th_page_begin_column(file, "],", "file");
	for (size_t i = 0; i < names->frame_numbers_count; i++)
		th_page_print_integer(
			file, i, th_page_names_string(names, frame_at(names, i)->file));
	th_page_begin_column(file, "],", "line");
	for (size_t i = 0; i < names->frame_numbers_count; i++)
		th_page_print_integer(file, i, frame_at(names, i)->line);
	th_page_begin_column(file, "],", "inlined");
	for (size_t i = 0; i < names->frame_numbers_count; i++)
		th_page_print_integer(file, i, frame_at(names, i)->is_inlined);
	fputs("]}", file);
}

static void
print_nodes(FILE *file, const struct th_page_names *names)
{
	th_page_begin_column(file, ",\n\"nodes\":{", "parent");
	for (size_t i = 0; i < names->node_parents_count; i++)
		th_page_print_integer(file, i, (int64_t)names->node_parents[i] - 1);
	th_page_begin_column(file, "],", "frame");
	for (size_t i = 0; i < names->node_frames_count; i++)
		th_page_print_integer(file, i, names->node_frames[i]);
	fputs("]}", file);
}

void
th_page_names_print(FILE *file, const struct th_page_names *names)
{
	print_strings(file, names);
	print_functions(file, names);
	print_frames(file, names);
	print_nodes(file, names);
}

/* Life */

void
th_page_names_init(struct th_page_names *names, const struct th_profile *profile)
{
	size_t count = profile->rows_count;

	*names = (struct th_page_names){
		.profile = profile,
		.internal_frame = th_frames_special(profile->frames,
			th_frames_function_name(profile->frames, profile->internal_group), "",
			TH_KIND_GROUP),
		.row_nodes = th_allocate(count, sizeof(uint32_t)),
		.row_packages = th_allocate(count, sizeof(uint32_t)),
		.row_libraries = th_allocate(count, sizeof(uint32_t)),
	};
	number_everything(names);
}

void
th_page_names_deinit(struct th_page_names *names)
{
	th_map_deinit(&names->strings);
	th_map_deinit(&names->functions);
	th_map_deinit(&names->frames);
	th_map_deinit(&names->nodes);
	free(names->string_numbers);
	free(names->function_numbers);
	free(names->frame_numbers);
	free(names->node_parents);
	free(names->node_frames);
	free(names->row_nodes);
	free(names->row_packages);
	free(names->row_libraries);
}

uint32_t
th_page_names_string(const struct th_page_names *names, uint32_t string)
{
	return th_map_find(&names->strings, string);
}

uint32_t
th_page_names_function(const struct th_page_names *names, uint32_t function)
{
	return th_map_find(&names->functions, function);
}
