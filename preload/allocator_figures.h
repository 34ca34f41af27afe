/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the next allocator says of itself, for accounts of resident memory.
 */
#ifndef TH_PRELOAD_ALLOCATOR_FIGURES_H
#define TH_PRELOAD_ALLOCATOR_FIGURES_H

/* Finds out whose malloc is next; accounts include its figures.  After th_next_init(), once. */
void th_allocator_figures_init(void);

#endif
