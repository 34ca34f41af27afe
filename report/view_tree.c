/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree for the terminal: one line per function, from the threads down, with the bytes
 * of both heaps that were allocated in it and below.  A chain of functions of which each calls
 * one other and nothing else happens stands at one depth.
 */
#include "report/view.h"

#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"
#include "report/format.h"
#include "report/heap_names.h"
#include "report/map.h"
#include "report/terminal.h"

#define NO_NODE UINT32_MAX
/* Columns of one heap's figures, without their intervals, and without shares as well. */
#define FIGURE_COLUMNS 40
#define NARROW_FIGURE_COLUMNS 20
#define BARE_FIGURE_COLUMNS 12
/* Where paths would have fewer columns of a terminal, intervals give way to them, then shares. */
#define FAIR_PATH_COLUMNS 40
/* Paths are cut to the terminal, but not below this. */
#define LEAST_PATH_COLUMNS 20
/* Shares in percent from which a figure stands out. */
#define LARGE_SHARE 10
/* Deeper levels are all indented alike: the path has to remain readable. */
#define DEEPEST_INDENT 40

struct node {
	uint32_t function;
	uint32_t first_child;
	uint32_t next_sibling;
	struct th_estimator sums[TH_HEAPS];
};

struct tree {
	FILE *file;
	const struct th_profile *profile;
	struct th_map ids; /* parent << 32 | function -> number - 1; the root is 0 */
	TH_ARRAY(struct node, nodes);
	double whole[TH_HEAPS]; /* what 100 % is */
	int path_columns;       /* 0 = no limit */
	bool has_intervals;     /* there is room for them */
	bool has_shares;        /* and for those */
	uint64_t cut_count;     /* subtrees left out */
	struct th_estimator cut[TH_HEAPS];
};

/* Building */

static uint32_t
add_node(struct tree *tree, uint32_t function)
{
	struct node node = {
		.function = function, .first_child = NO_NODE, .next_sibling = NO_NODE};

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		node.sums[heap] = th_calibration_empty(&tree->profile->heaps[heap]);
	th_array_append(tree, nodes, node);
	return (uint32_t)tree->nodes_count - 1;
}

static uint32_t
child_of(struct tree *tree, uint32_t parent, uint32_t function)
{
	bool added;
	uint32_t child = th_map_intern(&tree->ids, (uint64_t)parent << 32 | function, &added) +
			 1;

	if (added) {
		add_node(tree, function);
		tree->nodes[child].next_sibling = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = child;
	}
	return child;
}

static void
add_row(struct tree *tree, const struct th_row *row)
{
	const struct th_estimator *sum = th_profile_sum(tree->profile, row);
	uint32_t count = th_profile_functions(tree->profile, row, NULL, 0);
	uint32_t *functions = th_allocate(count, sizeof(*functions));
	uint32_t node = 0;

	th_profile_functions(tree->profile, row, functions, count);
	th_estimator_merge(&tree->nodes[0].sums[row->heap], sum);
	for (uint32_t i = 0; i < count; i++) {
		node = child_of(tree, node, functions[i]);
		th_estimator_merge(&tree->nodes[node].sums[row->heap], sum);
	}
	free(functions);
}

static void
build(struct tree *tree)
{
	add_node(tree, 0);
	for (size_t i = 0; i < tree->profile->rows_count; i++) {
		const struct th_row *row = &tree->profile->rows[i];

		if (th_profile_sum(tree->profile, row)->samples)
			add_row(tree, row);
	}
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		tree->whole[heap] = th_profile_point(tree->profile, &tree->nodes[0].sums[heap]);
		tree->cut[heap] = th_calibration_empty(&tree->profile->heaps[heap]);
	}
}

/* Choosing */

/* The larger of the node's shares of the two heaps. */
static double
share_of(const struct tree *tree, uint32_t number)
{
	double largest = 0;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		double value = th_profile_point(tree->profile, &tree->nodes[number].sums[heap]);

		if (tree->whole[heap] > 0 && value / tree->whole[heap] > largest)
			largest = value / tree->whole[heap];
	}
	return largest;
}

struct child {
	uint32_t number;
	double share;
};

