/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records come from mapped slabs and are reused by later threads under a new id, so their
 * memory is bounded by the number of threads alive at once.
 */
#include "unify/sample/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/sample/admission.h"
#include "unify/sample/thread_starts.h"
#include "unify/shared/clock.h"

/* Maximum number of threads alive at once; further ones are not sampled, and counted. */
#define RECORDS_MAX 65536
#define SLAB_RECORDS 256
/* Beyond it the stacks of unjoined threads are not named, and joining them is not noticed. */
#define UNJOINED_MAX 4096
/*
 * The last threads that were detached without having a record: before their first instruction, or
 * because they are not counted.
 */
#define EARLY 64
/*
 * glibc and musl run TLS destructors up to four times (PTHREAD_DESTRUCTOR_ITERATIONS).  The
 * thread sanitizer destroys its thread state in the last round, before this library's
 * destructor runs.
 */
#ifdef __SANITIZE_THREAD__
#	define DESTRUCTOR_ROUNDS 3
#else
#	define DESTRUCTOR_ROUNDS 4
#endif
/*
 * A name is read again when it is older than this: the system call costs 0.3 us, a third of a
 * sample, too much for each sample of a thread that has many.
 */
#define NAME_NS (TH_NS_PER_S / 10000)
/* The countdown of a thread that is not sampled: no program allocates that much. */
#define NEVER INT64_MAX

__thread struct th_thread th_thread __attribute__((tls_model("initial-exec")));

static struct {
	struct th_spinlock lock;       /* protects the fields below */
	struct th_thread_record *slab; /* next unused record */
	uint32_t slab_left;
	uint32_t record_count;
	struct th_thread_record *unused; /* records of ended threads, linked by `unused_next` */
	struct th_thread_record *unjoined; /* ended, likewise; read without the lock */
	uint32_t unjoined_count;
	uint32_t early_next;          /* modulo EARLY */
	uintptr_t early[EARLY];       /* handles; 0 = none */
	struct th_thread_record *all; /* read without the lock, acquire */
	uint32_t last_id;
	uint64_t seed;
	pthread_key_t key;
	bool has_key;
	void (*ended)(struct th_thread_record *record); /* atomic; NULL: none */
} registry TH_AT_START;

/* Guard */

void
th_guard_enter(void)
{
	if (th_thread.guard++)
		return;
	th_thread.guarded_countdown = th_thread.countdown;
	th_thread.countdown = NEVER;
}

void
th_guard_leave(void)
{
	if (--th_thread.guard)
		return;
	th_thread.countdown = th_thread.guarded_countdown;
}

static void
set_countdown(uint64_t countdown)
{
	if (th_thread.guard)
		th_thread.guarded_countdown = countdown;
	else
		th_thread.countdown = countdown;
}

static uint64_t
get_countdown(void)
{
	return th_thread.guard ? th_thread.guarded_countdown : th_thread.countdown;
}

/* Exact bytes */

uint64_t
th_thread_native_bytes(void)
{
	uint64_t drawn = th_thread.record ? th_thread.record->drawn : 0;

	return drawn - get_countdown();
}

void
th_thread_draw(struct th_thread_record *record, uint64_t interval, uint64_t bytes)
{
	/*
	 * The draw is the number of bytes that are not sampled; the byte after them is.
	 * Interval 0: always exhausted, every allocation takes the slow path.
	 */
	uint64_t countdown = interval ? (uint64_t)th_sampler_draw(&record->random, interval) + 1
				      : 0;

	record->interval = interval;
	record->has_drawn = true;
	th_store_relaxed(&record->drawn, bytes + countdown);
	set_countdown(countdown);
}

void
th_thread_postpone(uint64_t bytes)
{
	struct th_thread_record *record = th_thread.record;

	if (record)
		th_store_relaxed(&record->drawn, th_thread_native_bytes() + bytes);
	set_countdown(bytes);
}

/* Registration */

