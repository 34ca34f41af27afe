/* SPDX-License-Identifier: Apache-2.0 */
/* The module table matches the loaded objects, also when they change. */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/base/atomic.h"
#include "unify/log/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#define PROGRAMS TH_TEST_BUILD "/tests/programs/"
#define SMALL PROGRAMS "libreload_small.so"
#define LARGE PROGRAMS "libreload_large.so"

static void *
open_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		print_error("%s\n", dlerror());
	assert_non_null(handle);
	return handle;
}

static void
assert_same_file(const char *left, const char *right)
{
	struct stat left_status;
	struct stat right_status;

	assert_int_equal(stat(left, &left_status), 0);
	assert_int_equal(stat(right, &right_status), 0);
	assert_int_equal(left_status.st_dev, right_status.st_dev);
	assert_int_equal(left_status.st_ino, right_status.st_ino);
}

/* As read from the file by libdw. */
static void
assert_build_id_of_file(const struct th_module *module)
{
	int file = open(module->path, O_RDONLY);
	const void *build_id;
	ssize_t bytes;
	Elf *elf;

	assert_int_not_equal(file, -1);
	elf = elf_begin(file, ELF_C_READ, NULL);
	bytes = dwelf_elf_gnu_build_id(elf, &build_id);
	assert_true(bytes > 0);
	assert_int_equal(module->build_id_bytes, bytes);
	assert_memory_equal(module->build_id, build_id, (size_t)bytes);
	elf_end(elf);
	close(file);
}

/* The module of a function, compared with the loader's information. */
static struct th_module *
assert_described(void *function)
{
	struct th_module *module = th_module_find((uintptr_t)function);
	Dl_info info;

	assert_non_null(module);
	assert_true(dladdr(function, &info));
	assert_int_equal(module->bias, (uintptr_t)info.dli_fbase);
	assert_in_range((uintptr_t)function, module->start, module->end - 1);
	assert_non_null(module->eh_frame_hdr);
	assert_in_range((uintptr_t)module->eh_frame_hdr, module->start, module->end - 1);
	assert_int_equal(*module->path, '/');
	assert_build_id_of_file(module);
	assert_ptr_equal(th_module_get(module->id), module);
	assert_ptr_equal(th_module_find((uintptr_t)function), module);
	return module;
}

static void
test_program(void **state)
{
	struct th_module *module = assert_described((void *)(uintptr_t)test_program);

	(void)state;
	assert_same_file(module->path, program_invocation_name);
}

static void
test_library(void **state)
{
	struct th_module *module = assert_described((void *)(uintptr_t)printf);
	Dl_info info;

	(void)state;
	assert_false(module->is_self);
	dladdr((void *)(uintptr_t)printf, &info);
	assert_same_file(module->path, info.dli_fname);
}

/* Emulators have no vdso, and place libraries differently. */
static bool
is_emulated(void)
{
	return !getauxval(AT_SYSINFO_EHDR);
}

static void
test_vdso(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct th_module *module = th_module_find(start + 1);

	(void)state;
	if (is_emulated())
		skip();
	assert_non_null(module);
	assert_string_equal(module->path, "[vdso]");
	assert_int_equal(module->start, start);
	assert_int_not_equal(module->build_id_bytes, 0);
}

static void
test_no_module(void **state)
{
	int local;

	(void)state;
	assert_null(th_module_find(0));
	assert_null(th_module_find(UINTPTR_MAX));
	assert_null(th_module_find((uintptr_t)&local));
	assert_null(th_module_get(0));
	assert_null(th_module_get(th_module_count() + 1));
	assert_null(th_module_get(UINT32_MAX));
}

static int
check_from_library(void)
{
	oracle_check_libgcc("reloaded library");
	return 0;
}

/* Loads `path`, walks a stack through it, unloads it; returns its id and start address. */
static uint32_t
use_once(const char *path, uintptr_t *start_ret)
{
	void *handle = open_library(path);
	int (*call_through)(int (*callback)(void));
	struct th_module *module;

	*(void **)&call_through = dlsym(handle, "call_through");
	assert_int_equal(call_through(check_from_library), 1);
	module = assert_described(*(void **)&call_through);
	assert_same_file(module->path, path);
	*start_ret = module->start;
	assert_int_equal(dlclose(handle), 0);
	return module->id;
}

/* Information about one library must not be used for another one loaded at the same address. */
static void
test_libraries_that_take_turns_at_one_place(void **state)
{
	uintptr_t small_start;
	uintptr_t large_start;
	uint32_t small = use_once(SMALL, &small_start);
	uint32_t large = use_once(LARGE, &large_start);
	struct oracle_counts counts;

	(void)state;
	counts = oracle_take_counts();
	assert_int_equal(counts.checks, 2);
	assert_int_equal(counts.differences, 0);
	if (is_emulated())
		skip();
	/* Otherwise this test checks nothing. */
	assert_int_equal(small_start, large_start);
	assert_int_not_equal(small, large);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(use_once(SMALL, &small_start), small);
		assert_int_equal(use_once(LARGE, &large_start), large);
	}
	counts = oracle_take_counts();
	assert_int_equal(counts.checks, 20);
	assert_int_equal(counts.differences, 0);
}

static void
test_unloaded_library(void **state)
{
	void *handle = open_library(SMALL);
	uintptr_t pc = (uintptr_t)dlsym(handle, "call_through");

	(void)state;
	assert_non_null(th_module_find(pc));
	dlclose(handle);
	assert_null(th_module_find(pc));
}

