/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All code here runs inside malloc.  Only VM memory whose bounds the VM exports is read: the
 * calling thread's own JavaThread, and its own stack between the anchor and the base.
 */
#include "jvmti/java_stack.h"

#include <string.h>

#include "jvmti/critical_downcall.h"
#include "jvmti/frame_memo.h"
#include "jvmti/java_site.h"
#include "jvmti/method_ids.h"
#include "jvmti/methods.h"
#include "jvmti/perf_data.h"
#include "jvmti/runtime_stub.h"
#include "jvmti/vm_words.h"
#include "unify/base/atomic.h"
#include "unify/sample/thread.h"

/* forte.cpp: bytecode index of a native method. */
#define BCI_NATIVE_METHOD (-3)
/* forte.cpp: the VM refuses because a collection is active. */
#define TRACE_GC_ACTIVE (-2)
/* forte.cpp: no Java frame was found from the anchor on, outside of Java code. */
#define TRACE_NOT_WALKABLE (-4)
#define FIRST_WITH_VIRTUAL_THREADS 19
/*
 * Words of Java stack searched for call stub frames in one capture: 512 KiB, more than the
 * deepest stack that is kept.
 */
#define SCAN_WORDS 65536
typedef struct th_call_frame call_frame;

typedef struct {
	JNIEnv *env;
	jint count;
	call_frame *frames;
} call_trace;

_Static_assert(
	sizeof(call_frame) == TH_JAVA_RAW_BYTES && sizeof(jvmtiFrameInfo) == TH_JAVA_RAW_BYTES,
	"the recorder provides these");

typedef void async_get_call_trace(call_trace *trace, jint depth, void *context);

static struct {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	const struct th_hotspot *hotspot;
	async_get_call_trace *get_trace;
	bool has_method_ids; /* the callee of an entry frame can be found among the frames */
	bool has_virtual_threads;
	struct th_java_provider starting;
	struct th_java_provider running;
} java;

/* Reading the stack */

/* A walk from one call stub frame to the next older one. */
struct seams {
	char *thread;    /* JavaThread */
	uintptr_t sp;    /* of the youngest Java frame of the current segment; 0 = no more */
	uintptr_t base;  /* of the thread's stack */
	uint32_t budget; /* words that may still be searched */
	bool is_whole;   /* the method called by the oldest call stub was the last frame */
};

/* A call stub frame: the bottom of a Java segment. */
struct entry_frame {
	uintptr_t fp;
	uintptr_t callee;   /* Method* that was called */
	uintptr_t older_sp; /* youngest Java frame of the next older segment; 0 = none */
};

static bool
on_stack(const struct seams *seams, uintptr_t address, uintptr_t above)
{
	return th_has_bytes_at(address, 512, above + 1, seams->base);
}

/*
 * Whether the word at `slot` is the return address of a Java method into the call stub.  A
 * stale copy in an unused spill slot is accepted only with a whole stale frame around it: the
 * saved frame pointer below, the wrapper with this thread in it, and an older anchor beyond.
 */
static bool
read_entry_frame(const struct seams *seams, uintptr_t slot, struct entry_frame *frame)
{
	const struct th_hotspot *hotspot = java.hotspot;
	uintptr_t fp = th_word_at(slot - sizeof(uintptr_t));

	if (!on_stack(seams, fp, slot))
		return false;
	uintptr_t wrapper = th_word_at(
		fp + (uintptr_t)(hotspot->entry_frame_wrapper * (int64_t)sizeof(uintptr_t)));
	/* javaCalls.hpp: the thread is the wrapper's first field. */
	if (!on_stack(seams, wrapper, fp) || th_word_at(wrapper) != (uintptr_t)seams->thread)
		return false;
	frame->fp = fp;
	frame->callee = th_word_at(wrapper + (uintptr_t)hotspot->wrapper_callee);
	frame->older_sp = th_word_at(wrapper + (uintptr_t)hotspot->wrapper_last_java_sp);
	return !frame->older_sp || on_stack(seams, frame->older_sp, fp);
}

/*
 * Finds the call stub frame below the Java frames from seams->sp on, and advances to the next
 * segment.
 */
