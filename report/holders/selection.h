/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a walk of the Java heap is limited to: those of a class, or of a finding. */
#ifndef TH_REPORT_HOLDERS_SELECTION_H
#define TH_REPORT_HOLDERS_SELECTION_H

#include "report/holders/holders.h"

struct th_selection {
	TH_ARRAY(uint64_t, items); /* th_holder_selected(), TH_HOLDERS_SELECTED_MAX at most */
};

/*
 * The sampled objects of a class; or of a finding, from 1, or of what owns its blocks.  Without their
 * stacks if there are too many.  No items: there are no such objects.  To be freed.
 */
void th_selection_of_class(
	struct th_selection *selection, const struct th_leaks *leaks, const char *name);
void th_selection_of_finding(
	struct th_selection *selection, const struct th_leaks *leaks, uint64_t finding);
void th_selection_deinit(struct th_selection *selection);

#endif
