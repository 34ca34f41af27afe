/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree for the terminal: one line per function, from the threads down, with the bytes
 * that it and its callees allocated in each heap.  A chain of functions in which each has a
 * single callee and allocates nothing itself is printed at one depth.
 *
 * Only branches of at least --min are built: a node is a range of rows that share their first
 * functions.  The rows of a node are sorted by their next function when its children are needed, those
 * of one function by their numbers.
 *
 * Threads of the application are merged: their level is skipped unless --threads is given.
 * Of each heap only the nodes with the largest shares are printed (--top). A node's share is not
 * larger than its parent's, so that with a node its parents are among them.  Before them functions of libraries are left out that
 * call each other and have, but for less than --min, what the next one has.
 */
#include "report/views/view.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/sort.h"
#include "report/base/terminal.h"
#include "report/profile/values.h"

/* Columns of one heap's figures; without confidence intervals; without shares as well. */
#define FIGURE_COLUMNS 40
#define NARROW_FIGURE_COLUMNS 20
#define BARE_FIGURE_COLUMNS 12
/* If paths have fewer columns than this, confidence intervals are dropped, then shares. */
#define FAIR_PATH_COLUMNS 40
/* Paths are cut to the terminal, but not below this width. */
#define LEAST_PATH_COLUMNS 20
/* Shares in percent from which a figure is highlighted. */
#define LARGE_SHARE 10
/* Deeper levels share one indentation so that the path remains readable. */
#define DEEPEST_INDENT 40
/* Functions at each end of a row of libraries' that stay. */
#define ENDS_SHOWN 2

struct node {
	uint32_t function;
	uint32_t level; /* number of functions from the root; 0 = all rows */
	size_t parent;  /* index in tree.nodes */
	size_t first;   /* index in tree.rows */
	size_t count;
	int depth; /* depth at which it is printed */
	bool is_thread;
	bool is_chained;  /* the only branch of its parent, which has little beside it */
	bool is_left_out; /* of the middle of a row of libraries' functions */
	bool is_top;
	bool is_hidden; /* beyond --top, or below such a node */
	struct th_estimator sums[TH_HEAPS];
};

struct nodes {
	TH_ARRAY(struct node, items);
};

struct tree {
	FILE *file;
	const struct th_profile *profile;
	/* Rows in the tree, below a function that they were sorted by; those of a node are contiguous. */
	uint64_t *rows;
	struct node root;
	double whole[TH_HEAPS]; /* the value of 100 % */
	int path_columns;       /* 0 = no limit */
	bool has_intervals;     /* there are columns for them */
	bool has_shares;        /* there are columns for them */
	bool is_limited;        /* by --top */
	TH_ARRAY(struct node,
		nodes); /* in the order of printing: parents before their children */
	TH_ARRAY(struct node, small); /* below --min, by parent */
	uint64_t gap;                 /* functions left out above the next one printed */
	uint64_t cut_count;           /* subtrees left out */
	struct th_estimator cut[TH_HEAPS];
};

/* Nodes */

static void
add_row(const struct tree *tree, struct node *node, const struct th_row *row)
{
	node->count++;
	th_estimator_merge(&node->sums[row->heap], th_profile_sum(tree->profile, row));
}

static void
plant(struct tree *tree)
{
	size_t count = tree->profile->rows_count;

	tree->rows = th_allocate(count, sizeof(*tree->rows));
	for (size_t i = 0; i < count; i++) {
		const struct th_row *row = &tree->profile->rows[i];

		if (!th_profile_sum(tree->profile, row)->samples)
			continue;
		tree->rows[tree->root.count] = i;
		add_row(tree, &tree->root, row);
	}
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		tree->whole[heap] = th_profile_point(tree->profile, &tree->root.sums[heap]);
}

/* Whether a row is below its thread; that of the VM's threads is kept, as it says what they do. */
static bool
skips_thread(const struct tree *tree, const struct th_row *row)
{
	return row->shows_thread && !row->shows_internal && !tree->profile->options->per_thread;
}

static const struct th_row *
row_at(const struct tree *tree, size_t index)
{
	return &tree->profile->rows[(uint32_t)tree->rows[index]];
}