static struct th_thread_record *
fresh_record(void)
{
	if (!registry.slab_left) {
		if (registry.record_count >= RECORDS_MAX)
			return NULL;
		registry.slab = th_memory_map(SLAB_RECORDS * sizeof(*registry.slab));
		if (!registry.slab)
			return NULL;
		registry.slab_left = SLAB_RECORDS;
		registry.record_count += SLAB_RECORDS;
	}
	registry.slab_left--;
	return registry.slab++;
}

/*
 * The seed of a thread's stream.  Mixed, so that neighbouring seeds of the process do not give
 * the same streams to neighbouring threads.
 */
static uint64_t
stream_seed(uint32_t id)
{
	struct th_random random;

	th_random_seed(&random, registry.seed);
	return th_random_next(&random) ^ (uint64_t)id * 0x9e3779b97f4a7c15u;
}

/* A record under a new id, linked into the list of all; NULL if there is none. */
static struct th_thread_record *
take_record(void)
{
	struct th_thread_record *record;

	if (!th_log_lock(&registry.lock))
		return NULL;
	record = registry.unused;
	if (record) {
		registry.unused = record->unused_next;
	} else {
		record = fresh_record();
		if (record) {
			record->next = registry.all;
			/* Pairs with the acquire in th_thread_log_bytes: `next` is set. */
			th_store_release(&registry.all, record);
		}
	}
	if (record)
		record->id = ++registry.last_id;
	th_unlock(&registry.lock);
	return record;
}

static void
give_back(struct th_thread_record *record)
{
	/* If not, the record is not reused; nothing else is lost. */
	if (!th_log_lock(&registry.lock))
		return;
	th_store_relaxed(&record->handle, 0);
	record->unused_next = registry.unused;
	registry.unused = record;
	th_unlock(&registry.lock);
}

struct th_thread_record *
th_thread_record(void)
{
	struct th_thread_record *record = th_thread.record;

	if (record)
		return record;
	record = take_record();
	if (!record) {
		th_log_count(TH_COUNTER_DROPPED_THREADS_FULL, 1);
		return NULL;
	}
	record->tid = (uint32_t)syscall(SYS_gettid);
	th_random_seed(&record->random, stream_seed(record->id));
	memset(&record->interval, 0,
		offsetof(struct th_thread_record, state) -
			offsetof(struct th_thread_record, interval));
	record->java_interval = TH_INTERVAL_UNKNOWN;
	th_thread.record = record;
	th_store_release(&record->state, &th_thread);
	th_admission_join(record);
	if (registry.has_key)
		pthread_setspecific(registry.key, record);
	return record;
}

struct th_thread_record *
th_thread_first(void)
{
	return th_load_acquire(&registry.all);
}

struct th_thread_record *
th_thread_next(const struct th_thread_record *record)
{
	return record->next;
}

bool
th_thread_is_alive(uint32_t id)
{
	struct th_thread_record *record = th_thread_first();

	while (record && record->id != id)
		record = th_thread_next(record);
	return record &&
	       (th_load_relaxed(&record->state) || th_load_relaxed(&record->java_thread));
}

/* Names */

static bool
append_name(const struct th_thread_record *record)
{
	struct th_event_thread event = {
		.time = th_clock_now(),
		.thread = record->id,
		.tid = record->tid,
		.flags = record->java_named ? TH_THREAD_JAVA_NAME : 0,
		.starter = record->start.stack,
	};
	struct th_log_part part = th_log_text(record->name);

	return th_log_append(TH_EVENT_THREAD, &event, &part, 1) != 0;
}

void
th_thread_log(struct th_thread_record *record, uint64_t now)
{
	char name[16] = "";

	if (record->logged && now - record->name_seen < NAME_NS)
		return;
	record->name_seen = now;
	if (!record->java_named && record == th_thread.record && !prctl(PR_GET_NAME, name) &&
		strcmp(name, record->name)) {
		memcpy(record->name, name, sizeof(name));
		record->logged = false;
	}
	if (!record->logged)
		record->logged = append_name(record);
}

void
th_thread_rename(struct th_thread_record *record, const char *name)
{
	if (record->java_named && !strncmp(name, record->name, TH_THREAD_NAME_MAX - 1))
		return;
	/* The terminator at the end of the array is never overwritten. */
	strncpy(record->name, name, TH_THREAD_NAME_MAX - 1);
	record->java_named = true;
	if (record->logged)
		append_name(record);
}

