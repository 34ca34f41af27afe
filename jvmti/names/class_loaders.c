/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that define classes add entries; only the agent thread removes them.  Functions of
 * the VM are called without the lock.
 */
#include "jvmti/names/class_loaders.h"

#include <string.h>

#include "jvmti/names/classes.h"
#include "jvmti/names/code_sources.h"
#include "jvmti/vm/references.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/recording/server.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/sample.h"
#include "unify/sample/tally.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

/* Loaders followed at most; 60 ns each in a pause (bench/live-cost), 0.25 ms in all. */
#define ENTRIES_MAX 4096
#define ENTRIES_MIN 1024
#define BUCKETS 4096
/*
 * Metaspace of a class, in bytes: a linear fit over 5,000 classes of java.base on JDK 11 to 25,
 * within 30 % on the average of any 500 of similar size.
 */
#define CLASS_BYTES 1500
#define ENTRY_BYTES 15  /* of the constant pool */
#define KLASS_BYTES 700 /* in the class space */
#define ENTRIES_UNKNOWN 100
/*
 * Chunks of a loader in both spaces (metaspaceArenaGrowthPolicy.cpp, JDK 17 to 25; those of JDK
 * 11 are as large).
 */
#define LOADER_CHUNK 4096
#define LOADER_KLASS_CHUNK 2048
#define HIDDEN_CHUNK 1024
/* A random number. */
#define STACK_KEYS UINT64_C(0x6c8e9cf570932bd5)

struct entry {
	jweak reference;
	uint32_t hash; /* identity hash code */
	uint32_t next; /* entry of the same bucket; 0 = none */
	bool is_hidden;
	uint64_t data_bytes; /* metaspace of its classes, without unused ends of chunks */
	uint64_t klass_bytes;
	struct th_tally_item item;
};

static struct {
	uint32_t is_on;          /* atomic */
	uint32_t must_thin;      /* atomic: too many are made to follow each */
	struct th_spinlock lock; /* protects the fields below */
	struct entry *entries;   /* number 0 is unused */
	uint32_t buckets[BUCKETS];
	uint32_t count;   /* read without the lock */
	uint32_t touched; /* entries ever used; read without the lock */
	uint32_t unused;  /* first of those that are free, linked by `next`; 0 = none */
	uint32_t limit;   /* of `count` */
	/* At the last adapt_rate(); agent thread. */
	uint64_t adapted; /* ns */
	uint64_t cpu;     /* ns of CPU time of the process */
} loaders;

static struct th_tally tally = {.kind = TH_TALLY_LOADERS};

static bool
lock(void)
{
	if (th_lock_bounded(&loaders.lock))
		return true;
	th_log_count(TH_COUNTER_LOCKS_GIVEN_UP, 1);
	return false;
}

/* Entries; under the lock */

static uint32_t *
bucket_of(uint32_t hash)
{
	return &loaders.buckets[(hash * 0x9e3779b1u) >> 20];
}
_Static_assert(BUCKETS == 1 << 12, "bucket_of() uses 12 bits");

/*
 * Hidden classes from the class archive bring hash codes of the process that wrote it, which
 * had the same random numbers: they equal those of loaders here.
 */
static struct entry *
find(const struct entry *like)
{
	uint32_t number = *bucket_of(like->hash);

	while (number && (loaders.entries[number].hash != like->hash ||
				 loaders.entries[number].is_hidden != like->is_hidden))
		number = loaders.entries[number].next;
	return number ? &loaders.entries[number] : NULL;
}

/* NULL: as many are followed as may be. */
static struct entry *
insert(const struct entry *entry)
{
	uint32_t number = loaders.unused;
	uint32_t *bucket = bucket_of(entry->hash);

	if (loaders.count >= loaders.limit)
		return NULL;
	if (number)
		loaders.unused = loaders.entries[number].next;
	else
		th_store_relaxed(&loaders.touched, number = loaders.touched + 1);
	loaders.entries[number] = *entry;
	loaders.entries[number].next = *bucket;
	*bucket = number;
	loaders.count++;
	return &loaders.entries[number];
}

static void
unlink_entry(uint32_t number)
{
	struct entry *entry = &loaders.entries[number];
	uint32_t *at = bucket_of(entry->hash);

	while (*at != number)
		at = &loaders.entries[*at].next;
	*at = entry->next;
	entry->reference = NULL;
	entry->next = loaders.unused;
	loaders.unused = number;
	loaders.count--;
}

/* Metaspace */

static uint64_t
charge_of(const struct entry *entry)
{
	if (entry->is_hidden)
		return th_align_up(entry->data_bytes, HIDDEN_CHUNK) +
		       th_align_up(entry->klass_bytes, HIDDEN_CHUNK);
	return th_align_up(entry->data_bytes, LOADER_CHUNK) +
	       th_align_up(entry->klass_bytes, LOADER_KLASS_CHUNK);
}

