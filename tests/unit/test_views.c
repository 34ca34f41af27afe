/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of small logs: stacks as people read them, sums checked by hand, the JSON against its
 * schema, filters, and what summary, tree and the rest print.
 */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/view_helper.h"

#define WORK "/nonexistent/libwork.so"
#define JVM "/nonexistent/libjvm.so"

enum { MODULE_WORK = 1, MODULE_JVM = 2 };

/* Frames of modules that are not there read as "libwork.so+0x10". */
#define WORK_FRAME(offset) th_frame_native(MODULE_WORK, (offset))
#define JVM_FRAME(offset) th_frame_native(MODULE_JVM, (offset))
#define JAVA_FRAME(method) th_frame_java((method), TH_BCI_UNKNOWN)

/* What each thread has allocated so far in the log at hand. */
static uint64_t thread_bytes[TH_HEAPS][8];

/* Interval 0, so that every number is exact and a sum of sizes. */
static void
begin(struct log_builder *log)
{
	memset(thread_bytes, 0, sizeof(thread_bytes));
	log_init(log, 0);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(log, 1, "main");
	log_thread(log, 2, "worker-1");
	log_module(log, MODULE_WORK, WORK);
	log_module(log, MODULE_JVM, JVM);
	log_method(log, 1, "Lapp/Main;", "main");
	log_method(log, 2, "Lapp/Codec;", "decode");
	log_method(log, 3, "Ljava/util/Arrays;", "copyOf");
	log_class(log, 1, "[B");
	log_class(log, 2, "Ljava/lang/String;");
}

static void
stack_of(struct log_builder *log, uint32_t stack, uint32_t count, const uint64_t *frames)
{
	log_stack(log, stack, frames, count);
}
#define add_stack(log, stack, ...)                                      \
	stack_of((log), (stack), sizeof((uint64_t[]){__VA_ARGS__}) / 8, \
		(uint64_t[]){__VA_ARGS__})

static void
native(struct log_builder *log, uint32_t thread, uint32_t stack, uint64_t size)
{
	log_native(log, (struct log_sample){.ms = 10,
				.size = size,
				.thread_bytes = thread_bytes[TH_HEAP_NATIVE][thread] += size,
				.thread = thread,
				.stack = stack});
}

static void
java(struct log_builder *log, uint32_t thread, uint32_t stack, uint32_t class, uint64_t size)
{
	log_java(log, (struct log_sample){.ms = 20,
			      .size = size,
			      .thread_bytes = thread_bytes[TH_HEAP_JAVA][thread] += size,
			      .thread = thread,
			      .stack = stack,
			      .class = class});
}

/* Both heaps, two threads: what most tests look at. */
static void
build(struct log_builder *log)
{
	begin(log);
	add_stack(log, 1, WORK_FRAME(0x10), JAVA_FRAME(2), JAVA_FRAME(1));
	add_stack(log, 2, JAVA_FRAME(3), JAVA_FRAME(2), JAVA_FRAME(1));
	add_stack(log, 3, WORK_FRAME(0x20));
	native(log, 1, 1, 1000);
	native(log, 1, 1, 500);
	native(log, 2, 3, 300);
	java(log, 1, 2, 1, 64);
	java(log, 1, 2, 1, 32);
	java(log, 1, 2, 2, 24);
	java(log, 2, 2, 1, 80);
	log_end(log, 100);
}

/* The path of the one sample in a log with this stack. */
static char *
path_of(struct log_builder *log, enum th_heap heap, const char *option)
{
	struct shown shown;

	if (heap == TH_HEAP_NATIVE)
		native(log, 1, 1, 100);
	else
		java(log, 1, 1, 1, 100);
	show(&shown, log, option, NULL);
	json_t *root = show_json(&shown);
	json_t *rows = json_object_get(root, "stacks");
	assert_int_equal(json_array_size(rows), 1);
	char *names = frame_names(json_array_get(rows, 0));
	json_decref(root);
	show_end(&shown);
	log_deinit(log);
	return names;
}

static void
expect_path(struct log_builder *log, enum th_heap heap, const char *expected)
{
	char *names = path_of(log, heap, NULL);

	assert_string_equal(names, expected);
	free(names);
}

