/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the data of the page: one JSON object, columns rather than objects, since a page
 * may hold a hundred thousand stacks.
 *
 *   version, process        of this program; {pid, command, jvm, complete, seconds, interval}
 *   filters                 of the view, as on the command line
 *   strings                 all names; the others refer to them by index
 *   functions               {name, module, kind}: columns; kind 0 Java, 1 native, 2 VM, 3 group
 *   frames                  {function, file, line, inlined}
 *   nodes                   {parent, frame}: the paths as a tree, each node before those below
 *                           it and these before its next sibling; -1 has no parent
 *   rows                    {count, heap, thread, class, node, package, library, alloc, live,
 *                           temp, peak}; heap 0 Java, 1 native, 2 mapped; the last four are
 *                           numbers of sums from 1, 0 = nothing
 *   sums                    {samples, covariance, bytes, objects}, the last two {seen, unseen,
 *                           variance, doubt}: struct th_estimator, doubt being unseen -
 *                           missed
 *   heaps                   what estimates of a heap go by, struct th_calibration: {exact, bytes,
 *                           objects, total_error, share_error, outside, figures}; outside is a
 *                           sum, what the whole has beside the rows; figures has {share, gap,
 *                           bytes, objects} of all rows by figure, share telling whether its
 *                           sums are part of the whole, gap the thin gap of its samples; bytes and objects
 *                           are {estimate, low, high}; null = not recorded
 *   cells                   {row, birth, death, temp, bytes, objects, bytes_variance,
 *                           objects_variance, live_bytes, live_objects}; death -1 = never; the
 *                           last two only where they are not those that were allocated
 *   leaks                   findings: {verdict, heap, class, place, path, live, growth, why},
 *                           path being functions from the root; null = not of the end;
 *                           leaks_left_out says how many more there are
 *   timeline                {slices, seconds, peak, live, uses, collections, marks}; live bytes
 *                           by heap, over equal parts of the time
 */
#ifndef TH_REPORT_HTML_PAGE_DATA_H
#define TH_REPORT_HTML_PAGE_DATA_H

#include <stdio.h>

#include "report/profile/profile.h"

/* Prints the object, so that it can stand in a script element. */
void th_page_data_print(FILE *file, const struct th_profile *profile);

#endif
