/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a large log in the library's format: SAMPLES samples of both heaps at STACKS stacks, a
 * third of the native blocks freed, over a hundred seconds.  For bench/report.
 *
 * usage: report_log FILE SAMPLES STACKS [mixed]
 * mixed: each stack occurs in any thread and allocates any class; otherwise it belongs to one
 * thread and allocates one class
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/log/log.h"
#include "unify/shared/clock.h"

#define INTERVAL (512u << 10)
#define METHODS 20000
#define CLASSES 500
#define THREADS 64
#define DEPTH 30
#define SPAN_NS 100000000000u

static uint64_t state = 1;

static uint64_t
draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void
define_names(uint64_t start)
{
	char text[64];

	for (uint32_t i = 1; i <= THREADS; i++) {
		struct th_event_thread thread = {.time = start, .thread = i, .tid = i};

		snprintf(text, sizeof(text), "worker-%u", i);
		th_log_append(
			TH_EVENT_THREAD, &thread, (struct th_log_part[]){th_log_text(text)}, 1);
	}
	for (uint32_t i = 1; i <= CLASSES; i++) {
		struct th_event_class class = {.class = i};

		snprintf(text, sizeof(text), "Lapp/data/Item%uData;", i);
		th_log_append(
			TH_EVENT_CLASS, &class, (struct th_log_part[]){th_log_text(text)}, 1);
	}
	for (uint32_t i = 1; i <= METHODS; i++) {
		struct th_event_method method = {.method = i};
		const uint64_t lines[] = {10, (uint64_t)5 << 32 | 11};
		char name[32];

		snprintf(text, sizeof(text), "Lapp/part%u/Class%u;", i / 200, i / 20);
		snprintf(name, sizeof(name), "method%u", i);
		struct th_log_part parts[] = {th_log_text(text), th_log_text(name),
			th_log_text("()V"), th_log_text("Class.java"), {lines, 2}};
		th_log_append(TH_EVENT_METHOD, &method, parts, 5);
	}
}

static void
define_stacks(uint32_t count)
{
	uint64_t frames[DEPTH];

	/* Neighboring stacks share most of their frames, as real stacks do. */
	for (uint32_t i = 1; i <= count; i++) {
		struct th_event_stack stack = {.stack = i};

		for (uint32_t k = 0; k < DEPTH; k++) {
			uint32_t from_root = DEPTH - k;
			uint32_t group = from_root < 16 ? i >> (16 - from_root) : i;

			frames[k] = th_frame_java(
				1 + (group * 31 + from_root * 577) % METHODS, from_root);
		}
		th_log_append(
			TH_EVENT_STACK, &stack, (struct th_log_part[]){{frames, DEPTH}}, 1);
	}
}

static void
write_samples(uint64_t start, uint64_t count, uint32_t stacks, bool is_mixed)
{
	uint64_t bytes[3][THREADS + 1] = {0};

	for (uint64_t i = 0; i < count; i++) {
		uint64_t time = start + i * (SPAN_NS / count);
		/* A few stacks allocate most of the bytes. */
		uint32_t stack = 1 + (uint32_t)(draw() % (1 + draw() % stacks));
		uint64_t actor = is_mixed ? draw() : stack;
		uint32_t thread = 1 + (uint32_t)(actor % THREADS);
		uint64_t size = 16 + draw() % 8192;
		bool is_java = stack & 1;
		uint64_t *so_far = &bytes[is_java][thread];

		*so_far += INTERVAL / 2 + draw() % INTERVAL;
		if (is_java) {
			struct th_event_java_alloc alloc = {.time = time,
				.size = size,
				.interval = INTERVAL,
				.thread_bytes = *so_far,
				.thread = thread,
				.stack = stack,
				.class = 1 + (uint32_t)(actor % CLASSES)};

			th_log_append(TH_EVENT_JAVA_ALLOC, &alloc, NULL, 0);
			continue;
		}
		struct th_event_native_alloc alloc = {.time = time,
			.size = size,
			.interval = INTERVAL,
			.thread_bytes = *so_far,
			.address = 64 * i,
			.thread = thread,
			.stack = stack,
			.function = TH_FUNCTION_MALLOC,
			.flags = TH_NATIVE_TRACKED};
		uint64_t sample = th_log_append(TH_EVENT_NATIVE_ALLOC, &alloc, NULL, 0);
		if (i % 3 == 0) {
			struct th_event_native_free freed = {
				.time = time + 1000, .sample = sample, .thread = thread};

			th_log_append(TH_EVENT_NATIVE_FREE, &freed, NULL, 0);
		}
	}
}

int
main(int argc, char **argv)
{
	const struct th_log_identity identity = {.interval = INTERVAL};

	if (argc < 4 || argc > 5 || (argc == 5 && strcmp(argv[4], "mixed") != 0)) {
		fputs("usage: report_log FILE SAMPLES STACKS [mixed]\n", stderr);
		return 2;
	}
	if (th_log_create(argv[1], (uint64_t)16 << 30, &identity) != TH_LOG_OK) {
		fprintf(stderr, "report_log: cannot create %s\n", argv[1]);
		return 1;
	}
	struct th_event_jvm jvm = {.time = th_clock_now(),
		.feature_release = 25,
		.features = TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES};
	struct th_log_part names[] = {
		th_log_text("25"), th_log_text("VM"), th_log_text("nobody")};
	uint64_t start = th_log_header()->start_monotonic;
	uint32_t stacks = (uint32_t)strtoul(argv[3], NULL, 10);

	th_log_append(TH_EVENT_JVM, &jvm, names, 3);
	define_names(start);
	define_stacks(stacks);
	write_samples(start, strtoull(argv[2], NULL, 10), stacks, argc == 5);
	th_log_close();
	return 0;
}
