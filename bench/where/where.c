/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures where the time of a sample is spent.  The linker redirects calls of the library's
 * parts, and of the system functions they use, to the functions here (ld --wrap).  These
 * measure the time of each part, excluding the parts it calls.  The overhead of the measurement
 * itself is determined with empty parts and subtracted.
 *
 * The library consists of the same objects as libtwinheap.so.  At the end of the process one
 * line per part is written to the file named by the variable WHERE: times per sample,
 * nanoseconds, text.
 */
#include <fcntl.h>
#include <jvmti.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "jvmti/java_stack.h"
#include "jvmti/live_objects.h"
#include "unify/base/atomic.h"
#include "unify/base/safe_read.h"
#include "unify/log/log.h"
#include "unify/recording/recorder.h"
#include "unify/sample/native.h"

/* clang-format off */
#define PARTS(X)                                                    \
	X(ALLOCATED, "native sample: countdown, rate, counters")    \
	X(SAMPLED, "Java sample: exact bytes, TLAB, rate, counters") \
	X(FREED, "free of a sampled block")                         \
	X(WALK, "native frames")                                    \
	X(PROBE, "proof that a page of stack can be read")          \
	X(SEAMS, "seams of Java and native frames, method ids")     \
	X(STACK_TRACE, "GetStackTrace")                             \
	X(INTERN, "table of stacks")                                \
	X(LIVE, "table of live blocks")                             \
	X(LOG, "append to the log")                                 \
	X(CLASS, "class of the object")                             \
	X(FOLLOW, "weak reference to the object")                   \
	X(PROCESS, "getpid")                                        \
	X(NAME, "thread's name, prctl")                             \
	X(CLOCK, "clock")
/* clang-format on */

enum part {
#define X(NAME, text) PART_##NAME,
	PARTS(X)
#undef X
		PART_EMPTY,
	PART_COUNT,
};

/* Parts whose time counts; the rest of the process does not count. */
#define LAST_ROOT PART_FREED
#define CALIBRATION_CALLS 1000
#define CALIBRATION_ROUNDS 1000
/* Longer calls were preempted or interrupted by a collection, and are discarded. */
#define LONGEST_NS 100000

/* A call of a part in progress. */
struct call {
	struct call *outer;
	uint64_t start;
	uint64_t inner; /* ticks of nested calls */
	uint32_t inner_calls;
	enum part part;
};

struct sums {
	uint64_t ticks; /* excluding those of nested calls */
	uint64_t calls;
	uint64_t inner_calls;
};

static __thread struct call *innermost;
static __thread struct sums own[PART_COUNT];
static struct sums total[PART_COUNT]; /* atomic */
static uint64_t start_ticks;
static struct timespec start_time;
static uint64_t longest_ticks; /* atomic: LONGEST_NS; 0 = not yet known */
/*
 * An empty call, in ticks: the time it measures for itself, and the time it costs its caller.
 */
static double empty_inside;
static double empty_outside;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);

static uint64_t
read_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

static inline __attribute__((always_inline)) void
begin(struct call *call, enum part part)
{
	*call = (struct call){.outer = innermost, .part = part};
	innermost = call;
	call->start = read_ticks();
}

static double
ns_per_tick(void)
{
	struct timespec now;

	__real_clock_gettime(CLOCK_MONOTONIC, &now);
	return ((double)(now.tv_sec - start_time.tv_sec) * 1e9 +
		       (double)(now.tv_nsec - start_time.tv_nsec)) /
	       (double)(read_ticks() - start_ticks);
}

/* At the end of an outermost call, when no part is being timed. */
static __attribute__((noinline)) void
flush(uint64_t ticks)
{
	if (!th_load_relaxed(&longest_ticks))
		th_store_relaxed(&longest_ticks, (uint64_t)(LONGEST_NS / ns_per_tick()));
	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (!own[i].calls)
			continue;
		if (ticks > th_load_relaxed(&longest_ticks)) {
			own[i] = (struct sums){0, 0, 0};
			continue;
		}
		th_add_relaxed(&total[i].ticks, own[i].ticks);
		th_add_relaxed(&total[i].calls, own[i].calls);
		th_add_relaxed(&total[i].inner_calls, own[i].inner_calls);
		own[i] = (struct sums){0, 0, 0};
	}
}

static inline __attribute__((always_inline)) void
end(struct call *call)
{
	uint64_t ticks = read_ticks() - call->start;
	struct sums *sums = &own[call->part];

	innermost = call->outer;
	if (!call->outer && call->part > LAST_ROOT)
		return;
	sums->ticks += ticks - call->inner;
	sums->inner_calls += call->inner_calls;
	sums->calls++;
	if (call->outer) {
		call->outer->inner += ticks;
		call->outer->inner_calls++;
	} else {
		flush(ticks);
	}
}