static uint64_t
data_bytes_of(JNIEnv *env, jclass type)
{
	jint entries = th_vm_functions.constant_pool_entries
			       ? th_vm_functions.constant_pool_entries(env, type)
			       : ENTRIES_UNKNOWN;

	return CLASS_BYTES + ENTRY_BYTES * (uint64_t)(entries > 0 ? entries : 0);
}

static void
add_class(struct entry *entry, uint64_t data_bytes, uint64_t *bytes_ret)
{
	uint64_t before = entry->item.bytes;

	entry->data_bytes += data_bytes;
	entry->klass_bytes += KLASS_BYTES;
	entry->item.bytes = charge_of(entry);
	entry->item.parts++;
	*bytes_ret = entry->item.bytes - before;
}

/* Definitions */

/* Adds a class to a followed loader; false: the loader is not followed yet. */
static bool
add_to_known(const struct entry *like, uint64_t data_bytes)
{
	struct entry *entry;
	uint32_t maker = 0;
	uint64_t bytes = 0;

	if (!lock())
		return true;
	entry = find(like);
	if (entry) {
		add_class(entry, data_bytes, &bytes);
		maker = entry->item.maker;
	}
	th_unlock(&loaders.lock);
	th_tally_grow(&tally, maker, bytes, 1);
	return entry != NULL;
}

static uint32_t
class_id(jvmtiEnv *jvmti, JNIEnv *env, jobject loader)
{
	jclass type = (*env)->GetObjectClass(env, loader);
	uint32_t id = th_classes_id(jvmti, type);

	(*env)->DeleteLocalRef(env, type);
	return id;
}

/* The stack that defines the class, which has often defined others; 0: it was not captured. */
static uint32_t
capture(const struct th_registers *registers, uint64_t now)
{
	uint32_t stack;

	if (!th_in_flight_begin())
		return 0;
	stack = th_sample_stack(registers, TH_HEAP_JAVA, STACK_KEYS, now);
	th_in_flight_end();
	return stack;
}

/* False: it is full, or another thread was faster. */
static bool
enter(const struct entry *entry)
{
	bool is_new;

	if (!lock())
		return false;
	is_new = !find(entry) && insert(entry);
	th_unlock(&loaders.lock);
	return is_new;
}

static void
follow(jvmtiEnv *jvmti, JNIEnv *env, jobject object, struct entry *entry,
	const struct th_registers *registers)
{
	struct th_tally_item *item = &entry->item;
	uint32_t type = entry->is_hidden ? 0 : class_id(jvmti, env, object);

	if (th_tally_level(&tally, item->born) && !th_load_relaxed(&loaders.must_thin)) {
		th_store_relaxed(&loaders.must_thin, 1);
		th_server_wake();
	}
	item->stack = capture(registers, item->born);
	if (!item->stack)
		return;
	item->maker = th_tally_maker(&tally, item->stack, type);
	entry->reference = th_references_new_weak(env, object);
	if (entry->reference && item->maker && enter(entry)) {
		th_tally_add(&tally, item);
		if (th_load_relaxed(&loaders.count) == loaders.limit / 4 * 3)
			th_server_wake();
		return;
	}
	th_references_delete_weak(env, entry->reference);
	th_log_count(TH_COUNTER_LOADERS_UNSEEN, 1);
}

