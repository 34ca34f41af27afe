/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From mappings and their owners to rows.  What the kernel calls one mapping may belong to
 * several: the present bits of its pages say how its resident bytes are shared out.
 */
#ifndef TH_UNIFY_RESIDENT_ATTRIBUTE_H
#define TH_UNIFY_RESIDENT_ATTRIBUTE_H

struct th_breakdown_tables;

/*
 * Fills tables->rows, and in the claims that stand for samples how much of them is resident.
 * After th_breakdown_owners_settle(). [any]
 */
void th_breakdown_divide(struct th_breakdown_tables *tables);

#endif
