/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on an allocator that maps few chunks and fills them later: the number of chunks is
 * no evidence, their resident memory over the snapshots is. The figures are those of DuckDB,
 * whose result sets were not closed, in ten seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/leaks/leaks_fixture.h"

#define MIB (UINT64_C(1) << 20)
#define INTERVAL (MIB / 2)
#define ACCOUNTS 10

/* Each twice the size of the last, mapped when that is full. */
static const struct {
	uint32_t ms;
	uint64_t bytes;
} chunks[] = {{500, 64 * MIB}, {2500, 128 * MIB}, {3500, 256 * MIB}, {7500, 512 * MIB}};

#define CHUNKS (sizeof(chunks) / sizeof(chunks[0]))

static const uint32_t times[ACCOUNTS] = {
	2263, 2740, 3308, 3986, 4808, 5790, 6990, 8421, 9563, 9897};

static void
add_chunks(struct log_builder *log, uint64_t *samples)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < CHUNKS; i++) {
		bytes += chunks[i].bytes;
		samples[i] = log_mapped(log, (struct log_sample){.ms = chunks[i].ms,
						     .size = chunks[i].bytes,
						     .interval = INTERVAL,
						     .thread_bytes = bytes,
						     .thread = 1,
						     .stack = STACK_WORK});
	}
}

/* Snapshot `number`: the chunks are filled in order, up to `resident` in total. */
static void
add_account(
	struct log_builder *log, uint32_t number, const uint64_t *samples, uint64_t resident)
{
	uint64_t left = resident;

	for (size_t i = 0; i < CHUNKS && chunks[i].ms < times[number]; i++) {
		uint64_t part = left < chunks[i].bytes ? left : chunks[i].bytes;
		const uint64_t words[] = {samples[i], part};

		log_add_fields(log, TH_EVENT_TOUCHED, LOG_U32(number + 1), LOG_WORDS(words, 2));
		left -= part;
	}
	assert_int_equal(left, 0);
	log_add_fields(log, TH_EVENT_ACCOUNT,
		LOG_U64(LOG_START + times[number] * UINT64_C(1000000)), LOG_U64(resident),
		LOG_U64(resident), LOG_U64(0), LOG_U64(1000000), LOG_U32(number + 1),
		LOG_U32(TH_BREAKDOWN_ASKED), LOG_U32(TH_BREAKDOWN_HAS_PAGES), LOG_U32(3),
		LOG_U32(1));
}

/* A log in which the chunks have these resident bytes, in tenths of a megabyte, by snapshot. */
static void
begin(struct log_builder *log, const uint32_t *tenths)
{
	uint64_t samples[CHUNKS];

	leaks_begin_sampled(log, INTERVAL);
	log_add_fields(log, TH_EVENT_SETTING, LOG_TEXT("TWINHEAP_HEAPS"), LOG_TEXT("all"));
	add_chunks(log, samples);
	for (uint32_t i = 0; i < ACCOUNTS; i++)
		add_account(log, i, samples, tenths[i] * UINT64_C(100000));
}

/* Its bytes are the resident ones at the last snapshot, its growth that since the warm-up. */
static void
test_what_fills_its_chunks_leaks(void **state)
{
	static const uint32_t tenths[] = {
		602, 1087, 1539, 2252, 2824, 3692, 4524, 5917, 6745, 6900};
	struct log_builder log;
	struct leaks_found found;

	(void)state;
	begin(&log, tenths);
	leaks_find(&found, &log);
	const struct th_evidence *evidence = &leaks_only_finding(&found)->evidence;
	assert_int_equal(evidence->verdict, TH_VERDICT_LEAK);
	assert_int_equal(evidence->reason, TH_REASON_RESIDENT);
	assert_true(evidence->is_resident);
	assert_float_equal(evidence->live_bytes.estimate, 690e6, 1);
	assert_float_equal(evidence->growth.estimate, (690e6 - 60.2e6) / 8, 1);
	leaks_end(&found, &log);
}

/* Forty mappings of which `used` bytes each are used, and every nth snapshot, up to `last`. */
static void
begin_files(struct log_builder *log, uint64_t used, uint32_t nth, uint32_t last)
{
	enum { FILES = 40, BYTES = 10 << 20 };
	uint64_t samples[FILES];

	leaks_begin_sampled(log, INTERVAL);
	log_add_fields(log, TH_EVENT_SETTING, LOG_TEXT("TWINHEAP_HEAPS"), LOG_TEXT("all"));
	for (uint32_t i = 0; i < FILES; i++)
		samples[i] = log_mapped(log, (struct log_sample){.ms = 100 + i * 240,
						     .size = BYTES,
						     .interval = INTERVAL,
						     .thread_bytes = (i + 1) * (uint64_t)BYTES,
						     .thread = 1,
						     .stack = STACK_WORK});
	for (uint32_t i = 0; i <= last; i += nth) {
		for (uint32_t k = 0; k < FILES && 100 + k * 240 < times[i]; k++) {
			const uint64_t words[] = {samples[k], used};

			log_add_fields(
				log, TH_EVENT_TOUCHED, LOG_U32(i + 1), LOG_WORDS(words, 2));
		}
		log_add_fields(log, TH_EVENT_ACCOUNT,
			LOG_U64(LOG_START + times[i] * UINT64_C(1000000)), LOG_U64(1 << 20),
			LOG_U64(1 << 20), LOG_U64(0), LOG_U64(1000000), LOG_U32(i + 1),
			LOG_U32(TH_BREAKDOWN_ASKED), LOG_U32(TH_BREAKDOWN_HAS_PAGES),
			LOG_U32(3), LOG_U32(1));
	}
}