/* The parts */

#define REAL(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* A function of a part, without or with a return value. */
#define TIMED_VOID(part, call_real) \
	{                           \
		struct call call;   \
		begin(&call, part); \
		call_real;          \
		end(&call);         \
	}
#define TIMED(type, part, call_real)     \
	{                                \
		struct call call;        \
		begin(&call, part);      \
		type result = call_real; \
		end(&call);              \
		return result;           \
	}

void __real_th_native_allocated(void *block, size_t size, enum th_alloc_function function);
void __wrap_th_native_allocated(void *block, size_t size, enum th_alloc_function function);

/* Inside a sample it is not another one. */
void
__wrap_th_native_allocated(void *block, size_t size, enum th_alloc_function function)
{
	struct call call;

	if (innermost) {
		__real_th_native_allocated(block, size, function);
		return;
	}
	begin(&call, PART_ALLOCATED);
	__real_th_native_allocated(block, size, function);
	end(&call);
}

REAL(uint64_t, th_native_unlink, void *block)
TIMED(uint64_t, PART_FREED, __real_th_native_unlink(block))

REAL(void, th_native_freed, uint64_t sample)
TIMED_VOID(PART_FREED, __real_th_native_freed(sample))

REAL(size_t, th_unwind, struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
TIMED(size_t, PART_WALK, __real_th_unwind(registers, limits, frames, capacity, end_ret))

REAL(bool, th_safe_read_extend, struct th_safe_read *readable, uintptr_t address, size_t bytes)
TIMED(bool, PART_PROBE, __real_th_safe_read_extend(readable, address, bytes))

REAL(uint32_t, th_stack_table_intern, const uint64_t *frames, size_t count, uint32_t flags,
	uint32_t **logged_ret)
TIMED(uint32_t, PART_INTERN, __real_th_stack_table_intern(frames, count, flags, logged_ret))

REAL(bool, th_live_blocks_insert, uintptr_t address, uint64_t sample)
TIMED(bool, PART_LIVE, __real_th_live_blocks_insert(address, sample))

REAL(uint64_t, th_live_blocks_remove, uintptr_t address)
TIMED(uint64_t, PART_LIVE, __real_th_live_blocks_remove(address))

REAL(uint64_t, th_log_append, enum th_event_type type, const void *fixed,
	const struct th_log_part *parts, unsigned part_count)
TIMED(uint64_t, PART_LOG, __real_th_log_append(type, fixed, parts, part_count))

REAL(uint64_t, th_log_append_ours, enum th_event_type type, const void *fixed,
	const struct th_log_part *parts, unsigned part_count)
TIMED(uint64_t, PART_LOG, __real_th_log_append_ours(type, fixed, parts, part_count))

REAL(void, th_live_objects_follow, JNIEnv *env, jobject object, uint64_t sample)
TIMED_VOID(PART_FOLLOW, __real_th_live_objects_follow(env, object, sample))

REAL(uint32_t, th_classes_id, const char *signature)
TIMED(uint32_t, PART_CLASS, __real_th_classes_id(signature))

REAL(pid_t, getpid, void)
TIMED(pid_t, PART_PROCESS, __real_getpid())

REAL(int, clock_gettime, clockid_t clock, struct timespec *ret)
TIMED(int, PART_CLOCK, __real_clock_gettime(clock, ret))

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

int
__wrap_prctl(int option, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, option);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	TIMED(int, PART_NAME, __real_prctl(option, argument));
}

/* Functions called through pointers */

static const struct th_java_provider *provider;
static struct th_java_provider timed_provider;

static enum th_java_status
walk(struct th_java_stack *stack) TIMED(enum th_java_status, PART_SEAMS, provider->walk(stack))

	REAL(void, th_capture_set_java, const struct th_java_provider *given)
{
	if (!given) {
		__real_th_capture_set_java(NULL);
		return;
	}
	provider = given;
	timed_provider = *given;
	timed_provider.walk = walk;
	__real_th_capture_set_java(&timed_provider);
}

/*
 * The VM identifies an environment by the address of its function table's pointer, so
 * ours can be used only with the functions below; a sample calls no others.
 */
static jvmtiEnv *environment;
static struct jvmtiInterface_1_ functions;
static jvmtiEnv timed_environment = &functions;

static jvmtiError JNICALL
get_stack_trace(jvmtiEnv *jvmti, jthread thread, jint start, jint depth, jvmtiFrameInfo *frames,
	jint *count)
{
	(void)jvmti;
	TIMED(jvmtiError, PART_STACK_TRACE,
		(*environment)
			->GetStackTrace(environment, thread, start, depth, frames, count));
}

