/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All code here runs inside malloc, or in a callback of JVMTI for an object.  Of the VM the calling
 * thread's own JavaThread is read, and what java_frames.h reads.
 */
#include "jvmti/stacks/java_stack.h"

#include <string.h>

#include "jvmti/stacks/java_frames.h"
#include "jvmti/names/methods.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/sample/thread.h"
#include "unify/shared/hash.h"

/*
 * This many return addresses, looked for in this many words.  Inlined calls have none: compiled code
 * reaches further back.
 */
#define CALLERS 8
#define WORDS 128

_Static_assert(sizeof(jvmtiFrameInfo) == TH_JAVA_RAW_BYTES, "the recorder provides these");

static struct {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	const struct th_hotspot *hotspot;
	struct th_java_provider starting;
	struct th_java_provider running;
} java;

/* Segments */

/* The frames since the last segment. */
static struct th_java_segment *
add_segment(struct th_java_stack *stack)
{
	uint32_t count = stack->segment_count;
	struct th_java_segment *segment = &stack->segments[stack->segment_count++];

	segment->begin = count ? stack->segments[count - 1].end : 0;
	segment->end = stack->count;
	segment->has_native = false;
	return segment;
}

/* Their caller is native code.  False: there are too many. */
static bool
end_segment(struct th_java_stack *stack, const struct th_registers *native)
{
	if (stack->segment_count == TH_JAVA_SEGMENTS_MAX - 1)
		return false;
	struct th_java_segment *segment = add_segment(stack);
	segment->has_native = true;
	segment->native = *native;
	return true;
}

/* Frames */

enum end {
	END_UNKNOWN, /* a frame that cannot be walked */
	END_BASE,
	END_FULL,
	END_VIRTUAL, /* of the frames of a virtual thread */
};

/*
 * A list of frames as it grows.  The frames below those of a virtual thread, and those of the carrier
 * thread, carry no information about the program, and end it.
 */
struct frames {
	struct th_java_stack *stack;
	uint32_t own; /* index after the last frame that certainly belongs to the thread */
	enum end end;
};

/* False: the list has ended. */
static bool
add_frame(struct frames *frames, uint64_t word)
{
	struct th_java_stack *stack = frames->stack;
	enum th_method_mount mount = th_methods_mount(th_frame_method(word));

	if (mount == TH_MOUNT_BASE) {
		stack->count = frames->own;
		frames->end = END_VIRTUAL;
		return false;
	}
	if (stack->count == stack->capacity) {
		frames->end = END_FULL;
		return false;
	}
	if (!th_frame_method(word))
		th_log_count(TH_COUNTER_METHODS_NAMELESS, 1);
	stack->frames[stack->count++] = word;
	if (mount == TH_MOUNT_NONE)
		frames->own = stack->count;
	return true;
}

static bool
add_methods(struct frames *frames, const struct th_frame_walk *walk)
{
	uint64_t words[TH_FRAME_METHODS_MAX];
	uint32_t count = th_frame_walk_methods(walk, words);

	for (uint32_t i = 0; i < count; i++)
		if (!add_frame(frames, words[i]))
			return false;
	return count > 0;
}

/* The state of the calling thread. */
struct position {
	JNIEnv *env;
	char *thread; /* JavaThread */
	int32_t state;
	uintptr_t sp; /* of the youngest Java frame; 0 = none */
};

/* Fills the stack; frames after its last segment are of one that has not ended. */
static enum end
walk_frames(struct th_java_stack *stack, const struct position *position,
	const struct th_java_frame *top)
{
	struct frames frames = {.stack = stack, .end = END_UNKNOWN};
	enum th_frame_step step = TH_STEP_FRAME;
	struct th_frame_walk walk;
	struct th_registers native;

	if (!th_frame_walk_begin(&walk, position->thread, top))
		return END_UNKNOWN;
	while (step != TH_STEP_END) {
		if (!add_methods(&frames, &walk))
			return frames.end;
		step = th_frame_walk_next(&walk, &native);
		if (step == TH_STEP_UNKNOWN ||
			(step != TH_STEP_FRAME && !end_segment(stack, &native)))
			return END_UNKNOWN;
	}
	return END_BASE;
}

/* A virtual thread's stack ends with a marker instead of the carrier's native frames. */
static void
end_virtual_thread(struct th_java_stack *stack)
{
	if (stack->count == stack->capacity) {
		stack->flags |= TH_STACK_TRUNCATED;
		return;
	}
	stack->frames[stack->count++] = th_frame_marker(TH_MARKER_VIRTUAL_THREAD);
}

/* The frames that are in no segment yet are the last one. */
static void
finish(struct th_java_stack *stack, enum end end)
{
	if (end == END_VIRTUAL)
		end_virtual_thread(stack);
	if (end == END_FULL || end == END_UNKNOWN)
		stack->flags |= TH_STACK_TRUNCATED;
	if (end != END_BASE)
		add_segment(stack);
}

/* The VM's own walk, in a callback */

