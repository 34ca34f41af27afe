/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over many logs whose growth is known: every allocation is recorded, so that each process's
 * growth is exact, and means follow by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/fleet/fleet.h"
#include "report/views/parts.h"
#include "report/views/view.h"
#include "tests/unit/leaks/leaks_fixture.h"

/* A process: a block at STACK_WORK every `every` ms, which stays; 0 = none. */
struct process {
	const char *labels;
	uint32_t every;
};

static uint32_t processes;

static void
add_setting(struct log_builder *log, const char *name, const char *value)
{
	log_add_fields(log, TH_EVENT_SETTING, LOG_TEXT(name), LOG_TEXT(value));
}

/* The path of the log, to be freed; `shift` moves the modules' addresses. */
static char *
save(const struct process *process)
{
	struct log_builder log;

	leaks_begin(&log);
	log_header(&log)->pid = ++processes;
	log_header(&log)->start_realtime = 1000 + processes;
	if (process->labels)
		add_setting(&log, "TWINHEAP_LABELS", process->labels);
	/* Something else that does not stay. */
	leaks_add(&log, (struct leaks_series){
				.stack = STACK_OTHER, .to = END_MS, .every = 50, .life = 20});
	if (process->every)
		leaks_add(&log,
			(struct leaks_series){
				.stack = STACK_WORK, .to = END_MS, .every = process->every});
	log_end(&log, END_MS);
	char *path = log_save(&log);
	log_deinit(&log);
	return path;
}

static void
add(struct th_fleet *fleet, const struct process *process, const char *group)
{
	char *path = save(process);

	assert_null(th_fleet_add(fleet, path, group));
	unlink(path);
	free(path);
}

static void
add_times(struct th_fleet *fleet, const struct process *process, int times)
{
	for (int i = 0; i < times; i++)
		add(fleet, process, NULL);
}

static void
begin(struct th_fleet *fleet, struct th_options *options, const char *by)
{
	th_options_set_defaults(options);
	options->by = by;
	th_fleet_init(fleet, options, true, th_view_leaks_line);
}

/* The line at STACK_WORK. */
static const struct th_fleet_line *
work_line(const struct th_fleet *fleet)
{
	for (size_t i = 0; i < fleet->lines_count; i++) {
		const struct th_fleet_line *line = &fleet->lines[i];

		if (!strcmp(th_stack_keys_name(&fleet->keys, line->stack), "libwork.so+0x10"))
			return line;
	}
	fail_msg("no such line");
	return NULL;
}

static char *
print(const struct th_fleet *fleet, void (*view)(FILE *, const struct th_fleet *))
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	view(file, fleet);
	fclose(file);
	return text;
}

/* 2.4.9 does not have the line; in 2.4.10 five processes leak 10,000 to 20,000 bytes a second. */
static void
test_since_a_version(void **state)
{
	static const uint32_t every[] = {100, 90, 80, 60, 50};
	struct th_options options;
	struct th_fleet fleet;
	double sum = 0;

	(void)state;
	begin(&fleet, &options, "version");
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		add(&fleet, &(struct process){"version=2.4.10,x=y", every[i]}, NULL);
		sum += 1000.0 * BLOCK / every[i];
	}
	add_times(&fleet, &(struct process){"version=2.4.9", 0}, 4);
	assert_null(th_fleet_finish(&fleet));
	assert_int_equal(fleet.groups_count, 2);
	assert_string_equal(fleet.groups[0].name, "2.4.9");
	assert_int_equal(fleet.groups[0].counted[TH_HEAP_NATIVE], 4);
	const struct th_fleet_line *line = work_line(&fleet);
	const struct th_fleet_cell *cell = th_fleet_cell(&fleet, line, 1);
	assert_ptr_equal(line, &fleet.lines[0]);
	assert_int_equal(line->verdict, TH_VERDICT_LEAK);
	assert_int_equal(line->since, 1);
	assert_null(th_fleet_cell(&fleet, line, 0));
	assert_int_equal(cell->growing, 5);
	assert_int_equal(cell->leaks, 5);
	/* A block that becomes old at an end of the time is one of 60 at least: 2 %. */
	assert_float_equal(cell->mean.estimate, sum / 5, 0.02 * sum / 5);
	assert_true(cell->mean.low > 0);
	/* The other line is freed again: no leak in any version. */
	for (size_t i = 1; i < fleet.lines_count; i++)
		assert_int_not_equal(fleet.lines[i].verdict, TH_VERDICT_LEAK);
	char *text = print(&fleet, th_view_fleet_leaks);
	expect_text(text, "1 leak, ");
	expect_text(text, "9 processes, recorded for 10.0 s on average\n");
	expect_text(text, "leak     native, app.Work.work (Source.java:10)\n");
	expect_text(text, "since version 2.4.10 each process leaks ");
	expect_text(text, "5 of 5 processes\n");
	expect_text(text, "grows  alone    growth/h  95 % CI                        live\n");
	expect_text(text, "2.4.9               0 of 4      0           - ");
	free(text);
	th_fleet_deinit(&fleet);
}