/* The end of a thread */

bool
th_thread_log_heap_bytes(uint32_t thread, enum th_heap heap, uint64_t bytes)
{
	struct th_event_thread_bytes event = {
		.time = th_clock_now(), .bytes = bytes, .thread = thread, .heap = heap};

	return th_log_append(TH_EVENT_THREAD_BYTES, &event, NULL, 0) != 0;
}

void
th_thread_on_end(void (*ended)(struct th_thread_record *record))
{
	th_store_release(&registry.ended, ended);
}

/* Keeps the record of a joinable thread, whose stack stays; false: it is detached, or there are too many. */
static bool
add_unjoined(struct th_thread_record *record)
{
	bool is_added;

	if (!th_load_relaxed(&record->handle) || !th_log_lock(&registry.lock))
		return false;
	/* It may have been detached meanwhile. */
	is_added = record->handle && registry.unjoined_count < UNJOINED_MAX;
	if (is_added) {
		th_store_release(&record->unjoined, &th_thread);
		record->unused_next = registry.unjoined;
		th_store_relaxed(&registry.unjoined, record);
		registry.unjoined_count++;
	}
	th_unlock(&registry.lock);
	return is_added;
}

/* Under the lock. */
static struct th_thread_record *
take_unjoined(uintptr_t handle)
{
	struct th_thread_record **at = &registry.unjoined;
	struct th_thread_record *record;

	while (*at && (*at)->handle != handle)
		at = &(*at)->unused_next;
	record = *at;
	if (record) {
		th_store_relaxed(at, record->unused_next);
		registry.unjoined_count--;
	}
	return record;
}

/* Under the lock: a thread that runs, or is about to, was detached. */
static void
drop_handle(uintptr_t handle)
{
	struct th_thread_record *record = registry.all;

	while (record && th_load_relaxed(&record->handle) != handle)
		record = record->next;
	if (record)
		th_store_relaxed(&record->handle, 0);
	else
		registry.early[registry.early_next++ % EARLY] = handle;
}

void
th_thread_set_handle(struct th_thread_record *record, uintptr_t handle)
{
	uint32_t at = 0;

	if (!th_log_lock(&registry.lock))
		return;
	while (at < EARLY && registry.early[at] != handle)
		at++;
	if (at < EARLY)
		registry.early[at] = 0;
	else
		th_store_relaxed(&record->handle, handle);
	th_unlock(&registry.lock);
}

void
th_thread_released(uintptr_t handle, bool may_run)
{
	int saved_errno = errno;
	struct th_thread_record *record = NULL;

	if ((may_run || th_load_relaxed(&registry.unjoined)) && th_log_lock(&registry.lock)) {
		record = take_unjoined(handle);
		if (!record && may_run)
			drop_handle(handle);
		th_unlock(&registry.lock);
	}
	if (record) {
		th_store_release(&record->unjoined, NULL);
		th_thread_starts_joined(record);
		give_back(record);
	}
	errno = saved_errno;
}

static void
end_thread(struct th_thread_record *record)
{
	uint64_t bytes = th_counted_bytes(record, TH_HEAP_NATIVE, th_thread_native_bytes());
	void (*ended)(struct th_thread_record *) = th_load_acquire(&registry.ended);

	th_thread_postpone(NEVER);
	th_guard_enter();
	if (ended)
		ended(record);
	if (record->logged)
		th_thread_log_heap_bytes(record->id, TH_HEAP_NATIVE, bytes);
	else if (th_log_is_ours())
		th_log_count(TH_COUNTER_NATIVE_BYTES_QUIET, bytes);
	th_thread_starts_end(record);
	th_thread.record = NULL;
	th_thread.ledger = NULL;
	th_store_release(&record->java_thread, NULL);
	th_store_release(&record->state, NULL);
	/* Once it is among the unjoined, another thread may detach it and use its record. */
	if (!add_unjoined(record)) {
		if (!th_load_relaxed(&record->handle))
			th_thread_starts_joined(record);
		give_back(record);
	}
	th_guard_leave();
}

