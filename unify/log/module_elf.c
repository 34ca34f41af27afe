/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and notes are read with checks: a program may unmap or protect them. */
#include "unify/log/module_elf.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "unify/base/align.h"
#include "unify/base/observed.h"
#include "unify/base/safe_read.h"
#include "unify/base/system.h"

/* Bytes of the program headers; 0: not an ELF header. */
static size_t
header_bytes(const ElfW(Ehdr) * header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_phentsize != sizeof(ElfW(Phdr)))
		return 0;
	return header->e_phnum * sizeof(ElfW(Phdr));
}

struct th_elf
th_elf_at(uintptr_t start, uintptr_t bias)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
	struct th_safe_read memory = {0};
	struct th_elf elf = {.bias = bias};
	size_t bytes;

	if (!th_is_readable(&memory, start, sizeof(*header)))
		return elf;
	bytes = header_bytes(header);
	if (!bytes || header->e_phoff % _Alignof(ElfW(Phdr)) ||
		!th_is_readable(&memory, start + header->e_phoff, bytes))
		return elf;
	elf.headers = (const ElfW(Phdr) *)(start + header->e_phoff);
	elf.count = header->e_phnum;
	return elf;
}

struct th_elf
th_elf_copy(uintptr_t start, ElfW(Phdr) * headers, size_t max)
{
	struct th_elf elf = {0};
	ElfW(Ehdr) header;
	size_t bytes;

	if (!th_observed_copy(start, &header, sizeof(header)))
		return elf;
	bytes = header_bytes(&header);
	if (!bytes || bytes > max * sizeof(*headers) ||
		!th_observed_copy(start + header.e_phoff, headers, bytes))
		return elf;
	elf.headers = headers;
	elf.count = header.e_phnum;
	return elf;
}

void
th_elf_range(const struct th_elf *elf, uintptr_t *start_ret, uintptr_t *end_ret)
{
	*start_ret = UINTPTR_MAX;
	*end_ret = 0;
	for (size_t i = 0; i < elf->count; i++) {
		uintptr_t start = elf->bias + elf->headers[i].p_vaddr;
		uintptr_t end = start + elf->headers[i].p_memsz;

		if (elf->headers[i].p_type != PT_LOAD)
			continue;
		if (start < *start_ret)
			*start_ret = start;
		if (end > *end_ret)
			*end_ret = end;
	}
}

const void *
th_elf_segment(const struct th_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->count; i++)
		if (elf->headers[i].p_type == type)
			return (const void *)(elf->bias + elf->headers[i].p_vaddr);
	return NULL;
}

/* The build id among the notes in [notes, notes + bytes), whose parts are aligned to `alignment`. */
static struct th_build_id
find_build_id(const uint8_t *notes, uint64_t bytes, uint64_t alignment)
{
	const uint8_t *at = notes;
	uint64_t left = bytes;
	static const char owner[] = "GNU";
	ElfW(Nhdr) note;

	while (left >= sizeof(note)) {
		uint64_t name = sizeof(note);
		uint64_t description;
		uint64_t next;

		memcpy(&note, at, sizeof(note));
		description = th_align_up(name + note.n_namesz, alignment);
		next = th_align_up(description + note.n_descsz, alignment);
		if (description + note.n_descsz > left)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
			!memcmp(at + name, owner, sizeof(owner)))
			return (struct th_build_id){at + description, note.n_descsz};
		if (next >= left)
			break;
		at += next;
		left -= next;
	}
	return (struct th_build_id){NULL, 0};
}

struct th_build_id
th_elf_build_id(const struct th_elf *elf)
{
	for (size_t i = 0; i < elf->count; i++) {
		const ElfW(Phdr) *header = &elf->headers[i];
		const uint8_t *notes = (const uint8_t *)(elf->bias + header->p_vaddr);
		struct th_safe_read memory = {0};
		struct th_build_id found;

		if (header->p_type != PT_NOTE ||
			!th_is_readable(&memory, (uintptr_t)notes, header->p_memsz))
			continue;
		found = find_build_id(notes, header->p_memsz, header->p_align == 8 ? 8 : 4);
		if (found.bytes)
			return found;
	}
	return (struct th_build_id){NULL, 0};
}

/* The list of loaded objects */

/*
 * A visit takes microseconds, unless its thread waits for a processor: a fork yields a few times,
 * then sleeps, 0.2 s in total at most.
 */
#define FORK_YIELDS 64
#define FORK_NAPS 2000
#define FORK_NAP_NS 100000
/* Maximum wait of a visit for the end of a fork, 0.1 s. */
#define VISIT_NAPS 100
#define VISIT_NAP_NS 1000000

/*
 * Each side announces itself and then looks at the other: sequentially consistent, so at least
 * one of the two sees the other.
 */
static uint32_t visiting; /* number of visits */
static uint32_t forking;  /* number of threads that fork */

static bool
enter(void)
{
	for (int turn = 0; turn < VISIT_NAPS; turn++) {
		__atomic_fetch_add(&visiting, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST))
			return true;
		__atomic_fetch_sub(&visiting, 1, __ATOMIC_SEQ_CST);
		th_system_nap(VISIT_NAP_NS);
	}
	return false;
}

bool
th_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *data), void *data)
{
	if (!enter())
		return false;
	dl_iterate_phdr(visit, data);
	__atomic_fetch_sub(&visiting, 1, __ATOMIC_SEQ_CST);
	return true;
}

void
th_loader_before_fork(void)
{
	int saved_errno = errno;

	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	for (int turn = 0; turn < FORK_YIELDS + FORK_NAPS; turn++) {
		if (!__atomic_load_n(&visiting, __ATOMIC_SEQ_CST))
			break;
		if (turn < FORK_YIELDS)
			sched_yield();
		else
			th_system_nap(FORK_NAP_NS);
	}
	errno = saved_errno;
}

void
th_loader_after_fork(void)
{
	__atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}

void
th_loader_reset(void)
{
	visiting = forking = 0;
}
