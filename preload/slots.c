/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every pass first counts, under the loader's list lock, what each object's slots hold.  If there is
 * something to do, it counts again and writes within a call of dlsym(), for which the loader holds
 * the lock of dlopen() and dlclose(): then no other thread's load is incomplete, whose slots the
 * loader still writes, and no object is unloaded.  A reference by dlopen() instead could become the
 * last one to an object, whose destructors would run on this thread when it is dropped.  Pages
 * keep their protection.  Nothing is remembered about a slot: which slots an object has is in its
 * file, and what is to be done follows from what a slot holds.
 */
#include "preload/slots.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/next.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/real_dlsym.h"
#include "unify/base/system.h"
#include "unify/log/module_elf.h"
#include "unify/shared/hash.h"

/* What the slots of an object hold. */
struct contents {
	uint32_t ours;
	uint32_t originals;
	uint32_t
		stubs; /* an address in the object itself; 0: a weak reference, or not relocated yet */
	uint32_t others;
};

/* An object whose slots were examined.  Another one may take its address, and even its name. */
struct known {
	uintptr_t base;
	const void *dynamic;
	uint64_t name;        /* hash */
	struct contents left; /* after the last write */
	uint32_t pass;        /* the last one that met it */
	bool is_searched;     /* for copies of pointers */
};

struct job {
	struct th_import_object object;
	const char *name; /* the loader's */
	struct known *known;
	void *handle; /* NULL: not opened */
};

static struct {
	const struct th_slot_function *functions;
	size_t count;
	uintptr_t except;
	uintptr_t loader;
	bool is_restoring;
	int memory; /* descriptor of /proc/self/mem; -1: none */
	struct known known[TH_SLOTS_OBJECTS_MAX];
	uint32_t known_count;
	uint32_t pass;
	uint64_t met;     /* loads and unloads so far, as of this pass */
	uint64_t changes; /* atomic: the same, when all slots were written */
	struct job jobs[TH_SLOTS_OBJECTS_MAX];
	uint32_t job_count;
	struct th_slots_report *report;
} slots;

/* Functions */

static const struct th_slot_function *
find_function(const char *name)
{
	for (size_t i = 0; i < slots.count; i++)
		if (*name == *slots.functions[i].name && !strcmp(name, slots.functions[i].name))
			return &slots.functions[i];
	return NULL;
}

static bool
is_redirected(const char *name)
{
	return find_function(name) != NULL;
}

/* Counting */

struct counter {
	const struct th_import_object *object;
	struct contents contents;
};

static bool
contains(const struct th_import_object *object, uintptr_t address)
{
	return address >= object->start && address < object->end;
}

static bool
is_stub(const struct th_import_object *object, const struct th_import_slot *slot,
	uintptr_t value)
{
	return slot->may_be_lazy && contains(object, value);
}

static void
count_slot(const struct th_import_slot *slot, void *data)
{
	const struct th_slot_function *function = find_function(slot->name);
	struct counter *counter = data;
	uintptr_t value = __atomic_load_n(slot->address, __ATOMIC_RELAXED);

	if (value == (uintptr_t)function->ours)
		counter->contents.ours++;
	else if (value == (uintptr_t)function->original)
		counter->contents.originals++;
	else if (!value || is_stub(counter->object, slot, value))
		counter->contents.stubs++;
	else if (!slot->is_data)
		counter->contents.others++;
}

static struct contents
count(const struct th_import_object *object)
{
	struct counter counter = {.object = object};

	th_import_slots_each(object, is_redirected, count_slot, &counter);
	return counter.contents;
}

/* Examination of all objects */

static bool
is_left_out(const struct th_import_object *object)
{
	return contains(object, (uintptr_t)&slots) || contains(object, slots.loader) ||
	       contains(object, slots.except) || contains(object, getauxval(AT_SYSINFO_EHDR));
}

static struct known *
find_known(const struct th_import_object *object, const char *path)
{
	uint64_t name = th_hash_bytes(TH_HASH_START, path, strlen(path));
	struct known *unused = NULL;

	for (uint32_t i = 0; i < slots.known_count; i++) {
		struct known *known = &slots.known[i];

		if (known->pass + 1 < slots.pass)
			unused = known; /* the object was unloaded, and maybe loaded again */
		else if (known->base == object->base && known->dynamic == object->dynamic &&
			 known->name == name)
			return known;
	}
	if (!unused && slots.known_count < TH_SLOTS_OBJECTS_MAX)
		unused = &slots.known[slots.known_count++];
	if (unused)
		*unused = (struct known){
			.base = object->base, .dynamic = object->dynamic, .name = name};
	return unused;
}

