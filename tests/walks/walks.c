/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the Java stack of each sampled object twice: as the library does, and once more while
 * AsyncGetCallTrace refuses and no frames are remembered, so that they come from GetStackTrace.  The
 * linker redirects the functions through which the library gets all of them (ld --wrap).
 *
 * With WALKS_CUT=1 the VM's answer lacks frames at the root in one walk of three: the library must
 * notice.  At the end of the process the file named by the variable WALKS gets the counts, and the first
 * stacks that differ, as methods and bytecode indexes, leaf first.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvmti/frame_memo.h"
#include "jvmti/java_stack.h"
#include "unify/base/atomic.h"

#define CAPACITY 4096
#define TEXT_BYTES 65536
/* forte.h: ticks_unknown_not_Java. */
#define REFUSED (-3)
#define CUT_EVERY 3

struct trace {
	JNIEnv *env;
	jint count;
	void *frames;
};

typedef void async_function(struct trace *trace, jint depth, void *context);

bool
__real_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti, void *async, uint32_t feature_release);
bool
__wrap_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti, void *async, uint32_t feature_release);
jint
__real_th_frame_memo_find(const char *thread, struct th_call_frame *frames, uint32_t capacity);
jint
__wrap_th_frame_memo_find(const char *thread, struct th_call_frame *frames, uint32_t capacity);
void __real_th_capture_set_java(const struct th_java_provider *given);
void __wrap_th_capture_set_java(const struct th_java_provider *given);

static async_function *real_async;
static const struct th_java_provider *real_provider;
static struct th_java_provider provider;
static bool cuts;
static uint32_t answers; /* atomic */
static __thread bool refuses;
/* What the first walk used. */
static __thread bool was_asked;
static __thread bool was_remembered;
static __thread bool used_jvmti;

/* The VM's environment, and one for the calls of jvmti/java_stack.c. */
static jvmtiEnv *environment;
static struct jvmtiInterface_1_ functions;
static jvmtiEnv own_environment = &functions;

/* The second walk, and what was found; under the lock. */
static struct {
	uint32_t lock; /* atomic */
	struct th_java_stack stack;
	uint64_t frames[CAPACITY];
	char raw[CAPACITY * TH_JAVA_RAW_BYTES];
	uint64_t compared;
	uint64_t different;
	/* first walks that needed GetStackTrace after AsyncGetCallTrace; equal in any case */
	uint64_t refused;
	uint64_t not_asked;  /* first walks by GetStackTrace alone, equal in any case */
	uint64_t remembered; /* first walks without the VM */
	size_t length;
	char text[TEXT_BYTES];
} second;