static int
compare(const void *a, const void *b)
{
	const struct child *left = a;
	const struct child *right = b;

	if (left->share != right->share)
		return left->share < right->share ? 1 : -1;
	return (left->number > right->number) - (left->number < right->number);
}

static void
cut(struct tree *tree, uint32_t number)
{
	tree->cut_count++;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_estimator_merge(&tree->cut[heap], &tree->nodes[number].sums[heap]);
}

/* The children that are large enough, largest first; the caller frees the array. */
static struct child *
choose_children(struct tree *tree, uint32_t parent, uint32_t *count_ret)
{
	struct child *children = NULL;
	size_t capacity = 0;
	uint32_t count = 0;

	for (uint32_t child = tree->nodes[parent].first_child; child != NO_NODE;
		child = tree->nodes[child].next_sibling) {
		double share = share_of(tree, child);

		if (100 * share < tree->profile->options->min_share) {
			cut(tree, child);
			continue;
		}
		children = th_array_grow(children, count, &capacity, sizeof(*children));
		children[count++] = (struct child){child, share};
	}
	if (count)
		qsort(children, count, sizeof(*children), compare);
	*count_ret = count;
	return children;
}

/* Whether everything in the node happens in its only child. */
static bool
is_chain(const struct tree *tree, uint32_t parent)
{
	uint32_t child = tree->nodes[parent].first_child;

	if (!parent || child == NO_NODE || tree->nodes[child].next_sibling != NO_NODE)
		return false;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (tree->nodes[child].sums[heap].samples !=
			tree->nodes[parent].sums[heap].samples)
			return false;
	}
	return true;
}

/* Printing */

static int
figure_columns(const struct tree *tree)
{
	if (!tree->has_shares)
		return BARE_FIGURE_COLUMNS;
	return tree->has_intervals ? FIGURE_COLUMNS : NARROW_FIGURE_COLUMNS;
}

/* What of them is in front of the figure, and behind it. */
static int
share_columns(const struct tree *tree)
{
	return tree->has_shares ? 8 : 0;
}

static int
interval_columns(const struct tree *tree)
{
	return figure_columns(tree) - share_columns(tree) - 11;
}

static void
print_figures(const struct tree *tree, enum th_heap heap, const struct th_estimator *sum)
{
	bool by_objects = th_value_counts_objects(tree->profile->options->value);
	enum th_unit unit = by_objects ? TH_UNIT_OBJECTS : TH_UNIT_BYTES;

	if (!th_profile_has_heap(tree->profile, heap))
		return;
	if (!sum->samples) {
		fprintf(tree->file, "%*s", figure_columns(tree), "");
		return;
	}
	struct th_estimate value = th_profile_value(tree->profile, heap, sum);
	double point = th_profile_point(tree->profile, sum);
	bool is_large = 100 * point >= LARGE_SHARE * tree->whole[heap];
	fputs(th_terminal_code(tree->file, is_large ? TH_STYLE_LARGE : TH_STYLE_PLAIN),
		tree->file);
	if (tree->has_shares)
		fprintf(tree->file, "%7s ", th_format_share(point, tree->whole[heap]).text);
	fprintf(tree->file, "%9s%s  %-*s", th_format_number(value.estimate, unit).text,
		th_terminal_code(tree->file, TH_STYLE_PLAIN), interval_columns(tree),
		tree->has_intervals ? th_format_interval(&value, unit).text : "");
}

static void
print_name(const struct tree *tree, uint32_t number, int indent)
{
	const struct th_frames *frames = tree->profile->frames;
	uint32_t function = tree->nodes[number].function;
	const char *name = th_frames_function_name(frames, function);
	const char *library = th_frames_library(frames, function);
	bool has_library = library[0] && !th_frames_is_nameless(frames, function);
	char *text = th_format_new("%*s%s%s%s%s", indent, "", name, has_library ? " (" : "",
		has_library ? library : "", has_library ? ")" : "");

	fputs(th_terminal_code(
		      tree->file, th_terminal_kind(th_frames_function(frames, function)->kind)),
		tree->file);
	th_format_cut(tree->file, text,
		tree->path_columns ? tree->path_columns : th_format_columns(text));
	fputs(th_terminal_code(tree->file, TH_STYLE_PLAIN), tree->file);
	free(text);
}

