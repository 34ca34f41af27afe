/* SPDX-License-Identifier: Apache-2.0 */
/* Increments of windows: what is sent adds up to the total, whatever was accepted in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/push/increments.h"
#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

/* A log with two native rows and one of Java; their values are made up by the tests. */
struct fixture {
	struct log_builder log;
	struct shown shown;
	struct th_increments increments;
	th_export_row rows[3];
	size_t native[2]; /* indices of the native rows */
	size_t java;
	int64_t sent[3]; /* bytes accepted so far: two native rows, Java */
};

static void
begin(struct fixture *fixture)
{
	const struct th_profile *profile;
	size_t native = 0;

	*fixture = (struct fixture){0};
	small_log_begin(&fixture->log);
	add_stack(&fixture->log, 1, WORK_FRAME(0x10));
	add_stack(&fixture->log, 2, WORK_FRAME(0x20));
	add_stack(&fixture->log, 3, JAVA_FRAME(1));
	small_log_native(&fixture->log, 1, 1, 10);
	small_log_native(&fixture->log, 1, 2, 10);
	small_log_java(&fixture->log, 1, 3, 1, 10);
	show(&fixture->shown, &fixture->log, NULL);
	profile = fixture->shown.profile;
	assert_int_equal(profile->rows_count, 3);
	for (size_t i = 0; i < 3; i++) {
		if (profile->rows[i].heap == TH_HEAP_NATIVE)
			fixture->native[native++] = i;
		else
			fixture->java = i;
	}
	assert_int_equal(native, 2);
}

static void
end(struct fixture *fixture)
{
	th_increments_deinit(&fixture->increments);
	show_end(&fixture->shown);
	log_deinit(&fixture->log);
}

/* A window with these totals in bytes; what it sends is in `rows`. */
static bool
take(struct fixture *fixture, int64_t first, int64_t second, int64_t java)
{
	memset(fixture->rows, 0, sizeof(fixture->rows));
	fixture->rows[fixture->native[0]][TH_EXPORT_ALLOC_SPACE] = first;
	fixture->rows[fixture->native[1]][TH_EXPORT_ALLOC_SPACE] = second;
	fixture->rows[fixture->java][TH_EXPORT_ALLOC_SPACE] = java;
	for (size_t i = 0; i < 3; i++)
		fixture->rows[i][TH_EXPORT_INUSE_SPACE] = 7;
	return th_increments_take(&fixture->increments, fixture->shown.profile, fixture->rows);
}

static int64_t
bytes_of(const struct fixture *fixture, size_t row)
{
	return fixture->rows[row][TH_EXPORT_ALLOC_SPACE];
}

static void
expect(const struct fixture *fixture, int64_t first, int64_t second, int64_t java)
{
	assert_int_equal(bytes_of(fixture, fixture->native[0]), first);
	assert_int_equal(bytes_of(fixture, fixture->native[1]), second);
	assert_int_equal(bytes_of(fixture, fixture->java), java);
	/* Live values are no increments. */
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture->rows[i][TH_EXPORT_INUSE_SPACE], 7);
}

static void
refused_windows_are_merged(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	assert_true(take(&fixture, 100, 50, 10));
	expect(&fixture, 100, 50, 10);
	th_increments_commit(&fixture.increments);
	assert_true(take(&fixture, 120, 50, 10));
	expect(&fixture, 20, 0, 0);
	/* Not accepted: the next window contains it. */
	assert_true(take(&fixture, 130, 55, 10));
	expect(&fixture, 30, 5, 0);
	th_increments_commit(&fixture.increments);
	assert_false(take(&fixture, 130, 55, 10));
	expect(&fixture, 0, 0, 0);
	end(&fixture);
}

/* An estimate became smaller: the heap's sum is right, and no value is negative. */
static void
reductions_are_taken_off_growth(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	assert_true(take(&fixture, 130, 50, 10));
	th_increments_commit(&fixture.increments);
	assert_true(take(&fixture, 100, 100, 30));
	expect(&fixture, 0, 20, 20);
	th_increments_commit(&fixture.increments);
	/* More reduction than growth: it waits. */
	assert_false(take(&fixture, 80, 110, 30));
	expect(&fixture, 0, 0, 0);
	th_increments_commit(&fixture.increments);
	assert_true(take(&fixture, 90, 150, 30));
	expect(&fixture, 0, 40, 0);
	end(&fixture);
}

static void
a_restart_continues(void **state)
{
	struct fixture fixture;
	struct th_increments read = {0};
	FILE *file = tmpfile();

	(void)state;
	begin(&fixture);
	assert_true(take(&fixture, INT64_C(1) << 60, 50, 10));
	th_increments_commit(&fixture.increments);
	th_increments_write(&fixture.increments, file);
	th_increments_deinit(&fixture.increments);
	rewind(file);
	assert_true(th_increments_read(&read, file));
	fixture.increments = read;
	assert_true(take(&fixture, (INT64_C(1) << 60) + 4096, 50, 11));
	expect(&fixture, 4096, 0, 1);
	fclose(file);
	end(&fixture);
}

/* Anything else than a whole file is refused. */
static void
damaged_state_is_refused(void **state)
{
	static const char *const texts[] = {"", "end", "0 2 1 1\nend\n", "12 9 1 1\nend\n",
		"12 2 1\nend\n", "12 2 1 1\n", "end of it\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct th_increments read = {0};
		FILE *file = tmpfile();

		fputs(texts[i], file);
		rewind(file);
		assert_false(th_increments_read(&read, file));
		fclose(file);
		th_increments_deinit(&read);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_windows_are_merged),
		cmocka_unit_test(reductions_are_taken_off_growth),
		cmocka_unit_test(a_restart_continues),
		cmocka_unit_test(damaged_state_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
