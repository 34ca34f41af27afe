/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser against text in the kernel's format, in pieces of every length, and the reader
 * against the kernel's own sum for this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "unify/base/proc_file.h"
#include "unify/base/system.h"
#include "unify/resident/address_space.h"

#define PAGE 4096u

static const char two[] =
	"55ab48e39000-55ab48e3b000 r--p 00001000 fe:00 247026                     /opt/a b.so\n"
	"Size:                  8 kB\n"
	"Rss:                   4 kB\n"
	"Pss:                   1 kB\n"
	"Anonymous:             4 kB\n"
	"Swap:                  0 kB\n"
	"VmFlags: rd mr mw me \n"
	"7f0000000000-7f0000100000 ---p 00000000 00:00 0 \n"
	"Rss:                   0 kB\n"
	"Swap:                 16 kB\n"
	"Private_Hugetlb:    2048 kB\n"
	"VmFlags: mr mw me \n";

static struct th_address_space space;

static int
set_up(void **state)
{
	(void)state;
	return !th_address_space_init(&space);
}

static bool
parse(const char *text, size_t step)
{
	size_t length = strlen(text);

	th_address_space_begin(&space);
	for (size_t at = 0; at < length; at += step)
		th_address_space_feed(
			&space, text + at, step < length - at ? step : length - at);
	return th_address_space_end(&space);
}

static void
assert_two(void)
{
	const struct th_address_space_entry *file = &space.entries[0];
	const struct th_address_space_entry *reserve = &space.entries[1];

	assert_int_equal(space.count, 2);
	assert_int_equal(space.resident, 4096);
	assert_int_equal(space.swapped, 16384);
	assert_int_equal(file->start, 0x55ab48e39000);
	assert_int_equal(file->end, 0x55ab48e3b000);
	assert_int_equal(file->resident, 4096);
	assert_true(file->has_file && file->is_accessible);
	/* It does not begin at the start of the file. */
	assert_false(file->is_writable || file->is_shared || file->is_image);
	assert_string_equal(th_address_space_path(&space, file), "/opt/a b.so");
	assert_int_equal(reserve->swapped, 16384);
	assert_int_equal(reserve->resident, 0);
	assert_false(reserve->is_accessible || reserve->has_file);
	assert_string_equal(th_address_space_path(&space, reserve), "");
}

static void
test_two_mappings_in_pieces(void **state)
{
	(void)state;
	for (size_t step = 1; step <= sizeof(two); step++) {
		assert_true(parse(two, step));
		assert_two();
	}
}

/* Of mappings that do not fit only the bytes count; keys without a mapping are ignored. */
static void
test_more_mappings_than_fit(void **state)
{
	static const char one[] = "1000-2000 rw-p 00000000 00:00 0 \nRss: 4 kB\nSwap: 8 kB\n";

	(void)state;
	th_address_space_begin(&space);
	th_address_space_feed(&space, "Rss: 4 kB\n", 10);
	for (uint32_t i = 0; i < TH_MAPPINGS_MAX; i++)
		th_address_space_feed(&space, one, sizeof(one) - 1);
	assert_false(space.is_truncated);
	th_address_space_feed(&space, one, sizeof(one) - 1);
	assert_true(th_address_space_end(&space) && space.is_truncated);
	assert_int_equal(space.count, TH_MAPPINGS_MAX);
	assert_int_equal(space.resident, (TH_MAPPINGS_MAX + 1) * PAGE);
	assert_int_equal(space.swapped, 2 * (TH_MAPPINGS_MAX + 1) * PAGE);
	assert_int_equal(space.entries[TH_MAPPINGS_MAX - 1].resident, PAGE);
}

/* Of the line its beginning is used, of the path in that its end. */
static void
test_a_long_path(void **state)
{
	char text[2048] = "1000-2000 rw-s 00000000 00:05 7 /";
	size_t length = strlen(text);

	(void)state;
	memset(text + length, 'x', 1000);
	strcpy(text + length + 1000, "\nRss: 4 kB\n");
	assert_true(parse(text, 100));
	assert_int_equal(space.count, 1);
	assert_int_equal(space.entries[0].resident, 4096);
	assert_true(space.entries[0].is_shared);
	assert_int_equal(strlen(th_address_space_path(&space, &space.entries[0])),
		TH_MAPPING_PATH_MAX - 1);
}

