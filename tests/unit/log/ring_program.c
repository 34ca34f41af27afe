/* SPDX-License-Identifier: Apache-2.0 */
/* The program is its calls of th_log_append() (ring_program.h). */
#include "tests/unit/log/ring_program.h"

#include <stdlib.h>

#include "unify/log/ring.h"
#include "unify/log/stack_log.h"

#define UNBOUNDED (UINT64_C(1) << 30)
#define YOUNG_EVERY 64u
#define MAJOR_EVERY 4096u
#define HEAP_BYTES (UINT64_C(1) << 40)

/* One in LEAKED of the last stack is never freed. */
const uint32_t ring_lives[STACKS] = {1, 1, 2, 3, 10, 100, 20000, 5};

void
ring_open(bool is_ring)
{
	const struct th_log_identity identity = {.process_start = 1,
		.process_space = 1,
		.interval = INTERVAL,
		.ring = is_ring ? RING : 0};
	char *path = log_fixture_new_path();

	assert_int_equal(th_log_create(path, is_ring ? RING : UNBOUNDED, &identity), TH_LOG_OK);
	log_fixture_read(path);
	free(path);
}

static void
add_stacks(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		struct th_event_stack stack = {.stack = i};
		uint64_t frames[] = {th_frame_native(0, 0x1000 * i), th_frame_native(0, 0x10)};
		struct th_log_part part = {frames, 2};

		assert_true(th_log_append(TH_EVENT_STACK, &stack, &part, 1));
	}
}

static void
add_thread(uint32_t id, const char *name)
{
	struct th_event_thread thread = {
		.time = th_log_header()->start_monotonic, .thread = id, .tid = id};
	struct th_log_part part = th_log_text(name);

	assert_true(th_log_append(TH_EVENT_THREAD, &thread, &part, 1));
}

void
ring_begin(struct ring_program *program, uint64_t samples, enum th_heap heap)
{
	*program = (struct ring_program){.start = th_log_header()->start_monotonic,
		.step = STEP_NS,
		.leaked = LEAKED,
		.step_every = 1,
		.heap = heap};
	program->samples = samples;
	program->ids = calloc(samples, sizeof(*program->ids));
	assert_non_null(program->ids);
	add_stacks(1, STACKS);
	add_thread(1, "one");
	add_thread(2, "two");
}

static uint64_t
time_now(const struct ring_program *program)
{
	return program->start + program->count * program->step;
}

static uint32_t
level_at(const struct ring_program *program, uint64_t number)
{
	return number >= program->samples / 2 ? LEVEL : 0;
}

static void
free_block(struct ring_program *program, uint64_t number)
{
	struct th_event_native_free freed = {
		.time = time_now(program), .sample = program->ids[number], .thread = 1};
	struct th_event_java_death death = {
		.time = time_now(program), .sample = program->ids[number]};

	if (program->heap == TH_HEAP_JAVA)
		assert_true(th_live_keeps(death.sample, level_at(program, number)) == 0 ||
			    th_log_append(TH_EVENT_JAVA_DEATH, &death, NULL, 0));
	else
		assert_true(th_log_append(TH_EVENT_NATIVE_FREE, &freed, NULL, 0));
}

static void
free_due(struct ring_program *program)
{
	for (unsigned k = 0; k < STACKS; k++) {
		uint64_t number = program->count - ring_lives[k];

		if (program->count >= ring_lives[k] && number % STACKS == k &&
			(k != STACKS - 1 || number / STACKS % program->leaked))
			free_block(program, number);
	}
}

/* A sample stands for INTERVAL bytes of its thread, more or less. */
static void
allocate(struct ring_program *program)
{
	uint64_t number = program->count;
	uint32_t thread = number % 3 != 0;

	program->bytes[thread] += INTERVAL + number % 7;
	const struct th_event_native_alloc alloc = {
		.time = time_now(program),
		.size = SIZE,
		.interval = INTERVAL,
		.thread_bytes = program->bytes[thread],
		.thread = thread + 1,
		.stack = (uint32_t)(number % STACKS) + 1,
		.address = 0x10000 + number * SIZE,
		.function = TH_FUNCTION_MALLOC,
		.flags = TH_NATIVE_TRACKED,
	};
	const struct th_event_java_alloc object = {
		.time = time_now(program),
		.size = SIZE,
		.interval = INTERVAL,
		.thread_bytes = program->bytes[thread],
		.thread = thread + 1,
		.stack = alloc.stack,
	};
	struct th_event_java_level level = {.time = time_now(program), .level = LEVEL};
	if (program->heap == TH_HEAP_JAVA && number == program->samples / 2)
		assert_true(th_log_append(TH_EVENT_JAVA_LEVEL, &level, NULL, 0));
	program->ids[number] = program->heap == TH_HEAP_JAVA
				       ? th_log_append(TH_EVENT_JAVA_ALLOC, &object, NULL, 0)
				       : th_log_append(TH_EVENT_NATIVE_ALLOC, &alloc, NULL, 0);
	assert_true(program->ids[number]);
	program->count++;
}

/*
 * Young collections, and up to three quarters of the time some that judge old objects: of those the
 * segments of a ring have none at the end.
 */
static void
collect(struct ring_program *program)
{
	const bool is_major = program->count % MAJOR_EVERY == 0 &&
			      program->count <= program->samples * 3 / 4;
	struct th_event_collection collection = {.start = time_now(program) - program->step / 4,
		.end = time_now(program) - program->step / 8,
		.number = ++program->collections};
	struct th_event_heap_use use = {.time = time_now(program) - program->step / 8,
		.used = HEAP_BYTES,
		.committed = HEAP_BYTES,
		.collections = program->collections};
	struct th_log_part kind = th_log_text(
		is_major ? "G1 full collection pauses (Metadata GC Threshold)"
			 : "G1 young collection pauses (G1 Evacuation Pause)");
	struct th_log_part source = th_log_text("test");

	assert_true(th_log_append(TH_EVENT_COLLECTION, &collection, &kind, 1));
	assert_true(th_log_append(TH_EVENT_HEAP_USE, &use, &source, 1));
}

void
ring_run(struct ring_program *program, uint64_t samples,
	void (*after_step)(struct ring_program *))
{
	while (program->count < samples) {
		allocate(program);
		if (program->heap == TH_HEAP_JAVA && program->count % YOUNG_EVERY == 0)
			collect(program);
		free_due(program);
		if (program->count % program->step_every && th_ring_urgency() != TH_RING_NOW)
			continue;
		while (th_ring_step(after_step ? 128u << 10 : 64u << 10))
			if (after_step) {
				after_step(program);
				break; /* the program goes on between the steps */
			}
	}
}

void
ring_end(struct ring_program *program)
{
	free(program->ids);
}

struct th_recording *
ring_load(void)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(log_fixture_path(), &recording);

	if (error)
		fail_msg("%s", th_error_message(error));
	return recording;
}
