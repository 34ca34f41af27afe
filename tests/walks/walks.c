/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks Java stacks twice: as the library does, and by the VM, with GetStackTrace for a sampled object and
 * with AsyncGetCallTrace inside malloc.  The linker redirects the functions through which the library gets
 * its frames (ld --wrap).
 *
 * AsyncGetCallTrace fails or ends early at many frames, and knows methods only that have a jmethodID: what it
 * returns must be the youngest frames of the library's.
 *
 * At the end of the process the file named by the variable WALKS gets the counts, and the first stacks that
 * differ, as methods and bytecode indexes, leaf first.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvmti/stacks/java_frames.h"
#include "jvmti/stacks/java_stack.h"
#include "jvmti/names/methods.h"
#include "unify/base/atomic.h"

#define CAPACITY 4096
#define TEXT_BYTES 65536
/* forte.cpp: bytecode index of a native method. */
#define BCI_NATIVE_METHOD (-3)

struct call_frame {
	jint bci;
	uintptr_t *method; /* jmethodID: up to 25 the address of a Method* */
};

struct trace {
	JNIEnv *env;
	jint count;
	struct call_frame *frames;
};

typedef void async_function(struct trace *trace, jint depth, void *context);

bool __real_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti);
bool __wrap_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti);
void __real_th_java_frames_start(const struct th_hotspot *hotspot, const int64_t *unloaded);
void __wrap_th_java_frames_start(const struct th_hotspot *hotspot, const int64_t *unloaded);
bool __real_th_frame_walk_begin(
	struct th_frame_walk *walk, const char *thread, const struct th_java_frame *top);
bool __wrap_th_frame_walk_begin(
	struct th_frame_walk *walk, const char *thread, const struct th_java_frame *top);
uint32_t __real_th_methods_id_of(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method);
uint32_t __wrap_th_methods_id_of(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method);
void __real_th_capture_set_java(const struct th_java_provider *given);
void __wrap_th_capture_set_java(const struct th_java_provider *given);

static async_function *async;
static JavaVM *machine;
static const struct th_hotspot *hotspot;
static const struct th_java_provider *real_provider;
static struct th_java_provider provider;
static __thread bool refuses;
static __thread bool used_vm;

/* The second walk, and what was found; under the lock. */
static struct {
	uint32_t lock; /* atomic */
	struct th_java_stack stack;
	uint64_t frames[CAPACITY];
	char raw[CAPACITY * TH_JAVA_RAW_BYTES];
	uint64_t compared; /* objects */
	uint64_t different;
	uint64_t asked; /* first walks by GetStackTrace, equal in any case */
	uint64_t cut;   /* native samples whose walk ended early */
	uint64_t native_compared;
	uint64_t native_different;
	uint64_t native_failed; /* AsyncGetCallTrace gave nothing */
	uint64_t native_shorter;
	size_t length;
	char text[TEXT_BYTES];
} second;

static bool
try_lock(void)
{
	return !__atomic_exchange_n(&second.lock, 1, __ATOMIC_ACQUIRE);
}

static void
lock(void)
{
	while (!try_lock())
		sched_yield();
}

static void
unlock(void)
{
	__atomic_store_n(&second.lock, 0, __ATOMIC_RELEASE);
}

/* The library's functions */

/* Called for the frames of GetStackTrace only. */
uint32_t
__wrap_th_methods_id_of(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method)
{
	used_vm = true;
	return __real_th_methods_id_of(jvmti, env, method);
}

static void
find_async(void)
{
	void *library = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
	void *found = library ? dlsym(library, "AsyncGetCallTrace") : NULL;

	memcpy(&async, &found, sizeof(found));
}

bool
__wrap_th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti)
{
	machine = vm;
	find_async();
	return __real_th_java_stack_start(vm, jvmti);
}

void
__wrap_th_java_frames_start(const struct th_hotspot *given, const int64_t *unloaded)
{
	hotspot = given;
	__real_th_java_frames_start(given, unloaded);
}

bool
__wrap_th_frame_walk_begin(
	struct th_frame_walk *walk, const char *thread, const struct th_java_frame *top)
{
	return !refuses && __real_th_frame_walk_begin(walk, thread, top);
}

/* Comparison */

static void
print_stack(const char *title, const uint64_t *frames, uint32_t count)
{
	if (second.length + (count + 8) * 32 > sizeof(second.text))
		return;
	second.length += (size_t)sprintf(
		second.text + second.length, "%s: %u frames:", title, count);
	for (uint32_t i = 0; i < count; i++)
		second.length += (size_t)sprintf(
			second.text + second.length, " %llx", (unsigned long long)frames[i]);
	second.text[second.length++] = '\n';
}

/* A method has no id where another thread was about to name one. */
static bool
is_same_word(uint64_t a, uint64_t b)
{
	if (th_frame_kind(a) != TH_FRAME_JAVA || (th_frame_method(a) && th_frame_method(b)))
		return a == b;
	return th_frame_kind(b) == TH_FRAME_JAVA && th_frame_bci(a) == th_frame_bci(b);
}