static bool
next_entry_frame(struct seams *seams, struct entry_frame *frame)
{
	const uintptr_t wanted = *java.hotspot->call_stub_return;
	const uintptr_t begin = seams->sp;
	uintptr_t end = begin + seams->budget * sizeof(uintptr_t);
	uintptr_t slot;

	if (!begin)
		return false;
	if (end > seams->base)
		end = seams->base;
	for (slot = begin + sizeof(uintptr_t); slot < end; slot += sizeof(uintptr_t))
		if (th_word_at(slot) == wanted && read_entry_frame(seams, slot, frame))
			break;
	seams->budget -= (uint32_t)((slot - begin) / sizeof(uintptr_t));
	if (slot >= end)
		return false;
	seams->sp = frame->older_sp;
	return true;
}

/* The registers of the call stub's caller, C++ code of the VM. */
static void
caller_registers(const struct entry_frame *frame, struct th_registers *registers)
{
	memset(registers, 0, sizeof(*registers));
	registers->pc = th_word_at(frame->fp + sizeof(uintptr_t));
	registers->sp = frame->fp + 2 * sizeof(uintptr_t);
	registers->saved[TH_REGISTER_FRAME_POINTER] = th_word_at(frame->fp);
#if defined(__x86_64__)
	/*
	 * frame_x86.hpp and stubGenerator_x86_64.cpp: registers saved by the call stub for its
	 * caller.
	 */
	registers->saved[TH_REGISTER_RBX] = th_word_at(frame->fp - 7 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R12] = th_word_at(frame->fp - 8 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R13] = th_word_at(frame->fp - 9 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R14] = th_word_at(frame->fp - 10 * sizeof(uintptr_t));
	registers->saved[TH_REGISTER_R15] = th_word_at(frame->fp - 11 * sizeof(uintptr_t));
#endif
}

/* Splitting the list of Java frames */

static bool
is_native_method(const call_frame *frame)
{
	return frame->bci == BCI_NATIVE_METHOD;
}

/*
 * How many of the frames from `begin` to `end` are of this method, and the index of the first;
 * NULL: of a method without an ID.
 */
static uint32_t
count_frames(const call_frame *frames, uint32_t begin, uint32_t end, jmethodID method,
	uint32_t *first_ret)
{
	uint32_t count = 0;

	for (uint32_t i = begin; i < end; i++)
		if (frames[i].method == method && !count++)
			*first_ret = i;
	return count;
}

/* Whether a frame above the last one, from `begin` to `end`, is of the same method. */
static bool
is_recursive(const call_frame *frames, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i + 1 < end; i++)
		if (frames[i].method == frames[end - 1].method)
			return true;
	return false;
}

/*
 * The end of the segment that starts at `begin` and whose bottom method is `callee`: the index
 * after its last frame; 0 if the list of frames ends before it.  A native method is always the
 * top of its segment, so the segment ends at the next native method, or before it if the VM
 * itself called into Java.
 */
static uint32_t
segment_end(const struct th_java_stack *stack, uint32_t begin, uintptr_t callee, bool *guessed)
{
	const call_frame *frames = stack->raw;
	uint32_t next = begin + 1;
	uint32_t candidates;
	uint32_t first = 0;
	jmethodID method;

	while (next < stack->count && !is_native_method(&frames[next]))
		next++;
	if (!java.has_method_ids) {
		*guessed |= next == stack->count;
		return next;
	}
	method = th_method_ids_remembered(callee);
	if ((!method || frames[next - 1].method != method) &&
		!th_method_ids_read(java.hotspot, callee, &method))
		return 0;
	/* The usual case. */
	if (method && frames[next - 1].method == method) {
		*guessed |= next == stack->count && is_recursive(frames, begin, next);
		return next;
	}
	candidates = count_frames(frames, begin, next, method, &first);
	/* An ID that was created after the walk. */
	if (!candidates && method)
		candidates = count_frames(frames, begin, next, NULL, &first);
	if (candidates <= 1)
		return candidates ? first + 1 : 0;
	/* Recursion: the native method decides, if there is one. */
	*guessed |= next == stack->count || frames[next - 1].method != frames[first].method;
	return next;
}

static struct th_java_segment *
add_segment(struct th_java_stack *stack, uint32_t begin, uint32_t end)
{
	struct th_java_segment *segment = &stack->segments[stack->segment_count++];

	segment->begin = begin;
	segment->end = end;
	segment->has_native = false;
	return segment;
}

/*
 * The index of the last frame that begins a segment after another one.  Of a stack deeper than the
 * limit that is the last native method kept: the next boundary may be at the other end of the
 * stack.
 */
static uint32_t
last_boundary(const struct th_java_stack *stack)
{
	const call_frame *frames = stack->raw;
	uint32_t last = stack->count;

	if (!(stack->flags & TH_STACK_TRUNCATED))
		return last;
	while (last > 0 && !is_native_method(&frames[--last]))
		continue;
	return last;
}

