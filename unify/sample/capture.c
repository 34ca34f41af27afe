/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures work in scratch memory from a small pool, not on the caller's stack: a sample may be
 * due on a 32 KiB stack or on a signal stack.
 */
#include "unify/sample/capture.h"

#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/stack_log.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/thread.h"
#include "unify/shared/hash.h"
#include "unify/unwind/callers.h"

/* Maximum number of concurrent captures; samples of further threads are dropped. */
#define SCRATCH_COUNT 64
struct scratch {
	unsigned char busy; /* atomic */
	struct th_registers registers;
	uint64_t *frames; /* capture.depth of them */
	struct th_java_stack java;
};

struct stack {
	uint32_t count;
	uint32_t flags;
};

static struct {
	uint32_t depth;                         /* maximum frames of a stack */
	struct scratch *scratch[SCRATCH_COUNT]; /* atomic; NULL: not allocated yet */
	const struct th_java_provider *java;    /* atomic */
	th_unwind_function *unwinder;           /* written before captures begin */
} capture = {.unwinder = th_unwind};

/* Scratch */

static size_t
scratch_bytes(void)
{
	return sizeof(struct scratch) +
	       (2 * sizeof(uint64_t) + TH_JAVA_RAW_BYTES) * (size_t)capture.depth;
}

/* Sets the pointers of a buffer to its parts, which follow it; the same values each time. */
static void
lay_out(struct scratch *scratch)
{
	scratch->frames = (uint64_t *)(void *)(scratch + 1);
	scratch->java.frames = scratch->frames + capture.depth;
	scratch->java.raw = scratch->java.frames + capture.depth;
	scratch->java.capacity = capture.depth;
}

static struct scratch *
take_scratch(uint32_t hint)
{
	for (unsigned i = 0; capture.depth && i < SCRATCH_COUNT; i++) {
		/* Read once: a handler that forks here leaves the child without any. */
		struct scratch *scratch = th_memory_map_once(
			&capture.scratch[(hint + i) % SCRATCH_COUNT], scratch_bytes());

		if (!scratch || th_load_relaxed(&scratch->busy) ||
			th_exchange_acquire(&scratch->busy, 1))
			continue;
		lay_out(scratch);
		return scratch;
	}
	th_log_count(TH_COUNTER_DROPPED_NO_SCRATCH, 1);
	return NULL;
}

static void
give_scratch(struct scratch *scratch)
{
	th_store_release(&scratch->busy, 0);
}

/* The stack */

/* Walks one native segment and appends it; returns the end of the walk. */
static enum th_unwind_end
add_native(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, struct stack *stack)
{
	enum th_unwind_end end;

	stack->count += (uint32_t)capture.unwinder(
		registers, limits, frames + stack->count, capture.depth - stack->count, &end);
	if (end == TH_UNWIND_FULL)
		stack->flags |= TH_STACK_TRUNCATED;
	if (end == TH_UNWIND_STOPPED) {
		stack->flags |= TH_STACK_NATIVE_CUT;
		th_log_count(TH_COUNTER_UNWIND_STOPPED, 1);
	}
	return end;
}

/* False: the stack is full. */
static bool
add_java(const struct th_java_stack *java, const struct th_java_segment *segment,
	uint64_t *frames, struct stack *stack)
{
	uint32_t count = segment->end - segment->begin;
	uint32_t room = capture.depth - stack->count;
	bool fits = count <= room;

	if (!fits) {
		count = room;
		stack->flags |= TH_STACK_TRUNCATED;
	}
	memcpy(frames + stack->count, java->frames + segment->begin, count * sizeof(*frames));
	stack->count += count;
	return fits;
}

/* Appends Java and older native segments to the youngest native one. */
static void
add_segments(
	const struct th_unwind_limits *limits, struct scratch *scratch, struct stack *stack)
{
	struct th_java_stack *java = &scratch->java;

	for (uint32_t i = 0; i < java->segment_count; i++) {
		struct th_java_segment *segment = &java->segments[i];

		if (!add_java(java, segment, scratch->frames, stack))
			return;
		if (segment->has_native)
			add_native(&segment->native, limits, scratch->frames, stack);
	}
	stack->flags |= java->flags;
}

static void
count_java(enum th_java_status status)
{
	static const enum th_log_counter counters[] = {
		[TH_JAVA_IN_JAVA] = TH_COUNTER_JAVA_STACK_IN_JAVA,
		[TH_JAVA_FAILED] = TH_COUNTER_JAVA_STACK_FAILED,
		[TH_JAVA_STARTING] = TH_COUNTER_JAVA_STACK_STARTING,
		[TH_JAVA_FOUND] = TH_COUNTER_JAVA_STACK_FOUND,
	};

	if (status != TH_JAVA_STARTING)
		th_log_count(TH_COUNTER_JAVA_STACK_BELOW, 1);
	th_log_count(counters[status], 1);
}

