/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym itself may allocate, on the resolving thread: these requests, and requests of other
 * threads in the meantime, are served from a static arena and never freed.
 */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"
#include "unify/sample/live_blocks.h"

/*
 * glibc 2.36 requests nothing; older versions request a dlerror buffer of a few hundred bytes.
 */
#define ARENA_BYTES 65536
#define ARENA_ALIGNMENT 16

/* NULL: not glibc. */
#pragma weak dladdr1

static struct {
	_Alignas(ARENA_ALIGNMENT) unsigned char bytes[ARENA_BYTES];
	size_t used; /* atomic */
} arena;

static TH_AT_START unsigned char resolving; /* atomic: 1 while a thread looks functions up */
static TH_AT_START bool is_late;            /* set before the functions are looked up */

/* Defined by the linker: start and end of this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Bootstrap arena */

/* Each block is preceded by its size, which keeps the alignment. */
static void *
arena_malloc(size_t size)
{
	if (size > ARENA_BYTES)
		return NULL;
	size_t bytes = ARENA_ALIGNMENT +
		       ((size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1));
	size_t at = th_add_relaxed(&arena.used, bytes);

	if (at + bytes > ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(&arena.bytes[at], &size, sizeof(size));
	void *block = &arena.bytes[at + ARENA_ALIGNMENT];
	th_live_blocks_pin((uintptr_t)block);
	return block;
}

bool
th_next_is_bootstrap(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena.bytes < ARENA_BYTES;
}

size_t
th_next_bootstrap_bytes(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - ARENA_ALIGNMENT, sizeof(size));
	return size;
}

/* Stand-ins until the functions are resolved */

/* True when the functions are resolved, false when this call must be served from the arena. */
static bool
ready(void)
{
	return th_next_init() && th_real_dlsym;
}

static void *
arena_calloc(size_t count, size_t size)
{
	size_t bytes;

	/* The arena is in .bss and never reused, so it is already zero. */
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : arena_malloc(bytes);
}

static void *
arena_realloc(void *block, size_t size)
{
	void *larger = arena_malloc(size);

	if (larger && block) {
		size_t old = th_next_bootstrap_bytes(block);

		memcpy(larger, block, old < size ? old : size);
	}
	return larger;
}

/* Only blocks of the arena can have been handed out. */
static void
arena_free(void *block)
{
	(void)block;
}

static void *
arena_memalign(size_t alignment, size_t size)
{
	return alignment <= ARENA_ALIGNMENT ? arena_malloc(size) : NULL;
}

static int
arena_posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	void *block = arena_memalign(alignment, size);

	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}

static int
unavailable(void)
{
	errno = ENOSYS;
	return -1;
}

#define arena_aligned_alloc arena_memalign
#define arena_valloc(size) NULL
#define arena_pvalloc(size) NULL
#define arena_malloc_usable_size th_next_bootstrap_bytes
#define arena_sbrk(...) (void *)(intptr_t)unavailable()
#define arena_brk(...) unavailable()
#define arena_exit _exit
#define arena_quick_exit _exit
#define arena_setuid(...) unavailable()
#define arena_seteuid(...) unavailable()
#define arena_setreuid(...) unavailable()
#define arena_setresuid(...) unavailable()
#define arena_chroot(...) unavailable()
#define F(name, type, parameters, arguments)                                      \
	static type bootstrap_##name parameters                                   \
	{                                                                         \
		return ready() ? th_next.name arguments : arena_##name arguments; \
	}
TH_NEXT(F)
#undef F

struct th_next th_next = {
#define F(name, ...) .name = bootstrap_##name,
	TH_NEXT(F)
#undef F
};

/* Resolution */

/*
 * Not every libc has valloc and pvalloc, and jemalloc lacks pvalloc: a libc pvalloc after
 * jemalloc would return a block that jemalloc's free does not know.
 */
static void *
whole_pages(size_t size, bool is_rounded)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (is_rounded && size <= SIZE_MAX - page)
		size = size ? th_align_up(size, page) : page;
	return th_next.memalign(page, size);
}

static void *
own_valloc(size_t size)
{
	return whole_pages(size, false);
}

static void *
own_pvalloc(size_t size)
{
	return whole_pages(size, true);
}

/*
 * The loaded object that contains an address. Not by dladdr(), which goes through all symbols of
 * the object: 10 us for libc's.
 */
struct object {
	const void *address; /* NULL: the object with the index `wanted`, 0: none */
	int wanted;
	const char *name; /* in the loader's memory; "": the program */
	int index;        /* in the list, from 1; 0: none */
	int visited;
};

static bool
contains(const struct dl_phdr_info *info, const void *address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && (uintptr_t)address - start < part->p_memsz)
			return true;
	}
	return false;
}

