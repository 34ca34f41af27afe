/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/log/small_log.h"

#include <string.h>

#include "report/log/recording.h"

/* Total bytes of each thread in the current log. */
static uint64_t thread_bytes[TH_HEAPS][SMALL_LOG_THREADS + 1];

void
small_log_begin(struct log_builder *log)
{
	memset(thread_bytes, 0, sizeof(thread_bytes));
	log_init(log, 0);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(log, 1, "main");
	log_thread(log, 2, "worker-1");
	log_module(log, MODULE_WORK, "/nonexistent/libwork.so");
	log_module(log, MODULE_JVM, "/nonexistent/libjvm.so");
	log_method(log, 1, "Lapp/Main;", "main");
	log_method(log, 2, "Lapp/Codec;", "decode");
	log_method(log, 3, "Ljava/util/Arrays;", "copyOf");
	log_class(log, 1, "[B");
	log_class(log, 2, "Ljava/lang/String;");
}

void
small_log_native(struct log_builder *log, uint32_t thread, uint32_t stack, uint64_t size)
{
	log_native(log, (struct log_sample){.ms = 10,
				.size = size,
				.thread_bytes = thread_bytes[TH_HEAP_NATIVE][thread] += size,
				.thread = thread,
				.stack = stack});
}

void
small_log_java(
	struct log_builder *log, uint32_t thread, uint32_t stack, uint32_t class, uint64_t size)
{
	log_java(log, (struct log_sample){.ms = 20,
			      .size = size,
			      .thread_bytes = thread_bytes[TH_HEAP_JAVA][thread] += size,
			      .thread = thread,
			      .stack = stack,
			      .class = class});
}

void
small_log_build(struct log_builder *log)
{
	small_log_begin(log);
	add_stack(log, 1, WORK_FRAME(0x10), JAVA_FRAME(2), JAVA_FRAME(1));
	add_stack(log, 2, JAVA_FRAME(3), JAVA_FRAME(2), JAVA_FRAME(1));
	add_stack(log, 3, WORK_FRAME(0x20));
	small_log_native(log, 1, 1, 1000);
	small_log_native(log, 1, 1, 500);
	small_log_native(log, 2, 3, 300);
	small_log_java(log, 1, 2, 1, 64);
	small_log_java(log, 1, 2, 1, 32);
	small_log_java(log, 1, 2, 2, 24);
	small_log_java(log, 2, 2, 1, 80);
	log_end(log, 100);
}
