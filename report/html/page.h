/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the data of the page: one JSON object.  Findings and resident memory are the JSON of
 * `leaks` and `rss`.  Everything that refers to stacks is stored by column, since a
 * page may have a hundred thousand stacks.
 *
 *   version, process        version of this program; {pid, command, jvm, complete, seconds,
 *                           sampling}
 *   filters                 of the view, as command line options
 *   strings                 all names; other members refer to them by index
 *   functions               {name, module, kind}: columns; kind 0 Java, 1 native, 2 VM, 3 group
 *   frames                  {function, file, line, inlined}
 *   nodes                   {parent, frame}: the paths as a tree in depth-first order; parent -1
 *                           for a root
 *   rows                    {count, heap, thread, class, node, package, library, contains, alloc,
 *                           live, temp, peak}; heap 0 Java, 1 native, 2 mapped; contains is the
 *                           heap whose blocks it holds, from 1, 0 = none; the last four are
 *                           numbers of sums, from 1; 0 = no samples
 *   sums                    {samples, covariance, bytes, objects}, the last two {seen, unseen,
 *                           variance, doubt}: struct th_estimator, doubt being unseen -
 *                           missed
 *   heaps                   calibration of a heap, struct th_calibration: {exact, bytes,
 *                           total_error, outside, figures}; outside is a
 *                           sum: the part of the whole that is in no row; figures has {share, gap,
 *                           bytes, objects} of all rows by figure: share is true if its sums are
 *                           shares of the whole, gap is the sampling gap; bytes and objects are
 *                           {estimate, low, high}; null = not recorded
 *   cells                   {row, birth, death, temp, size, bytes, objects, bytes_variance,
 *                           objects_variance, live_bytes, live_objects}; death -1 = never; size
 *                           is floor(log2) of the blocks' sizes; the last two only if they
 *                           differ from bytes and objects
 *   timeline                {slices, seconds, peak, uses, references, collections, marks}; the
 *                           slices are of equal length
 *   memory                  `rss --format json` without parts; null: no breakdown, or filtered
 *   answer                  th_view_leaks_json_page(): frames are numbers of frames above
 *   leaks_left_out          number of omitted findings
 *   finding_rows            column: the finding of each row, as an index of those of the answer;
 *                           -1 = none
 *   sources                 [frame, first line, lines] of frames of findings, with --source
 *   base                    only in a comparison: {command, seconds, at_s, strings, functions,
 *                           frames, nodes, rows, sums, heaps} of the older snapshot
 */
#ifndef TH_REPORT_HTML_PAGE_H
#define TH_REPORT_HTML_PAGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/bytes.h"
#include "report/base/id_map.h"
#include "report/leaks/leaks.h"
#include "report/profile/profile.h"

/*
 * Encoding (page_columns.c): JSON in ASCII without "<", ">" and "&", so that any name is safe inside a
 * script element.
 *
 * Long columns are base64 strings, half as long as decimal numbers and several times as fast to
 * read: {"floats": TEXT}, 32 bits in little-endian order, or {"integers": TEXT}.  Each integer
 * is stored as its difference to the one before, with the sign in the lowest bit, seven bits
 * per byte, lowest first; the eighth bit is set if more bytes follow.
 */

/* Prints `before` and a value, and drops the caller's reference. */
void th_page_print_json(FILE *file, const char *before, json_t *json);

/* A column being written. */
struct th_page_column {
	FILE *file;
	uint64_t last; /* the last integer added */
	struct th_bytes bytes;
};

/* Prints `before`, the name and the opening of the column; `type` is "integer" or "float". */
void th_page_column_begin(struct th_page_column *column, FILE *file, const char *before,
	const char *name, const char *type);

/* A column contains either integers or floats. */
void th_page_column_add_integer(struct th_page_column *column, int64_t value);

/* Values too large for a float are written as the largest float. */
void th_page_column_add_float(struct th_page_column *column, double value);

void th_page_column_end(struct th_page_column *column);

/* A column of `expression` for each index `i` below `count`. */
#define th_page_integers(file, before, name, i, count, expression) \
	TH_PAGE_COLUMN(integer, file, before, name, i, count, expression)
#define th_page_floats(file, before, name, i, count, expression) \
	TH_PAGE_COLUMN(float, file, before, name, i, count, expression)
#define TH_PAGE_COLUMN(type, file, before, name, i, count, expression)     \
	do {                                                               \
		struct th_page_column column_;                             \
		th_page_column_begin(&column_, file, before, name, #type); \
		for (size_t i = 0; i < (count); i++)                       \
			th_page_column_add_##type(&column_, (expression)); \
		th_page_column_end(&column_);                              \
	} while (0)

/* Maps the numbers of report/symbols/frames.h to indices of the page, in the order of first use. */
struct th_page_index {
	struct th_id_map indices;
	TH_ARRAY(uint32_t, numbers); /* by index */
};

/* The index of a number, the next one if it has none. */
uint32_t th_page_index(struct th_page_index *index, uint32_t number);

/* What the page refers to: strings, functions, frames, and the paths of all rows as one tree. */
struct th_page_names {
	const struct th_profile *profile;
	struct th_page_index strings;
	struct th_page_index functions;
	struct th_page_index frames;
	TH_ARRAY(uint32_t, node_parents); /* node index plus one; 0 = no parent */
	TH_ARRAY(uint32_t, node_frames);
	uint32_t *row_nodes; /* by row: node index plus one */
};

/* Numbers the paths of a profile's rows and their frames; the profile must outlive the names. */
void th_page_names_init(struct th_page_names *names, const struct th_profile *profile);
void th_page_names_deinit(struct th_page_names *names);

/* The index of a string: the name of the group that a row belongs to, by its stack as shown. */
uint32_t
th_page_names_group(struct th_page_names *names, enum th_group_by by, const struct th_row *row);

/* Prints the member "nodes" and releases the nodes; they take more memory than all that follows. */
void th_page_nodes_print(FILE *file, struct th_page_names *names);

/* Prints the members "frames", "functions" and "strings", after all that refers to them. */
void th_page_names_print(FILE *file, struct th_page_names *names);

/* Prints the members "rows", "sums" and "heaps". */
void th_page_rows_print(FILE *file, struct th_page_names *names, const struct th_moment *peak);

/*
 * Prints the member "sources" for each frame of a finding whose file is below the directory of the
 * options; an empty list without --source. A file is found by its name and as much of its path
 * (Java: of its package) as agrees; files that agree equally well are ambiguous and left out.
 */
void
th_page_source_print(FILE *file, struct th_page_names *names, const struct th_leaks *leaks);

#endif