/* The views' JSON: the same figures, and null where there is no interval. */
static void
test_json(void **state)
{
	struct th_options options;
	struct th_fleet fleet;

	(void)state;
	begin(&fleet, &options, "version");
	add(&fleet, &(struct process){"version=2", 100}, NULL);
	add(&fleet, &(struct process){NULL, 100}, NULL);
	assert_null(th_fleet_finish(&fleet));
	char *text = print(&fleet, th_view_fleet_leaks_json);
	json_t *json = json_loads(text, 0, NULL);
	const json_t *finding = json_array_get(json_object_get(json, "findings"), 0);
	const json_t *group = json_array_get(json_object_get(finding, "groups"), 1);
	const json_t *growth = json_object_get(group, "growth_bytes_per_s");
	assert_string_equal(json_string_value(json_object_get(finding, "verdict")), "leak");
	assert_true(json_is_null(json_object_get(finding, "since")));
	assert_string_equal(json_string_value(json_object_get(group, "name")), "2");
	/* Of one process: its own, which excludes zero. */
	assert_true(json_number_value(json_array_get(json_object_get(growth, "ci95"), 0)) > 0);
	assert_int_equal(json_integer_value(json_object_get(growth, "processes")), 1);
	json_decref(json);
	free(text);
	th_fleet_deinit(&fleet);
}

/*
 * The verdict by the number of processes that leak. One alone leaks by chance with a probability of
 * 1.25 %, so that of two processes one is significant (2.5 %), of five it is not (6.1 %).
 */
static void
expect_alone(int leaking, int clean, enum th_verdict verdict)
{
	struct th_options options;
	struct th_fleet fleet;

	begin(&fleet, &options, NULL);
	add_times(&fleet, &(struct process){NULL, 100}, leaking);
	add_times(&fleet, &(struct process){NULL, 0}, clean);
	assert_null(th_fleet_finish(&fleet));
	assert_int_equal(work_line(&fleet)->verdict, verdict);
	th_fleet_deinit(&fleet);
}

static void
test_a_leak_of_some(void **state)
{
	(void)state;
	expect_alone(1, 0, TH_VERDICT_LEAK);
	expect_alone(1, 1, TH_VERDICT_LEAK);
	expect_alone(1, 4, TH_VERDICT_UNCLEAR);
	expect_alone(2, 8, TH_VERDICT_LEAK);
}

/* The same process again, as a copy of its log, and logs that cannot be read: neither counts. */
static void
test_logs_that_do_not_count(void **state)
{
	struct process process = {NULL, 100};
	struct th_options options;
	struct th_fleet fleet;
	char *path = save(&process);
	char *empty = log_save_bytes("", 0);
	struct th_error *error;

	(void)state;
	begin(&fleet, &options, NULL);
	assert_null(th_fleet_add(&fleet, path, NULL));
	assert_null(th_fleet_add(&fleet, path, NULL));
	error = th_fleet_add(&fleet, empty, NULL);
	assert_non_null(error);
	th_error_destroy(error);
	error = th_fleet_add(&fleet, "/nonexistent", NULL);
	assert_non_null(error);
	th_error_destroy(error);
	assert_null(th_fleet_finish(&fleet));
	assert_int_equal(fleet.repeated, 1);
	assert_int_equal(fleet.unreadable, 2);
	assert_int_equal(fleet.groups[0].processes, 1);
	assert_int_equal(work_line(&fleet)->first != TH_NO_CELL, true);
	unlink(path);
	unlink(empty);
	free(path);
	free(empty);
	th_fleet_deinit(&fleet);
}