static void
print_node(const struct tree *tree, uint32_t number, int depth)
{
	const struct node *node = &tree->nodes[number];
	int half = tree->path_columns / 2;
	int deepest = half && half < DEEPEST_INDENT ? half : DEEPEST_INDENT;
	int indent = 2 * depth < deepest ? 2 * depth : deepest;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_figures(tree, (enum th_heap)heap, &node->sums[heap]);
	if (number)
		print_name(tree, number, indent);
	else
		fputs("all", tree->file);
	fputc('\n', tree->file);
}

struct pending {
	uint32_t number;
	int depth;
};

struct stack {
	TH_ARRAY(struct pending, items);
};

/* Without recursion, since stacks may be thousands of frames deep. */
static void
print_nodes(struct tree *tree)
{
	struct stack stack = {0};
	struct pending next = {0, 0};

	th_array_append(&stack, items, next);
	while (stack.items_count) {
		struct pending node = stack.items[--stack.items_count];
		uint32_t count;
		struct child *children = choose_children(tree, node.number, &count);
		int depth = node.depth + (node.number && !is_chain(tree, node.number));

		print_node(tree, node.number, node.depth);
		for (uint32_t i = count; i-- > 0;) {
			next = (struct pending){children[i].number, depth};
			th_array_append(&stack, items, next);
		}
		free(children);
	}
	free(stack.items);
}

static void
print_heading(const struct tree *tree)
{
	const char *value = th_value_heading(tree->profile->options->value);

	th_view_filters(tree->file, tree->profile->options);
	fputs(th_terminal_code(tree->file, TH_STYLE_HEADING), tree->file);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (th_profile_has_heap(tree->profile, (enum th_heap)heap))
			fprintf(tree->file, "%-*s", figure_columns(tree),
				th_heap_title((enum th_heap)heap));
	}
	fputc('\n', tree->file);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (th_profile_has_heap(tree->profile, (enum th_heap)heap))
			fprintf(tree->file, "%*s%9s  %-*s", share_columns(tree),
				tree->has_shares ? "share " : "", value, interval_columns(tree),
				tree->has_intervals ? "95 % interval" : "");
	}
	fprintf(tree->file, "call path%s\n", th_terminal_code(tree->file, TH_STYLE_PLAIN));
}

static void
print_cut(const struct tree *tree)
{
	const char *before = "";

	if (!tree->cut_count)
		return;
	fprintf(tree->file, "left out: %s branches below %g %%; --min 0 shows all\n  ",
		th_format_count(tree->cut_count).text, tree->profile->options->min_share);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		double value = th_profile_point(tree->profile, &tree->cut[heap]);

		if (!th_profile_has_heap(tree->profile, (enum th_heap)heap))
			continue;
		fprintf(tree->file, "%s%s of the %s", before,
			th_format_share(value, tree->whole[heap]).text,
			th_heap_title((enum th_heap)heap));
		before = ", ";
	}
	fputc('\n', tree->file);
}

/* Divides the columns of a terminal; elsewhere there is room for everything. */
static void
fit(struct tree *tree)
{
	int columns = th_terminal_columns(tree->file);
	int heaps = 0;

	tree->has_intervals = true;
	tree->has_shares = true;
	if (!columns)
		return;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		heaps += th_profile_has_heap(tree->profile, (enum th_heap)heap);
	tree->has_intervals = columns - heaps * FIGURE_COLUMNS >= FAIR_PATH_COLUMNS;
	tree->has_shares = columns - heaps * NARROW_FIGURE_COLUMNS >= FAIR_PATH_COLUMNS;
	columns -= heaps * figure_columns(tree);
	tree->path_columns = columns > LEAST_PATH_COLUMNS ? columns : LEAST_PATH_COLUMNS;
}

void
th_view_tree(FILE *file, const struct th_profile *profile)
{
	struct tree tree = {.file = file, .profile = profile};

	fit(&tree);
	build(&tree);
	print_heading(&tree);
	print_nodes(&tree);
	print_cut(&tree);
	th_map_deinit(&tree.ids);
	free(tree.nodes);
}
