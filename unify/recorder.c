/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures work in scratch memory from a small pool, not on the caller's stack: a sample may be
 * due on a 32 KiB thread or on a signal stack.
 */
#include "unify/recorder.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "unify/account.h"
#include "unify/atomic.h"
#include "unify/budget.h"
#include "unify/clock.h"
#include "unify/control.h"
#include "unify/gate.h"
#include "unify/live.h"
#include "unify/log.h"
#include "unify/mapping.h"
#include "unify/memory.h"
#include "unify/module.h"
#include "unify/rate.h"
#include "unify/self_check.h"
#include "unify/stack_table.h"
#include "unify/thread.h"

/* Captures at the same time; with more threads than this in one at once, samples are dropped. */
#define SCRATCH_COUNT 64
/*
 * How far a thread runs before it looks again whether recording has begun: far enough to cost
 * nothing, near enough that an allocating thread joins within moments.
 */
#define IDLE_BYTES (64 << 20)
/* Longest wait for captures in flight when recording ends. */
#define DRAIN_NS (1 * (uint64_t)TH_NS_PER_S)
/* A live entry whose sample is being written. */
#define SAMPLE_PENDING 1
/*
 * Interval of the draws of a thread that is not sampled, at least.  Such a countdown brings it back
 * to look whether it is again, at 0.1 us a visit; what is left of it then is that of its first
 * sample, whatever the interval is.
 */
#define CLOSED_INTERVAL (64 << 10)

struct scratch {
	unsigned char busy; /* atomic */
	struct th_registers registers;
	uint64_t *frames; /* settings.depth of them */
	struct th_java_stack java;
};

struct stack {
	uint32_t count;
	uint32_t flags;
};

enum state { IDLE, RECORDING, STOPPED };

static struct {
	struct th_recorder_settings settings;
	uint32_t state;                      /* atomic, enum state */
	uint32_t in_flight;                  /* atomic: captures under way */
	const struct th_java_provider *java; /* atomic */
	struct scratch *scratch;             /* SCRATCH_COUNT of them */
	bool tracks;                         /* the live table has passed its check */
	struct th_rate rate;
	struct th_budget budget;    /* of the rate's writer */
	struct th_spinlock rolling; /* of the rate's writer */
	uint32_t has_server;        /* atomic: requests wait for the agent thread */
	uint32_t is_ending;         /* atomic: the end was asked for */
	uint32_t has_ended;         /* atomic: th_recorder_end() was called */
	uint64_t rate_logged;       /* when a RATE was written; of the rate's writer */
	uint64_t due_logged;        /* the rate's counts then */
	uint64_t kept_logged;
} recorder;

const struct th_recorder_settings *
th_recorder_settings(void)
{
	return &recorder.settings;
}

/* Life */

static size_t
scratch_bytes(uint32_t depth)
{
	return 2 * sizeof(uint64_t) * depth + TH_JAVA_RAW_BYTES * (size_t)depth;
}

static bool
map_scratch(uint32_t depth)
{
	char *memory = th_memory_map(
		SCRATCH_COUNT * (sizeof(struct scratch) + scratch_bytes(depth)));

	if (!memory)
		return false;
	recorder.scratch = (struct scratch *)(void *)memory;
	memory += SCRATCH_COUNT * sizeof(struct scratch);
	for (unsigned i = 0; i < SCRATCH_COUNT; i++, memory += scratch_bytes(depth)) {
		struct scratch *scratch = &recorder.scratch[i];

		scratch->frames = (uint64_t *)(void *)memory;
		scratch->java.frames = scratch->frames + depth;
		scratch->java.raw = scratch->java.frames + depth;
		scratch->java.capacity = depth;
	}
	return true;
}

/* What there is to switch on, now or later; the Java heap may come late. */
static uint32_t
seen_heaps(const struct th_recorder_settings *settings)
{
	return 1u << TH_HEAP_JAVA | (settings->has_malloc ? 1u << TH_HEAP_NATIVE : 0) |
	       (settings->has_mmap ? 1u << TH_HEAP_MAPPED : 0);
}

