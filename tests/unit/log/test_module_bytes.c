/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a loaded library is read after it was deleted or replaced, and the library is the
 * same afterwards.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/base/call_filter.h"
#include "unify/base/atomic.h"
#include "unify/base/proc_file.h"
#include "unify/log/module_bytes.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs/"
#define LIBRARY PROGRAMS "libvanishing.so"
#define OTHER PROGRAMS "libreload_small.so"

/* Some hundreds meet the library while it is loaded. */
#define STORM_TURNS 5000

static bool is_over; /* atomic */

struct library {
	char path[64];
	void *handle;
	const struct th_module *module;
	struct th_module copy;
	uint64_t local; /* ELF virtual addresses */
	uint64_t exported;
};

static void
copy_file(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s.new && mv %s.new %s", from, to, to, to);
	assert_int_equal(system(command), 0);
}

static void
load(struct library *library)
{
	const void *(*local)(void);
	void *address;
	int descriptor;

	strcpy(library->path, "/tmp/twinheap-test-XXXXXX");
	descriptor = mkstemp(library->path);
	assert_int_not_equal(descriptor, -1);
	close(descriptor);
	copy_file(LIBRARY, library->path);
	library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library->handle);
	address = dlsym(library->handle, "vanishing_local_address");
	assert_non_null(address);
	memcpy(&local, &address, sizeof(local));
	assert_true(th_module_init());
	th_module_use_snapshot(false);
	library->module = th_module_find((uintptr_t)address);
	assert_non_null(library->module);
	/* An entry of an earlier test has the path of that one. */
	library->copy = *library->module;
	strcpy(library->copy.path, library->path);
	library->module = &library->copy;
	library->local = (uintptr_t)local() - library->module->bias;
	library->exported = (uintptr_t)dlsym(library->handle, "vanishing_exported") -
			    library->module->bias;
}

static void
unload(struct library *library)
{
	unlink(library->path);
	dlclose(library->handle);
}

static void
assert_name(const struct th_module_bytes *bytes, uint64_t address, const char *expected)
{
	struct th_elf_wanted wanted = {.address = address + 1};
	char scratch[TH_ELF_SCRATCH_LEAST];
	char name[64];
	size_t length;

	assert_true(th_elf_symbols_find(&bytes->elf, &wanted, 1, scratch, sizeof(scratch)));
	length = th_elf_symbols_name(&bytes->elf, &wanted, name, sizeof(name));
	assert_string_equal(length ? name : "", expected);
}

static void
assert_names(const struct library *library, enum th_module_source source, bool has_local)
{
	struct th_module_bytes bytes;

	assert_true(th_module_bytes_open(library->module, source, &bytes));
	assert_name(&bytes, library->local, has_local ? "vanishing_local" : "");
	assert_name(&bytes, library->exported, "vanishing_exported");
	assert_true(th_module_bytes_are_valid(&bytes));
	th_module_bytes_close(&bytes);
}

static bool
opens(const struct library *library, enum th_module_source source)
{
	struct th_module_bytes bytes;

	if (!th_module_bytes_open(library->module, source, &bytes))
		return false;
	th_module_bytes_close(&bytes);
	return true;
}

/* Whether the process may open the entries of /proc/self/map_files. */
static bool
can_open_mapped(const struct library *library)
{
	return opens(library, TH_SOURCE_MAP_FILES);
}

static void
require_reading(void)
{
	if (getenv("TH_TEST_RUNNER"))
		skip(); /* qemu-user has no process_vm_readv */
}

static unsigned
count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	unsigned count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "twinheap-test-") != NULL;
	fclose(maps);
	return count;
}

static void
open_each(void *library)
{
	for (int source = 0; source < TH_SOURCES; source++)
		opens(library, (enum th_module_source)source);
}

/* The library's pages stay where they are: other threads run in them. */
static void
test_nothing_is_moved(void **state)
{
	struct library library;

	(void)state;
	require_reading();
	load(&library);
	unlink(library.path);
	assert_int_equal(
		call_filter_run(SYS_mremap, CALL_ENDS_PROCESS, open_each, &library), 0);
	unload(&library);
}

/* Another file under the name is not read. */
static void
test_replaced_file(void **state)
{
	struct library library;
	bool can_open;

	(void)state;
	load(&library);
	assert_names(&library, TH_SOURCE_PATH, true);
	can_open = can_open_mapped(&library);
	copy_file(OTHER, library.path);
	assert_false(opens(&library, TH_SOURCE_PATH));
	if (can_open)
		assert_names(&library, TH_SOURCE_MAP_FILES, true);
	unlink(library.path);
	assert_false(opens(&library, TH_SOURCE_PATH));
	assert_int_equal(mkfifo(library.path, 0600), 0);
	assert_false(opens(&library, TH_SOURCE_PATH));
	if (can_open)
		assert_names(&library, TH_SOURCE_MAP_FILES, true);
	unload(&library);
}

/* The mapped file after it was deleted. */
static void
test_deleted_file(void **state)
{
	struct library library;
	unsigned mappings;

	(void)state;
	load(&library);
	unlink(library.path);
	if (!can_open_mapped(&library)) {
		unload(&library);
		skip(); /* without privileges */
	}
	mappings = count_mappings();
	assert_names(&library, TH_SOURCE_MAP_FILES, true);
	assert_names(&library, TH_SOURCE_MAP_FILES, true);
	assert_int_equal(count_mappings(), mappings);
	assert_memory_equal((const void *)library.module->start, "\177ELF", 4);
	unload(&library);
}

