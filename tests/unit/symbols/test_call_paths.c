/* SPDX-License-Identifier: Apache-2.0 */
/* Readable stacks: the frames that are shown, and their names. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/profile/sites.h"
#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

/* The path of the one sample in a log with this stack. */
static char *
path_of(struct log_builder *log, enum th_heap heap, const char *option)
{
	struct shown shown;

	if (heap == TH_HEAP_NATIVE)
		small_log_native(log, 1, 1, 100);
	else
		small_log_java(log, 1, 1, 1, 100);
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
	small_log_begin(&log);
	add_stack(&log, 1, WORK_FRAME(0x10), JAVA_FRAME(2), JAVA_FRAME(1), WORK_FRAME(0x30));
	expect_path(&log, TH_HEAP_NATIVE,
		"libwork.so+0x30 app.Main.main app.Codec.decode libwork.so+0x10");
}

static void
test_vm_runs_are_folded(void **state)
{
	struct log_builder log;

	(void)state;
	small_log_begin(&log);
	add_stack(&log, 1, WORK_FRAME(1), JVM_FRAME(1), JVM_FRAME(2), JVM_FRAME(3),
		JAVA_FRAME(1), JVM_FRAME(4), WORK_FRAME(2));
	expect_path(&log, TH_HEAP_NATIVE,
		"libwork.so+0x2 libjvm.so+0x4 app.Main.main [jvm] libjvm.so+0x3 "
		"libwork.so+0x1");
	small_log_begin(&log);
	add_stack(&log, 1, WORK_FRAME(1), JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(1));
	char *names = path_of(&log, TH_HEAP_NATIVE, "--vm-frames");
	assert_string_equal(names, "app.Main.main libjvm.so+0x2 libjvm.so+0x1 libwork.so+0x1");
	free(names);
}

/* Frames of the VM between the allocation and the sample are dropped. */
static void
test_event_posting_is_dropped(void **state)
{
	struct log_builder log;

	(void)state;
	small_log_begin(&log);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), JAVA_FRAME(2), JAVA_FRAME(1));
	expect_path(&log, TH_HEAP_JAVA, "app.Main.main app.Codec.decode");
}

static void
test_odd_stacks(void **state)
{
	struct log_builder log;

	(void)state;
	small_log_begin(&log);
	expect_path(&log, TH_HEAP_NATIVE, "[lost stack]");
	small_log_begin(&log);
	log_stack(&log, 1, NULL, 0);
	expect_path(&log, TH_HEAP_NATIVE, "[no frames]");
	small_log_begin(&log);
	add_stack(&log, 1, JAVA_FRAME(99));
	expect_path(&log, TH_HEAP_NATIVE, "[unknown Java method]");
	small_log_begin(&log);
	add_stack(&log, 1, th_frame_native(0, 0x1234));
	expect_path(&log, TH_HEAP_NATIVE, "0x1234");
}

static void
test_truncated_stack(void **state)
{
	const uint64_t frames[] = {WORK_FRAME(1)};
	struct log_builder log;

	(void)state;
	small_log_begin(&log);
	log_add_fields(&log, TH_EVENT_STACK, LOG_U32(1), LOG_U32(TH_STACK_TRUNCATED),
		LOG_WORDS(frames, 1));
	expect_path(&log, TH_HEAP_NATIVE, "[deeper frames cut] libwork.so+0x1");
}

/* Virtual threads have one root, whatever their carrier thread. */
static void
test_virtual_thread(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	add_stack(&log, 1, JAVA_FRAME(2), th_frame_marker(TH_MARKER_VIRTUAL_THREAD));
	small_log_native(&log, 1, 1, 10);
	small_log_native(&log, 2, 1, 20);
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

/* Threads that run only the VM, on top of the C runtime, belong to the VM. */
static void
test_internal_threads(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	log_module(&log, 3, "/lib/x86_64-linux-gnu/libc.so.6");
	log_thread(&log, 3, "C2 CompilerThread0");
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), th_frame_native(3, 7));
	add_stack(&log, 2, JVM_FRAME(1), JAVA_FRAME(1));
	small_log_native(&log, 3, 1, 100);
	small_log_native(&log, 1, 1, 10);
	small_log_native(&log, 1, 2, 10);
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

/* Symbols of this program: any module called libjvm.so is a VM. */

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
	const void *address; /* in the module that is searched for */
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

/* The JNI function that allocated stays, the rest of the VM does not. */
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

	small_log_begin(&log);
	own_module(&log, 3, path, found.build_id);
	add_stack(&log, 1, JVM_FRAME(1), JVM_FRAME(2), th_frame_native(3, offset),
		WORK_FRAME(1), JAVA_FRAME(1));
	expect_path(&log, TH_HEAP_JAVA, "app.Main.main libwork.so+0x1 jni_NewByteArray");

	/* In a run further up the stack it is the name of the run. */
	small_log_begin(&log);
	own_module(&log, 3, path, found.build_id);
	add_stack(&log, 1, WORK_FRAME(2), JVM_FRAME(1), th_frame_native(3, offset),
		JVM_FRAME(2), WORK_FRAME(1));
	expect_path(
		&log, TH_HEAP_NATIVE, "libwork.so+0x1 [jvm] jni_NewByteArray libwork.so+0x2");
	unlink(path);
	rmdir(directory);
}

