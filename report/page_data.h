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
 *   nodes                   {parent, frame}: the paths as a tree; a parent stands before its
 *                           children, -1 has none
 *   rows                    {heap, thread, class, node, package, library, figures}; heap 0
 *                           Java, 1 native
 *   figures                 alloc, live, peak, temp; each {bytes, objects}, each {estimate, low,
 *                           high}, and {samples}
 *   totals                  by heap and figure, as figures of one row; null = not recorded
 *   cells                   {row, birth, death, temp, bytes, objects, bytes_variance,
 *                           objects_variance, live_bytes, live_objects}; death -1 = never
 *   leaks                   findings: {verdict, heap, class, place, path, live, growth, why},
 *                           path being functions from the root; null = not of the end;
 *                           leaks_left_out says how many more there are
 *   timeline                {slices, seconds, peak, live, uses, collections, marks}; live bytes
 *                           by heap, over equal parts of the time
 */
#ifndef TH_REPORT_PAGE_DATA_H
#define TH_REPORT_PAGE_DATA_H

#include <stdio.h>

#include "report/profile.h"

/* Prints the object, so that it can stand in a script element. [offline] */
void th_page_data_print(FILE *file, const struct th_profile *profile);

#endif