/* An image has no .symtab, so the local function has no name, not that of a neighbor. */
static void
test_image(void **state)
{
	struct library library;

	(void)state;
	require_reading();
	load(&library);
	unlink(library.path);
	assert_names(&library, TH_SOURCE_IMAGE, false);
	unload(&library);
}

/* What the program has changed in its copy stays, and does not change what is read of the file. */
static void
test_modified_header(void **state)
{
	struct library library;
	char *header;

	(void)state;
	require_reading();
	load(&library);
	header = (char *)library.module->start;
	assert_int_equal(
		mprotect(header, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE), 0);
	header[15] = 'x'; /* the last byte of e_ident: padding */
	open_each(&library);
	assert_names(&library, TH_SOURCE_PATH, true);
	assert_names(&library, TH_SOURCE_IMAGE, false);
	assert_int_equal(header[15], 'x');
	unload(&library);
}

static uint64_t
locked_bytes(void)
{
	char text[4096];
	uint64_t bytes;

	assert_true(th_proc_file_read("/proc/self/status", text, sizeof(text)) > 0);
	assert_true(th_proc_field(text, "VmLck:", &bytes));
	return bytes;
}

/* The library's own mapping stays locked. */
static void
test_locked_memory(void **state)
{
	struct library library;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t locked;

	(void)state;
	require_reading();
	load(&library);
	/* Sanitizers make libc's function do nothing. */
	if (syscall(SYS_mlock, library.module->start, page_bytes)) {
		unload(&library);
		skip();
	}
	locked = locked_bytes();
	unlink(library.path);
	open_each(&library);
	assert_names(&library, TH_SOURCE_IMAGE, false);
	assert_int_equal(locked_bytes(), locked);
	unload(&library);
}

static void
test_unloaded_library(void **state)
{
	struct library library, other;
	struct th_module_bytes bytes;

	(void)state;
	require_reading();
	load(&library);
	load(&other);
	assert_true(th_module_bytes_open(other.module, TH_SOURCE_IMAGE, &bytes));
	unload(&library);
	assert_false(opens(&library, TH_SOURCE_MAP_FILES));
	assert_false(opens(&library, TH_SOURCE_IMAGE));
	assert_false(th_module_bytes_are_valid(&bytes));
	th_module_bytes_close(&bytes);
	unload(&other);
}

/* Where the library was, another is now. */
static void
test_other_library_at_the_address(void **state)
{
	struct library library;

	(void)state;
	require_reading();
	load(&library);
	library.copy.build_id[0] ^= 1;
	library.copy.head ^= 1;
	assert_false(opens(&library, TH_SOURCE_PATH));
	assert_false(opens(&library, TH_SOURCE_IMAGE));
	library.copy.build_id_bytes = 0;
	strcpy(library.copy.path, "/tmp/other.so");
	assert_false(opens(&library, TH_SOURCE_IMAGE));
	strcpy(library.copy.path, library.path);
	assert_true(opens(&library, TH_SOURCE_IMAGE));
	unload(&library);
}

/* Reads the header, runs the code, and unloads and loads the library again, all the time. */
static void *
use_library(void *data)
{
	const struct library *library = data;

	while (!th_load_relaxed(&is_over)) {
		void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
		void *address = handle ? dlsym(handle, "vanishing_work") : NULL;
		void (*work)(int);
		Dl_info info;

		if (!address || !dladdr(address, &info) ||
			memcmp(info.dli_fbase, "\177ELF", 4) != 0)
			return data;
		memcpy(&work, &address, sizeof(work));
		work(2000);
		dlclose(handle);
	}
	return NULL;
}

static void
test_library_in_use(void **state)
{
	struct library library;
	pthread_t thread;
	unsigned opened = 0;
	void *failed;

	(void)state;
	require_reading();
	load(&library);
	/* Only the thread holds it from here on: it comes and goes. */
	dlclose(library.handle);
	assert_int_equal(pthread_create(&thread, NULL, use_library, &library), 0);
	for (int i = 0; i < STORM_TURNS; i++) {
		opened += opens(&library, i % 2 ? TH_SOURCE_IMAGE : TH_SOURCE_MAP_FILES);
		usleep(1); /* the lock of the loader is not fair */
	}
	th_store_relaxed(&is_over, true);
	pthread_join(thread, &failed);
	assert_null(failed);
	print_message("opened %u of %d times\n", opened, STORM_TURNS);
	assert_int_equal(count_mappings(), 0);
	unlink(library.path);
}

/* JNI libraries from jars often have none: the file is recognized by its head. */
static void
test_module_without_build_id(void **state)
{
	struct library library;

	(void)state;
	require_reading();
	load(&library);
	library.copy.build_id_bytes = 0;
	assert_names(&library, TH_SOURCE_PATH, true);
	copy_file(OTHER, library.path);
	assert_false(opens(&library, TH_SOURCE_PATH));
	unload(&library);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_moved),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_deleted_file),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_modified_header),
		cmocka_unit_test(test_locked_memory),
		cmocka_unit_test(test_unloaded_library),
		cmocka_unit_test(test_other_library_at_the_address),
		cmocka_unit_test(test_library_in_use),
		cmocka_unit_test(test_module_without_build_id),
	};

	return cmocka_run_group_tests_name("module bytes", tests, NULL, NULL);
}