/* Whether the frame `index` of the own walk, if it has one, is `word`. */
static bool
is_walked(const struct th_java_stack *stack, uint32_t walked, uint32_t index, uint64_t word)
{
	return index >= walked || stack->frames[index] == word;
}

static uint64_t
word_of(JNIEnv *env, const jvmtiFrameInfo *info)
{
	uint32_t id = th_methods_id_of(java.jvmti, env, info->method);

	return th_frame_java(id, info->location < 0 ? TH_BCI_NATIVE : (uint32_t)info->location);
}

/*
 * All frames by GetStackTrace.  The segments that the own walk has found hold for the frames that both
 * have.
 */
static enum th_java_status
ask_vm(struct th_java_stack *stack, const struct position *position)
{
	const uint32_t walked = stack->count;
	jvmtiFrameInfo *infos = stack->raw;
	struct frames frames = {.stack = stack, .end = END_BASE};
	jint count;

	th_log_count(TH_COUNTER_JAVA_WALKS_ASKED, 1);
	if ((*java.jvmti)
			->GetStackTrace(
				java.jvmti, NULL, 0, (jint)stack->capacity, infos, &count))
		return TH_JAVA_FAILED;
	bool is_same = true;
	stack->count = 0;
	for (jint i = 0; i < count; i++) {
		uint64_t word = word_of(position->env, &infos[i]);

		is_same &= is_walked(stack, walked, (uint32_t)i, word);
		if (!add_frame(&frames, word))
			break;
	}
	if (!is_same || stack->count < walked)
		stack->segment_count = 0;
	if (!stack->count && frames.end != END_VIRTUAL)
		return TH_JAVA_NONE;
	if (stack->count == stack->capacity)
		frames.end = END_FULL;
	finish(stack, frames.end == END_BASE ? END_UNKNOWN : frames.end);
	return TH_JAVA_FOUND;
}

/* The walk */

static bool
find_position(struct position *ret)
{
	const struct th_hotspot *hotspot = java.hotspot;

	if ((*java.vm)->GetEnv(java.vm, (void **)&ret->env, JNI_VERSION_1_6) != JNI_OK)
		return false;
	ret->thread = th_hotspot_thread(hotspot, ret->env);
	ret->state = th_hotspot_state(hotspot, ret->thread);
	ret->sp = th_field_at((uintptr_t)ret->thread, hotspot->last_java_sp);
	return true;
}

/*
 * Where the walk cannot go on: at frames of a virtual thread that are still in the heap, a stub of an
 * upcall, a frame that is being deoptimized.  Inside malloc the frames until there are used.
 */
static enum th_java_status
walk_from(struct th_java_stack *stack, const struct position *position,
	const struct th_java_frame *top)
{
	enum end end = walk_frames(stack, position, top);

	if (end == END_UNKNOWN && stack->heap == TH_HEAP_JAVA)
		return ask_vm(stack, position);
	if (end == END_UNKNOWN && stack->count &&
		th_hotspot_is_virtual(java.hotspot, (uintptr_t)position->thread))
		end = END_VIRTUAL;
	if (end == END_UNKNOWN)
		th_log_count(TH_COUNTER_JAVA_WALKS_CUT, 1);
	if (!stack->count && end != END_VIRTUAL)
		return TH_JAVA_FAILED;
	finish(stack, end);
	return TH_JAVA_FOUND;
}

/* In the state of Java code the VM has no anchor. */
static enum th_java_status
walk_in_java(struct th_java_stack *stack, const struct position *position)
{
	struct th_java_frame top;

	if (position->sp || !th_critical_downcall_caller(java.hotspot, &stack->top, &top))
		return TH_JAVA_IN_JAVA;
	return walk_from(stack, position, &top);
}

static enum th_java_status
walk(struct th_java_stack *stack)
{
	const struct th_hotspot *hotspot = java.hotspot;
	struct position position;

	if (!find_position(&position))
		return TH_JAVA_NONE;
	if (position.state == hotspot->state_in_java)
		return walk_in_java(stack, &position);
	if (!th_hotspot_is_state(hotspot->walkable_states, position.state))
		return TH_JAVA_FAILED;
	if (!position.sp)
		return TH_JAVA_NONE;
	return walk_from(stack, &position, NULL);
}

/*
 * Keys of Java code that allocates (stack_memo.h), read from the stack without the VM: return addresses
 * in compiled code, method and bytecode of interpreted frames, and the depth
 */

static struct {
	uintptr_t interpreter;       /* its code */
	uintptr_t interpreter_bytes; /* 0: unknown, and there are no keys of stacks */
} keys;

static bool
is_interpreter(uintptr_t pc)
{
	return pc - keys.interpreter < keys.interpreter_bytes;
}

/*
 * A hash of what determines the frame to which the word at `at` returns: an interpreted frame's
 * pointer is stored below it.
 */
static uint64_t
frame_key(uintptr_t at, uintptr_t sp, uintptr_t base)
{
	uintptr_t pc = th_word_at(at);
	uint64_t key = 0;

	if (is_interpreter(pc) && at > sp)
		key = th_java_frames_interpreted(th_word_at(at - sizeof(uintptr_t)), sp, base);
	return key ? key : pc;
}