static void
test_relative_path(void **state)
{
	char directory[4096];
	struct th_module *module;
	void *handle;

	(void)state;
	assert_non_null(getcwd(directory, sizeof(directory)));
	assert_int_equal(chdir(PROGRAMS), 0);
	handle = open_library("./libthrower.so");
	module = assert_described(dlsym(handle, "throw_through"));
	assert_int_equal(chdir(directory), 0);
	assert_same_file(module->path, PROGRAMS "libthrower.so");
	dlclose(handle);
}

/* Without _dl_find_object */

static void
test_snapshot(void **state)
{
	struct th_module *program = th_module_find((uintptr_t)test_snapshot);
	struct th_module *module;
	uintptr_t pc;
	void *handle;

	(void)state;
	th_module_use_snapshot(true);
	module = assert_described((void *)(uintptr_t)test_snapshot);
	assert_string_equal(module->path, program->path);
	assert_described((void *)(uintptr_t)printf);
	assert_null(th_module_find((uintptr_t)&module));

	handle = open_library(SMALL);
	pc = (uintptr_t)dlsym(handle, "call_through");
	assert_null(th_module_find(pc));
	th_module_refresh();
	assert_same_file(assert_described((void *)pc)->path, SMALL);
	dlclose(handle);
	/* Still listed, but unloaded. */
	assert_null(th_module_find(pc));
	th_module_refresh();
	assert_null(th_module_find(pc));
	th_module_use_snapshot(false);
	assert_ptr_equal(th_module_find((uintptr_t)test_snapshot), program);
}

static void
test_walk_with_snapshot(void **state)
{
	struct oracle_counts counts;

	(void)state;
	th_module_use_snapshot(true);
	th_module_find((uintptr_t)test_snapshot)->is_self = false;
	oracle_check("snapshot");
	th_module_use_snapshot(false);
	counts = oracle_take_counts();
	assert_int_equal(counts.checks, 1);
	assert_int_equal(counts.differences, 0);
}

/* Many threads */

#define ROUNDS 300

static struct {
	unsigned round;  /* atomic: the main thread increments it to start a round */
	unsigned answer; /* atomic: the last round that the other thread has answered */
	uintptr_t pc;
	uint32_t id; /* its answer */
} search;

/* Spins, so that both threads start within a few nanoseconds. */
static void *
find_in_rounds(void *argument)
{
	for (unsigned i = 1; i <= ROUNDS; i++) {
		while (th_load_acquire(&search.round) < i)
			th_relax();
		search.id = th_module_find(search.pc)->id;
		th_store_release(&search.answer, i);
	}
	return argument;
}

/* One round: two threads find a new library at the same time. */
static void
find_together(unsigned round, const char *path)
{
	void *handle = open_library(path);
	uint32_t id;

	search.pc = (uintptr_t)dlsym(handle, "call_through");
	th_store_release(&search.round, round);
	id = th_module_find(search.pc)->id;
	while (th_load_acquire(&search.answer) < round)
		sched_yield();
	assert_int_equal(search.id, id);
	assert_non_null(th_module_get(id));
	dlclose(handle);
}

/* Creates a new library: a copy of `from` with the build id `number`. */
static void
write_variant(const char *from, const char *to, unsigned number)
{
	static char content[1 << 20];
	static const char name[] = "\3\0\0\0GNU";
	FILE *file = fopen(from, "rb");
	size_t bytes = fread(content, 1, sizeof(content), file);
	char *note = memmem(content, bytes, name, sizeof(name));

	fclose(file);
	assert_non_null(note);
	memcpy(note + sizeof(name), &number, sizeof(number));
	file = fopen(to, "wb");
	assert_int_equal(fwrite(content, 1, bytes, file), bytes);
	fclose(file);
}

/* No object has two entries. */
static void
assert_all_different(void)
{
	uint32_t count = th_module_count();

	for (uint32_t i = 1; i <= count; i++) {
		const struct th_module *one = th_module_get(i);

		for (uint32_t j = i + 1; one && one->build_id_bytes && j <= count; j++) {
			const struct th_module *other = th_module_get(j);

			assert_true(
				!other || one->start != other->start ||
				one->end != other->end ||
				memcmp(one->build_id, other->build_id, sizeof(one->build_id)));
		}
	}
}

static void
test_threads_agree_on_new_modules(void **state)
{
	pthread_t thread;
	char path[] = "/tmp/test_module.XXXXXX";
	uint32_t before = th_module_count();

	(void)state;
	close(mkstemp(path));
	assert_int_equal(pthread_create(&thread, NULL, find_in_rounds, NULL), 0);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		/* At one address there is a limit; a file in use must not be written. */
		unlink(path);
		write_variant(SMALL, path, round % 200);
		find_together(round, path);
	}
	pthread_join(thread, NULL);
	unlink(path);
	/* Including unused entries of losers, which are not visible. */
	assert_in_range(th_module_count() - before, 200, 2 * ROUNDS);
	assert_all_different();
}

static int
setup(void **state)
{
	(void)state;
	elf_version(EV_CURRENT);
	oracle_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_libraries_that_take_turns_at_one_place),
		cmocka_unit_test(test_unloaded_library),
		cmocka_unit_test(test_relative_path),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_walk_with_snapshot),
		cmocka_unit_test(test_threads_agree_on_new_modules),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
