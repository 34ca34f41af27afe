/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are written by the thread that finds the object first, and published by one
 * compare-and-swap in an index hashed by start address.  No thread waits: of two threads that
 * register the same object at once one loses, and its entry stays unused.
 *
 * An object is identified by its address and its build id (or, without one, its name).  The
 * pages of an object on the caller's own stack stay mapped while it is examined.
 */
#include "unify/log/module.h"

#include "unify/base/align.h"
#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/real_dlsym.h"
#include "unify/base/safe_read.h"
#include "unify/log/module_elf.h"
#include "unify/shared/bisect.h"
#include "unify/shared/hash.h"
#include "unify/shared/log_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A power of two, at least twice the number of modules. */
#define INDEX_SIZE 32768u
/*
 * Maximum search length; beyond this many objects at one address, one after another, new ones
 * are not distinguished.
 */
#define PROBES_MAX 256u
/* Modules per chunk of the table, 42 KiB. */
#define SLOTS_CHUNK 64u
#define SLOTS_CHUNKS ((TH_MODULE_MAX + SLOTS_CHUNK - 1) / SLOTS_CHUNK)
_Static_assert(SLOTS_CHUNKS <= TH_OBSERVED_CHUNKS_MAX, "copied at once");
/* Maximum number of objects in a snapshot; further ones are not found. */
#define SNAPSHOT_MAX 2048u

/* struct dl_find_object of glibc 2.35's <dlfcn.h>, for builds on older ones. */
struct found_object {
	uint64_t flags;
	void *start;
	void *end;
	struct link_map *link_map;
	void *eh_frame_hdr;
	uint64_t reserved[7];
};

/* A loaded object as the loader describes it. */
struct object {
	/* From glibc 2.43 on _dl_find_object has only the code of an object with gaps. */
	uintptr_t start;
	uintptr_t end;
	const void *eh_frame_hdr;
	const char *name;  /* as in the loader; "" = the executable */
	struct th_elf elf; /* headers are set only for objects not seen before */
};

static struct th_module *slots[SLOTS_CHUNKS]; /* atomic; NULL: not allocated yet */
static uint32_t claimed;                      /* number of ids assigned */
static uint32_t slot_index[INDEX_SIZE];       /* atomic: ids; 0 = free */

/*
 * _dl_find_object, looked up by name: a reference, even a weak one, would bind the library to a
 * libc that has it.
 */
static TH_AT_START int (*find_object)(void *pc, struct found_object *ret);
static TH_AT_START bool use_snapshot; /* find_object is missing, or a test disables it */
static uint64_t seen_changes;         /* atomic: loads and unloads before the last snapshot */
/* Defined by the linker: the start of the library, or of the tool. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static TH_AT_START uintptr_t vdso_start;
static TH_AT_START struct th_elf program; /* bias: 0 */
static char executable[PATH_MAX];

/* The slot of an assigned id. */
static struct th_module *
slot_of(uint32_t id)
{
	struct th_module *chunk = th_load_acquire(&slots[(id - 1) / SLOTS_CHUNK]);

	return chunk ? &chunk[(id - 1) % SLOTS_CHUNK] : NULL;
}

/* Identity */

static uint64_t
hash_name(const char *name)
{
	return th_hash_bytes(TH_HASH_START, name, strlen(name));
}

/* What describes an object may know a part of its range. */
static bool
is_same(const struct th_module *module, const struct object *object)
{
	if (object->start < module->start || object->end > module->end ||
		module->bias != object->elf.bias ||
		module->eh_frame_hdr != object->eh_frame_hdr)
		return false;
	if (module->build_id_there)
		return !memcmp(
			module->build_id_there, module->build_id, module->build_id_bytes);
	return module->name_hash == hash_name(object->name);
}

/* New entries */

/* Sets the concatenation of `first` and `second`, unless it is too long. */
static void
set_path(struct th_module *module, const char *first, const char *second)
{
	size_t head = strlen(first);
	size_t tail = strlen(second) + 1;

	if (head + tail > sizeof(module->path))
		return;
	memcpy(module->path, first, head);
	memcpy(module->path + head, second, tail);
}

