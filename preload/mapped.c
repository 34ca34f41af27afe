/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interposed functions that map memory.  Each makes the system call itself, as libc's do,
 * and then reports the result to the table; mappings that libc makes for itself do not pass
 * through here.  Only brk and sbrk call libc, which keeps the break.
 *
 * A program may call madvise, mprotect and similar functions a million times per second: while
 * nothing is recorded, they cost one additional test.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/next.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/mapped/mapping.h"

#ifndef MREMAP_DONTUNMAP
#	define MREMAP_DONTUNMAP 4
#endif

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* Not declared in every <sys/mman.h>. */
EXPORT void *
mmap64(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset);

static uint64_t
whole_pages(uint64_t bytes)
{
	static uint64_t page; /* atomic */
	uint64_t known = th_load_relaxed(&page);

	if (!known) {
		known = getauxval(AT_PAGESZ);
		th_store_relaxed(&page, known);
	}
	return th_align_up(bytes, known);
}

static uint32_t
reservation(int protection)
{
	return protection & (PROT_READ | PROT_WRITE | PROT_EXEC) ? 0 : TH_MAPPED_RESERVED;
}

/* mmap and munmap */

static uint32_t
kind_of(int protection, int flags)
{
	uint32_t kind = reservation(protection);

	if (!(flags & MAP_ANONYMOUS))
		kind |= TH_MAPPED_FILE;
	if ((flags & MAP_TYPE) != MAP_PRIVATE)
		kind |= TH_MAPPED_SHARED;
	return kind;
}

static inline void *
map(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset,
	uintptr_t caller)
{
	void *start = (void *)syscall(
		SYS_mmap, address, bytes, protection, flags, descriptor, offset);
	const struct th_mapping_call call = {
		.start = (uintptr_t)start,
		.bytes = whole_pages(bytes),
		.function = TH_FUNCTION_MMAP,
		.flags = kind_of(protection, flags),
		.caller = caller,
	};

	if (start != MAP_FAILED)
		th_mapping_mapped(&call);
	return start;
}

EXPORT void *
mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
	return map(address, bytes, protection, flags, descriptor, offset, CALLER);
}

void *
mmap64(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
	return map(address, bytes, protection, flags, descriptor, offset, CALLER);
}

EXPORT int
munmap(void *start, size_t bytes)
{
	uint64_t begun = th_mapping_begin();
	int result = (int)syscall(SYS_munmap, start, bytes);
	const struct th_mapping_call call = {
		.start = (uintptr_t)start, .bytes = result ? 0 : whole_pages(bytes)};

	th_mapping_unmapped(begun, &call);
	return result;
}

/* mremap */

/*
 * A second mapping of shared pages, or one whose pages moved while the address range stays
 * mapped.
 */
static bool
leaves_old(size_t old_bytes, int flags)
{
	return !old_bytes || flags & MREMAP_DONTUNMAP;
}

static void
remapped(uint64_t begun, uintptr_t old, size_t old_bytes, int flags,
	const struct th_mapping_call *call)
{
	if (!leaves_old(old_bytes, flags)) {
		th_mapping_moved(begun, old, whole_pages(old_bytes), call);
		return;
	}
	th_mapping_unmapped(begun, &(struct th_mapping_call){.start = old});
	th_mapping_mapped(call);
}

EXPORT void *
mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *wanted = NULL;
	va_list arguments;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(arguments, flags);
		wanted = va_arg(arguments, void *);
		va_end(arguments);
	}
	uint64_t begun = th_mapping_begin();
	void *start = (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
	const struct th_mapping_call call = {
		.start = (uintptr_t)start,
		.bytes = whole_pages(bytes),
		.function = TH_FUNCTION_MREMAP,
		.caller = CALLER,
	};
	if (start == MAP_FAILED)
		th_mapping_unmapped(begun, &(struct th_mapping_call){.start = 0});
	else
		remapped(begun, (uintptr_t)old, old_bytes, flags, &call);
	return start;
}

/* Protection and advice */

/* On failure, the kernel has already changed the mappings before the gap. */
EXPORT int
mprotect(void *start, size_t bytes, int protection)
{
	int result = (int)syscall(SYS_mprotect, start, bytes, protection);
	struct th_mapping_call call = {
		.start = (uintptr_t)start,
		.bytes = whole_pages(bytes),
		.function = TH_FUNCTION_MPROTECT,
		.flags = reservation(protection),
		.caller = CALLER,
	};

	if (result)
		call.bytes = errno == ENOMEM ? th_mapping_reach(call.start, call.bytes) : 0;
	if (call.bytes)
		th_mapping_protected(&call);
	return result;
}

EXPORT int
madvise(void *start, size_t bytes, int advice)
{
	int result = (int)syscall(SYS_madvise, start, bytes, advice);

	if (!result &&
		(advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE))
		th_mapping_returned(whole_pages(bytes));
	return result;
}

/* The break */

static void
broken(uint64_t begun, uintptr_t old, uintptr_t new, uintptr_t caller)
{
	const struct th_mapping_call call = {
		.start = old < new ? old : new,
		.bytes = old < new ? new - old : old - new,
		.function = TH_FUNCTION_BRK,
		.caller = caller,
	};
	const struct th_mapping_call none = {.start = old};

	th_mapping_unmapped(begun, old > new ? &call : &none);
	if (new > old)
		th_mapping_mapped(&call);
}

EXPORT void *
sbrk(intptr_t increment)
{
	if (!increment)
		return th_next.sbrk(0);
	uint64_t begun = th_mapping_begin();
	void *old = th_next.sbrk(increment);
	bool failed = old == (void *)-1;

	broken(begun, (uintptr_t)old, (uintptr_t)old + (failed ? 0 : (uintptr_t)increment),
		CALLER);
	return old;
}

EXPORT int
brk(void *address)
{
	uint64_t begun = th_mapping_begin();
	uintptr_t old = (uintptr_t)th_next.sbrk(0);
	int result = th_next.brk(address);

	broken(begun, old, result ? old : (uintptr_t)address, CALLER);
	return result;
}