/* Stacks */

static void
test_path_is_root_first(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_stack(&log, 1, WORK_FRAME(0x10), JAVA_FRAME(2), JAVA_FRAME(1), WORK_FRAME(0x30));
	expect_path(&log, TH_HEAP_NATIVE,
		"libwork.so+0x30 app.Main.main app.Codec.decode libwork.so+0x10");
}

static void
test_vm_runs_are_folded(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_stack(&log, 1, WORK_FRAME(1), JVM_FRAME(1), JVM_FRAME(2), JVM_FRAME(3),
		JAVA_FRAME(1), JVM_FRAME(4), WORK_FRAME(2));
	expect_path(&log, TH_HEAP_NATIVE,
		"libwork.so+0x2 libjvm.so+0x4 app.Main.main [jvm] libjvm.so+0x3 "
		"libwork.so+0x1");
	begin(&log);
	add_stack(&log, 1, WORK_FRAME(1), JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(1));
	char *names = path_of(&log, TH_HEAP_NATIVE, "--vm-frames");
	assert_string_equal(names, "app.Main.main libjvm.so+0x2 libjvm.so+0x1 libwork.so+0x1");
	free(names);
}

/* What the VM does between the allocation and the sample is nobody's business. */
static void
test_event_posting_is_dropped(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(2), JAVA_FRAME(1));
	expect_path(&log, TH_HEAP_JAVA, "app.Main.main app.Codec.decode");
}

static void
test_odd_stacks(void **state)
{
	struct log_builder log;

	(void)state;
	begin(&log);
	expect_path(&log, TH_HEAP_NATIVE, "[lost stack]");
	begin(&log);
	log_stack(&log, 1, NULL, 0);
	expect_path(&log, TH_HEAP_NATIVE, "[no frames]");
	begin(&log);
	add_stack(&log, 1, JAVA_FRAME(99));
	expect_path(&log, TH_HEAP_NATIVE, "[unknown Java method]");
	begin(&log);
	add_stack(&log, 1, th_frame_native(0, 0x1234));
	expect_path(&log, TH_HEAP_NATIVE, "0x1234");
}

static void
test_truncated_stack(void **state)
{
	const uint64_t frames[] = {WORK_FRAME(1)};
	struct log_builder log;

	(void)state;
	begin(&log);
	log_add_fields(&log, TH_EVENT_STACK, LOG_U32(1), LOG_U32(TH_STACK_TRUNCATED),
		LOG_WORDS(frames, 1));
	expect_path(&log, TH_HEAP_NATIVE, "[deeper frames cut] libwork.so+0x1");
}