/*
 * Live bytes of two groups named by the caller: 100 blocks in each of three old processes; 100, 125
 * and 200 in the new ones. The order is that of the options, not of the names.
 */
static void
test_values(void **state)
{
	static const uint32_t every[] = {100, 80, 50};
	struct th_options options;
	struct th_fleet fleet;

	(void)state;
	th_options_set_defaults(&options);
	options.value = TH_VALUE_LIVE_BYTES;
	options.old_group = "z";
	options.new_group = "a";
	th_fleet_init(&fleet, &options, false, th_view_diff_site);
	for (size_t i = 0; i < 3; i++) {
		add(&fleet, &(struct process){NULL, every[i]}, "a");
		add(&fleet, &(struct process){NULL, 100}, "z");
	}
	assert_null(th_fleet_finish(&fleet));
	const struct th_fleet_line *line = work_line(&fleet);
	assert_string_equal(fleet.groups[fleet.old_group].name, "z");
	/* (100 + 125 + 200) / 3 - 100 blocks; t(2) sqrt(2708.3 / 3) around it */
	assert_float_equal(line->change.estimate, 41666.7, 0.1);
	assert_float_equal(line->change.high - line->change.estimate, 129277, 50);
	char *text = print(&fleet, th_view_fleet_diff);
	expect_text(text, "old  z: 3 processes\nnew  a: 3 processes\n");
	expect_text(text, "libwork.so+0x10 < app.Work.work, in 3 of 3 (not significant)\n");
	free(text);
	th_fleet_deinit(&fleet);
}

static void
test_groups_that_do_not_exist(void **state)
{
	struct th_options options;
	struct th_fleet fleet;
	struct th_error *error;

	(void)state;
	begin(&fleet, &options, "version");
	options.new_group = "3";
	add(&fleet, &(struct process){"version=2", 0}, NULL);
	error = th_fleet_finish(&fleet);
	assert_non_null(error);
	expect_text(th_error_message(error), "--new 3: no recording has this version");
	th_error_destroy(error);
	th_fleet_deinit(&fleet);
}

static void
test_versions(void **state)
{
	static const char *const ascending[] = {
		"1.9", "v2.4.1-rc1", "2.4.1-rc2", "2.4.1", "2.4.9", "v2.4.10", "10.0"};

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(ascending) / sizeof(ascending[0]); i++) {
		assert_true(th_fleet_compare_versions(ascending[i], ascending[i + 1]) < 0);
		assert_true(th_fleet_compare_versions(ascending[i + 1], ascending[i]) > 0);
	}
	assert_int_equal(th_fleet_compare_versions("v2", "2"), 0);
}

/* Names without a number are in the order in which their first processes began. */
static void
test_order_of_names(void **state)
{
	struct th_options options;
	struct th_fleet fleet;

	(void)state;
	begin(&fleet, &options, "version");
	add(&fleet, &(struct process){"version=green", 0}, NULL);
	add(&fleet, &(struct process){"version=blue", 0}, NULL);
	add(&fleet, &(struct process){NULL, 0}, NULL);
	assert_null(th_fleet_finish(&fleet));
	assert_string_equal(fleet.groups[0].name, "");
	assert_string_equal(fleet.groups[1].name, "green");
	assert_string_equal(fleet.groups[2].name, "blue");
	th_fleet_deinit(&fleet);
}

static void
test_labels(void **state)
{
	struct th_labels labels = {0};

	(void)state;
	th_labels_parse(&labels, "service.version=1,service.name=shop,k8s.pod.name=shop-1,"
				 "host.name=node");
	assert_string_equal(th_fleet_label(&labels, "version"), "1");
	assert_string_equal(th_fleet_label(&labels, "service"), "shop");
	assert_string_equal(th_fleet_label(&labels, "pod"), "shop-1");
	assert_string_equal(th_fleet_label(&labels, "host"), "node");
	assert_string_equal(th_fleet_label(&labels, "service.name"), "shop");
	assert_null(th_fleet_label(&labels, "branch"));
	th_labels_set(&labels, "version", "2");
	assert_string_equal(th_fleet_label(&labels, "version"), "2");
	th_labels_deinit(&labels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_since_a_version),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_a_leak_of_some),
		cmocka_unit_test(test_logs_that_do_not_count),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_groups_that_do_not_exist),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_order_of_names),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