/*
 * Re-registers in every round of destructors but the last, so that allocations in destructors
 * of other libraries are still seen.
 */
static void
thread_exits(void *value)
{
	if (++th_thread.exit_rounds < DESTRUCTOR_ROUNDS &&
		!pthread_setspecific(registry.key, value))
		return;
	end_thread(value);
}

/*
 * Reads the exact bytes of another thread.  The thread may end at any time and its TLS with it,
 * hence the copy through the kernel, which fails where a plain read would fault.  False if the
 * thread has ended or was in the middle of a change.
 */
bool
th_thread_read_native_bytes(struct th_thread_record *record, uint64_t *bytes_ret)
{
	struct th_thread copy;
	struct th_thread *state = th_load_acquire(&record->state);
	uint64_t drawn = th_load_relaxed(&record->drawn);

	if (!state || !th_observed_copy((uintptr_t)state, &copy, sizeof(copy)))
		return false;
	if (copy.record != record || (copy.guard && state != &th_thread) ||
		th_load_relaxed(&record->drawn) != drawn)
		return false;
	*bytes_ret = drawn - (copy.guard ? copy.guarded_countdown : copy.countdown);
	return true;
}

static void
log_record_bytes(struct th_thread_record *record, bool final)
{
	uint64_t bytes;

	if (!record->logged && !final)
		return;
	if (!th_thread_read_native_bytes(record, &bytes))
		return;
	bytes = th_counted_bytes(record, TH_HEAP_NATIVE, bytes);
	if (bytes == record->native_bytes_logged)
		return;
	if (!record->logged)
		th_log_count(TH_COUNTER_NATIVE_BYTES_QUIET, bytes);
	else if (th_thread_log_heap_bytes(record->id, TH_HEAP_NATIVE, bytes))
		record->native_bytes_logged = bytes;
}

void
th_thread_log_bytes(bool final)
{
	int saved_errno = errno;

	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record))
		log_record_bytes(record, final);
	errno = saved_errno;
}

void
th_thread_seed(uint64_t seed)
{
	registry.seed = seed;
}

void
th_thread_init(uint64_t seed)
{
	th_thread_seed(seed);
	registry.has_key = !pthread_key_create(&registry.key, thread_exits);
}

void
th_thread_restart(void)
{
	struct th_thread_record *record = th_thread_first();

	for (; record; record = record->next) {
		record->logged = false;
		record->start = (struct th_tally_item){.maker = 0};
		record->native_bytes_logged = 0;
		record->java_bytes_logged = 0;
		record->java_bytes = 0;
		record->java_before = 0;
		record->java_due = 0;
		th_store_release(&record->java_thread, NULL);
	}
	th_thread_starts_restart();
}

void
th_thread_reset(void)
{
	struct th_thread_record *record = registry.all;

	registry.lock.held = 0;
	registry.ended = NULL;
	registry.unjoined = NULL;
	registry.unjoined_count = 0;
	for (; record; record = record->next) {
		th_store_relaxed(&record->state, NULL);
		th_store_relaxed(&record->unjoined, NULL);
		record->logged = false;
	}
	th_thread.record = NULL;
	th_thread.ledger = NULL;
	th_thread_starts_reset();
	set_countdown(0);
	if (registry.has_key)
		pthread_setspecific(registry.key, NULL);
}

/* Observed by the tool */

static bool
observe(const void *start)
{
	static struct th_thread_record *records;
	struct th_thread_record *next;

	if (!records)
		records = th_memory_map(RECORDS_MAX * sizeof(*records));
	if (!records || !th_observed_copy((uintptr_t)start, &registry, sizeof(registry)))
		return false;
	next = registry.all;
	registry.all = NULL;
	for (uint32_t i = 0; next && i < RECORDS_MAX; i++) {
		struct th_thread_record *record = &records[i];

		if (!th_observed_copy((uintptr_t)next, record, sizeof(*record)))
			return false;
		next = record->next;
		record->name[sizeof(record->name) - 1] = '\0';
		record->next = registry.all;
		registry.all = record;
	}
	return true;
}

const struct th_observed_tables th_thread_tables = {&registry, sizeof(registry), observe};