/* Virtual threads have one root, whichever thread carries them. */
static void
test_virtual_thread(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	add_stack(&log, 1, JAVA_FRAME(2), th_frame_marker(TH_MARKER_VIRTUAL_THREAD));
	native(&log, 1, 1, 10);
	native(&log, 2, 1, 20);
	show(&shown, &log, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, "[virtual thread];app.Codec.decode 30\n");
	free(text);
	json_t *root = show_json(&shown);
	json_t *row = row_with_frame(root, "[virtual thread]");
	assert_string_equal(
		json_string_value(json_object_get(row, "thread")), "[virtual thread]");
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Threads in which only the VM runs, on top of the C runtime, are the VM's own. */
static void
test_internal_threads(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_module(&log, 3, "/lib/x86_64-linux-gnu/libc.so.6");
	log_thread(&log, 3, "C2 CompilerThread0");
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), th_frame_native(3, 7));
	add_stack(&log, 2, JVM_FRAME(1), JAVA_FRAME(1));
	native(&log, 3, 1, 100);
	native(&log, 1, 1, 10);
	native(&log, 1, 2, 10);
	show(&shown, &log, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_non_null(strstr(text, "[JVM-internal];C2 CompilerThread0;libc.so.6+0x7;[jvm] "
				     "libjvm.so+0x2 100\n"));
	assert_non_null(strstr(text, "main;libc.so.6+0x7;[jvm] libjvm.so+0x2 10\n"));
	assert_null(strstr(text, "[JVM-internal];main"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* Symbols of this very program: a VM is what is called libjvm.so. */

__attribute__((noinline, used)) static int
jni_NewByteArray(int x)
{
	return x + 1;
}

static void
own_module(struct log_builder *log, uint32_t module, const char *path, const char *build_id)
{
	log_add_fields(log, TH_EVENT_MODULE, LOG_U64(0), LOG_U64(1), LOG_U64(0),
		LOG_U32(module), LOG_TEXT(path), LOG_TEXT(build_id));
}

struct found_module {
	const void *address; /* in the module that is sought */
	uintptr_t bias;
	char build_id[128];
};

static void
copy_build_id(struct found_module *found, const unsigned char *note, size_t bytes)
{
	while (bytes >= 12) {
		uint32_t head[3];

		memcpy(head, note, sizeof(head));
		const unsigned char *id = note + 12 + ((head[0] + 3) & ~3u);
		if (head[2] == 3 && head[0] == 4 && !memcmp(note + 12, "GNU", 4))
			for (uint32_t i = 0; i < head[1] && i < 60; i++)
				snprintf(found->build_id + 2 * i, 3, "%02x", id[i]);
		size_t used = 12 + ((head[0] + 3) & ~3u) + ((head[1] + 3) & ~3u);
		if (used > bytes)
			return;
		note += used;
		bytes -= used;
	}
}

static int
look_at_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct found_module *found = data;
	uintptr_t address = (uintptr_t)found->address;
	bool holds = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && address >= start &&
			address < start + segment->p_memsz)
			holds = true;
	}
	for (int i = 0; holds && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			copy_build_id(found,
				(const unsigned char *)info->dlpi_addr + segment->p_vaddr,
				segment->p_memsz);
	}
	if (holds)
		found->bias = info->dlpi_addr;
	return holds;
}

static struct found_module
find_module(const void *address)
{
	struct found_module found = {.address = address};

	dl_iterate_phdr(look_at_module, &found);
	return found;
}

/* Whose JNI function allocated stays, the rest of the VM does not. */
static void
test_jni_function_stays(void **state)
{
	char directory[] = "/tmp/twinheap-test-XXXXXX";
	char own[4096];
	char path[64];
	struct found_module found = find_module((const void *)(uintptr_t)jni_NewByteArray);
	uint64_t offset = (uintptr_t)jni_NewByteArray - found.bias + 1;
	struct log_builder log;

	(void)state;
	assert_int_equal(jni_NewByteArray(1), 2);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libjvm.so", directory);
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[length] = '\0';
	assert_int_equal(symlink(own, path), 0);

	begin(&log);
	own_module(&log, 3, path, found.build_id);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), th_frame_native(3, offset),
		WORK_FRAME(1), JAVA_FRAME(1));
	expect_path(&log, TH_HEAP_JAVA, "app.Main.main libwork.so+0x1 jni_NewByteArray");

	/* In a run on the way down it is the name of the run. */
	begin(&log);
	own_module(&log, 3, path, found.build_id);
	add_stack(&log, 1, WORK_FRAME(2), JVM_FRAME(1), th_frame_native(3, offset),
		JVM_FRAME(2), WORK_FRAME(1));
	expect_path(
		&log, TH_HEAP_NATIVE, "libwork.so+0x1 [jvm] jni_NewByteArray libwork.so+0x2");
	unlink(path);
	rmdir(directory);
}

/* The one frame of a sample in jni_NewByteArray() of a stripped copy of this program. */
static char *
name_in_stripped_module(const char *path, uint64_t symbol_offset)
{
	struct found_module found = find_module((const void *)(uintptr_t)jni_NewByteArray);
	uint64_t start = (uintptr_t)jni_NewByteArray - found.bias;
	struct log_builder log;

	begin(&log);
	own_module(&log, 3, path, found.build_id);
	log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(start + symbol_offset), LOG_U32(3),
		LOG_TEXT("jni_NewByteArray"));
	add_stack(&log, 1, th_frame_native(3, start + 1), WORK_FRAME(1));
	return path_of(&log, TH_HEAP_NATIVE, NULL);
}