/*
 * The VM's walk may stop early (seen on JDK 11 at method handles) or reach the limit.  Frames
 * older than the last one are then missing, and the stack ends there.
 */
static void
cut_segments(struct th_java_stack *stack, struct seams *seams, bool is_virtual)
{
	const uint32_t last = last_boundary(stack);
	struct entry_frame frame;
	uint32_t begin = 0;
	bool guessed = false;

	while (begin < last && stack->segment_count < TH_JAVA_SEGMENTS_MAX - 1 &&
		next_entry_frame(seams, &frame)) {
		uint32_t end = segment_end(stack, begin, frame.callee, &guessed);

		/*
		 * The oldest segment takes the remaining frames; a carrier's frames were
		 * removed.
		 */
		seams->is_whole = !frame.older_sp && end == stack->count;
		if (!frame.older_sp && (is_virtual || end))
			end = stack->count;
		if (!end)
			break;
		struct th_java_segment *segment = add_segment(stack, begin, end);
		segment->has_native = true;
		caller_registers(&frame, &segment->native);
		begin = end;
	}
	if (begin < stack->count) {
		add_segment(stack, begin, stack->count);
		stack->flags |= TH_STACK_TRUNCATED;
	}
	if (guessed)
		stack->flags |= TH_STACK_SEAM_GUESSED;
}

/* The walk */

static uint32_t
bci_of(const call_frame *frame)
{
	if (is_native_method(frame))
		return TH_BCI_NATIVE;
	return frame->bci < 0 ? TH_BCI_UNKNOWN : (uint32_t)frame->bci;
}

/*
 * Writes the frame words, up to the end of a virtual thread's own frames.  The frames below
 * (and, inside malloc, those of the carrier thread) carry no information about the program and
 * differ between the two walks.  True: the end of a virtual thread's frames was found.
 */
static bool
translate(struct th_java_stack *stack)
{
	const call_frame *frames = stack->raw;
	uint32_t own = 0; /* index after the last frame that certainly belongs to the thread */

	for (uint32_t i = 0; i < stack->count; i++)
		th_methods_prefetch(frames[i].method);
	for (uint32_t i = 0; i < stack->count; i++) {
		uint32_t bci = bci_of(&frames[i]);
		uint32_t method = th_methods_id(frames[i].method);
		enum th_method_mount mount = th_methods_mount(method);

		if (mount == TH_MOUNT_BASE) {
			stack->count = own;
			return true;
		}
		if (mount == TH_MOUNT_NONE)
			own = i + 1;
		stack->frames[i] = th_frame_java(method, bci);
	}
	return false;
}

/* A virtual thread's stack ends with a marker instead of the carrier's native frames. */
static void
end_virtual_thread(struct th_java_stack *stack)
{
	struct th_java_segment *last;

	/* There are no other frames between mount and the thread's own first frame. */
	if (!stack->segment_count)
		add_segment(stack, 0, 0);
	last = &stack->segments[stack->segment_count - 1];
	/* There is room: the frame that was cut off was stored here. */
	stack->frames[stack->count++] = th_frame_marker(TH_MARKER_VIRTUAL_THREAD);
	last->end = stack->count;
	last->has_native = false;
}

/*
 * The VM fills in the pc of the youngest Java frame only when it needs it, and
 * AsyncGetCallTrace fails if it is missing (JDK 11 in most of the VM's own code).  The value is
 * the one that JavaFrameAnchor::capture_last_Java_pc() would store: the word below the stack
 * pointer.  Returns the field if it has to be cleared again, else NULL.
 */
static uintptr_t *
complete_anchor(char *thread, uintptr_t sp)
{
	const struct th_hotspot *hotspot = java.hotspot;
	uintptr_t *field = (uintptr_t *)(void *)(thread + hotspot->last_java_pc);
	uintptr_t pc;

	if (hotspot->last_java_pc <= 0 || *field)
		return NULL;
	pc = th_word_at(sp - sizeof(uintptr_t));
	if (pc - *hotspot->code_low >= *hotspot->code_high - *hotspot->code_low)
		return NULL;
	*field = pc;
	return field;
}

static uintptr_t *
anchor_field(char *thread, int64_t offset)
{
	return (uintptr_t *)(void *)(thread + offset);
}