/* More address space, no more memory; two snapshots show it, one in each half of the time. */
static void
test_what_is_mapped_and_not_used_is_a_plateau(void **state)
{
	static const uint32_t nths[] = {1, 3, ACCOUNTS - 1};
	struct log_builder log;

	(void)state;
	for (size_t i = 0; i < sizeof(nths) / sizeof(nths[0]); i++) {
		begin_files(&log, 4096, nths[i], ACCOUNTS - 1);
		leaks_expect(&log, TH_VERDICT_PLATEAU, TH_REASON_UNUSED);
	}
	/* The later half is not known. */
	begin_files(&log, 4096, 1, 3);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
	begin_files(&log, 1 << 20, ACCOUNTS - 1, ACCOUNTS - 1);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

/* The allocator purges 1.9 MB between the last two snapshots. */
static void
test_a_little_given_back_is_still_leak(void **state)
{
	static const uint32_t tenths[] = {
		602, 1087, 1539, 2252, 2824, 3692, 4524, 5917, 6745, 6726};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_LEAK, TH_REASON_RESIDENT);
}

/* Fluctuating memory may be as large in the end. */
static void
test_what_goes_to_and_fro_is_unclear(void **state)
{
	static const uint32_t tenths[] = {
		602, 216, 1539, 2252, 2824, 3692, 185, 1099, 6745, 6900};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

static void
test_what_stopped_is_no_leak(void **state)
{
	static const uint32_t tenths[] = {
		602, 1087, 1539, 2252, 2824, 3692, 4300, 4310, 4320, 4330};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* Constant, with a jump as the program ends. */
static void
test_a_leap_at_the_end_is_no_leak(void **state)
{
	static const uint32_t tenths[] = {
		602, 1087, 1539, 2252, 3000, 3010, 3020, 3030, 3040, 4000};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* Ever less is added: the last quarter has a twelfth of the growth. */
static void
test_what_slows_down_is_unclear(void **state)
{
	static const uint32_t tenths[] = {
		602, 1500, 1900, 3300, 4000, 4150, 4300, 4450, 4600, 4750};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* Before the middle most was given back: it may be again. */
static void
test_what_was_given_back_before_is_unclear(void **state)
{
	static const uint32_t tenths[] = {
		602, 1800, 1900, 300, 2824, 3692, 4524, 5917, 6745, 6900};
	struct log_builder log;

	(void)state;
	begin(&log, tenths);
	leaks_expect(&log, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
}

/* Mappings that stay, of which an eighth come after 7 s, as do the blocks of the program if its load falls. */
static void
test_few_mappings_under_less_load_are_a_leak(void **state)
{
	struct log_builder log;

	(void)state;
	for (int falls = 0; falls < 2; falls++) {
		leaks_begin(&log);
		log_add_fields(
			&log, TH_EVENT_SETTING, LOG_TEXT("TWINHEAP_HEAPS"), LOG_TEXT("all"));
		for (uint32_t ms = 0; ms < END_MS; ms += ms < 7000 ? 50 : 400)
			log_mapped(&log, (struct log_sample){.ms = ms,
						 .size = MIB,
						 .thread = 1,
						 .stack = STACK_WORK});
		leaks_add(&log,
			(struct leaks_series){
				.stack = STACK_OTHER, .to = 7000, .every = 10, .life = 10});
		leaks_add(&log, (struct leaks_series){.stack = STACK_OTHER,
					.from = 7000,
					.to = END_MS,
					.every = falls ? 80 : 10,
					.life = 10});
		struct leaks_found found;
		leaks_find(&found, &log);
		assert_int_equal(found.leaks.outcome.leaks, falls);
		leaks_end(&found, &log);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fills_its_chunks_leaks),
		cmocka_unit_test(test_what_is_mapped_and_not_used_is_a_plateau),
		cmocka_unit_test(test_a_little_given_back_is_still_leak),
		cmocka_unit_test(test_what_goes_to_and_fro_is_unclear),
		cmocka_unit_test(test_what_stopped_is_no_leak),
		cmocka_unit_test(test_a_leap_at_the_end_is_no_leak),
		cmocka_unit_test(test_what_slows_down_is_unclear),
		cmocka_unit_test(test_what_was_given_back_before_is_unclear),
		cmocka_unit_test(test_few_mappings_under_less_load_are_a_leak),
	};

	return cmocka_run_group_tests_name("leaks_mapped", tests, NULL, NULL);
}