/*
 * Adds the return addresses of the youngest frames, among the words above their stack pointer.  Other
 * words of the stack may look like one, and make two keys of one.
 */
static uint64_t
add_callers(uint64_t key, uintptr_t sp, uintptr_t base)
{
	uintptr_t words = (base - sp) / sizeof(uintptr_t);
	unsigned found = 0;

	for (unsigned i = 0; i < WORDS && i < words && found < CALLERS; i++) {
		uintptr_t at = sp + i * sizeof(uintptr_t);

		if (!th_hotspot_is_code(java.hotspot, th_word_at(at)))
			continue;
		key = th_hash_mix(key ^ frame_key(at, sp, base));
		found++;
	}
	return key;
}

/*
 * The youngest frame; 0: unknown.  The older frames of a virtual thread may not be on the stack, so
 * that its keys would tell too little.
 */
static uint64_t
leaf_key(uintptr_t thread, uintptr_t sp, uintptr_t base)
{
	const struct th_hotspot *hotspot = java.hotspot;

	if (!keys.interpreter_bytes || th_hotspot_is_virtual(hotspot, thread))
		return 0;
	uintptr_t pc = th_field_at(thread, hotspot->last_java_pc);
	if (!pc)
		pc = th_word_at(sp - sizeof(uintptr_t));
	return is_interpreter(pc)
		       ? th_java_frames_interpreted(
				 th_field_at(thread, hotspot->last_java_fp), sp, base)
		       : pc;
}

/*
 * The key of the youngest Java code below native code of the calling thread; TH_NO_JAVA_CODE if it has none,
 * 0 if it is not known.
 */
static uint64_t
key_of_callers(const char *java_thread)
{
	const struct th_hotspot *hotspot = java.hotspot;
	uintptr_t thread = (uintptr_t)java_thread;
	uintptr_t sp = th_field_at(thread, hotspot->last_java_sp);
	uintptr_t base = th_field_at(thread, hotspot->stack_base);

	/* Java code that called C directly (stub_frames.h) has no anchor. */
	if (!sp && th_hotspot_state(hotspot, java_thread) != hotspot->state_in_java)
		return TH_NO_JAVA_CODE;
	if (!sp || sp & 7 || sp >= base)
		return 0;
	uint64_t leaf = leaf_key(thread, sp, base);
	return leaf ? add_callers(leaf ^ (base - sp), sp, base) : 0;
}

/* The depth tells allocations of Java code from those of native functions that it calls. */
uint64_t
th_java_key_of_object(const char *thread)
{
	uint64_t key = java.running.key ? key_of_callers(thread) : 0;

	if (!key)
		return 0;
	return th_hash_mix(key ^ (th_field_at((uintptr_t)thread, java.hotspot->stack_base) -
					 (uintptr_t)__builtin_frame_address(0)));
}

/* The provider */

/*
 * The thread's JavaThread, NULL if unknown: by its record, since GetEnv() may be the first use of
 * libjvm's thread-local storage by a thread, which allocates, and takes the loader's lock.
 */
static const char *
own_thread(void)
{
	const struct th_thread_record *record = th_thread.record;

	return record ? th_load_relaxed(&record->java_thread) : NULL;
}

static uint64_t
key(void)
{
	const char *thread = own_thread();

	return thread ? key_of_callers(thread) : TH_NO_JAVA_CODE;
}

/* The VM knows the stack of each of its threads; guard pages are at the other end. */
static uintptr_t
stack_end(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const char *thread = own_thread();

	if (!thread)
		return 0;
	uintptr_t base = th_field_at((uintptr_t)thread, java.hotspot->stack_base);

	return here < base && base - here <
				       th_field_at((uintptr_t)thread, java.hotspot->stack_size)
		       ? base
		       : 0;
}

static enum th_java_status
refuse(struct th_java_stack *stack)
{
	(void)stack;
	return TH_JAVA_STARTING;
}

void
th_java_stack_expect(const struct th_hotspot *hotspot)
{
	java.hotspot = hotspot;
	java.starting.code_low = hotspot->code_low;
	java.starting.code_high = hotspot->code_high;
	java.starting.walk = refuse;
	if (hotspot->code_low && hotspot->code_high)
		th_capture_set_java(&java.starting);
}

bool
th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti)
{
	bool has_frames = th_hotspot_has_java_frames(java.hotspot);

	if (!th_hotspot_has_frames(java.hotspot))
		return false;
	java.vm = vm;
	java.jvmti = jvmti;
	th_java_frames_start(java.hotspot, th_perf_data_long("java.cls.unloadedClasses"));
	java.running = java.starting;
	java.running.walk = walk;
	if (has_frames) {
		th_hotspot_interpreter(
			java.hotspot, &keys.interpreter, &keys.interpreter_bytes);
		java.running.key = key;
		java.running.stack_end = stack_end;
	}
	th_capture_set_java(&java.running);
	return has_frames;
}