static struct th_java_frame
get_anchor(char *thread)
{
	return (struct th_java_frame){
		.sp = *anchor_field(thread, java.hotspot->last_java_sp),
		.fp = *anchor_field(thread, java.hotspot->last_java_fp),
		.pc = *anchor_field(thread, java.hotspot->last_java_pc),
	};
}

/* In the order of JavaFrameAnchor::copy(): a signal handler finds a complete anchor or none. */
static void
set_anchor(char *thread, const struct th_java_frame *frame)
{
	th_store_release(anchor_field(thread, java.hotspot->last_java_sp), 0);
	th_store_release(anchor_field(thread, java.hotspot->last_java_fp), frame->fp);
	th_store_release(anchor_field(thread, java.hotspot->last_java_pc), frame->pc);
	th_store_release(anchor_field(thread, java.hotspot->last_java_sp), frame->sp);
}

/*
 * Walks from the caller of the runtime stub that the anchor points at; false: it is none.  Only
 * in a state in which no other thread reads the anchor.
 */
static bool
trace_below_stub(char *thread, call_trace *trace, jint depth)
{
	const struct th_java_frame anchor = get_anchor(thread);
	struct th_java_frame caller;

	if (!th_runtime_stub_caller(java.hotspot, &anchor, &caller))
		return false;
	set_anchor(thread, &caller);
	java.get_trace(trace, depth, NULL);
	set_anchor(thread, &anchor);
	return true;
}

static void
trace_from_anchor(char *thread, call_trace *trace, jint depth, bool has_own_anchor)
{
	uintptr_t pc = has_own_anchor ? get_anchor(thread).pc : 0;

	if (th_runtime_stub_is_known(pc) && trace_below_stub(thread, trace, depth))
		return;
	java.get_trace(trace, depth, NULL);
	if (trace->count == TRACE_NOT_WALKABLE && has_own_anchor)
		trace_below_stub(thread, trace, depth);
}

static enum th_java_status
status_of(const call_trace *trace, struct th_java_stack *stack)
{
	if (trace->count == TRACE_GC_ACTIVE)
		return TH_JAVA_GC;
	if (trace->count < 0)
		return TH_JAVA_FAILED;
	stack->count = (uint32_t)trace->count;
	return TH_JAVA_FOUND;
}

static enum th_java_status
get_frames_async(JNIEnv *env, uintptr_t sp, bool has_own_anchor, struct th_java_stack *stack)
{
	call_trace trace = {env, 0, stack->raw};
	char *thread = th_hotspot_thread(java.hotspot, env);
	uintptr_t *completed = complete_anchor(thread, sp);

	trace_from_anchor(thread, &trace, (jint)stack->capacity, has_own_anchor);
	if (completed)
		*completed = 0;
	return status_of(&trace, stack);
}

static enum th_java_status
get_frames_jvmti(struct th_java_stack *stack)
{
	jvmtiFrameInfo *infos = stack->raw;
	call_frame *frames = stack->raw;
	jint count;

	if ((*java.jvmti)
			->GetStackTrace(
				java.jvmti, NULL, 0, (jint)stack->capacity, infos, &count))
		return TH_JAVA_FAILED;
	/*
	 * In place: both structures hold a method and a location in it, in a different order.
	 */
	for (jint i = 0; i < count; i++) {
		const jvmtiFrameInfo info = infos[i];

		frames[i].method = info.method;
		frames[i].bci = info.location < 0 ? BCI_NATIVE_METHOD : (jint)info.location;
	}
	stack->count = (uint32_t)count;
	return TH_JAVA_FOUND;
}

/* The state of the calling thread. */
struct position {
	JNIEnv *env;
	char *thread; /* JavaThread */
	int32_t state;
	uintptr_t sp; /* of the youngest Java frame; 0 = none */
};

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
 * Turns the VM's frames into frame words and segments.  True: they are known to be all.
 */
static bool
finish(struct th_java_stack *stack, const struct position *position)
{
	struct seams seams = {
		.thread = position->thread,
		.sp = position->sp,
		.budget = SCAN_WORDS,
	};

	bool is_full = stack->count == stack->capacity;
	if (is_full)
		stack->flags |= TH_STACK_TRUNCATED;
	bool is_virtual = translate(stack);
	if (th_hotspot_has_seams(java.hotspot)) {
		seams.base = th_field_at((uintptr_t)position->thread, java.hotspot->stack_base);
		cut_segments(stack, &seams, is_virtual);
	} else {
		add_segment(stack, 0, stack->count);
	}
	if (is_virtual)
		end_virtual_thread(stack);
	return !is_virtual &&
	       (is_full || (seams.is_whole && !(stack->flags & TH_STACK_SEAM_GUESSED)));
}

