/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of two threads, two native modules of which one is a VM, and three Java methods.  Its
 * interval is 0, so that every number is exact and a sum of sizes.
 */
#ifndef TH_TESTS_SMALL_LOG_H
#define TH_TESTS_SMALL_LOG_H

#include "tests/unit/log/log_builder.h"

enum { MODULE_WORK = 1, MODULE_JVM = 2 };

/* Frames of modules whose files do not exist, shown as "libwork.so+0x10". */
#define WORK_FRAME(offset) th_frame_native(MODULE_WORK, (offset))
#define JVM_FRAME(offset) th_frame_native(MODULE_JVM, (offset))
/* Of methods 1 to 3: app.Main.main, app.Codec.decode, java.util.Arrays.copyOf. */
#define JAVA_FRAME(method) th_frame_java((method), TH_BCI_UNKNOWN)

/* A log with all this and no sample; classes 1 and 2 are byte[] and String. */
void small_log_begin(struct log_builder *log);

/* Defines a stack with these frames, leaf first. */
#define add_stack(log, stack, ...)                           \
	log_stack((log), (stack), (uint64_t[]){__VA_ARGS__}, \
		sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Threads are 1 ("main"), 2 ("worker-1") and those that a test adds, up to this number. */
#define SMALL_LOG_THREADS 3

/* Samples at 10 ms and at 20 ms. */
void small_log_native(struct log_builder *log, uint32_t thread, uint32_t stack, uint64_t size);
void small_log_java(struct log_builder *log, uint32_t thread, uint32_t stack, uint32_t class,
	uint64_t size);

/*
 * A log of 0.1 s with samples of both heaps in both threads:
 *
 *	main      decode < main: libwork.so+0x10 1500 bytes, copyOf 96 byte[] and 24 String
 *	worker-1  libwork.so+0x20 300 bytes, copyOf 80 byte[]
 */
void small_log_build(struct log_builder *log);

#endif