static jvmtiError JNICALL
get_class_signature(jvmtiEnv *jvmti, jclass type, char **signature, char **generic)
{
	(void)jvmti;
	TIMED(jvmtiError, PART_CLASS,
		(*environment)->GetClassSignature(environment, type, signature, generic));
}

static jvmtiError JNICALL
deallocate(jvmtiEnv *jvmti, unsigned char *memory)
{
	(void)jvmti;
	TIMED(jvmtiError, PART_CLASS, (*environment)->Deallocate(environment, memory));
}

static jvmtiError JNICALL
get_thread_local_storage(jvmtiEnv *jvmti, jthread thread, void **data)
{
	(void)jvmti;
	return (*environment)->GetThreadLocalStorage(environment, thread, data);
}

static jvmtiError JNICALL
set_thread_local_storage(jvmtiEnv *jvmti, jthread thread, const void *data)
{
	(void)jvmti;
	return (*environment)->SetThreadLocalStorage(environment, thread, data);
}

REAL(uint32_t, th_methods_id_of, jvmtiEnv *jvmti, JNIEnv *env, jmethodID method)
{
	(void)jvmti;
	return __real_th_methods_id_of(environment, env, method);
}

REAL(bool, th_java_stack_start, JavaVM *vm, jvmtiEnv *jvmti, uint32_t release)
{
	environment = jvmti;
	functions.GetStackTrace = get_stack_trace;
	functions.GetClassSignature = get_class_signature;
	functions.Deallocate = deallocate;
	functions.GetThreadLocalStorage = get_thread_local_storage;
	functions.SetThreadLocalStorage = set_thread_local_storage;
	return __real_th_java_stack_start(vm, &timed_environment, release);
}

void JNICALL __real_th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size);
void JNICALL __wrap_th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size);

void JNICALL
__wrap_th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size)
{
	struct call call;

	begin(&call, PART_SAMPLED);
	__real_th_heap_sampled(
		environment ? &timed_environment : jvmti, env, thread, object, type, size);
	end(&call);
}

/* Result table */

/* An empty part within an empty part: one round. */
static void
time_empty(double *inside_ret, double *outside_ret)
{
	struct call outer;
	struct call inner;
	uint64_t before = own[PART_EMPTY].ticks;
	uint64_t ticks;

	begin(&outer, PART_EMPTY);
	ticks = read_ticks();
	for (unsigned i = 0; i < CALIBRATION_CALLS; i++) {
		begin(&inner, PART_EMPTY);
		__asm__ volatile("" ::: "memory");
		end(&inner);
	}
	ticks = read_ticks() - ticks;
	innermost = NULL;
	*inside_ret = (double)(own[PART_EMPTY].ticks - before) / CALIBRATION_CALLS;
	*outside_ret = (double)ticks / CALIBRATION_CALLS - *inside_ret;
}

/* The minimum of many short rounds, because other processes run on this machine. */
static void
calibrate(void)
{
	double inside;
	double outside;

	time_empty(&empty_inside, &empty_outside);
	for (unsigned i = 0; i < CALIBRATION_ROUNDS; i++) {
		time_empty(&inside, &outside);
		if (inside < empty_inside)
			empty_inside = inside;
		if (outside < empty_outside)
			empty_outside = outside;
	}
}

static void
write_part(int file, enum part part, const char *text, double samples)
{
	const struct sums *sums = &total[part];
	double ticks = (double)sums->ticks - (double)sums->calls * empty_inside -
		       (double)sums->inner_calls * empty_outside;

	if (sums->calls)
		dprintf(file, "%.2f\t%.1f\t%s\n", (double)sums->calls / samples,
			(ticks > 0 ? ticks : 0) * ns_per_tick() / samples, text);
}

static __attribute__((constructor)) void
start(void)
{
	start_ticks = read_ticks();
	__real_clock_gettime(CLOCK_MONOTONIC, &start_time);
}

static __attribute__((destructor)) void
write_table(void)
{
	static const char *const texts[] = {
#define X(NAME, text) text,
		PARTS(X)
#undef X
	};
	const char *path = getenv("WHERE");
	/* A Java sample is two calls: the event, and the recorder inside it. */
	double samples = (double)(total[PART_ALLOCATED].calls + total[PART_SAMPLED].calls);
	int file = path && samples > 0 ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (file < 0)
		return;
	calibrate();
	for (unsigned i = 0; i < PART_EMPTY; i++)
		write_part(file, (enum part)i, texts[i], samples);
	close(file);
}