/* All frames; the segments are those of the first walk only. */
static void
compare(const struct th_java_stack *first)
{
	const struct th_java_stack *other = &second.stack;

	bool is_same = first->count == other->count;

	second.compared++;
	for (uint32_t i = 0; is_same && i < first->count; i++)
		is_same = is_same_word(first->frames[i], other->frames[i]);
	if (is_same)
		return;
	second.different++;
	print_stack("own walk", first->frames, first->count);
	print_stack("GetStackTrace", other->frames, other->count);
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

/* AsyncGetCallTrace does not always know the bytecode; then, and without a jmethodID, it is as in `like`. */
static uint64_t
word_of(const struct call_frame *frame, uint64_t like)
{
	uint32_t bci = frame->bci == BCI_NATIVE_METHOD ? TH_BCI_NATIVE : (uint32_t)frame->bci;
	struct th_vm_method method;

	if (frame->bci < 0 && frame->bci != BCI_NATIVE_METHOD)
		bci = th_frame_bci(like);
	if (!frame->method || !th_vm_method_read(hotspot, *frame->method, &method))
		return th_frame_java(th_frame_method(like), bci);
	return th_frame_java(th_methods_id(hotspot, &method), bci);
}

/* Whether the frames of the trace from `skipped` on are those of the first walk from `own` on. */
static bool
is_same_from(const struct th_java_stack *first, uint32_t own, const struct trace *trace,
	uint32_t skipped)
{
	uint32_t count = (uint32_t)trace->count;
	uint32_t i = skipped;

	for (; i < count && own < first->count; i++, own++) {
		if (th_frame_kind(first->frames[own]) != TH_FRAME_JAVA)
			break;
		if (!is_same_word(
			    word_of(&trace->frames[i], first->frames[own]), first->frames[own]))
			return false;
	}
	/* Of a virtual thread there may be none. */
	return i > skipped || th_frame_kind(first->frames[own]) != TH_FRAME_JAVA;
}

/* The methods of the youngest frame on the stack. */
static uint32_t
count_youngest(const char *thread)
{
	uint64_t words[TH_FRAME_METHODS_MAX];
	struct th_frame_walk youngest;

	return __real_th_frame_walk_begin(&youngest, thread, NULL)
		       ? th_frame_walk_methods(&youngest, words)
		       : 0;
}

/*
 * AsyncGetCallTrace may describe another call of the youngest compiled method
 * (is_decipherable_compiled_frame()), with other inlined methods, and end there.
 */
static bool
is_same_below_youngest(
	const struct th_java_stack *first, const struct trace *trace, const char *thread)
{
	uint32_t own = count_youngest(thread);

	if ((uint32_t)trace->count <= own)
		return true;
	for (uint32_t skipped = 1; own && skipped < (uint32_t)trace->count; skipped++)
		if (is_same_from(first, own, trace, skipped))
			return true;
	return false;
}

static void
compare_native(const struct th_java_stack *first, const struct trace *trace, const char *thread)
{
	uint32_t count = (uint32_t)trace->count;

	second.native_compared++;
	second.native_shorter += count < first->count;
	if (is_same_from(first, 0, trace, 0) || is_same_below_youngest(first, trace, thread))
		return;
	second.native_different++;
	for (uint32_t i = 0; i < count; i++)
		second.frames[i] = word_of(&trace->frames[i], 0);
	print_stack("own walk", first->frames, first->count);
	print_stack("AsyncGetCallTrace", second.frames, count);
}

/* The VM fills in the pc of the anchor only when it needs it, and AsyncGetCallTrace fails without. */
static void
ask_async(const struct th_java_stack *first, JNIEnv *env)
{
	struct trace trace = {env, 0, (struct call_frame *)(void *)second.raw};
	char *thread = th_hotspot_thread(hotspot, env);
	uintptr_t sp = th_field_at((uintptr_t)thread, hotspot->last_java_sp);
	uintptr_t *pc = (uintptr_t *)(void *)(thread + hotspot->last_java_pc);
	bool is_missing = !*pc && sp &&
			  th_hotspot_state(hotspot, thread) != hotspot->state_in_native;

	if (is_missing)
		*pc = th_word_at(sp - sizeof(uintptr_t));
	async(&trace, (jint)(first->capacity < CAPACITY ? first->capacity : CAPACITY), NULL);
	if (is_missing)
		*pc = 0;
	if (trace.count > 0)
		compare_native(first, &trace, thread);
	else
		second.native_failed++;
}

/* A walk that failed has no frames to compare, as in the middle of the switch to a virtual thread. */
static void
check_native(const struct th_java_stack *first, enum th_java_status status)
{
	JNIEnv *env;

	second.cut += status == TH_JAVA_FAILED ||
		      (status == TH_JAVA_FOUND && first->flags & TH_STACK_TRUNCATED);
	if (status == TH_JAVA_FOUND && async &&
		(*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_6) == JNI_OK)
		ask_async(first, env);
}

static enum th_java_status
walk(struct th_java_stack *stack)
{
	enum th_java_status status;

	used_vm = false;
	status = real_provider->walk(stack);
	if (stack->heap != TH_HEAP_JAVA) {
		/* GetStackTrace may wait for a safepoint, which waits for threads inside the VM. */
		if (try_lock()) {
			check_native(stack, status);
			unlock();
		}
	} else if (status == TH_JAVA_FOUND) {
		lock();
		second.asked += used_vm;
		if (!used_vm)
			walk_again(stack);
		unlock();
	}
	return status;
}

void
__wrap_th_capture_set_java(const struct th_java_provider *given)
{
	if (!given || !hotspot) {
		__real_th_capture_set_java(given);
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
		"%llu compared, %llu different, %llu asked; native: %llu compared, "
		"%llu different, %llu failed, %llu shorter, %llu cut\n%.*s",
		(unsigned long long)second.compared, (unsigned long long)second.different,
		(unsigned long long)second.asked, (unsigned long long)second.native_compared,
		(unsigned long long)second.native_different,
		(unsigned long long)second.native_failed,
		(unsigned long long)second.native_shorter, (unsigned long long)second.cut,
		(int)second.length, second.text);
	fclose(file);
}
