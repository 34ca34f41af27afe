/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the data of the page: one JSON object.  Lists are stored by column, not as objects,
 * since a page may have a hundred thousand stacks.
 *
 *   version, process        version of this program; {pid, command, jvm, complete, seconds,
 *                           interval}
 *   filters                 of the view, as command line options
 *   strings                 all names; other members refer to them by index
 *   functions               {name, module, kind}: columns; kind 0 Java, 1 native, 2 VM, 3 group
 *   frames                  {function, file, line, inlined}
 *   nodes                   {parent, frame}: the paths as a tree in depth-first order; parent -1
 *                           for a root
 *   rows                    {count, heap, thread, class, node, package, library, alloc, live,
 *                           temp, peak}; heap 0 Java, 1 native, 2 mapped; the last four are
 *                           numbers of sums, from 1; 0 = no samples
 *   sums                    {samples, covariance, bytes, objects}, the last two {seen, unseen,
 *                           variance, doubt}: struct th_estimator, doubt being unseen -
 *                           missed
 *   heaps                   calibration of a heap, struct th_calibration: {exact, bytes,
 *                           objects, total_error, share_error, outside, figures}; outside is a
 *                           sum: the part of the whole that is in no row; figures has {share, gap,
 *                           bytes, objects} of all rows by figure: share is true if its sums are
 *                           shares of the whole, gap is the sampling gap; bytes and objects are
 *                           {estimate, low, high}; null = not recorded
 *   cells                   {row, birth, death, temp, size, bytes, objects, bytes_variance,
 *                           objects_variance, live_bytes, live_objects}; death -1 = never; size
 *                           is floor(log2) of the blocks' sizes; the last two only if they
 *                           differ from bytes and objects
 *   outcome                 the answer of leaks as a whole, as in its JSON, and its first line:
 *                           headline
 *   leaks                   findings: {verdict, heap, class, place, path, live, objects, growth,
 *                           age, survived, lines, owner, others, why, released}; path has frame
 *                           numbers, root first; others has {heap, verdict, live, growth} of
 *                           further heaps. Those of threads and class loaders have kind, alive,
 *                           rate, is_counted and curve (number alive at the end that was made
 *                           by then, over equal parts of the time) instead of heap and what
 *                           follows growth except why. leaks_left_out is the number of omitted
 *                           findings
 *   finding_rows            column: the finding of each row, as an index of leaks; -1 = none
 *   sources                 [frame, first line, lines] of frames of findings, with --source
 *   base                    only in a comparison: {command, seconds, at_s, strings, functions,
 *                           frames, nodes, rows, sums, heaps} of the older snapshot
 *   timeline                {slices, seconds, peak, live, uses, collections, marks}; live bytes
 *                           by heap, over time slices of equal length
 */
#ifndef TH_REPORT_HTML_PAGE_DATA_H
#define TH_REPORT_HTML_PAGE_DATA_H

#include <stdio.h>

#include "report/profile/profile.h"

/* Prints the object, escaped for a script element; `base` is the snapshot to compare with, or NULL. */
void
th_page_data_print(FILE *file, const struct th_profile *profile, const struct th_profile *base);

#endif