/* A module without a file: functions are named as far as they reach, and demangled. */
static void
test_recorded_extents(void **state)
{
	struct log_builder log;

	(void)state;
	small_log_begin(&log);
	log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0x100), LOG_U32(MODULE_WORK),
		LOG_U32(0x40), LOG_TEXT("_ZN4zstd5resetEv"));
	log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0x110), LOG_U32(MODULE_WORK),
		LOG_U32(0x10), LOG_TEXT("inner"));
	add_stack(&log, 1, WORK_FRAME(0x140), WORK_FRAME(0x118), WORK_FRAME(0x13f),
		WORK_FRAME(0x100), WORK_FRAME(0xff), JAVA_FRAME(1));
	expect_path(&log, TH_HEAP_NATIVE,
		"app.Main.main libwork.so+0xff zstd::reset zstd::reset inner libwork.so+0x140");
}

static void
count_warning(void *data, const char *text)
{
	(void)text;
	++*(int *)data;
}

/* Where the log has names of a module, its missing file is not worth a warning. */
static void
test_warnings_about_missing_files(void **state)
{
	(void)state;
	for (int named = 0; named < 2; named++) {
		struct log_builder log;
		struct shown shown;
		struct th_frames *frames;
		const uint32_t *numbers;
		int warnings = 0;

		small_log_begin(&log);
		if (named)
			log_add_fields(&log, TH_EVENT_SYMBOL, LOG_U64(0x100),
				LOG_U32(MODULE_WORK), LOG_U32(0x40), LOG_TEXT("work"));
		add_stack(&log, 1, WORK_FRAME(0x100));
		small_log_native(&log, 1, 1, 100);
		show(&shown, &log, NULL);
		frames = th_frames_create(shown.recording, NULL, count_warning, &warnings);
		th_frames_expand(frames, WORK_FRAME(0x100), &numbers);
		assert_int_equal(warnings, !named);
		th_frames_destroy(frames);
		show_end(&shown);
		log_deinit(&log);
	}
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
	small_log_begin(&log);
	own_module(&log, 3, info.dli_fname, found.build_id);
	add_stack(&log, 1, th_frame_native(3, offset), WORK_FRAME(1));
	expect_path(&log, TH_HEAP_NATIVE, "libwork.so+0x1");
	small_log_begin(&log);
	own_module(&log, 3, info.dli_fname, found.build_id);
	add_stack(&log, 1, th_frame_native(3, offset));
	/* Not the last one: the C library's debug information may name it __GI___libc_malloc. */
	char *names = path_of(&log, TH_HEAP_NATIVE, NULL);
	assert_non_null(strstr(names, "malloc"));
	free(names);
}

/* The site of a path of native functions, named from the root. */
static const char *
site_of_functions(const struct th_profile *profile, const char *const *names, uint32_t count)
{
	uint32_t frames[8];

	for (uint32_t i = 0; i < count; i++)
		frames[i] = th_frames_special(profile->frames, names[i], "", TH_KIND_NATIVE);
	struct th_path path = th_paths_get(
		profile->paths, th_paths_intern(profile->paths, frames, count));
	return th_sites_text(profile->frames, 0, th_sites_place(profile->frames, &path));
}

/*
 * The nearest function that is neither of the library of C++ or Rust nor named as one of libc's
 * identifies the allocation; the last one does if all are.
 */
static void
test_clients_of_libraries(void **state)
{
	static const char *const cases[][4] = {
		{"main", "Table::insert(int)", "std::vector<int>::vector",
			"std::__new_allocator<int>::allocate"},
		{"main", "Table::insert(int)", "Table::make", "operator new(unsigned long)"},
		{"start_thread", "std::thread::run", "work", "std::string::assign"},
		{"main", "std::sort", "compare", "sort"},
		{"std::a", "std::b", "std::c", "std::d"},
		{"main", "Perl_sv_grow", "Perl_safesysmalloc", "_PyObject_Malloc"},
		{"main", "load", "CRYPTO_strdup", "operator new(unsigned long)"},
		{"shop::open", "alloc::vec::Vec<T>::push", "<alloc::raw_vec::RawVec<T>>::grow",
			"__rdl_alloc"},
		{"main", "<shop::Item as core::clone::Clone>::clone",
			"core::clone::impls::clone", "alloc::alloc::alloc"},
		{"main", "load", "SessionCache::allocate", "pool_alloc_zeroed"},
		{"main", "Index<int, std::allocator<int>>::insert", "session_dealloc", "flush"},
		{"main", "Index<int, std::allocator<int>>::insert", "session_dealloc",
			"g_strdup"},
	};
	static const char *const expected[] = {
		"std::__new_allocator<int>::allocate < Table::insert(int)",
		"operator new(unsigned long) < Table::make",
		"std::string::assign < work",
		"sort",
		"std::d",
		"_PyObject_Malloc < Perl_sv_grow",
		"operator new(unsigned long) < load",
		"__rdl_alloc < shop::open",
		"alloc::alloc::alloc < <shop::Item as core::clone::Clone>::clone",
		"pool_alloc_zeroed < load",
		"flush",
		"g_strdup < session_dealloc",
	};
	struct log_builder log;
	struct shown shown;

	(void)state;
	small_log_begin(&log);
	show(&shown, &log, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(site_of_functions(shown.profile, cases[i], 4), expected[i]);
	}
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
		cmocka_unit_test(test_recorded_extents),
		cmocka_unit_test(test_warnings_about_missing_files),
		cmocka_unit_test(test_allocation_functions_are_dropped),
		cmocka_unit_test(test_clients_of_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