/* Another tool has overwritten what we wrote. */
static bool
is_usurped(const struct contents *now, const struct contents *before)
{
	return now->others > before->others && now->ours < before->ours;
}

/*
 * Whatever has changed: an object that is being loaded is in the loader's list before its slots are
 * relocated, which hold 0, or offsets in the file.
 */
static bool
has_work(const struct contents *now, const struct contents *before)
{
	return slots.is_restoring ? now->ours > 0 : memcmp(now, before, sizeof(*now)) != 0;
}

static void
report(const struct contents *now)
{
	slots.report->objects += now->ours > 0;
	slots.report->slots += now->ours;
	slots.report->foreign += now->others;
}

static int
examine(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct th_import_object object;
	struct contents now;
	struct known *known;

	(void)bytes, (void)data;
	slots.met = info->dlpi_adds + info->dlpi_subs;
	if (!th_import_object_read(info, &object) || is_left_out(&object))
		return 0;
	known = find_known(&object, info->dlpi_name);
	if (!known) {
		slots.report->failed++;
		return 0;
	}
	known->pass = slots.pass;
	now = count(&object);
	if (has_work(&now, &known->left) && slots.job_count < TH_SLOTS_OBJECTS_MAX)
		slots.jobs[slots.job_count++] = (struct job){
			.object = object, .name = info->dlpi_name, .known = known};
	else
		report(&now);
	return 0;
}

/* Writing */

/* The kernel writes to read-only pages as well, and their protection stays as another tool needs it. */
static bool
write_forced(uintptr_t address, uintptr_t value)
{
	return slots.memory >= 0 && th_system_pwrite(slots.memory, &value, sizeof(value),
					    (off_t)address) == sizeof(value);
}

static bool
write_writable(uintptr_t address, uintptr_t value)
{
	const struct iovec from = {&value, sizeof(value)};
	const struct iovec to = {(void *)address, sizeof(value)};

	return syscall(SYS_process_vm_writev, getpid(), &from, 1, &to, 1, 0) == sizeof(value);
}

/* The page stays writable: another tool that found it so may be about to write. */
static bool
unseal(const struct th_import_object *object, uintptr_t address)
{
	size_t page = getauxval(AT_PAGESZ);

	return address >= object->sealed && address < object->sealed_end &&
	       !syscall(SYS_mprotect, th_align_down(address, page), page,
		       PROT_READ | PROT_WRITE);
}

/*
 * Without a store of ours: the page may become read-only at any time.  The first way fails where
 * the kernel restricts it (proc_mem.force_override), or for a process that is not dumpable.
 * An aligned word is written whole: no torn one in 185,000 that another thread saw change.
 */
static bool
write_word(const struct th_import_object *object, uintptr_t address, uintptr_t value)
{
	return write_forced(address, value) || write_writable(address, value) ||
	       (unseal(object, address) && write_writable(address, value));
}

/*
 * Whether the stub would bind the original: what the object's own scope has.  Objects loaded at start
 * have such a scope only when opened again; the reference is dropped under the same lock.
 */