static void
lock(void)
{
	while (__atomic_exchange_n(&second.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void
unlock(void)
{
	__atomic_store_n(&second.lock, 0, __ATOMIC_RELEASE);
}

static void
cut(struct trace *trace)
{
	uint32_t number = th_add_relaxed(&answers, 1);

	if (cuts && number % CUT_EVERY == 0 && trace->count > 1)
		trace->count = 1 + (jint)(number / CUT_EVERY % (uint32_t)(trace->count - 1));
}

static void
get_trace(struct trace *trace, jint depth, void *context)
{
	was_asked = true;
	if (refuses)
		trace->count = REFUSED;
	else
		real_async(trace, depth, context);
	cut(trace);
}

static jvmtiError JNICALL
get_stack_trace(jvmtiEnv *jvmti, jthread thread, jint start, jint depth, jvmtiFrameInfo *frames,
	jint *count)
{
	(void)jvmti;
	used_jvmti = true;
	return (*environment)->GetStackTrace(environment, thread, start, depth, frames, count);
}

static jvmtiError JNICALL
get_class_signature(jvmtiEnv *jvmti, jclass type, char **signature, char **generic)
{
	(void)jvmti;
	return (*environment)->GetClassSignature(environment, type, signature, generic);
}

static jvmtiError JNICALL
deallocate(jvmtiEnv *jvmti, unsigned char *memory)
{
	(void)jvmti;
	return (*environment)->Deallocate(environment, memory);
}

bool
__wrap_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti, void *async, uint32_t feature_release)
{
	async_function *replacement = get_trace;

	memcpy(&real_async, &async, sizeof(async));
	memcpy(&async, &replacement, sizeof(async));
	cuts = getenv("WALKS_CUT") != NULL;
	environment = jvmti;
	functions.GetStackTrace = get_stack_trace;
	functions.GetClassSignature = get_class_signature;
	functions.Deallocate = deallocate;
	return __real_th_java_stack_start(vm, &own_environment, async, feature_release);
}

jint
__wrap_th_frame_memo_find(const char *thread, struct th_call_frame *frames, uint32_t capacity)
{
	jint count = refuses ? -1 : __real_th_frame_memo_find(thread, frames, capacity);

	was_remembered = count >= 0;
	return count;
}

static bool
is_same_segment(const struct th_java_segment *a, const struct th_java_segment *b)
{
	return a->begin == b->begin && a->end == b->end && a->has_native == b->has_native &&
	       (!a->has_native || !memcmp(&a->native, &b->native, sizeof(a->native)));
}

static bool
is_same(const struct th_java_stack *a, const struct th_java_stack *b)
{
	if (a->count != b->count || a->flags != b->flags ||
		a->segment_count != b->segment_count ||
		memcmp(a->frames, b->frames, a->count * sizeof(*a->frames)) != 0)
		return false;
	for (uint32_t i = 0; i < a->segment_count; i++)
		if (!is_same_segment(&a->segments[i], &b->segments[i]))
			return false;
	return true;
}

static void
print_stack(const char *title, const struct th_java_stack *stack)
{
	if (second.length + (stack->count + 8) * 32 > sizeof(second.text))
		return;
	second.length += (size_t)sprintf(second.text + second.length,
		"%s: %u frames, flags %x, %u segments:", title, stack->count, stack->flags,
		stack->segment_count);
	for (uint32_t i = 0; i < stack->count; i++)
		second.length += (size_t)sprintf(second.text + second.length, " %llx",
			(unsigned long long)stack->frames[i]);
	second.text[second.length++] = '\n';
}

static void
compare(const struct th_java_stack *first)
{
	if (is_same(first, &second.stack))
		return;
	second.different++;
	print_stack("AsyncGetCallTrace", first);
	print_stack("GetStackTrace", &second.stack);
}

static void
walk_again(const struct th_java_stack *first)
{
	struct th_java_stack *stack = &second.stack;

	stack->frames = second.frames;
	stack->raw = second.raw;
	stack->capacity = first->capacity < CAPACITY ? first->capacity : CAPACITY;
	stack->heap = first->heap;
	stack->count = 0;
	stack->flags = 0;
	stack->segment_count = 0;
	refuses = true;
	real_provider->walk(stack);
	refuses = false;
	compare(first);
}

static enum th_java_status
walk(struct th_java_stack *stack)
{
	enum th_java_status status;

	was_asked = false;
	used_jvmti = false;
	was_remembered = false;
	status = real_provider->walk(stack);
	if (stack->heap != TH_HEAP_JAVA || status != TH_JAVA_FOUND)
		return status;

	lock();
	second.not_asked += !was_asked && used_jvmti;
	second.remembered += was_remembered && !used_jvmti;
	second.refused += was_asked && used_jvmti;
	if (!used_jvmti) {
		second.compared++;
		walk_again(stack);
	}
	unlock();
	return status;
}

void
__wrap_th_capture_set_java(const struct th_java_provider *given)
{
	if (!given) {
		__real_th_capture_set_java(NULL);
		return;
	}
	real_provider = given;
	provider = *given;
	provider.walk = walk;
	__real_th_capture_set_java(&provider);
}

static __attribute__((destructor)) void
write_counts(void)
{
	const char *path = getenv("WALKS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file,
		"%llu compared, %llu different, %llu refused, %llu not asked, "
		"%llu remembered\n%.*s",
		(unsigned long long)second.compared, (unsigned long long)second.different,
		(unsigned long long)second.refused, (unsigned long long)second.not_asked,
		(unsigned long long)second.remembered, (int)second.length, second.text);
	fclose(file);
}