/* Finds the children of the next node: runs of its rows with one function; rows that end there are last. */
static void
find_children(struct tree *tree, const struct node *parent, struct nodes *children)
{
	size_t end = parent->first + parent->count;

	for (size_t i = parent->first; i < end; i++) {
		const struct th_row *row = row_at(tree, i);
		uint32_t function = UINT32_MAX;

		th_profile_function_at(
			tree->profile, row, parent->level + skips_thread(tree, row), &function);
		tree->rows[i] = (uint64_t)function << 32 | (uint32_t)tree->rows[i];
	}
	th_sort_by_word(tree->rows + parent->first, parent->count, sizeof(*tree->rows));
	for (size_t i = parent->first; i < end && tree->rows[i] >> 32 != UINT32_MAX; i++) {
		const struct th_row *row = row_at(tree, i);
		uint32_t function = (uint32_t)(tree->rows[i] >> 32);

		if (i == parent->first || function != tree->rows[i - 1] >> 32) {
			struct node child = {
				.function = function,
				.level = parent->level + 1,
				.parent = tree->nodes_count,
				.first = i,
				.is_thread = row->shows_thread && !skips_thread(tree, row) &&
					     parent->level == row->shows_internal,
			};

			th_array_append(children, items, child);
		}
		add_row(tree, &children->items[children->items_count - 1], row);
	}
}

/* Choosing */

static double
share_in(const struct tree *tree, const struct node *node, int heap)
{
	double value = th_profile_point(tree->profile, &node->sums[heap]);

	return tree->whole[heap] > 0 ? value / tree->whole[heap] : 0;
}

/* The largest of the node's shares of the heaps. */
static double
share_of(const struct tree *tree, const struct node *node)
{
	double largest = 0;

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		largest = fmax(largest, share_in(tree, node, heap));
	return largest;
}

TH_COMPARE_WITH(compare, struct node, const struct tree, tree,
	th_order(share_of(tree, right), share_of(tree, left))
		?: th_order(row_at(tree, left->first), row_at(tree, right->first)))

/* Keeps the children that are large enough, largest first. */
static void
choose(struct tree *tree, struct nodes *children)
{
	size_t count = children->items_count;

	children->items_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct node child = children->items[i];

		if (100 * share_of(tree, &child) < tree->profile->options->min_share)
			th_array_append(tree, small, child);
		else
			children->items[children->items_count++] = child;
	}
	th_sort_with(children->items, children->items_count, compare, tree);
}

/* Whether the node has one child with all of its samples. */
static bool
is_chain(const struct node *parent, const struct nodes *children)
{
	return parent->level && children->items_count == 1 &&
	       children->items[0].count == parent->count;
}

/* Whether the only child has the parent's figures, but for what is too small to be printed. */
static bool
is_chained(const struct tree *tree, const struct node *parent, const struct nodes *children)
{
	double most = tree->profile->options->min_share / 100;

	if (!parent->level || children->items_count != 1)
		return false;
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		if (share_in(tree, parent, heap) - share_in(tree, &children->items[0], heap) >
			most)
			return false;
	return true;
}

/* Queues the children of the next node. */
static void
add_children(struct tree *tree, const struct node *parent, struct nodes *pending)
{
	struct nodes children = {0};

	find_children(tree, parent, &children);
	int depth = parent->depth + (parent->level && !is_chain(parent, &children));
	choose(tree, &children);
	bool has_chain = is_chained(tree, parent, &children);
	for (size_t i = children.items_count; i-- > 0;) {
		children.items[i].depth = depth;
		children.items[i].is_chained = has_chain;
		th_array_append(pending, items, children.items[i]);
	}
	free(children.items);
}

/* Finds all nodes. Iterative, since stacks may be thousands of frames deep. */
static void
grow(struct tree *tree)
{
	struct nodes pending = {0};

	th_array_append(&pending, items, tree->root);
	while (pending.items_count) {
		struct node node = pending.items[--pending.items_count];

		add_children(tree, &node, &pending);
		th_array_append(tree, nodes, node);
	}
	free(pending.items);
}

/* Printing */

static int
figure_columns(const struct tree *tree)
{
	if (!tree->has_shares)
		return BARE_FIGURE_COLUMNS;
	return tree->has_intervals ? FIGURE_COLUMNS : NARROW_FIGURE_COLUMNS;
}

