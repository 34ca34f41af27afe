/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The true figure of a leak in the C heap, counted in the run itself without sampling: a
 * preloaded malloc that enters every block which a thread allocates within a step (leaks.Pace),
 * and removes it when it is freed, by any thread at any time.  The remaining blocks at the end
 * of the program are those that its steps did not free, in requested bytes.
 *
 * It is preloaded after the profiler.  The table is touched when the library is loaded, so that
 * it does not contribute to the growth of resident memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jni.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "leaks_Ledger.h"

#define EXPORT __attribute__((visibility("default")))

/* Blocks alive at the same time: 20,000 options of RocksDB come to 1.6 million. */
#define ENTRIES (1U << 21)
#define BUCKETS (1U << 20)
#define UNKNOWN (-1)

/* glibc's own names of its functions; dlsym() would allocate. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

struct entry {
	uintptr_t block;
	uint32_t bytes;
	uint32_t next; /* in the same bucket, or in the free list; 0 = none */
};

/*
 * Protected by `lock`; a bucket's first entry is also read without it, to detect empty buckets.
 */
static struct {
	pthread_mutex_t lock;
	struct entry *entries; /* [0] means none; NULL before th_ledger_load */
	_Atomic uint32_t *buckets;
	uint32_t used; /* entries used at least once */
	uint32_t unused;
	int64_t bytes;
	int64_t objects;
	bool is_incomplete; /* a block did not fit into the table */
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread __attribute__((tls_model("initial-exec"))) bool in_step;

static void *
map_filled(size_t bytes)
{
	void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return area == MAP_FAILED ? NULL : area;
}

static __attribute__((constructor)) void
load(void)
{
	ledger.buckets = map_filled(BUCKETS * sizeof(*ledger.buckets));
	if (ledger.buckets)
		ledger.entries = map_filled(ENTRIES * sizeof(*ledger.entries));
}

static _Atomic uint32_t *
bucket_of(uintptr_t block)
{
	/* Fibonacci hashing spreads addresses over the upper bits. */
	return &ledger.buckets[(block * 0x9E3779B97F4A7C15ULL) >> (64 - 20)];
}

/* 0 if there is none. */
static uint32_t
take_entry(void)
{
	uint32_t entry = ledger.unused;

	if (entry)
		ledger.unused = ledger.entries[entry].next;
	else if (ledger.used + 1 < ENTRIES)
		entry = ++ledger.used;
	return entry;
}

static void
enter_locked(uintptr_t block, size_t bytes)
{
	_Atomic uint32_t *bucket = bucket_of(block);
	uint32_t number = bytes <= UINT32_MAX ? take_entry() : 0;

	if (!number) {
		ledger.is_incomplete = true;
		return;
	}
	ledger.entries[number] = (struct entry){
		.block = block,
		.bytes = (uint32_t)bytes,
		.next = atomic_load_explicit(bucket, memory_order_relaxed),
	};
	atomic_store_explicit(bucket, number, memory_order_relaxed);
	ledger.bytes += (int64_t)bytes;
	ledger.objects++;
}

static void
enter(void *block, size_t bytes)
{
	if (!in_step || !block || !ledger.entries)
		return;
	pthread_mutex_lock(&ledger.lock);
	enter_locked((uintptr_t)block, bytes);
	pthread_mutex_unlock(&ledger.lock);
}

/* Whether the block was found; returns its size. */
static bool
strike_locked(uintptr_t block, size_t *bytes_ret)
{
	_Atomic uint32_t *bucket = bucket_of(block);
	uint32_t before = 0, number = atomic_load_explicit(bucket, memory_order_relaxed);

	while (number && ledger.entries[number].block != block) {
		before = number;
		number = ledger.entries[number].next;
	}
	if (!number)
		return false;
	struct entry *entry = &ledger.entries[number];
	if (before)
		ledger.entries[before].next = entry->next;
	else
		atomic_store_explicit(bucket, entry->next, memory_order_relaxed);
	*bytes_ret = entry->bytes;
	ledger.bytes -= entry->bytes;
	ledger.objects--;
	entry->next = ledger.unused;
	ledger.unused = number;
	return true;
}

/* Called before the block is freed: another thread may be given its address at once. */
static bool
strike(void *block, size_t *bytes_ret)
{
	bool was_there;

	/* A thread that frees the block has synchronized with the one that entered it. */
	if (!block || !ledger.entries ||
		!atomic_load_explicit(bucket_of((uintptr_t)block), memory_order_relaxed))
		return false;
	pthread_mutex_lock(&ledger.lock);
	was_there = strike_locked((uintptr_t)block, bytes_ret);
	pthread_mutex_unlock(&ledger.lock);
	return was_there;
}

/* malloc and free */

EXPORT void *
malloc(size_t bytes)
{
	void *block = __libc_malloc(bytes);

	enter(block, bytes);
	return block;
}

EXPORT void *
calloc(size_t count, size_t bytes)
{
	void *block = __libc_calloc(count, bytes);

	enter(block, count * bytes);
	return block;
}

EXPORT void
free(void *block)
{
	size_t bytes;
	int error = errno;

	strike(block, &bytes);
	errno = error;
	__libc_free(block);
}

/* A block of a step stays one when it is resized elsewhere. */
EXPORT void *
realloc(void *block, size_t bytes)
{
	size_t bytes_before;
	bool was_there = strike(block, &bytes_before);
	bool was_in_step = in_step;
	void *moved = __libc_realloc(block, bytes);

	in_step = was_in_step || was_there;
	if (moved)
		enter(moved, bytes);
	else if (was_there && bytes > 0)
		enter(block, bytes_before);
	in_step = was_in_step;
	return moved;
}

/* Not memalign(): that name would resolve to the first definition, the profiler's. */
static void *
allocate_aligned(size_t alignment, size_t bytes)
{
	void *block = __libc_memalign(alignment, bytes);

	enter(block, bytes);
	return block;
}

EXPORT void *
memalign(size_t alignment, size_t bytes)
{
	return allocate_aligned(alignment, bytes);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t bytes)
{
	return allocate_aligned(alignment, bytes);
}

EXPORT int
posix_memalign(void **block_ret, size_t alignment, size_t bytes)
{
	void *block;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0)
		return EINVAL;
	block = allocate_aligned(alignment, bytes);
	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}

/* Native methods of leaks.Ledger */

JNIEXPORT void JNICALL
Java_leaks_Ledger_open(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	in_step = true;
}

JNIEXPORT void JNICALL
Java_leaks_Ledger_shut(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	in_step = false;
}

static jlong
read_figure(const int64_t *figure)
{
	jlong value;

	pthread_mutex_lock(&ledger.lock);
	value = ledger.entries && !ledger.is_incomplete ? *figure : UNKNOWN;
	pthread_mutex_unlock(&ledger.lock);
	return value;
}

JNIEXPORT jlong JNICALL
Java_leaks_Ledger_countBytes(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return read_figure(&ledger.bytes);
}

JNIEXPORT jlong JNICALL
Java_leaks_Ledger_countObjects(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return read_figure(&ledger.objects);
}