static bool
binds_original(struct job *job, const struct th_slot_function *function)
{
	if (!job->handle)
		job->handle = dlopen(*job->name ? job->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (!job->handle)
		dlerror(); /* clears dlerror for the host */
	return job->handle && th_real_dlsym(job->handle, function->name) ==
				      (void *)(uintptr_t)function->original;
}

struct writer {
	struct job *job;
	bool has_failed;
};

static void
write_slot(const struct th_import_slot *slot, void *data)
{
	struct writer *writer = data;
	const struct th_slot_function *function = find_function(slot->name);
	uintptr_t original = (uintptr_t)function->original;
	uintptr_t ours = (uintptr_t)function->ours;
	uintptr_t value = __atomic_load_n(slot->address, __ATOMIC_RELAXED);
	uintptr_t next = slots.is_restoring ? original : ours;

	if (value != (slots.is_restoring ? ours : original) &&
		(slots.is_restoring || !is_stub(&writer->job->object, slot, value) ||
			!binds_original(writer->job, function)))
		return;
	if (!write_word(&writer->job->object, (uintptr_t)slot->address, next))
		writer->has_failed = true;
}

static void
write_all(void)
{
	for (uint32_t i = 0; i < slots.job_count; i++) {
		struct writer writer = {.job = &slots.jobs[i]};

		th_import_slots_each(&writer.job->object, is_redirected, write_slot, &writer);
		slots.report->failed += writer.has_failed;
	}
}

static void
look_again(void)
{
	for (uint32_t i = 0; i < slots.job_count; i++) {
		struct contents now = count(&slots.jobs[i].object);
		struct contents *before = &slots.jobs[i].known->left;

		report(&now);
		if (is_usurped(&now, before))
			slots.report->usurped += now.others - before->others;
		*before = now;
	}
}

static void
close_all(void)
{
	for (uint32_t i = 0; i < slots.job_count; i++)
		if (slots.jobs[i].handle)
			dlclose(slots.jobs[i].handle);
}

/* True: there is something to write. */
static bool
examine_all(void)
{
	*slots.report = (struct th_slots_report){0};
	slots.job_count = 0;
	return th_loader_visit(examine, NULL) && slots.job_count;
}

static void
write_some(void)
{
	slots.memory = th_system_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	write_all();
	th_system_close(slots.memory);
	look_again();
	close_all();
}

typedef void locked(void);

/* Called by dlsym() to find where the symbol is.  For clang, the name in ifunc() is no use. */
__attribute__((used)) static locked *
write_locked(void)
{
	if (slots.report && examine_all())
		write_some();
	return write_some;
}

/* Not for calls: looked up for what its resolver does. */
__attribute__((visibility("default"), ifunc("write_locked"))) locked th_slots_locked;

/* Examines all objects, and writes those that have work. */
void
th_slots_review(struct th_slots_report *report_ret)
{
	int saved_errno = errno;

	slots.report = report_ret;
	slots.pass++;
	if (examine_all() && !th_real_dlsym(RTLD_DEFAULT, "th_slots_locked"))
		slots.report->failed++; /* the loader has no ifunc */
	slots.report = NULL;
	th_store_release(&slots.changes, slots.met);
	errno = saved_errno;
}

void
th_slots_redirect(const struct th_slot_function *functions, size_t count, const void *except,
	struct th_slots_report *report_ret)
{
	slots.functions = functions;
	slots.count = count;
	slots.except = (uintptr_t)except;
	slots.loader = getauxval(AT_BASE);
	slots.is_restoring = false;
	slots.known_count = 0;
	th_slots_review(report_ret);
}

static int
compare_changes(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	*(bool *)data = info->dlpi_adds + info->dlpi_subs != th_load_acquire(&slots.changes);
	return 1;
}

bool
th_slots_have_changed(void)
{
	bool have_changed = false;

	return th_loader_visit(compare_changes, &have_changed) && have_changed;
}

/* Copies of pointers */

struct search {
	void (*visit)(const char *path, uint32_t copies);
	size_t bytes; /* read so far */
};

/* The allocator's own pointers are no copies. */
static bool
is_of_allocator(const struct th_import_object *object)
{
	const struct th_slot_function *function = find_function("malloc");

	return function && contains(object, (uintptr_t)function->original);
}

/* Objects are known from the last pass. */
static int
search_object(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct search *search = data;
	struct th_import_object object;
	struct known *known;

	(void)bytes;
	if (!th_import_object_read(info, &object) || is_left_out(&object) ||
		is_of_allocator(&object))
		return 0;
	known = find_known(&object, info->dlpi_name);
	if (!known || known->is_searched || known->pass != slots.pass)
		return 0;
	known->is_searched = true;
	search->visit(info->dlpi_name,
		th_slot_copies_count(info, slots.functions, slots.count, &search->bytes));
	return search->bytes >= TH_SLOT_COPIES_BYTES;
}

void
th_slots_search(void (*visit)(const char *path, uint32_t copies))
{
	struct search search = {.visit = visit};
	int saved_errno = errno;

	th_loader_visit(search_object, &search);
	errno = saved_errno;
}

void
th_slots_restore(void)
{
	struct th_slots_report report;

	slots.is_restoring = true;
	th_slots_review(&report);
}
