/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocators that serve one of their functions by another one and call that by its public name,
 * which is ours: posix_memalign by memalign, for one.  The inner call would be counted beside the
 * outer one, though it is the same block.
 */
#ifndef TH_PRELOAD_NESTED_H
#define TH_PRELOAD_NESTED_H

/*
 * Finds the functions of the allocator underneath that do so, by calling each, and puts them under
 * the guard, which takes what they call for our own.  Others stay as they are, and calls of malloc
 * and its like take no instruction more.  Once, in the constructor, after th_next_init().
 */
void th_nested_silence(void);

#endif