/* Columns of these that precede and follow the figure. */
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
print_figures(const struct tree *tree, enum th_heap heap, const struct node *node)
{
	const struct th_estimator *sum = &node->sums[heap];
	enum th_unit unit = th_values[tree->profile->options->value].unit;

	if (!th_profile_has_heap(tree->profile, heap))
		return;
	if (!sum->samples) {
		th_print(tree->file, "{*}", figure_columns(tree), "");
		return;
	}
	struct th_estimate value = node->level ? th_profile_value(tree->profile, heap, sum)
					       : th_profile_whole(tree->profile, heap);
	double point = th_profile_point(tree->profile, sum);
	bool is_large = 100 * point >= LARGE_SHARE * tree->whole[heap];
	th_print(tree->file, "{#}", is_large ? TH_STYLE_LARGE : TH_STYLE_PLAIN);
	if (tree->has_shares)
		th_print(tree->file, "{7%} ", point, tree->whole[heap]);
	th_print(tree->file, "{9}{/}  {*}", th_format_number(value.estimate, unit).text,
		-interval_columns(tree),
		tree->has_intervals ? th_estimate_interval(&value, unit).text : "");
}

static void
print_name(const struct tree *tree, const struct node *node, int indent)
{
	const struct th_frames *frames = tree->profile->frames;

	th_print(tree->file, "{*}{#}", indent, "",
		th_frames_style(th_frames_function(frames, node->function)->kind));
	th_format_cut(tree->file,
		node->is_thread ? th_printed("thread \"{}\"",
					  th_frames_function_name(frames, node->function))
				: th_function_text(frames, node->function),
		tree->path_columns ? tree->path_columns - indent : INT_MAX);
	fputs(th_terminal_code(tree->file, TH_STYLE_PLAIN), tree->file);
}

static void
print_gap(struct tree *tree, int indent)
{
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS && tree->gap; heap++)
		if (th_profile_has_heap(tree->profile, heap))
			th_print(tree->file, "{*}", figure_columns(tree), "");
	if (tree->gap)
		th_print(tree->file, "{*}({c} more)\n", indent, "", tree->gap);
	tree->gap = 0;
}

static void
print_node(struct tree *tree, const struct node *node)
{
	int half = tree->path_columns / 2;
	int deepest = half && half < DEEPEST_INDENT ? half : DEEPEST_INDENT;
	int indent = 2 * node->depth < deepest ? 2 * node->depth : deepest;

	print_gap(tree, indent);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_figures(tree, heap, node);
	if (node->level)
		print_name(tree, node, indent);
	else
		fputs("all", tree->file);
	fputc('\n', tree->file);
}

static void
cut(struct tree *tree, const struct node *node)
{
	tree->cut_count++;
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_estimator_merge(&tree->cut[heap], &node->sums[heap]);
}

/* Of the branches below a hidden node only the whole is counted. */
static void
print_visible(struct tree *tree, struct node *node)
{
	node->is_hidden = node->level && tree->nodes[node->parent].is_hidden;
	if (node->is_hidden)
		return;
	if (node->is_left_out) {
		tree->gap++;
		return;
	}
	node->is_hidden = tree->is_limited && !node->is_top;
	if (!node->is_hidden) {
		print_node(tree, node);
		return;
	}
	tree->gap = 0;
	cut(tree, node);
}

static void
print_nodes(struct tree *tree)
{
	size_t next = 0;

	for (size_t i = 0; i < tree->nodes_count; i++) {
		print_visible(tree, &tree->nodes[i]);
		for (; next < tree->small_count && tree->small[next].parent == i; next++)
			if (!tree->nodes[i].is_hidden)
				cut(tree, &tree->small[next]);
	}
}

/* Ranks */

/* Java functions of libraries and the runtime, and those of the VM. */
static bool
is_of_library(const struct tree *tree, const struct node *node)
{
	const struct th_function *function = th_frames_function(
		tree->profile->frames, node->function);

	return function->kind == TH_KIND_VM ||
	       (function->kind == TH_KIND_JAVA && !function->is_program);
}

/* Leaves out the middle of a row of libraries' functions. */
static void
leave_out(struct tree *tree, size_t first, size_t end)
{
	if (end - first > 2 * ENDS_SHOWN + 1)
		for (size_t i = first + ENDS_SHOWN; i < end - ENDS_SHOWN; i++)
			tree->nodes[i].is_left_out = true;
}

static void
leave_out_rows(struct tree *tree)
{
	size_t first = 0;

	for (size_t i = 0; i < tree->nodes_count; i++) {
		const struct node *node = &tree->nodes[i];
		bool is_other = !node->level || !is_of_library(tree, node);

		if (node->is_chained && !is_other)
			continue;
		leave_out(tree, first, i);
		first = i + is_other;
	}
	leave_out(tree, first, tree->nodes_count);
}