static int
look_at_object(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct object *object = data;

	(void)bytes;
	object->visited++;
	if (object->address ? !contains(info, object->address)
			    : object->visited != object->wanted)
		return 0;
	object->name = info->dlpi_name;
	return object->index = object->visited;
}

static struct object
find_object(const void *address)
{
	struct object object = {.address = address, .name = ""};

	dl_iterate_phdr(look_at_object, &object);
	return object;
}

int
th_next_index_of(const void *address)
{
	return find_object(address).index;
}

bool
th_next_are_together(const void *one, const void *other)
{
	int index = th_next_index_of(one);

	return index && index == th_next_index_of(other);
}

bool
th_next_is_in_front(const void *address)
{
	int index = th_next_index_of(address);

	return index && index < th_next_index_of(__ehdr_start);
}

const char *
th_next_path_of(const void *address)
{
	struct object object = find_object(address);
	Dl_info info;

	if (object.name && *object.name)
		return object.name;
	return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Objects loaded at start get a scope of their own only when opened again. */
void *
th_next_in_object(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? th_real_dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return found;
}

void *
th_next_in_object_at(int index, const char *name)
{
	struct object object = {.wanted = index, .name = ""};
	void *found = NULL;

	dl_iterate_phdr(look_at_object, &object);
	if (*object.name)
		found = th_next_in_object(object.name, name);
	return found && th_next_index_of(found) == index ? found : NULL;
}

void *
th_next_in_scope_of(const void *caller, const char *name)
{
	Dl_info info;

	return dladdr(caller, &info) ? th_next_in_object(info.dli_fname, name) : NULL;
}

/* Loaded objects */

bool
th_next_is_ours(const void *address)
{
	return (uintptr_t)address >= (uintptr_t)__ehdr_start &&
	       (uintptr_t)address < (uintptr_t)_end;
}

bool
th_next_leads_on(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	/* musl never resolves a name to such an entry. */
	return dladdr1 && dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

/* A function of libc that is not interposed. */
static const void *
in_libc(void)
{
	unsigned long (*function)(unsigned long) = getauxval;
	const void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

bool
th_next_is_in_libc(const void *function)
{
	return th_next_are_together(function, in_libc());
}

bool
th_next_is_late(void)
{
	return is_late;
}

/* The first definition after the program, whose entry in the global scope only jumps on. */
static void *
find_after_program(const char *name)
{
	int index = th_next_index_of((const void *)getauxval(AT_PHDR));
	const int count = find_object(NULL).visited;
	void *found = NULL;

	while (index && !found && ++index <= count) {
		found = th_next_in_object_at(index, name);
		if (found && (th_next_is_ours(found) || th_next_leads_on(found)))
			found = NULL;
	}
	return found;
}

void *
th_next_find(const char *name)
{
	void *found = th_real_dlsym(is_late ? RTLD_DEFAULT : RTLD_NEXT, name);

	if (found && is_late && th_next_leads_on(found))
		found = find_after_program(name);
	if (!found)
		dlerror(); /* clears dlerror for the host */
	return found && th_next_is_ours(found) ? NULL : found;
}

void *
th_next_find_now(const char *name)
{
	return th_real_dlsym_find() && th_next_init() ? th_next_find(name)
						      : th_real_dlsym_next(name);
}

/* The page functions of the allocator itself, or else ours based on its memalign. */
static void
resolve_pages(struct th_next *next)
{
	const void *valloc, *pvalloc, *memalign;

	memcpy(&valloc, &next->valloc, sizeof(valloc));
	memcpy(&pvalloc, &next->pvalloc, sizeof(pvalloc));
	memcpy(&memalign, &next->memalign, sizeof(memalign));
	if (!th_next_are_together(valloc, memalign))
		next->valloc = own_valloc;
	if (!th_next_are_together(pvalloc, memalign))
		next->pvalloc = own_pvalloc;
}

static void
resolve(void)
{
	struct th_next next = th_next;
	void *found;

	if (!th_real_dlsym_find())
		return;
	/* libc is loaded at the start of every dynamic program. */
	is_late = th_next_is_in_front(in_libc());
#define F(name, ...)                 \
	found = th_next_find(#name); \
	if (found)                   \
		memcpy(&next.name, &found, sizeof(found));
	TH_NEXT(F)
#undef F
	resolve_pages(&next);
	/* free and realloc first: a block of the new allocator must not reach the old free. */
	th_store_release(&th_next.free, next.free);
	th_store_release(&th_next.realloc, next.realloc);
	th_next = next;
}

bool
th_next_init(void)
{
	static TH_AT_START unsigned char resolved; /* atomic */

	if (th_load_acquire(&resolved))
		return true;
	if (th_exchange_acquire(&resolving, 1))
		return false;
	if (!th_load_relaxed(&resolved)) {
		resolve();
		th_store_release(&resolved, 1);
	}
	th_store_release(&resolving, 0);
	return true;
}