/* The same for an answer of AsyncGetCallTrace. */
static bool
finish_answer(struct th_java_stack *stack, const struct position *position)
{
	uint32_t count = stack->count;

	if (!finish(stack, position))
		return false;
	if (count < stack->capacity)
		th_frame_memo_learn(position->thread, stack->raw, count);
	return true;
}

/* Finishes a stack without the VM; false: it has to be asked. */
static bool
recall(struct th_java_stack *stack, const struct position *position)
{
	jint count = th_hotspot_is_virtual(java.hotspot, (uintptr_t)position->thread,
			     java.has_virtual_threads)
			     ? -1
			     : th_frame_memo_find(
				       position->thread, stack->raw, stack->capacity);

	if (count < 0)
		return false;
	stack->count = (uint32_t)count;
	if (finish(stack, position))
		return true;
	stack->flags = 0;
	stack->segment_count = 0;
	return false;
}

/* The walk of frames that the VM has returned; `status`: its answer. */
static enum th_java_status
finish_with(enum th_java_status status, struct th_java_stack *stack,
	const struct position *position)
{
	if (status != TH_JAVA_FOUND)
		return status;
	if (!stack->count)
		return TH_JAVA_NONE;
	finish(stack, position);
	return TH_JAVA_FOUND;
}

/* In the state of Java code the VM has no anchor. */
static enum th_java_status
walk_in_java(struct th_java_stack *stack, struct position *position)
{
	call_trace trace = {position->env, 0, stack->raw};
	ucontext_t context;

	if (position->sp || !th_critical_downcall_context(java.hotspot, &stack->top, &context))
		return TH_JAVA_IN_JAVA;
	java.get_trace(&trace, (jint)stack->capacity, &context);
	position->sp = stack->top.sp;
	return finish_with(status_of(&trace, stack), stack, position);
}

static enum th_java_status
walk(struct th_java_stack *stack)
{
	const struct th_hotspot *hotspot = java.hotspot;
	struct position position;
	enum th_java_status status;

	if (!find_position(&position))
		return TH_JAVA_NONE;
	if (position.state == hotspot->state_in_java)
		return walk_in_java(stack, &position);
	if (!th_hotspot_is_state(hotspot->walkable_states, position.state))
		return TH_JAVA_FAILED;
	if (!position.sp)
		return TH_JAVA_NONE;
	if (stack->heap == TH_HEAP_JAVA)
		return finish_with(get_frames_jvmti(stack), stack, &position);
	if (recall(stack, &position))
		return TH_JAVA_FOUND;
	status = get_frames_async(position.env, position.sp,
		th_hotspot_is_state(hotspot->own_states, position.state), stack);
	if (status != TH_JAVA_FOUND || !stack->count)
		return status == TH_JAVA_FOUND ? TH_JAVA_NONE : status;
	finish_answer(stack, &position);
	return TH_JAVA_FOUND;
}

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

static struct th_site_key
site(void)
{
	const char *thread = own_thread();

	return thread ? th_java_site_callers(thread)
		      : (struct th_site_key){.stack = TH_NO_JAVA_CODE};
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

static const int64_t *
unloaded_classes(void)
{
	const uintptr_t *perf_data = java.hotspot->perf_data;

	return perf_data
		       ? th_perf_data_long((const char *)*perf_data, "java.cls.unloadedClasses")
		       : NULL;
}

bool
th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti, void *async, uint32_t feature_release)
{
	if (!async || !th_hotspot_has_frames(java.hotspot))
		return false;
	java.vm = vm;
	java.jvmti = jvmti;
	java.has_method_ids = th_hotspot_has_method_ids(java.hotspot);
	java.has_virtual_threads = feature_release >= FIRST_WITH_VIRTUAL_THREADS;
	th_frame_memo_start(java.hotspot, unloaded_classes());
	memcpy(&java.get_trace, &async, sizeof(async));
	java.running.code_low = java.hotspot->code_low;
	java.running.code_high = java.hotspot->code_high;
	java.running.walk = walk;
	if (th_java_site_start(java.hotspot, java.has_virtual_threads))
		java.running.site = site;
	if (java.hotspot->stack_base > 0 && java.hotspot->stack_size > 0)
		java.running.stack_end = stack_end;
	th_capture_set_java(&java.running);
	return true;
}