/* A VM without symbols: the log's own names are used, for the functions they are of. */
static void
test_recorded_names(void **state)
{
	char directory[] = "/tmp/twinheap-test-XXXXXX";
	char command[256];
	char path[64];

	(void)state;
	if (getenv("TH_TEST_RUNNER"))
		skip(); /* /proc/PID/exe is the emulator */
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libjvm.so", directory);
	snprintf(command, sizeof(command), "strip -s -o %s /proc/%d/exe", path, (int)getpid());
	assert_int_equal(system(command), 0);
	char *exact = name_in_stripped_module(path, 0);
	char *other = name_in_stripped_module(path, 4);
	unlink(path);
	rmdir(directory);
	assert_string_equal(exact, "libwork.so+0x1 jni_NewByteArray");
	assert_non_null(strstr(other, "libwork.so+0x1 libjvm.so+0x"));
	free(exact);
	free(other);
}

static void
test_allocation_functions_are_dropped(void **state)
{
	void *function = dlsym(RTLD_DEFAULT, "malloc");
	struct found_module found = find_module(function);
	struct log_builder log;
	Dl_info info;

	(void)state;
	assert_true(dladdr(function, &info));
	if (!strstr(info.dli_fname, "libc.so"))
		skip(); /* a sanitizer has its own malloc */
	uint64_t offset = (uintptr_t)function - found.bias + 1;
	begin(&log);
	own_module(&log, 3, info.dli_fname, found.build_id);
	add_stack(&log, 1, th_frame_native(3, offset), WORK_FRAME(1));
	expect_path(&log, TH_HEAP_NATIVE, "libwork.so+0x1");
	begin(&log);
	own_module(&log, 3, info.dli_fname, found.build_id);
	add_stack(&log, 1, th_frame_native(3, offset));
	/* Not the last one: the C library's debug information may name it __GI___libc_malloc. */
	char *names = path_of(&log, TH_HEAP_NATIVE, NULL);
	assert_non_null(strstr(names, "malloc"));
	free(names);
}

/* Numbers */

