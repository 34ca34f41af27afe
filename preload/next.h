/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next allocator: the definitions of the allocation functions that follow this library in
 * the program's lookup order, usually libc's.  Every block is freed by the allocator it came
 * from.  The same of other interposed functions that are not looked up at their first call, which
 * may come from a signal handler or a forked child.
 */
#ifndef TH_PRELOAD_NEXT_H
#define TH_PRELOAD_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* F(name, type, parameters, arguments) */
#define TH_NEXT(F)                                                                   \
	F(malloc, void *, (size_t size), (size))                                     \
	F(calloc, void *, (size_t count, size_t size), (count, size))                \
	F(realloc, void *, (void *block, size_t size), (block, size))                \
	F(free, void, (void *block), (block))                                        \
	F(posix_memalign, int, (void **block_ret, size_t alignment, size_t size),    \
		(block_ret, alignment, size))                                        \
	F(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size)) \
	F(memalign, void *, (size_t alignment, size_t size), (alignment, size))      \
	F(valloc, void *, (size_t size), (size))                                     \
	F(pvalloc, void *, (size_t size), (size))                                    \
	F(malloc_usable_size, size_t, (void *block), (block))                        \
	F(sbrk, void *, (intptr_t increment), (increment))                           \
	F(brk, int, (void *address), (address))                                      \
	F(exit, void, (int status), (status))                                        \
	F(quick_exit, void, (int status), (status))                                  \
	F(_exit, void, (int status), (status))                                       \
	F(_Exit, void, (int status), (status))                                       \
	TH_NEXT_LEAVE(F)

/* Changes of the user or the root directory; all return 0, or -1 and set errno. */
#define TH_NEXT_LEAVE(F)                                                   \
	F(setuid, int, (uid_t user), (user))                               \
	F(seteuid, int, (uid_t effective), (effective))                    \
	F(setreuid, int, (uid_t real, uid_t effective), (real, effective)) \
	F(setresuid, int, (uid_t real, uid_t effective, uid_t saved),      \
		(real, effective, saved))                                  \
	F(chroot, int, (const char *path), (path))

struct th_next {
#define F(name, type, parameters, arguments) type(*name) parameters;
	TH_NEXT(F)
#undef F
};

/*
 * Before th_next_init() has run, each function first resolves the table and then forwards the
 * call.
 */
extern struct th_next th_next __attribute__((visibility("hidden")));

/*
 * Resolves the table, on the first thread to call it; later calls do nothing.  False:
 * resolution is in progress, on another thread or further up this thread's stack.
 */
bool th_next_init(void);

/*
 * Whether the library was loaded after libc, by dlopen(): no lookup by name finds its definitions
 * first, and it sees the calls of import slots only (slots.h).  After th_next_init(). [any]
 */
bool th_next_is_late(void);

/*
 * The definition of a name that follows the library in lookup order; where it was loaded late, the
 * one in the global scope, because the next one is libc's even if another allocator precedes it.
 * NULL: none.  Clears dlerror.  After th_next_init(), not from the malloc path.
 */
void *th_next_find(const char *name);

/*
 * The same at any time, also before th_next_init().  Neither waits for another thread that looks
 * functions up, nor depends on dlsym: what a program must always be able to call is found.
 */
void *th_next_find_now(const char *name);

/* Whether an address belongs to this library. [any] */
bool th_next_is_ours(const void *address);

/* The position in lookup order of the object that contains an address, from 1; 0: none. [any] */
int th_next_index_of(const void *address);

/* Whether an address belongs to an object that precedes the library in lookup order. [any] */
bool th_next_is_in_front(const void *address);

/*
 * Whether `address` is an entry of a procedure linkage table, which only jumps on: a program that
 * is not position-independent and takes the address of a function has one, and every lookup of
 * the name finds it.  Its symbol has an address, but is undefined.
 */
bool th_next_leads_on(const void *address);

/* Whether a function is libc's. [any] */
bool th_next_is_in_libc(const void *function);

/* Whether two functions belong to the same loaded object. [any] */
bool th_next_are_together(const void *one, const void *other);

/* The path of the object that contains an address, in the loader's memory; "": not known. */
const char *th_next_path_of(const void *address);

/*
 * The definition of a name in the scope of a loaded object, by its path; NULL: the program and all
 * that it sees.  NULL: none.  Not from the malloc path.
 */
void *th_next_in_object(const char *path, const char *name);

/*
 * The definition of a name in the object with an index itself, not in its dependencies; NULL: none, or
 * it is the program.  Not from the malloc path.
 */
void *th_next_in_object_at(int index, const char *name);

/*
 * The function that the object containing `caller` would call by that name without this
 * library: the definition in its own scope, as loaded.  NULL: none.  Not from the malloc path.
 */
void *th_next_in_scope_of(const void *caller, const char *name);

/*
 * Whether a block is from the small arena that serves malloc while the next allocator is being
 * resolved.  Such blocks are pinned in the live filter, so free and realloc check them.
 * [in-malloc]
 */
bool th_next_is_bootstrap(const void *block);

/* Usable bytes of such a block. [in-malloc] */
size_t th_next_bootstrap_bytes(const void *block);

#endif