/* Before JDK 15: VM-anonymous classes, "Lapp/Main/123;". */
static bool
has_hidden_name(jvmtiEnv *jvmti, jclass type)
{
	char *signature;
	const char *slash;
	bool is_hidden;

	if ((*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return false;
	slash = strrchr(signature, '/');
	is_hidden = slash && slash[1] >= '0' && slash[1] <= '9';
	th_vm_free(jvmti, signature);
	return is_hidden;
}

static bool
is_hidden(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	return th_vm_functions.is_hidden ? th_vm_functions.is_hidden(env, type)
					 : has_hidden_name(jvmti, type);
}

static void
defined(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jobject loader,
	const struct th_registers *registers)
{
	struct entry entry = {.item = {.born = th_clock_now(), .weight = 1}};
	uint64_t bytes;
	jint hash;

	entry.is_hidden = th_permanent_loaders_have(env, loader);
	if (entry.is_hidden && !is_hidden(jvmti, env, type))
		return;
	jobject object = entry.is_hidden ? type : loader;
	if ((*jvmti)->GetObjectHashCode(jvmti, object, &hash))
		return;
	entry.hash = (uint32_t)hash;
	if (!th_live_keeps(entry.hash, th_load_relaxed(&tally.level)))
		return;
	uint64_t data_bytes = data_bytes_of(env, type);
	if (add_to_known(&entry, data_bytes))
		return;
	add_class(&entry, data_bytes, &bytes);
	follow(jvmti, env, object, &entry, registers);
}

void
th_class_loaders_defined(jvmtiEnv *jvmti, JNIEnv *env, jclass type)
{
	struct th_registers registers;
	jobject loader;

	if (th_thread.guard)
		return;
	th_registers_here(&registers);
	th_guard_enter();
	if (!(*jvmti)->GetClassLoader(jvmti, type, &loader)) {
		th_code_sources_defined(jvmti, env, type, loader);
		if (th_load_acquire(&loaders.is_on))
			defined(jvmti, env, type, loader, &registers);
		(*env)->DeleteLocalRef(env, loader);
	}
	th_guard_leave();
}

/* Ends; on the agent thread */

/* A copy of a followed loader's entry; false: the entry is not in use. */
static bool
read_entry(uint32_t number, struct entry *ret)
{
	if (!lock())
		return false;
	*ret = loaders.entries[number];
	th_unlock(&loaders.lock);
	return ret->reference != NULL;
}

static void
remove_entry(JNIEnv *env, uint32_t number, bool is_made)
{
	struct entry entry;

	if (!lock())
		return;
	entry = loaders.entries[number];
	unlink_entry(number);
	th_unlock(&loaders.lock);
	th_tally_remove(&tally, &entry.item, is_made);
	th_references_delete_weak(env, entry.reference);
}

/* Removes the entries that `is_gone`; `is_made` as for th_tally_remove(). */
static void
sweep(JNIEnv *env, bool (*is_gone)(JNIEnv *env, const struct entry *entry), bool is_made)
{
	uint32_t touched = th_load_relaxed(&loaders.touched);
	struct entry entry;

	for (uint32_t i = 1; i <= touched; i++)
		if (read_entry(i, &entry) && is_gone(env, &entry))
			remove_entry(env, i, is_made);
}

static bool
is_dead(JNIEnv *env, const struct entry *entry)
{
	return (*env)->IsSameObject(env, entry->reference, NULL);
}

static bool
is_thinned(JNIEnv *env, const struct entry *entry)
{
	(void)env;
	return !th_live_keeps(entry->hash, tally.level);
}

static bool
is_any(JNIEnv *env, const struct entry *entry)
{
	(void)env, (void)entry;
	return true;
}

static void
raise_level(JNIEnv *env)
{
	th_tally_raise(&tally);
	sweep(env, is_thinned, false);
}

/* Once a second. */
static void
adapt_rate(void)
{
	uint64_t now = th_clock_now();
	uint64_t cpu;

	if (now - loaders.adapted < TH_NS_PER_S)
		return;
	cpu = th_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	if (loaders.adapted)
		th_tally_adapt(&tally, cpu - loaders.cpu, now - loaders.adapted);
	loaders.adapted = now;
	loaders.cpu = cpu;
}

void
th_class_loaders_turn(JNIEnv *env)
{
	adapt_rate();
	if (th_load_relaxed(&loaders.must_thin)) {
		raise_level(env);
		th_store_relaxed(&loaders.must_thin, 0);
	}
	while (th_load_relaxed(&loaders.count) > loaders.limit / 4 * 3)
		raise_level(env);
}

void
th_class_loaders_reap(JNIEnv *env, uint64_t pause_ns)
{
	if (pause_ns)
		loaders.limit = (uint32_t)th_min(ENTRIES_MAX,
			th_references_allowed(pause_ns, TH_REFERENCE_OLD_NS, ENTRIES_MIN));
	if (th_load_acquire(&loaders.is_on))
		sweep(env, is_dead, true);
}

void
th_class_loaders_each(th_class_loaders_visit *visit, void *data)
{
	/* Pairs with the release in th_tally_maker(): a maker's type is not changed. */
	const struct th_tally_maker *makers = th_load_acquire(&tally.makers);
	uint32_t touched = th_load_relaxed(&loaders.touched);
	struct entry entry;

	for (uint32_t i = 1; makers && i <= touched; i++)
		if (read_entry(i, &entry) && !entry.is_hidden)
			visit(entry.reference, entry.item.stack,
				makers[entry.item.maker].event.type, data);
}

void
th_class_loaders_log(void)
{
	th_tally_log(&tally);
}

void
th_class_loaders_release(JNIEnv *env)
{
	/* The last figures stay in the log. */
	th_class_loaders_log();
	if (!th_load_acquire(&loaders.is_on))
		return;
	th_store_release(&loaders.is_on, 0);
	sweep(env, is_any, true);
}

void
th_class_loaders_start(void)
{
	if (!loaders.entries)
		loaders.entries = th_memory_map((ENTRIES_MAX + 1) * sizeof(*loaders.entries));
	th_tally_restart(&tally);
	loaders.limit = ENTRIES_MAX;
	if (loaders.entries && th_admission_wants(TH_HEAP_JAVA))
		th_store_release(&loaders.is_on, 1);
}