/* Relative names are resolved against the current directory: the loader keeps no other. */
static void
find_path(struct th_module *module, const struct object *object)
{
	char directory[TH_MODULE_PATH_MAX] = "";
	int saved_errno = errno;
	long bytes = 0;

	if (object->start == vdso_start) {
		set_path(module, "", "[vdso]");
		return;
	}
	if (!*object->name) {
		set_path(module, "", th_module_executable());
		return;
	}
	/* The system call, which counts the terminator: the libc function may allocate. */
	if (*object->name != '/')
		bytes = syscall(SYS_getcwd, directory, sizeof(directory) - 1);
	errno = saved_errno;
	if (bytes <= 0 || *directory != '/')
		*directory = '\0';
	else if (bytes > 2)
		memcpy(directory + bytes - 1, "/", 2);
	set_path(module, directory, object->name);
}

static void
set_build_id(struct th_module *module, const struct th_elf *elf)
{
	struct th_build_id build_id = th_elf_build_id(elf);

	if (!build_id.bytes || build_id.count > TH_BUILD_ID_MAX)
		return;
	memcpy(module->build_id, build_id.bytes, build_id.count);
	module->build_id_bytes = (uint32_t)build_id.count;
	if ((uintptr_t)build_id.bytes + build_id.count - module->start <= TH_PAGE_BYTES)
		module->build_id_there = build_id.bytes;
}

/* The program headers: in front of the object, or if only its code is known, in front of that. */
static struct th_elf
find_headers(const struct object *object)
{
	uintptr_t bias = object->elf.bias;
	struct th_elf elf = object->elf;

	if (!elf.headers)
		elf = th_elf_at(object->start, bias);
	if (!elf.headers)
		elf = th_elf_at(bias, bias);
	if (!elf.headers && !*object->name)
		elf = (struct th_elf){program.headers, program.count, bias};
	return elf;
}

/* The range of the whole object; the one that was found if the headers are not its own. */
static void
set_range(struct th_module *module, const struct th_elf *elf)
{
	uintptr_t start, end;

	th_elf_range(elf, &start, &end);
	start = th_align_down(start, TH_PAGE_BYTES);
	if (start <= module->start && module->end <= end) {
		module->start = start;
		module->end = end;
	}
}

static uint64_t
hash_head(uintptr_t start)
{
	struct th_safe_read memory = {0};

	return th_is_readable(&memory, start, TH_MODULE_HEAD_BYTES)
		       ? th_hash_bytes(TH_HASH_START, (const void *)start, TH_MODULE_HEAD_BYTES)
		       : 0;
}

/* A module filled from `object`, not published; NULL: the table is full. */
static struct th_module *
create_module(const struct object *object)
{
	struct th_elf elf = find_headers(object);
	struct th_module *module;
	uint32_t id;

	if (th_load_relaxed(&claimed) >= TH_MODULE_MAX)
		return NULL;
	id = th_add_relaxed(&claimed, 1) + 1;
	if (id > TH_MODULE_MAX)
		return NULL;
	if (!th_memory_map_once(&slots[(id - 1) / SLOTS_CHUNK], SLOTS_CHUNK * sizeof(*module)))
		return NULL;
	module = slot_of(id);
	*module = (struct th_module){
		.id = id,
		.start = object->start,
		.end = object->end,
		.bias = elf.bias,
		.eh_frame_hdr = object->eh_frame_hdr,
		.name_hash = hash_name(object->name),
	};
	find_path(module, object);
	set_range(module, &elf);
	module->head = hash_head(module->start);
	module->is_self = module->start == (uintptr_t)__ehdr_start;
	set_build_id(module, &elf);
	return module;
}