static void
test_rows_by_hand(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	assert_int_equal(json_array_size(json_object_get(root, "stacks")), 5);
	json_t *row = row_with_frame(root, "libwork.so+0x10");
	assert_true(estimate_of(row, "alloc_bytes") == 1500);
	assert_true(estimate_of(row, "alloc_objects") == 2);
	assert_true(limit_of(row, "alloc_bytes", 0) == 1500);
	assert_true(is_exact(row, "alloc_bytes") && is_exact(row, "alloc_objects"));
	/* The largest of the Java rows comes first: byte[] on main. */
	row = row_with_frame(root, "java.util.Arrays.copyOf");
	assert_string_equal(json_string_value(json_object_get(row, "class")), "byte[]");
	assert_string_equal(json_string_value(json_object_get(row, "thread")), "main");
	assert_true(estimate_of(row, "alloc_bytes") == 96);
	json_t *java_total = json_object_get(json_object_get(root, "totals"), "java");
	json_t *native_total = json_object_get(json_object_get(root, "totals"), "native");
	assert_true(estimate_of(java_total, "alloc_bytes") == 200);
	assert_true(estimate_of(java_total, "alloc_objects") == 4);
	assert_true(estimate_of(native_total, "alloc_bytes") == 1800);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Two stack ids that read the same are one row. */
static void
test_equal_stacks_are_one_row(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(1));
	add_stack(&log, 2, JVM_FRAME(9), JVM_FRAME(2), JAVA_FRAME(1));
	native(&log, 1, 1, 10);
	native(&log, 1, 2, 30);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	assert_int_equal(json_array_size(json_object_get(root, "stacks")), 1);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

static void
expect_collapsed(const char *expected, const char *option, const char *argument)
{
	struct log_builder log;
	struct shown shown;

	build(&log);
	show(&shown, &log, option, argument, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(text, expected);
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

#define MAIN_NATIVE "main;app.Main.main;app.Codec.decode;libwork.so+0x10 1500\n"
#define MAIN_JAVA "main;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 120\n"
#define WORKER_JAVA "worker-1;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 80\n"
#define WORKER_NATIVE "worker-1;libwork.so+0x20 300\n"

static void
test_collapsed_and_filters(void **state)
{
	(void)state;
	expect_collapsed(MAIN_JAVA MAIN_NATIVE WORKER_JAVA WORKER_NATIVE, NULL, NULL);
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--heaps", "java");
	expect_collapsed(MAIN_NATIVE WORKER_NATIVE, "--heaps", "native");
	expect_collapsed(WORKER_JAVA WORKER_NATIVE, "--thread", "^worker-[0-9]+$");
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--include", "Arrays\\.copyOf|nothing");
	expect_collapsed(WORKER_NATIVE, "--exclude", "decode");
	expect_collapsed(MAIN_JAVA WORKER_JAVA, "--from", "0.02");
	expect_collapsed(MAIN_NATIVE WORKER_NATIVE, "--to", "0.02");
	expect_collapsed("", "--from", "10");
	expect_collapsed("main;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 3\n"
			 "main;app.Main.main;app.Codec.decode;libwork.so+0x10 2\n"
			 "worker-1;app.Main.main;app.Codec.decode;java.util.Arrays.copyOf 1\n"
			 "worker-1;libwork.so+0x20 1\n",
		"--value", "alloc-objects");
	expect_collapsed("[java heap];" MAIN_JAVA "[java heap];" WORKER_JAVA
			 "[native heap];" MAIN_NATIVE "[native heap];" WORKER_NATIVE,
		"--annotate", NULL);
}

/* A filtered total is the sum of what is left, not the heap's. */
static void
test_filtered_total(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log);
	show(&shown, &log, "--thread", "worker", NULL);
	json_t *root = show_json(&shown);
	json_t *totals = json_object_get(root, "totals");
	assert_true(estimate_of(json_object_get(totals, "java"), "alloc_bytes") == 80);
	assert_true(estimate_of(json_object_get(totals, "native"), "alloc_bytes") == 300);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Names from the application cannot break a format. */
static void
test_odd_names(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	log_thread(&log, 1, "a;b\n\x1b[31m\xff\xed\xa0\x80 \xc3\xa9");
	add_stack(&log, 1, WORK_FRAME(1));
	native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	char *text = show_text(&shown, th_view_collapsed);
	assert_string_equal(
		text, "a:b  [31m\xef\xbf\xbd\xef\xbf\xbd \xc3\xa9;libwork.so+0x1 10\n");
	free(text);
	json_decref(show_json(&shown));
	show_end(&shown);
	log_deinit(&log);
}

/* JSON */

static void
require_figures(json_t *object)
{
	static const char *const names[] = {
		"alloc_bytes", "alloc_objects", "live_bytes", "live_objects", "temp_bytes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *figure = json_object_get(object, names[i]);
		double low = limit_of(object, names[i], 0);
		double high = limit_of(object, names[i], 1);

		assert_true(json_is_real(json_object_get(figure, "estimate")));
		assert_int_equal(json_array_size(json_object_get(figure, "ci95")), 2);
		assert_true(json_is_integer(json_object_get(figure, "samples")));
		assert_true(low <= estimate_of(object, names[i]));
		assert_true(high >= estimate_of(object, names[i]));
	}
}

static void
require_frame(json_t *frame)
{
	const char *kind = json_string_value(json_object_get(frame, "kind"));

	assert_int_equal(json_object_size(frame), 5);
	assert_true(json_is_string(json_object_get(frame, "name")));
	assert_true(!strcmp(kind, "java") || !strcmp(kind, "native") || !strcmp(kind, "vm"));
	assert_non_null(json_object_get(frame, "module"));
	assert_non_null(json_object_get(frame, "file"));
	assert_non_null(json_object_get(frame, "line"));
}

static void
require_row(json_t *row)
{
	json_t *frame;
	size_t i;

	assert_int_equal(json_object_size(row), 10);
	assert_true(json_is_string(json_object_get(row, "heap")));
	assert_true(json_is_string(json_object_get(row, "thread")));
	require_figures(row);
	assert_true(json_array_size(json_object_get(row, "frames")) > 0);
	json_array_foreach(json_object_get(row, "frames"), i, frame) require_frame(frame);
}

static void
test_json_schema(void **state)
{
	struct log_builder log;
	struct shown shown;
	json_t *row;
	size_t i;

	(void)state;
	build(&log);
	log_header(&log)->counters[TH_COUNTER_DROPPED_LOG_FULL] = 7;
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	int pid;
	int complete;
	int version;
	double duration;
	const char *jvm;
	json_t *command;
	assert_int_equal(json_unpack(root, "{s:i, s:{s:i, s:o, s:s, s:b, s:F !}}", "twinheap",
				 &version, "process", "pid", &pid, "command", &command, "jvm",
				 &jvm, "complete", &complete, "duration_s", &duration),
		0);
	assert_int_equal(version, 1);
	assert_int_equal(pid, 4711);
	assert_true(complete);
	assert_string_equal(jvm, "25.0.3+9-LTS");
	assert_true(fabs(duration - 0.1) < 1e-9);
	assert_int_equal(json_array_size(command), 3);
	assert_string_equal(json_string_value(json_array_get(command, 2)), "a b");
	int interval;
	int rate;
	int java_samples;
	int native_samples;
	int full;
	assert_int_equal(json_unpack(root, "{s:{s:i, s:i, s:i, s:i, s:{s:i}}}", "sampling",
				 "interval_bytes", &interval, "rate_target", &rate,
				 "java_samples", &java_samples, "native_samples",
				 &native_samples, "dropped", "log_full", &full),
		0);
	assert_int_equal(java_samples, 4);
	assert_int_equal(native_samples, 3);
	assert_int_equal(full, 7);
	assert_int_equal(json_object_size(root), 8);
	require_figures(json_object_get(json_object_get(root, "totals"), "java"));
	require_figures(json_object_get(json_object_get(root, "totals"), "native"));
	json_array_foreach(json_object_get(root, "stacks"), i, row) require_row(row);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_json_lines(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	/* The table of log_method(): line 10 from bytecode 0, line 11 from 5. */
	add_stack(&log, 1, th_frame_java(2, 4), th_frame_java(1, 5));
	native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	json_t *frames = json_object_get(
		json_array_get(json_object_get(root, "stacks"), 0), "frames");
	json_t *main_frame = json_array_get(frames, 0);
	json_t *leaf = json_array_get(frames, 1);
	assert_int_equal(json_integer_value(json_object_get(main_frame, "line")), 11);
	assert_int_equal(json_integer_value(json_object_get(leaf, "line")), 10);
	assert_string_equal(json_string_value(json_object_get(leaf, "file")), "Source.java");
	assert_string_equal(json_string_value(json_object_get(leaf, "kind")), "java");
	assert_true(json_is_null(json_object_get(leaf, "module")));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* A heap that was not recorded has no figures; nothing is claimed of it. */
static void
test_json_of_one_heap(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 0);
	log_thread(&log, 1, "main");
	native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	json_t *java_total = json_object_get(json_object_get(root, "totals"), "java");
	assert_true(json_is_null(json_object_get(java_total, "alloc_bytes")));
	assert_true(json_is_null(json_object_get(json_object_get(root, "process"), "jvm")));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Text views */

static void
expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void
test_summary(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log);
	log_header(&log)->counters[TH_COUNTER_DROPPED_STACKS_FULL] = 1234;
	log_header(&log)->counters[TH_COUNTER_SAMPLES_DUE] = 6000;
	log_header(&log)->counters[TH_COUNTER_NATIVE_SAMPLES] = 4000;
	log_header(&log)->counters[TH_COUNTER_RATE_THINNED] = 700;
	log_header(&log)->counters[TH_COUNTER_JAVA_THINNED] = 66;
	log_header(&log)->counters[TH_COUNTER_DROPPED_THREADS_FULL] = 5;
	log_header(&log)->counters[TH_COUNTER_JAVA_STACK_BELOW] = 200;
	log_header(&log)->counters[TH_COUNTER_JAVA_STACK_FOUND] = 100;
	log_add_fields(&log, TH_EVENT_NOTE, LOG_U64(LOG_START), LOG_U32(1), LOG_TEXT("mind"));
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "app -x a b\n");
	expect_text(text, "A VM 25.0.3+9-LTS\n");
	expect_text(text, "Java heap        200 B  exact ");
	expect_text(text, "native heap   1.76 KiB  exact ");
	expect_text(text, " 88.0 %      176 B  exact                byte[] in "
			  "java.util.Arrays.copyOf < app.Codec.decode\n");
	expect_text(text, " libwork.so+0x10 < app.Codec.decode\n");
	expect_text(
		text, "  6,000 samples were due: 4,000 recorded, 766 left out, 1,234 lost\n");
	assert_null(strstr(text, "do not add up"));
	expect_text(text, "warning: 1,234 samples lost: the stack table is full\n");
	expect_text(text, "warning: 5 threads unseen");
	expect_text(text, "warning: 50.0 % of the native samples taken below Java");
	expect_text(text, "warning: mind\n");
	expect_text(text, "  twinheap tree ");
	free(text);
	text = show_summary(&shown, true);
	size_t lines = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_in_range(lines, 6, 10);
	expect_text(text, "Java heap: 200 B allocated (exact), 4 samples; 200 B live at the "
			  "end (exact)\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

/* A sample that is neither recorded nor left out nor lost is an error of the recording. */
static void
test_counters_that_do_not_add_up(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log);
	log_header(&log)->counters[TH_COUNTER_SAMPLES_DUE] = 6;
	log_header(&log)->counters[TH_COUNTER_JAVA_SAMPLES] = 5;
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "  6 samples were due: 5 recorded, 0 left out, 0 lost\n");
	expect_text(text, "warning: these counters do not add up\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_summary_of_a_log_without_end(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 1000);
	log_thread(&log, 1, "main");
	log_add_hole(&log, 80);
	native(&log, 1, 1, 10);
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, false);
	expect_text(text, "the log has no end");
	expect_text(text, "1 records were never finished");
	expect_text(text, "Java heap    not recorded\n");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_approximate_shares_are_said(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 1000);
	log_jvm(&log, 11, TH_JVM_SAMPLED_ALLOC | TH_JVM_SHARES_APPROXIMATE);
	show(&shown, &log, NULL);
	char *text = show_summary(&shown, true);
	expect_text(text, "shares of them approximate");
	expect_text(text, "twinheap dump ");
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

static void
test_tree(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build(&log);
	show(&shown, &log, "--min", "20", NULL);
	char *text = show_text(&shown, th_view_tree);
	expect_text(text, "100.0 %     200 B  exact                100.0 %  1.76 KiB  exact"
			  "                all\n");
	/* A chain of calls stands at one depth; where it forks, the branches are indented. */
	expect_text(text, " main\n");
	expect_text(text, " 60.0 %     120 B  exact                 83.3 %  1.46 KiB  exact"
			  "                app.Codec.decode\n");
	expect_text(text, "  libwork.so+0x10\n");
	expect_text(text, "left out: 1 branches below 20 %; --min 0 shows all\n"
			  "  0.0 % of the Java heap, 16.7 % of the native heap\n");
	free(text);
	show_end(&shown);
	show(&shown, &log, "--min", "0", NULL);
	text = show_text(&shown, th_view_tree);
	expect_text(text, "libwork.so+0x20");
	assert_null(strstr(text, "left out"));
	free(text);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_is_root_first),
		cmocka_unit_test(test_vm_runs_are_folded),
		cmocka_unit_test(test_event_posting_is_dropped),
		cmocka_unit_test(test_odd_stacks),
		cmocka_unit_test(test_truncated_stack),
		cmocka_unit_test(test_virtual_thread),
		cmocka_unit_test(test_internal_threads),
		cmocka_unit_test(test_jni_function_stays),
		cmocka_unit_test(test_recorded_names),
		cmocka_unit_test(test_allocation_functions_are_dropped),
		cmocka_unit_test(test_rows_by_hand),
		cmocka_unit_test(test_equal_stacks_are_one_row),
		cmocka_unit_test(test_collapsed_and_filters),
		cmocka_unit_test(test_filtered_total),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_json_schema),
		cmocka_unit_test(test_json_lines),
		cmocka_unit_test(test_json_of_one_heap),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_counters_that_do_not_add_up),
		cmocka_unit_test(test_summary_of_a_log_without_end),
		cmocka_unit_test(test_approximate_shares_are_said),
		cmocka_unit_test(test_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