bool
th_recorder_start(const struct th_recorder_settings *settings)
{
	recorder.settings = *settings;
	th_rate_init(&recorder.rate, settings->rate, settings->interval);
	th_rate_set_credit(&recorder.rate, settings->rate_free);
	th_budget_init(&recorder.budget, settings->overhead, settings->interval);
	recorder.rate_logged = th_clock_now();
	th_control_begin((settings->native ? 1u << TH_HEAP_NATIVE : 0) |
				 (settings->java ? 1u << TH_HEAP_JAVA : 0) |
				 (settings->mapped ? 1u << TH_HEAP_MAPPED : 0),
		settings->threads);
	th_control_set_seen(seen_heaps(settings));
	if (!th_live_init() || !th_stack_table_init() || !map_scratch(settings->depth))
		return false;
	recorder.tracks = th_self_check_live(&th_self_check_parts);
	if (!recorder.tracks)
		th_log_note(1,
			"the table of live blocks does not work here: no native block is "
			"followed to its end");
	th_control_on_flush(th_recorder_refresh);
	if (settings->has_mmap && !th_mapping_start(settings->seed))
		return false;
	th_account_start(settings->mapped); /* without memory for it: no accounts */
	th_store_release(&recorder.state, RECORDING);
	/* This thread may have allocated before, and is then not due for a long while. */
	th_thread_postpone(0);
	return true;
}

/*
 * Sequentially consistent on both sides: either the capture sees the new state (or provider) or
 * the drain sees the capture.
 */