/* By share in a heap; of equal ones, parents first. */
struct ranking {
	const struct tree *tree;
	int heap;
};

TH_COMPARE_WITH(compare_ranks, uint32_t, const struct ranking, ranking,
	th_order(share_in(ranking->tree, &ranking->tree->nodes[*right], ranking->heap),
		share_in(ranking->tree, &ranking->tree->nodes[*left], ranking->heap))
		?: th_order(*left, *right))

/* Finds the nodes to print: those of each heap with the largest shares. */
static void
find_top(struct tree *tree)
{
	uint32_t *order = th_allocate(tree->nodes_count, sizeof(*order));

	leave_out_rows(tree);
	tree->nodes[0].is_top = true;
	for (uint32_t i = 0; i < tree->nodes_count; i++)
		order[i] = i;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const struct ranking ranking = {tree, heap};

		th_sort_with(order, tree->nodes_count, compare_ranks, &ranking);
		/* The root is not counted. */
		uint64_t left = tree->profile->options->top + 1;
		for (size_t i = 0; i < tree->nodes_count && left; i++) {
			struct node *node = &tree->nodes[order[i]];

			if (share_in(tree, node, heap) <= 0)
				break;
			node->is_top |= !node->is_left_out;
			left -= !node->is_left_out;
		}
	}
	free(order);
}

static void
print_heading(const struct tree *tree)
{
	const struct th_value_kind *value = &th_values[tree->profile->options->value];

	th_view_filters(tree->file, tree->profile->options);
	if (value->measure == TH_MEASURE_LIVE)
		th_view_live_moment(tree->file, tree->profile);
	th_print(tree->file, "{#}", TH_STYLE_HEADING);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (th_profile_has_heap(tree->profile, heap))
			th_print(tree->file, "{*}", -figure_columns(tree), th_heap_title(heap));
	}
	fputc('\n', tree->file);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (th_profile_has_heap(tree->profile, heap))
			th_print(tree->file, "{*}{9}  {*}", share_columns(tree),
				tree->has_shares ? "share " : "", value->heading,
				-interval_columns(tree), tree->has_intervals ? "95 % CI" : "");
	}
	th_print(tree->file, "{}{/}\n", "call path");
}

/* "  0.4 % of the Java heap, 0.1 % of the native heap" below the number of branches. */
static void
print_cut(const struct tree *tree)
{
	const char *before = "  ";

	if (!tree->cut_count)
		return;
	th_print(tree->file, "omitted: {c} branches below ", tree->cut_count);
	fprintf(tree->file, "%g %%%s; --min 0 shows all\n", tree->profile->options->min_share,
		tree->is_limited ? " or beyond --top" : "");
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (!th_profile_has_heap(tree->profile, heap))
			continue;
		th_print(tree->file, "{}{%} of the {}", before,
			th_profile_point(tree->profile, &tree->cut[heap]), tree->whole[heap],
			th_heap_title(heap));
		before = ", ";
	}
	fputc('\n', tree->file);
}

/* Divides the columns of a terminal; without a terminal, everything is printed. */
static void
fit(struct tree *tree)
{
	int columns = th_terminal_columns(tree->file);
	int heaps = 0;

	tree->has_intervals = true;
	tree->has_shares = true;
	if (!columns)
		return;
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		heaps += th_profile_has_heap(tree->profile, heap);
	tree->has_intervals = columns - heaps * FIGURE_COLUMNS >= FAIR_PATH_COLUMNS;
	tree->has_shares = columns - heaps * NARROW_FIGURE_COLUMNS >= FAIR_PATH_COLUMNS;
	columns -= heaps * figure_columns(tree);
	tree->path_columns = columns > LEAST_PATH_COLUMNS ? columns : LEAST_PATH_COLUMNS;
}

void
th_view_tree(FILE *file, const struct th_profile *profile)
{
	struct tree tree = {
		.file = file,
		.profile = profile,
		.is_limited = profile->options->top != UINT64_MAX,
	};

	fit(&tree);
	plant(&tree);
	grow(&tree);
	if (tree.is_limited)
		find_top(&tree);
	print_heading(&tree);
	print_nodes(&tree);
	print_cut(&tree);
	free(tree.rows);
	free(tree.nodes);
	free(tree.small);
}