/*
 * Appends the Java frames below a native walk that ended at `end`.  If it reached compiled code
 * there are some; if it stopped early there may be some.
 */
static void
add_below(const struct th_java_provider *provider, const struct th_unwind_limits *limits,
	enum th_unwind_end end, struct scratch *scratch, struct stack *stack)
{
	struct th_java_stack *java = &scratch->java;
	enum th_java_status status;

	java->count = 0;
	java->flags = 0;
	java->segment_count = 0;
	java->top = scratch->registers;
	if (end != TH_UNWIND_CODE)
		java->top.pc = 0;
	status = provider->walk(java);
	if (end == TH_UNWIND_CODE && status == TH_JAVA_NONE)
		status = TH_JAVA_FAILED;
	if (end != TH_UNWIND_CODE && status == TH_JAVA_STARTING)
		status = TH_JAVA_NONE;
	if (status == TH_JAVA_FOUND)
		add_segments(limits, scratch, stack);
	else if (status != TH_JAVA_NONE)
		stack->flags |= TH_STACK_NO_JAVA;
	if (java->heap != TH_HEAP_JAVA && status != TH_JAVA_NONE)
		count_java(status);
}

static struct th_unwind_limits
get_limits(const struct th_java_provider *provider)
{
	struct th_unwind_limits limits = {0, 0, 0};

	if (provider) {
		limits.code_low = *provider->code_low;
		limits.code_high = *provider->code_high;
		if (provider->stack_end)
			limits.stack_end = provider->stack_end();
	}
	return limits;
}

/*
 * The whole stack of the calling thread; a walk that reached the base has no Java frames below.
 */
static struct stack
walk(struct scratch *scratch, enum th_heap heap)
{
	const struct th_java_provider *provider = th_load_acquire(&capture.java);
	struct th_unwind_limits limits = get_limits(provider);
	struct stack stack = {0, 0};
	enum th_unwind_end end;

	end = add_native(&scratch->registers, &limits, scratch->frames, &stack);
	if (provider && (end == TH_UNWIND_CODE || end == TH_UNWIND_STOPPED)) {
		scratch->java.heap = heap;
		add_below(provider, &limits, end, scratch, &stack);
	}
	return stack;
}

struct th_captured_stack
th_capture_stack(const struct th_registers *registers, uint32_t thread, enum th_heap heap)
{
	struct scratch *scratch = take_scratch(thread);
	struct th_captured_stack captured = {.id = 0};

	if (!scratch)
		return captured;
	scratch->registers = *registers;
	struct stack stack = walk(scratch, heap);
	captured.id = th_stack_log_id(scratch->frames, stack.count, stack.flags, &captured.use);
	captured.is_whole = !(stack.flags & TH_STACK_NO_JAVA);
	give_scratch(scratch);
	return captured;
}

/* Of a stack, where it begins; else the stack pointer, with the thread. */
static uint64_t
depth(const struct th_registers *registers, const struct th_unwind_limits *limits)
{
	const struct th_thread_record *record = th_thread.record;

	if (limits->stack_end)
		return limits->stack_end - registers->sp;
	return registers->sp ^ (record ? th_hash_mix(record->id) : 0);
}

uint64_t
th_capture_key(const struct th_registers *registers)
{
	const struct th_java_provider *provider = th_load_acquire(&capture.java);
	struct th_unwind_limits limits = get_limits(provider);
	uintptr_t callers[TH_CALLERS_MAX];
	uint64_t key = depth(registers, &limits);
	uint64_t java = TH_NO_JAVA_CODE;

	size_t count = th_unwind_callers(registers, &limits, key, callers);
	if (provider && provider->key)
		java = provider->key();
	for (size_t i = 0; i < count; i++)
		key = th_hash_mix(key ^ callers[i]);
	return java ? th_hash_mix(key ^ java) : 0;
}

uint32_t
th_capture_caller(uintptr_t caller)
{
	struct th_module *module = th_module_find(caller);
	uint64_t frame = module ? th_frame_native(module->id, caller - 1 - module->bias)
				: th_frame_native(0, caller - 1);
	uint32_t *use;

	return th_stack_log_id(&frame, 1, 0, &use);
}

/* Start and reset */

void
th_capture_start(uint32_t depth)
{
	capture.depth = depth;
}

void
th_capture_set_unwinder(th_unwind_function *unwinder)
{
	capture.unwinder = unwinder;
}

void
th_capture_set_java(const struct th_java_provider *provider)
{
	__atomic_store_n(&capture.java, provider, __ATOMIC_SEQ_CST);
	if (!provider)
		th_in_flight_drain();
}

void
th_capture_reset(void)
{
	capture.java = NULL;
	capture.unwinder = th_unwind;
	th_unwind_callers_reset();
	for (unsigned i = 0; i < SCRATCH_COUNT; i++)
		capture.scratch[i] = NULL;
}
