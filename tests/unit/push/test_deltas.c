/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: what is sent adds up to the total, whatever was accepted in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/push/push.h"
#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

/* A log that grows: two stacks of the native heap and one of Java. */
struct fixture {
	struct log_builder log;
	struct shown shown;
	th_export_row *rows;
	struct th_sent sent; /* accepted so far */
	struct th_sent next;
};

static void
begin(struct fixture *fixture)
{
	*fixture = (struct fixture){0};
	small_log_begin(&fixture->log);
	add_stack(&fixture->log, 1, WORK_FRAME(0x10));
	add_stack(&fixture->log, 2, WORK_FRAME(0x20));
	add_stack(&fixture->log, 3, JAVA_FRAME(1));
}

static void
end(struct fixture *fixture)
{
	log_deinit(&fixture->log);
}

/* What the window of the log so far sends by stack, in bytes. */
static void
expect(struct fixture *fixture, int64_t first, int64_t second, int64_t java)
{
	const int64_t expected[] = {first, second, java};
	int64_t sums[3] = {0};
	const struct th_profile *profile;

	show(&fixture->shown, &fixture->log, NULL);
	profile = fixture->shown.profile;
	th_export_row *rows = th_export_rows(profile);
	th_export_row *before = th_export_rows(profile);
	bool any = th_deltas_take(&fixture->sent, profile, rows, &fixture->next);
	for (size_t i = 0; i < profile->rows_count; i++) {
		struct th_path path = th_paths_get(profile->paths, profile->rows[i].path);
		const struct th_frame *frame = th_frames_get(profile->frames, path.frames[0]);
		int index = profile->rows[i].heap == TH_HEAP_JAVA  ? 2
			    : th_frame_offset(frame->word) == 0x20 ? 1
								   : 0;

		sums[index] += rows[i][TH_EXPORT_ALLOC_SPACE];
		/* Receivers add values up, and live ones are those of now. */
		assert_true(rows[i][TH_EXPORT_ALLOC_SPACE] >= 0);
		assert_true(rows[i][TH_EXPORT_ALLOC_OBJECTS] >= 0);
		assert_int_equal(
			rows[i][TH_EXPORT_INUSE_SPACE], before[i][TH_EXPORT_INUSE_SPACE]);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sums[i], expected[i]);
	assert_int_equal(any, first || second || java);
	free(rows);
	free(before);
	show_end(&fixture->shown);
}

static void
accept(struct fixture *fixture)
{
	fixture->sent = fixture->next;
}

static void
refused_windows_are_merged(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	small_log_native(&fixture.log, 1, 1, 100);
	small_log_native(&fixture.log, 1, 2, 50);
	small_log_java(&fixture.log, 1, 3, 1, 10);
	expect(&fixture, 100, 50, 10);
	accept(&fixture);
	small_log_native(&fixture.log, 1, 1, 20);
	expect(&fixture, 20, 0, 0);
	/* Not accepted: the next window contains it. */
	small_log_native(&fixture.log, 1, 2, 5);
	expect(&fixture, 20, 5, 0);
	accept(&fixture);
	expect(&fixture, 0, 0, 0);
	end(&fixture);
}

/* The estimate of what was sent became smaller: the sum is right, and no value is negative. */
static void
reductions_are_taken_off_growth(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture);
	small_log_native(&fixture.log, 1, 1, 100);
	small_log_native(&fixture.log, 1, 2, 50);
	expect(&fixture, 100, 50, 0);
	accept(&fixture);
	fixture.sent.sums[TH_HEAP_NATIVE][1] += 30;
	small_log_native(&fixture.log, 1, 1, 10);
	small_log_java(&fixture.log, 1, 3, 1, 10);
	expect(&fixture, 0, 0, 10);
	accept(&fixture);
	/* 160 of 180 sent are known; 60 more. */
	small_log_native(&fixture.log, 1, 1, 30);
	small_log_native(&fixture.log, 1, 2, 30);
	expect(&fixture, 20, 20, 0);
	accept(&fixture);
	/* Without a new sample, growth is that of all. */
	fixture.sent.sums[TH_HEAP_NATIVE][1] -= 22;
	expect(&fixture, 14, 8, 0);
	end(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_windows_are_merged),
		cmocka_unit_test(reductions_are_taken_off_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
