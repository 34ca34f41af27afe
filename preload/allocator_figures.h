/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of the next allocator, for breakdowns of resident memory. */
#ifndef TH_PRELOAD_ALLOCATOR_FIGURES_H
#define TH_PRELOAD_ALLOCATOR_FIGURES_H

/*
 * Identifies the next allocator; breakdowns include its statistics from now on.  After
 * th_next_init(), once.
 */
void th_allocator_figures_init(void);

#endif
