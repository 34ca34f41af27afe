/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes rows from mappings and their owners.  One mapping of the kernel may belong to
 * several owners: its resident bytes are then divided by the present bits of its pages.
 */
#ifndef TH_UNIFY_RESIDENT_ATTRIBUTE_H
#define TH_UNIFY_RESIDENT_ATTRIBUTE_H

struct th_breakdown_tables;

/*
 * Fills tables->rows, and the resident bytes of claims with a sample.  After
 * th_breakdown_owners_settle(). [any]
 */
void th_breakdown_divide(struct th_breakdown_tables *tables);

#endif
