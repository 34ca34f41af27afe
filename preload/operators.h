/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator new and delete of an underlying allocator that defines them: they do not call
 * malloc, so interposing malloc does not record them.
 *
 * This library exports no such name. libtwinheap-new.so does; it is preloaded only if such an
 * allocator is in use, and contains only jumps through the table below.
 */
#ifndef TH_PRELOAD_OPERATORS_H
#define TH_PRELOAD_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * N(name, symbol, parameters, arguments, requested alignment or 0, deleting operator, its
 * arguments) and D(name, symbol, parameters, arguments): every replaceable form of C++17, by
 * its mangled name; `const void *` is a const std::nothrow_t &, an alignment a
 * std::align_val_t.
 */
#define TH_OPERATORS_NEW(N)                                                                    \
	N(new_one, _Znwm, (size_t size), (size), 0, delete_one, (block))                       \
	N(new_array, _Znam, (size_t size), (size), 0, delete_array, (block))                   \
	N(new_nothrow, _ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), 0,    \
		delete_one, (block))                                                           \
	N(new_array_nothrow, _ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), \
		0, delete_array, (block))                                                      \
	N(new_aligned, _ZnwmSt11align_val_t, (size_t size, size_t alignment),                  \
		(size, alignment), alignment, delete_aligned, (block, alignment))              \
	N(new_array_aligned, _ZnamSt11align_val_t, (size_t size, size_t alignment),            \
		(size, alignment), alignment, delete_array_aligned, (block, alignment))        \
	N(new_aligned_nothrow, _ZnwmSt11align_val_tRKSt9nothrow_t,                             \
		(size_t size, size_t alignment, const void *tag), (size, alignment, tag),      \
		alignment, delete_aligned, (block, alignment))                                 \
	N(new_array_aligned_nothrow, _ZnamSt11align_val_tRKSt9nothrow_t,                       \
		(size_t size, size_t alignment, const void *tag), (size, alignment, tag),      \
		alignment, delete_array_aligned, (block, alignment))
#define TH_OPERATORS_DELETE(D)                                                                \
	D(delete_one, _ZdlPv, (void *block), (block))                                         \
	D(delete_array, _ZdaPv, (void *block), (block))                                       \
	D(delete_nothrow, _ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag)) \
	D(delete_array_nothrow, _ZdaPvRKSt9nothrow_t, (void *block, const void *tag),         \
		(block, tag))                                                                 \
	D(delete_sized, _ZdlPvm, (void *block, size_t size), (block, size))                   \
	D(delete_array_sized, _ZdaPvm, (void *block, size_t size), (block, size))             \
	D(delete_aligned, _ZdlPvSt11align_val_t, (void *block, size_t alignment),             \
		(block, alignment))                                                           \
	D(delete_array_aligned, _ZdaPvSt11align_val_t, (void *block, size_t alignment),       \
		(block, alignment))                                                           \
	D(delete_aligned_nothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t,                        \
		(void *block, size_t alignment, const void *tag), (block, alignment, tag))    \
	D(delete_array_aligned_nothrow, _ZdaPvSt11align_val_tRKSt9nothrow_t,                  \
		(void *block, size_t alignment, const void *tag), (block, alignment, tag))    \
	D(delete_sized_aligned, _ZdlPvmSt11align_val_t,                                       \
		(void *block, size_t size, size_t alignment), (block, size, alignment))       \
	D(delete_array_sized_aligned, _ZdaPvmSt11align_val_t,                                 \
		(void *block, size_t size, size_t alignment), (block, size, alignment))

struct th_operators {
#define N(name, symbol, parameters, ...) void *(*name)parameters;
	TH_OPERATORS_NEW(N)
#undef N
#define D(name, symbol, parameters, arguments) void(*name) parameters;
	TH_OPERATORS_DELETE(D)
#undef D
};

/*
 * The jump targets of libtwinheap-new.so.  Exported under a project-specific name.  Entries are
 * written atomically; before th_operators_init() has run, each resolves first. [in-malloc]
 */
extern struct th_operators th_operators __attribute__((visibility("default")));

/*
 * Defined in libtwinheap-new.so, NULL without it: returns the next definition of a symbol after
 * that library in lookup order, NULL if there is none.
 */
extern void *
th_forward_find_operator(const char *symbol) __attribute__((weak, visibility("default")));

/* Resolves the table; later calls do nothing.  No effect without libtwinheap-new.so. */
void th_operators_init(void);

/*
 * Where the library was loaded late (late.h): calls `add` for each operator of the underlying
 * allocator, with the function that counts its calls.  Not from the malloc path.
 */
void
th_operators_each_late(void (*add)(const char *symbol, const void *original, const void *ours));

#endif
