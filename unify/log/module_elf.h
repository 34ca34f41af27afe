/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of loaded ELF objects, which the loader protects by a lock, and what their program headers
 * tell.
 */
#ifndef TH_UNIFY_LOG_MODULE_ELF_H
#define TH_UNIFY_LOG_MODULE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Program headers in memory, and the value to add to their addresses. */
struct th_elf {
	const ElfW(Phdr) * headers; /* NULL = unknown */
	size_t count;
	uintptr_t bias;
};

/*
 * The program headers of the object whose ELF header is at `start`; headers = NULL if there are
 * none. [in-malloc]
 */
struct th_elf th_elf_at(uintptr_t start, uintptr_t bias);

/*
 * The same for an object in the observed process (observed.h), whose headers are copied to
 * `headers`; none if there are more than `max`.  Addresses are those of the observed process.
 * [any]
 */
struct th_elf th_elf_copy(uintptr_t start, ElfW(Phdr) * headers, size_t max);

/* The addresses from the first loaded byte to the end of the last, exclusive. [any] */
void th_elf_range(const struct th_elf *elf, uintptr_t *start_ret, uintptr_t *end_ret);

/* The first segment of `type` in memory, NULL if there is none. [any] */
const void *th_elf_segment(const struct th_elf *elf, uint32_t type);

struct th_build_id {
	const uint8_t *bytes; /* NULL = none */
	size_t count;
};

/* The build id of an object in memory. [in-malloc] */
struct th_build_id th_elf_build_id(const struct th_elf *elf);

/*
 * dl_iterate_phdr(3), which takes the loader's lock: no object is unloaded meanwhile, so `visit`
 * must be quick.  Not while a thread forks: glibc does not reset this lock in the child, which
 * would wait for it forever.  Waits for the end of a fork, up to 0.1 s; false: not visited.  Not
 * on the malloc path. [agent-thread]
 */
bool
th_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *data), void *data);

/*
 * Around a fork, on the forking thread: waits for visits in progress, which take microseconds,
 * for at most 0.2 s.  After it in the parent and in the child. [any]
 */
void th_loader_before_fork(void);
void th_loader_after_fork(void);
void th_loader_reset(void);

#endif
