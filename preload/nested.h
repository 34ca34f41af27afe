/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocators that implement one of their functions with another and call that by its public
 * name, which is ours: for example posix_memalign by memalign.  Without this module the same
 * block would be counted twice.
 */
#ifndef TH_PRELOAD_NESTED_H
#define TH_PRELOAD_NESTED_H

/*
 * Finds such functions of the underlying allocator by calling each, and wraps them so that they
 * run under the guard, where inner calls are not counted.  Other functions are unchanged, and
 * malloc and similar functions need no additional instruction.  Once, in the constructor, after
 * th_next_init().
 */
void th_nested_silence(void);

#endif
