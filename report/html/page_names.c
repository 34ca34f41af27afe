/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers what rows refer to.  Rows are visited in the order of their paths, so that a path
 * shares its first nodes with its predecessor and the tree is built without a search.
 */
#include "report/html/page.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/profile/order.h"

uint32_t
th_page_index(struct th_page_index *index, uint32_t number)
{
	bool added;
	uint32_t found = th_id_map_intern(&index->indices, number, &added);

	if (added)
		th_array_append(index, numbers, number);
	return found;
}

uint32_t
th_page_names_group(struct th_page_names *names, enum th_group_by by, const struct th_row *row)
{
	const struct th_profile *profile = names->profile;
	struct th_subject subject = {
		.heap = row->heap,
		.thread = row->thread,
		.class_name = row->class_name,
		.path = row->path,
	};
	uint32_t group = th_filter_group(profile->filter, by, &subject);

	return th_page_index(&names->strings, th_frames_function(profile->frames, group)->name);
}

/* Paths */

/* The nodes from the root to the current row. */
struct branch {
	TH_ARRAY(uint32_t, frames);
	TH_ARRAY(uint32_t, nodes); /* plus one */
};

/* Number of frames that the current row's path shares with the previous one's. */
static uint32_t
shared_length(const struct branch *branch, const struct th_path *path)
{
	uint32_t shared = 0;

	while (shared < path->count && shared < branch->frames_count &&
		branch->frames[shared] == path->frames[shared])
		shared++;
	return shared;
}

/* Extends the tree by the path of a row and returns its last node, plus one. */
static uint32_t
add_path(struct th_page_names *names, struct branch *branch, const struct th_row *row)
{
	struct th_path path = th_paths_get(names->profile->paths, row->shown);
	uint32_t shared = shared_length(branch, &path);

	branch->frames_count = branch->nodes_count = shared;
	for (uint32_t i = shared; i < path.count; i++) {
		uint32_t index = th_page_index(&names->frames, path.frames[i]);
		uint32_t parent = i ? branch->nodes[i - 1] : 0;

		th_array_append(names, node_parents, parent);
		th_array_append(names, node_frames, index);
		th_array_append(branch, frames, path.frames[i]);
		th_array_append(branch, nodes, (uint32_t)names->node_parents_count);
	}
	return branch->nodes_count ? branch->nodes[branch->nodes_count - 1] : 0;
}

static void
make_tree(struct th_page_names *names)
{
	const struct th_profile *profile = names->profile;
	uint32_t *order = th_row_order_by_path(profile);
	struct branch branch = {0};

	for (size_t i = 0; i < profile->rows_count; i++)
		names->row_nodes[order[i]] = add_path(names, &branch, &profile->rows[order[i]]);
	free(branch.frames);
	free(branch.nodes);
	free(order);
}

/* Printing */

void
th_page_nodes_print(FILE *file, struct th_page_names *names)
{
	th_page_integers(file, ",\n\"nodes\":{", "parent", i, names->node_parents_count,
		(int64_t)names->node_parents[i] - 1);
	th_page_integers(
		file, ",", "frame", i, names->node_frames_count, names->node_frames[i]);
	fputc('}', file);
	free(names->node_parents);
	free(names->node_frames);
	names->node_parents = names->node_frames = NULL;
}

static const struct th_function *
function_at(const struct th_page_names *names, size_t index)
{
	return th_frames_function(names->profile->frames, names->functions.numbers[index]);
}

static const struct th_frame *
frame_at_index(const struct th_page_names *names, size_t index)
{
	return th_frames_get(names->profile->frames, names->frames.numbers[index]);
}

/* Line numbers fit the page's integers. */
static int64_t
line_of(const struct th_frame *frame)
{
	return frame->line < INT32_MAX ? frame->line : INT32_MAX;
}

/* Each table refers to entries of the next one, which it adds. */
void
th_page_names_print(FILE *file, struct th_page_names *names)
{
	struct th_page_index *strings = &names->strings;
	size_t frames = names->frames.numbers_count;

	th_page_integers(file, ",\n\"frames\":{", "function", i, frames,
		th_page_index(&names->functions, frame_at_index(names, i)->function));
	th_page_integers(file, ",", "file", i, frames,
		th_page_index(strings, frame_at_index(names, i)->file));
	th_page_integers(file, ",", "line", i, frames, line_of(frame_at_index(names, i)));
	th_page_integers(file, ",", "inlined", i, frames, frame_at_index(names, i)->is_inlined);
	size_t functions = names->functions.numbers_count;
	th_page_integers(file, "},\n\"functions\":{", "name", i, functions,
		th_page_index(strings, function_at(names, i)->name));
	th_page_integers(file, ",", "module", i, functions,
		th_page_index(strings, function_at(names, i)->module));
	th_page_integers(file, ",", "kind", i, functions, function_at(names, i)->kind);
	for (size_t i = 0; i < strings->numbers_count; i++)
		th_page_print_json(file, i ? "," : "},\n\"strings\":[",
			json_string(
				th_frames_string(names->profile->frames, strings->numbers[i])));
	fputc(']', file);
}

/* Life */

void
th_page_names_init(struct th_page_names *names, const struct th_profile *profile)
{
	*names = (struct th_page_names){
		.profile = profile,
		.row_nodes = th_allocate(profile->rows_count, sizeof(uint32_t)),
	};
	th_page_index(&names->strings, 0);
	make_tree(names);
}

void
th_page_names_deinit(struct th_page_names *names)
{
	struct th_page_index *const all[] = {
		&names->strings, &names->functions, &names->frames};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		th_id_map_deinit(&all[i]->indices);
		free(all[i]->numbers);
	}
	free(names->node_parents);
	free(names->node_frames);
	free(names->row_nodes);
}