static void
test_text_that_is_no_smaps(void **state)
{
	static const char *const texts[] = {
		"hello\n", "1000-2000\n", "2000-1000 rw-p 00000000 00:00 0 \n",
		"1000-2000 rw-p 00000000 0000 0 \n",
		"fffffffffffffffff-2000 rw-p 00000000 00:00 0 \n",
		"1000-2000 rw-p 00000000 00:00 0 \nRss: 4 kB", /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(parse(texts[i], 3));
}

/* The real file */

static uint64_t
rollup(void)
{
	char text[4096];
	uint64_t kib;

	assert_true(th_proc_file_read("/proc/self/smaps_rollup", text, sizeof(text)) > 0);
	assert_true(th_proc_field(text, "Rss:", &kib));
	return kib * 1024;
}

static void
test_the_sum_is_the_rss_of_the_kernel(void **state)
{
	const uint64_t slack = 64 * PAGE; /* pages first touched in between */

	(void)state;
	assert_true(th_address_space_read_file(&space, "smaps"));
	uint64_t kernel = rollup();
	assert_true(space.resident + slack > kernel && space.resident < kernel + slack);
}

static void
test_a_file_that_is_not_there(void **state)
{
	(void)state;
	assert_false(th_address_space_read_file(&space, "nothing"));
}

static void
test_touched_pages_are_present(void **state)
{
	static struct th_page_map map;
	const size_t pages = 3000;
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t start = (uintptr_t)memory;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_return_code(madvise(memory, pages * PAGE, MADV_NOHUGEPAGE), 0);
	if (!th_page_map_open(&map))
		skip();
	for (size_t page = 0; page < pages; page += 3)
		memory[page * PAGE] = 1;
	struct th_page_use all = th_page_map_use(&map, start, start + pages * PAGE);
	assert_int_equal(all.resident + all.swapped, 1000 * PAGE);
	/* Half of a resident page, a whole absent one, a byte of the next but one. */
	map.count = 0;
	struct th_page_use some = th_page_map_use(&map, start + PAGE / 2, start + 3 * PAGE + 1);
	assert_int_equal(some.resident + some.swapped, PAGE / 2 + 1);
	th_page_map_close(&map);
	some = th_page_map_use(&map, start, start + PAGE);
	assert_int_equal(some.resident, 0);
	munmap(memory, pages * PAGE);
}

/* Compares the scan with smaps, in the mappings of [0, end). */
static void
compare(struct th_page_map *map, uintptr_t end, uint64_t least)
{
	uint64_t scanned = 0, resident = 0;

	assert_true(th_address_space_read_file(&space, "smaps"));
	for (uint32_t i = 0; i < space.count && space.entries[i].end <= end; i++) {
		const struct th_address_space_entry *entry = &space.entries[i];

		scanned += th_page_map_use(map, entry->start, entry->end).resident;
		resident += entry->resident;
	}
	assert_true(resident >= least);
	/* The calls in between touch some pages. */
	assert_in_range(scanned, resident - 64 * PAGE, resident);
}

/* Written, only read (the zero page), and untouched pages; alone, and with the whole process. */
static void
test_a_scan_finds_what_smaps_does(void **state)
{
	static struct th_page_map map;
	const size_t pages = 3000;
	const size_t bytes = pages * PAGE;
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t start = (uintptr_t)memory;
	uint64_t sum = 0;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_return_code(madvise((void *)memory, bytes, MADV_NOHUGEPAGE), 0);
	for (size_t page = 0; page < pages; page += 3) {
		memory[page * PAGE] = 1;
		(void)memory[(page + 1) * PAGE];
	}
	if (!th_page_map_open(&map) || !th_page_map_scan(&map, start, start + bytes))
		skip(); /* Linux before 6.7, or swap is in use */
	for (size_t page = 0; page < pages; page++) {
		uint64_t resident = th_page_map_use(
			&map, start + page * PAGE, start + (page + 1) * PAGE)
					    .resident;

		assert_int_equal(resident, page % 3 ? 0 : PAGE);
		sum += resident;
	}
	assert_int_equal(th_page_map_use(&map, start, start + bytes).resident, sum);
	/* Half of a resident page, two absent ones, a byte of the next. */
	assert_int_equal(th_page_map_use(&map, start + PAGE / 2, start + 3 * PAGE + 1).resident,
		PAGE / 2 + 1);
	assert_true(th_page_map_scan(&map, 0, start + bytes));
	compare(&map, start + bytes, sum);
	th_page_map_close(&map);
	munmap((void *)memory, bytes);
}

static void
test_fields_of_small_files(void **state)
{
	static const char text[] =
		"cache 12\nanon 4096\nanon_thp 7\nfile 18446744073709551616\n";
	uint64_t value = 0;

	(void)state;
	assert_true(th_proc_field(text, "anon ", &value));
	assert_int_equal(value, 4096);
	assert_true(th_proc_field(text, "cache ", &value));
	assert_int_equal(value, 12);
	assert_false(th_proc_field(text, "kernel ", &value));
	assert_false(th_proc_field(text, "file ", &value)); /* 2^64 */
}

static void
interrupt(int number)
{
	(void)number;
}

/* A timer that is faster than the file: the read ends with a failure. */
static void
test_a_read_that_is_interrupted_each_time(void **state)
{
	struct sigaction action = {.sa_handler = interrupt}, before;
	const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
	int ends[2];
	char text[8];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(th_system_read(ends[0], text, sizeof(text)), -1);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_mappings_in_pieces),
		cmocka_unit_test(test_more_mappings_than_fit),
		cmocka_unit_test(test_a_long_path),
		cmocka_unit_test(test_text_that_is_no_smaps),
		cmocka_unit_test(test_the_sum_is_the_rss_of_the_kernel),
		cmocka_unit_test(test_a_file_that_is_not_there),
		cmocka_unit_test(test_touched_pages_are_present),
		cmocka_unit_test(test_a_scan_finds_what_smaps_does),
		cmocka_unit_test(test_fields_of_small_files),
		cmocka_unit_test(test_a_read_that_is_interrupted_each_time),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