static uint32_t
first_probe(uintptr_t start)
{
	return (uint32_t)(start / TH_PAGE_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct th_module *
find_or_register(const struct object *object)
{
	uint32_t probe = first_probe(object->start);
	struct th_module *fresh = NULL;

	for (unsigned i = 0; i < PROBES_MAX; i++, probe++) {
		uint32_t *place = &slot_index[probe % INDEX_SIZE];
		/* Pairs with the compare-and-swap below: the slot is complete. */
		uint32_t id = th_load_acquire(place);

		if (!id) {
			if (!fresh)
				fresh = create_module(object);
			if (!fresh)
				return NULL;
			if (th_cas_acq_rel(place, &id, fresh->id)) {
				th_store_release(&fresh->is_published, true);
				return fresh;
			}
		}
		if (is_same(slot_of(id), object))
			return slot_of(id);
	}
	return NULL;
}

/* Without _dl_find_object */

/*
 * The objects found by the last refresh, sorted by address, in two lists.  The one that is not
 * `current` is rewritten, by one thread at a time, and then becomes current.  A reader that is
 * overtaken by two refreshes may miss an object, but finds no wrong one: it checks the range of what it
 * finds, which is constant.
 */
struct snapshot {
	uint32_t count;             /* atomic */
	uint32_t ids[SNAPSHOT_MAX]; /* atomic; not 0 below any count so far */
};

static struct snapshot snapshots[2];
static uint32_t current_snapshot;       /* atomic */
static struct th_spinlock refresh_lock; /* held while the other list is rewritten */

static struct th_module *
module_at(const struct snapshot *snapshot, size_t i)
{
	return slot_of(th_load_relaxed(&snapshot->ids[i]));
}

static void
insert_sorted(struct snapshot *snapshot, const struct th_module *module)
{
	uint32_t i = snapshot->count;

	if (i == SNAPSHOT_MAX)
		return;
	for (; i && module_at(snapshot, i - 1)->start > module->start; i--)
		th_store_relaxed(&snapshot->ids[i], snapshot->ids[i - 1]);
	th_store_relaxed(&snapshot->ids[i], module->id);
	/* Pairs with the acquire in find_in_snapshot(): there are so many ids. */
	th_store_release(&snapshot->count, snapshot->count + 1);
}

static int
add_object(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	struct object object = {
		.elf = {info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr},
		.name = info->dlpi_name ? info->dlpi_name : "",
	};
	const struct th_module *module;

	(void)bytes;
	th_elf_range(&object.elf, &object.start, &object.end);
	object.start = th_align_down(object.start, TH_PAGE_BYTES);
	object.eh_frame_hdr = th_elf_segment(&object.elf, PT_GNU_EH_FRAME);
	module = object.start < object.end ? find_or_register(&object) : NULL;
	if (module)
		insert_sorted(closure, module);
	return 0;
}

/* The number of loads and unloads so far. */
static int
read_changes(struct dl_phdr_info *info, size_t bytes, void *changes_ret)
{
	(void)bytes;
	*(uint64_t *)changes_ret = (uint64_t)(info->dlpi_adds + info->dlpi_subs);
	return 1;
}

static void
take_snapshot(void)
{
	struct snapshot *snapshot;
	uint64_t changes = 0;
	uint32_t next;
	bool is_complete;

	if (!th_lock_bounded(&refresh_lock))
		return;
	th_loader_visit(read_changes, &changes);
	next = !th_load_relaxed(&current_snapshot);
	snapshot = &snapshots[next];
	th_store_relaxed(&snapshot->count, 0);
	is_complete = th_loader_visit(add_object, snapshot);
	/* Pairs with the acquire in find_in_snapshot: the list is complete. */
	if (is_complete) {
		th_store_release(&current_snapshot, next);
		th_store_relaxed(&seen_changes, changes);
	}
	th_unlock(&refresh_lock);
}

static struct th_module *
find_in_snapshot(uintptr_t pc)
{
	const struct snapshot *snapshot = &snapshots[th_load_acquire(&current_snapshot)];
	size_t begun = th_bisect(
		th_load_acquire(&snapshot->count), i, module_at(snapshot, i)->start <= pc);
	struct th_module *module = begun ? module_at(snapshot, begun - 1) : NULL;
	struct th_safe_read memory = {0};

	/* The object may have been unloaded since. */
	return module && pc >= module->start && pc < module->end &&
			       th_is_readable(&memory, module->start, 1)
		       ? module
		       : NULL;
}

/* Interface */

struct th_module *
th_module_find(uintptr_t pc)
{
	struct found_object found;
	struct object object;

	if (use_snapshot)
		return find_in_snapshot(pc);
	if (find_object((void *)pc, &found))
		return NULL;
	object = (struct object){
		.start = (uintptr_t)found.start,
		.end = (uintptr_t)found.end,
		.eh_frame_hdr = found.eh_frame_hdr,
		.name = found.link_map->l_name,
		.elf = {.bias = found.link_map->l_addr},
	};
	return find_or_register(&object);
}

struct th_module *
th_module_get(uint32_t id)
{
	struct th_module *module = id && id <= TH_MODULE_MAX ? slot_of(id) : NULL;

	/* Pairs with the release in find_or_register. */
	return module && th_load_acquire(&module->is_published) ? module : NULL;
}

uint32_t
th_module_count(void)
{
	uint32_t count = th_load_relaxed(&claimed);

	return count < TH_MODULE_MAX ? count : TH_MODULE_MAX;
}

void
th_module_refresh(void)
{
	int saved_errno = errno;
	uint64_t changes;

	/* A snapshot that another thread is taking may have begun before the load. */
	if (use_snapshot && th_loader_visit(read_changes, &changes) &&
		changes != th_load_relaxed(&seen_changes))
		take_snapshot();
	errno = saved_errno;
}

void
th_module_reset(void)
{
	refresh_lock.held = 0;
}

void
th_module_use_snapshot(bool use)
{
	use_snapshot = use || !find_object;
	if (use_snapshot)
		take_snapshot();
}

/*
 * Without /proc: the path passed to exec, which is not usable from other directories unless it
 * is absolute.
 */
static void
find_executable(void)
{
	int saved_errno = errno;
	ssize_t bytes = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	const char *given = (const char *)getauxval(AT_EXECFN);

	errno = saved_errno;
	executable[bytes > 0 ? bytes : 0] = 0;
	if (bytes <= 0 && given && given[0] == '/' && strlen(given) < sizeof(executable))
		strcpy(executable, given);
}

const char *
th_module_executable(void)
{
	if (!*executable)
		find_executable();
	return executable;
}

bool
th_module_init(void)
{
	struct found_object found;

	vdso_start = getauxval(AT_SYSINFO_EHDR);
	program.headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	program.count = getauxval(AT_PHNUM);
	if (th_real_dlsym_find())
		*(void **)&find_object = th_real_dlsym(RTLD_DEFAULT, "_dl_find_object");
	/* Clears dlerror for the host. */
	if (!find_object)
		dlerror();
	th_module_use_snapshot(false);
	/* Registers nothing: a process that is never recorded needs no table. */
	return use_snapshot ? find_in_snapshot((uintptr_t)th_module_init) != NULL
			    : !find_object(th_module_init, &found);
}

/* Observed by the tool */

/* Addresses of the parts of the table. */
static const struct parts {
	struct th_module **slots;
	uint32_t *claimed;
} parts = {slots, &claimed};

static bool
observe(const void *start)
{
	const size_t bytes = SLOTS_CHUNK * sizeof(struct th_module);
	struct parts theirs;

	if (!th_observed_copy((uintptr_t)start, &theirs, sizeof(theirs)) ||
		!th_observed_copy((uintptr_t)theirs.claimed, &claimed, sizeof(claimed)) ||
		!th_observed_copy_chunks(
			(uintptr_t)theirs.slots, slots, SLOTS_CHUNKS, bytes, bytes))
		return false;
	if (claimed > TH_MODULE_MAX)
		claimed = TH_MODULE_MAX;
	for (uint32_t id = 1; id <= SLOTS_CHUNKS * SLOTS_CHUNK; id++)
		if (slot_of(id))
			slot_of(id)->path[TH_MODULE_PATH_MAX - 1] = '\0';
	return true;
}

const struct th_observed_tables th_module_tables = {&parts, sizeof(parts), observe};