static bool
begin_capture(void)
{
	__atomic_fetch_add(&recorder.in_flight, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&recorder.state, __ATOMIC_SEQ_CST) == RECORDING && th_log_is_ours())
		return true;
	__atomic_fetch_sub(&recorder.in_flight, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void
end_capture(void)
{
	__atomic_fetch_sub(&recorder.in_flight, 1, __ATOMIC_SEQ_CST);
}

static void
drain(void)
{
	uint64_t deadline = th_clock_now() + DRAIN_NS;

	/* Signed: in a forked child, one that began in the parent may have ended. */
	while ((int32_t)__atomic_load_n(&recorder.in_flight, __ATOMIC_SEQ_CST) > 0 &&
		th_clock_now() < deadline)
		sched_yield();
}

void
th_recorder_stop(void)
{
	__atomic_store_n(&recorder.state, STOPPED, __ATOMIC_SEQ_CST);
	drain();
	th_recorder_refresh();
}

void
th_recorder_end(void)
{
	uint32_t not_yet = 0;

	if (!th_cas_acq_rel(&recorder.has_ended, &not_yet, 1))
		return;
	th_recorder_roll();
	th_recorder_stop();
	th_mapping_log_use();
	th_thread_log_bytes(true);
	th_account_end();
	th_log_close();
}

bool
th_recorder_is_ending(void)
{
	return th_load_relaxed(&recorder.is_ending);
}

void
th_recorder_refresh(void)
{
	th_log_set_counter(TH_COUNTER_UNWIND_FRAME_POINTER, th_unwind_frame_pointer_steps());
	th_log_set_counter(TH_COUNTER_SELF_MEMORY_BYTES, th_memory_resident());
}

void
th_recorder_set_java(const struct th_java_provider *provider)
{
	__atomic_store_n(&recorder.java, provider, __ATOMIC_SEQ_CST);
	if (!provider)
		drain();
}

/* The next log is to hold the modules again. */
static void
forget_modules(void)
{
	for (uint32_t id = 1; id <= th_module_count(); id++) {
		struct th_module *module = th_module_get(id);

		if (module)
			th_store_relaxed(&module->logged, 0);
	}
}

void
th_recorder_reset(void)
{
	recorder.state = IDLE;
	recorder.in_flight = 0;
	recorder.java = NULL;
	recorder.scratch = NULL;
	recorder.rolling.held = 0;
	recorder.due_logged = 0;
	recorder.kept_logged = 0;
	recorder.has_server = 0;
	recorder.is_ending = 0;
	recorder.has_ended = 0;
	th_control_reset();
	th_account_reset();
	th_live_reset();
	th_mapping_reset();
	th_stack_table_reset();
	forget_modules();
	th_thread_reset();
}

/* Rate */

uint64_t
th_recorder_interval(void)
{
	return th_rate_interval(&recorder.rate);
}

/* Once a second, when anything was due.  Of the rate's writer. */
static void
log_rate(uint64_t now)
{
	uint64_t due = th_load_relaxed(&recorder.rate.population);
	uint64_t kept = th_load_relaxed(&recorder.rate.kept);
	struct th_event_rate event = {
		.time = now,
		.interval = th_rate_interval(&recorder.rate),
		.target = th_load_relaxed(&recorder.rate.target),
		.due = due - recorder.due_logged,
		.kept = kept - recorder.kept_logged,
	};

	if (now - recorder.rate_logged < TH_NS_PER_S)
		return;
	recorder.rate_logged = now;
	if (!event.due || !th_log_append(TH_EVENT_RATE, &event, NULL, 0))
		return;
	recorder.due_logged = due;
	recorder.kept_logged = kept;
}

/* Lets the interval keep to the overhead budget, once a second. */
static void
keep_budget(uint64_t now)
{
	const struct th_log_header *header = th_log_header();

	/* The interval may have been set anew. */
	recorder.budget.configured = recorder.rate.configured_interval;
	if (!th_budget_is_due(&recorder.budget, now) || !header)
		return;
	struct th_budget_times times = {
		.captures = th_load_relaxed(&header->counters[TH_COUNTER_SELF_CAPTURE_NS]),
		.agent = th_load_relaxed(&header->counters[TH_COUNTER_SELF_AGENT_NS]),
		.process = th_clock_read(CLOCK_PROCESS_CPUTIME_ID),
	};
	if (times.process)
		th_rate_set_floor(
			&recorder.rate, th_budget_look(&recorder.budget, now, &times));
}

static void
serve(uint64_t now)
{
	if (th_control_poll(&recorder.rate, now))
		th_store_relaxed(&recorder.is_ending, 1);
}

/* Of a thread with a sample due. */
static void
roll(uint64_t now)
{
	if (!th_rate_is_due(&recorder.rate, now) || !th_trylock(&recorder.rolling))
		return;
	th_rate_roll(&recorder.rate, now);
	keep_budget(now);
	if (!th_load_relaxed(&recorder.has_server))
		serve(now);
	log_rate(now);
	th_unlock(&recorder.rolling);
	if (!th_load_relaxed(&recorder.has_server))
		th_account_poll(now, false);
}

void
th_recorder_roll(void)
{
	uint64_t now = th_clock_now();

	if (th_load_relaxed(&recorder.state) != RECORDING ||
		!th_lock_bounded(&recorder.rolling, TH_LOCK_SPINS * 64))
		return;
	th_rate_roll(&recorder.rate, now);
	keep_budget(now);
	serve(now);
	log_rate(now);
	th_unlock(&recorder.rolling);
	th_account_poll(now, true);
}

void
th_recorder_set_server(bool has_server)
{
	th_store_relaxed(&recorder.has_server, has_server);
}

static bool
keeps(struct th_thread_record *record, uint64_t now, double *keep_ret)
{
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	*keep_ret = th_rate_count(&recorder.rate, now);
	if (*keep_ret < 1 && th_random_unit(&record->random) > *keep_ret) {
		th_log_count(TH_COUNTER_RATE_THINNED, 1);
		return false;
	}
	th_rate_keep(&recorder.rate);
	return true;
}

bool
th_recorder_keeps(struct th_thread_record *record, double *keep_ret)
{
	uint64_t now = th_clock_now();

	roll(now);
	return keeps(record, now, keep_ret);
}

/* Scratch */

static struct scratch *
take_scratch(uint32_t hint)
{
	/* Read once: a handler that forks here leaves the child without any. */
	struct scratch *all = th_load_relaxed(&recorder.scratch);

	for (unsigned i = 0; all && i < SCRATCH_COUNT; i++) {
		struct scratch *scratch = &all[(hint + i) % SCRATCH_COUNT];

		if (!th_load_relaxed(&scratch->busy) && !th_exchange_acquire(&scratch->busy, 1))
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

/* Walks one native segment and appends it; returns how the walk ended. */
static enum th_unwind_end
add_native(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, struct stack *stack)
{
	enum th_unwind_end end;

	stack->count += (uint32_t)th_unwind(registers, limits, frames + stack->count,
		recorder.settings.depth - stack->count, &end);
	if (end == TH_UNWIND_FULL)
		stack->flags |= TH_STACK_TRUNCATED;
	if (end == TH_UNWIND_STOPPED) {
		stack->flags |= TH_STACK_NATIVE_CUT;
		th_log_count(TH_COUNTER_UNWIND_STOPPED, 1);
	}
	return end;
}

static void
add_java(const struct th_java_stack *java, const struct th_java_segment *segment,
	uint64_t *frames, struct stack *stack)
{
	uint32_t count = segment->end - segment->begin;
	uint32_t room = recorder.settings.depth - stack->count;

	if (count > room) {
		count = room;
		stack->flags |= TH_STACK_TRUNCATED;
	}
	memcpy(frames + stack->count, java->frames + segment->begin, count * sizeof(*frames));
	stack->count += count;
}

/* Joins Java and older native segments to the youngest native one. */
static void
add_segments(
	const struct th_unwind_limits *limits, struct scratch *scratch, struct stack *stack)
{
	struct th_java_stack *java = &scratch->java;

	stack->flags |= java->flags;
	for (uint32_t i = 0; i < java->segment_count; i++) {
		struct th_java_segment *segment = &java->segments[i];

		add_java(java, segment, scratch->frames, stack);
		if (stack->flags & TH_STACK_TRUNCATED)
			return;
		if (segment->has_native)
			add_native(&segment->native, limits, scratch->frames, stack);
	}
}

static void
count_java(enum th_java_status status)
{
	static const enum th_log_counter counters[] = {
		[TH_JAVA_GC] = TH_COUNTER_JAVA_STACK_GC,
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
 * Asks for the Java frames below a native walk that ended at `end`.  Where it met compiled code
 * there are some; where it could not go on there may be.
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
	status = provider->walk(java);
	if (end == TH_UNWIND_CODE && status == TH_JAVA_NONE)
		status = TH_JAVA_FAILED;
	if (end != TH_UNWIND_CODE && status == TH_JAVA_STARTING)
		status = TH_JAVA_NONE;
	if (status == TH_JAVA_FOUND)
		add_segments(limits, scratch, stack);
	else if (status != TH_JAVA_NONE)
		stack->flags |= TH_STACK_NO_JAVA;
	if (java->heap == TH_HEAP_NATIVE && status != TH_JAVA_NONE)
		count_java(status);
	if (stack->flags & TH_STACK_SEAM_GUESSED)
		th_log_count(TH_COUNTER_SEAM_GUESSED, 1);
}

/* The whole stack of the calling thread; at the base of a thread there is no Java below. */
static struct stack
capture(struct scratch *scratch, enum th_heap heap)
{
	const struct th_java_provider *provider = th_load_acquire(&recorder.java);
	struct th_unwind_limits limits = {0, 0};
	struct stack stack = {0, 0};
	enum th_unwind_end end;

	if (provider)
		limits = (struct th_unwind_limits){*provider->code_low, *provider->code_high};
	end = add_native(&scratch->registers, &limits, scratch->frames, &stack);
	if (provider && (end == TH_UNWIND_CODE || end == TH_UNWIND_STOPPED)) {
		scratch->java.heap = heap;
		add_below(provider, &limits, end, scratch, &stack);
	}
	return stack;
}

static void
log_module(struct th_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char build_id[2 * TH_BUILD_ID_MAX + 1];
	struct th_event_module event = {
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.module = module->id,
	};
	uint32_t bytes = 0;

	for (; bytes < module->build_id_bytes; bytes++) {
		build_id[2 * bytes] = digits[module->build_id[bytes] >> 4];
		build_id[2 * bytes + 1] = digits[module->build_id[bytes] & 15];
	}
	build_id[2 * bytes] = '\0';
	struct th_log_part parts[] = {th_log_text(module->path), th_log_text(build_id)};
	if (th_log_append(TH_EVENT_MODULE, &event, parts, 2))
		th_store_relaxed(&module->logged, 1);
}

/* Writes the modules of a new stack that the log does not hold yet; twice does no harm. */
static void
log_modules(const uint64_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (th_frame_kind(frames[i]) != TH_FRAME_NATIVE)
			continue;
		struct th_module *module = th_module_get(th_frame_module(frames[i]));
		if (module && !th_load_relaxed(&module->logged))
			log_module(module);
	}
}

/* Writes a STACK record and the modules that it needs; false: the log is full. */
static bool
log_stack(uint32_t id, const uint64_t *frames, const struct stack *stack)
{
	struct th_event_stack event = {.stack = id, .flags = stack->flags};
	struct th_log_part part = {frames, stack->count};

	log_modules(frames, stack->count);
	return th_log_append(TH_EVENT_STACK, &event, &part, 1) != 0;
}

/* The id of a stack that the log holds; 0: the table or the log is full. */
static uint32_t
intern(const uint64_t *frames, const struct stack *stack)
{
	uint32_t *logged;
	uint32_t id = th_stack_table_intern(frames, stack->count, stack->flags, &logged);

	if (!id) {
		th_log_count(TH_COUNTER_DROPPED_STACKS_FULL, 1);
		return 0;
	}
	if (th_load_relaxed(logged))
		return id;
	if (!log_stack(id, frames, stack)) {
		th_log_count(TH_COUNTER_DROPPED_LOG_FULL, 1);
		return 0;
	}
	th_store_relaxed(logged, 1);
	return id;
}

/* Captures and interns the stack of the calling thread. */
static uint32_t
current_stack(const struct th_registers *registers, uint32_t thread, enum th_heap heap)
{
	struct scratch *scratch = take_scratch(thread);
	uint32_t id;

	if (!scratch)
		return 0;
	scratch->registers = *registers;
	struct stack stack = capture(scratch, heap);
	id = intern(scratch->frames, &stack);
	give_scratch(scratch);
	return id;
}

/* Within a capture, which began with the question whose log it is. */
static uint64_t
append_sample(enum th_event_type type, const void *event, enum th_log_counter counter)
{
	uint64_t sample = th_log_append_ours(type, event, NULL, 0);

	th_log_count(sample ? counter : TH_COUNTER_DROPPED_LOG_FULL, 1);
	return sample;
}

/* The C heap */

static uint64_t
append_native(struct th_event_native_alloc *event)
{
	uintptr_t address = (uintptr_t)event->address;
	bool tracked = recorder.tracks && th_live_insert(address, SAMPLE_PENDING);

	if (tracked)
		event->flags |= TH_NATIVE_TRACKED;
	else
		th_log_count(TH_COUNTER_LIVE_TABLE_FULL, 1);
	uint64_t sample = append_sample(
		TH_EVENT_NATIVE_ALLOC, event, TH_COUNTER_NATIVE_SAMPLES);
	if (tracked && sample)
		th_live_insert(address, sample);
	else if (tracked)
		th_live_remove(address);
	return sample;
}

static void
record_native(struct th_thread_record *record, struct th_event_native_alloc *event,
	const struct th_registers *registers)
{
	event->interval = record->interval;
	event->thread = record->id;
	event->stack = current_stack(registers, record->id, TH_HEAP_NATIVE);
	if (event->stack) {
		th_thread_log_at(record, event->time);
		append_native(event);
	}
	th_log_count(TH_COUNTER_SELF_CAPTURE_NS, th_clock_now() - event->time);
}

/* Of the thread's next countdown. */
static uint64_t
next_interval(struct th_thread_record *record)
{
	uint64_t interval = th_recorder_interval();

	if (th_gate_admits(record, TH_HEAP_NATIVE) || interval > CLOSED_INTERVAL)
		return interval;
	return CLOSED_INTERVAL;
}

/*
 * A thread's first visit: it had no draw yet, so this block is the first that the process of
 * sampling sees.  True when the fresh countdown does not outlast it.
 */
static bool
first_draw(struct th_thread_record *record, uint64_t bytes, size_t size)
{
	th_thread_draw(record, next_interval(record), bytes - size);
	return th_countdown_take(&th_thread.guarded_countdown, size);
}

/* `bytes`: of the thread, with this block, whether they count or not. */
static void
visit(struct th_event_native_alloc *event, uint64_t bytes, const struct th_registers *registers)
{
	struct th_thread_record *record = th_thread_record();
	uint64_t now = th_clock_now();

	if (!record) {
		th_thread_postpone(INT64_MAX);
		return;
	}
	event->time = now;
	if (!record->has_drawn && !first_draw(record, bytes, event->size))
		return;
	roll(now);
	th_gate_look_at_name(record);
	bool is_admitted = th_gate_admits(record, TH_HEAP_NATIVE);
	event->thread_bytes = th_account_count(record, TH_HEAP_NATIVE, bytes);
	/* Fewer: the account was opened after this allocation. */
	if (is_admitted && event->thread_bytes >= event->size &&
		keeps(record, now, &event->keep))
		record_native(record, event, registers);
	th_thread_draw(record, next_interval(record), bytes);
}

/* Not within a capture. */
static void
end_if_asked(void)
{
	if (th_recorder_is_ending() && !th_load_relaxed(&recorder.has_server))
		th_recorder_end();
}

/*
 * Nothing is recorded here.  A child that shares our memory without being us (vfork) counts down
 * for its parent, and leaves it a countdown that is drawn.
 */
static void
pass(uint64_t bytes)
{
	uint32_t state = th_load_relaxed(&recorder.state);
	struct th_thread_record *record = th_thread.record;

	if (state == RECORDING && !th_log_is_ours()) {
		if (record)
			th_thread_draw(record, next_interval(record), bytes);
		else
			th_thread_postpone(0);
		return;
	}
	th_thread_postpone(state == IDLE ? IDLE_BYTES : INT64_MAX);
}

__attribute__((noinline)) void
th_recorder_allocated(void *block, size_t size, enum th_alloc_function function)
{
	int saved_errno = errno;
	struct th_registers registers;
	uint64_t bytes;
	struct th_event_native_alloc event = {
		.size = size, .address = (uintptr_t)block, .function = function};

	if (!block) {
		th_thread.countdown += size;
		return;
	}
	/*
	 * Only a signal handler that interrupted the guard's own first lines comes here in it: the
	 * countdown that it used up is about to be put away, and must not come back below zero.
	 */
	if (th_thread.guard) {
		th_thread.countdown += size;
		th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
		th_log_count(TH_COUNTER_DROPPED_REENTERED, 1);
		return;
	}
	bytes = th_thread_native_bytes();
	th_guard_enter();
	if (begin_capture()) {
		th_registers_here(&registers);
		visit(&event, bytes, &registers);
		end_capture();
		end_if_asked();
	} else {
		pass(bytes);
	}
	th_guard_leave();
	errno = saved_errno;
}

uint64_t
th_recorder_unlink(void *block)
{
	uint64_t sample;
	int saved_errno = errno;

	th_guard_enter();
	sample = th_live_remove((uintptr_t)block);
	th_guard_leave();
	errno = saved_errno;
	return sample;
}

void
th_recorder_freed(uint64_t sample)
{
	struct th_event_native_free event = {.sample = sample};

	if (!sample || th_load_relaxed(&recorder.state) != RECORDING)
		return;
	/* A signal handler that allocates must not wait for the log's growth under it. */
	th_guard_enter();
	event.time = th_clock_now();
	event.thread = th_thread.record ? th_thread.record->id : 0;
	th_log_append(TH_EVENT_NATIVE_FREE, &event, NULL, 0);
	th_guard_leave();
}

void
th_recorder_relink(void *block, uint64_t sample)
{
	if (!sample)
		return;
	th_guard_enter();
	if (!th_live_insert((uintptr_t)block, sample))
		th_log_count(TH_COUNTER_LIVE_TABLE_FULL, 1);
	th_guard_leave();
}

/* Mapped memory */

/* The id of the stack that is one address in a module; 0 as intern(). */
static uint32_t
stack_of_caller(uintptr_t caller)
{
	struct th_module *module = th_module_find(caller);
	uint64_t frame = module ? th_frame_native(module->id, caller - 1 - module->bias)
				: th_frame_native(0, caller - 1);
	const struct stack stack = {.count = 1, .flags = 0};

	return intern(&frame, &stack);
}

/* The owner need not be in the stack: a frame may stand for it that is inlined or cut. */
static void
log_owner(uint32_t owner)
{
	struct th_module *module = th_module_get(owner);

	if (module && !th_load_relaxed(&module->logged))
		log_module(module);
}

static uint64_t
append_mapped(struct th_event_mapped_alloc *event)
{
	if (!event->stack)
		return 0;
	log_owner(event->owner);
	return append_sample(TH_EVENT_MAPPED_ALLOC, event, TH_COUNTER_MAPPED_SAMPLES);
}

static uint64_t
record_arena(struct th_event_mapped_alloc *event, uintptr_t caller)
{
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	event->keep = 1;
	event->thread = th_thread.record ? th_thread.record->id : 0;
	event->stack = stack_of_caller(caller);
	return append_mapped(event);
}

static uint64_t
record_mapped(struct th_event_mapped_alloc *event, const struct th_registers *registers)
{
	struct th_thread_record *record = th_thread_record();

	if (!record || !th_recorder_keeps(record, &event->keep))
		return 0;
	event->thread = record->id;
	event->stack = current_stack(registers, record->id, TH_HEAP_NATIVE);
	th_thread_log_at(record, event->time);
	return append_mapped(event);
}

__attribute__((noinline)) uint64_t
th_recorder_mapped(struct th_event_mapped_alloc *event, uintptr_t caller)
{
	struct th_registers registers;
	uint64_t sample;

	if (!begin_capture()) {
		th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
		th_log_count(TH_COUNTER_DROPPED_STOPPED, 1);
		return 0;
	}
	event->time = th_clock_now();
	th_registers_here(&registers);
	sample = event->flags & TH_MAPPED_ARENA ? record_arena(event, caller)
						: record_mapped(event, &registers);
	th_log_count(TH_COUNTER_SELF_CAPTURE_NS, th_clock_now() - event->time);
	end_capture();
	return sample;
}

/* The Java heap */

static uint64_t
record_java(struct th_event_java_alloc *event, const struct th_registers *registers)
{
	struct th_thread_record *record = th_thread_record();
	uint64_t sample = 0;

	if (!record)
		return 0;
	event->time = th_clock_now();
	event->thread = record->id;
	event->stack = current_stack(registers, record->id, TH_HEAP_JAVA);
	if (event->stack) {
		th_thread_log_at(record, event->time);
		sample = append_sample(TH_EVENT_JAVA_ALLOC, event, TH_COUNTER_JAVA_SAMPLES);
	}
	th_log_count(TH_COUNTER_SELF_CAPTURE_NS, th_clock_now() - event->time);
	return sample;
}

__attribute__((noinline)) uint64_t
th_recorder_java(const struct th_java_object *object)
{
	struct th_event_java_alloc event = {
		.size = object->size,
		.interval = object->interval,
		.keep = object->keep,
		.thread_bytes = object->thread_bytes,
		.class = object->class_id,
		.flags = object->flags,
	};
	struct th_registers registers;
	uint64_t sample = 0;

	th_guard_enter();
	if (begin_capture()) {
		th_registers_here(&registers);
		sample = record_java(&event, &registers);
		end_capture();
	} else {
		th_log_count(TH_COUNTER_DROPPED_STOPPED, 1);
	}
	th_guard_leave();
	return sample;
}
