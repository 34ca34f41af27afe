/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fleets of simulated processes with fixed seeds: how often programs without a leak get a verdict
 * of leak, and leaks that no process shows reliably are found over all.
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
#include "tests/unit/leaks/simulated_program.h"

#define FLEETS 20u
#define PROCESSES 20u
/* Samples of the leak in a process, of which four tenths are old survivors of the later half. */
#define FEW_SAMPLES 12

/* The leak: app.Leaky.handle, in C. */
static void
allocate_leak(struct simulated_program *simulation, double samples)
{
	const uint64_t frames[] = {th_frame_native(MODULE_WORK, 0x8000),
		th_frame_java(METHOD_LEAKY, 0), th_frame_java(METHOD_MAIN, 0)};

	log_stack(&simulation->log, STACK_LEAK, frames, 3);
	program_allocate(simulation,
		(struct program_course){STACK_LEAK, 0, END_MS, samples, program_for_ever, 0});
}

static void
add_process(struct th_fleet *fleet, uint64_t shape, uint32_t number, double leak)
{
	struct simulated_program simulation;

	program_begin_process(&simulation, shape, 1000 * shape + number);
	log_header(&simulation.log)->pid = number;
	log_header(&simulation.log)->start_realtime = number;
	program_allocate_all(&simulation, shape % 2);
	if (leak > 0)
		allocate_leak(&simulation, leak);
	log_end(&simulation.log, END_MS);
	char *path = log_save(&simulation.log);
	assert_null(th_fleet_add(fleet, path, NULL));
	unlink(path);
	free(path);
	log_deinit(&simulation.log);
}

static void
make_fleet(struct th_fleet *fleet, struct th_options *options, uint64_t shape, double leak)
{
	th_options_set_defaults(options);
	th_fleet_init(fleet, options, true, th_view_leaks_line);
	for (uint32_t i = 1; i <= PROCESSES; i++)
		add_process(fleet, shape, i, leak);
	assert_null(th_fleet_finish(fleet));
}

/* Twenty programs with twenty processes each, every other one lazy: no leak at any line. */
static void
test_clean_fleets(void **state)
{
	unsigned alarms = 0, unclear = 0, lines = 0;

	(void)state;
	for (uint64_t shape = 1; shape <= FLEETS; shape++) {
		struct th_options options;
		struct th_fleet fleet;

		make_fleet(&fleet, &options, shape, 0);
		for (size_t i = 0; i < fleet.lines_count; i++) {
			alarms += fleet.lines[i].verdict == TH_VERDICT_LEAK;
			unclear += fleet.lines[i].verdict == TH_VERDICT_UNCLEAR;
		}
		lines += (unsigned)fleet.lines_count;
		th_fleet_deinit(&fleet);
	}
	print_message("%u leaks, %u unclear of %u lines in %u fleets\n", alarms, unclear, lines,
		FLEETS);
	assert_int_equal(alarms, 0);
}

/* The first line of a fleet is the leak, and it alone is one. */
static void
test_a_leak_of_few_samples(void **state)
{
	unsigned found = 0, alone = 0;

	(void)state;
	for (uint64_t shape = 1; shape <= FLEETS; shape++) {
		struct th_options options;
		struct th_fleet fleet;

		make_fleet(&fleet, &options, shape, FEW_SAMPLES);
		const struct th_fleet_line *line = &fleet.lines[0];
		bool is_leak = line->verdict == TH_VERDICT_LEAK &&
			       !strcmp(th_strings_get(&fleet.keys.strings, line->title),
				       "app.Leaky.handle (Source.java:10)");
		if (is_leak)
			alone += th_fleet_cell(&fleet, line, 0)->leaks;
		found += is_leak;
		th_fleet_deinit(&fleet);
	}
	print_message("%u of %u leaks found, by %.0f %% of their processes alone\n", found,
		FLEETS, 100.0 * alone / (found * PROCESSES));
	assert_true(found >= 0.95 * FLEETS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean_fleets),
		cmocka_unit_test(test_a_leak_of_few_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
