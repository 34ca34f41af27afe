/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/id_allowance.h"
#include "unify/shared/clock.h"

#define RATE 1000
#define START (100 * TH_NS_PER_S)
#define MS (TH_NS_PER_S / 1000)

static uint64_t cpu;
static unsigned reads;

static uint64_t
read_cpu(void)
{
	reads++;
	return cpu;
}

static struct th_id_allowance
started(void)
{
	struct th_id_allowance allowance = {0};

	cpu = 7 * TH_NS_PER_S;
	reads = 0;
	th_id_allowance_start(&allowance, START, cpu);
	return allowance;
}

/* Uses IDs one by one until none is left; their number. */
static uint32_t
use_all(struct th_id_allowance *allowance, uint32_t rate, uint64_t now)
{
	uint32_t count = 0;

	for (; th_id_allowance_is_left(allowance, rate, now, read_cpu); count++)
		th_id_allowance_use(allowance, 1);
	return count;
}

static void
as_many_at_once_and_per_second(void **state)
{
	struct th_id_allowance allowance = started();

	(void)state;
	assert_int_equal(use_all(&allowance, RATE, START), RATE);
	assert_int_equal(reads, 0);
	cpu += TH_NS_PER_S / 4;
	assert_int_equal(use_all(&allowance, RATE, START + TH_NS_PER_S / 4), RATE / 4);
	cpu += 5 * TH_NS_PER_S;
	assert_int_equal(use_all(&allowance, RATE, START + 6 * TH_NS_PER_S), RATE);
}

/* A process that waits for a processor uses a twentieth of the time. */
static void
by_cpu_time_not_by_the_clock(void **state)
{
	struct th_id_allowance allowance = started();
	uint32_t count = use_all(&allowance, RATE, START);

	(void)state;
	for (uint64_t ms = 100; ms <= 20000; ms += 100) {
		cpu += 5 * MS;
		count += use_all(&allowance, RATE, START + ms * MS);
	}
	assert_int_equal(count, 2 * RATE);
}

static void
several_processors_count_as_one(void **state)
{
	struct th_id_allowance allowance = started();

	(void)state;
	use_all(&allowance, RATE, START);
	cpu += 8 * TH_NS_PER_S;
	assert_int_equal(use_all(&allowance, RATE, START + TH_NS_PER_S / 2), RATE / 2);
}

/* IDs used at a higher rate are no debt that a lower one would take minutes to settle. */
static void
a_lower_rate_begins_at_once(void **state)
{
	struct th_id_allowance allowance = started();

	(void)state;
	use_all(&allowance, 64 * RATE, START);
	assert_int_equal(use_all(&allowance, RATE, START), 0);
	cpu += TH_NS_PER_S / 2;
	assert_int_equal(use_all(&allowance, RATE, START + TH_NS_PER_S / 2), RATE / 2);
}

static void
reads_the_cpu_time_seldom(void **state)
{
	struct th_id_allowance allowance = started();

	(void)state;
	for (uint64_t ms = 0; ms < 1000; ms++) {
		cpu += MS;
		use_all(&allowance, RATE, START + ms * MS);
	}
	assert_in_range(reads, 1, 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_at_once_and_per_second),
		cmocka_unit_test(by_cpu_time_not_by_the_clock),
		cmocka_unit_test(several_processors_count_as_one),
		cmocka_unit_test(a_lower_rate_begins_at_once),
		cmocka_unit_test(reads_the_cpu_time_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
