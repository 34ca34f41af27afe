/* SPDX-License-Identifier: Apache-2.0 */
/* The step cache: the rule found under a key is the one stored, despite concurrent writers. */
#include "unify/unwind/cache.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

/* More keys than entries, so that threads constantly evict each other's. */
#define KEYS 20000u
#define THREADS 4
#define ROUNDS 400000u

static struct th_rule
rule_of(uint64_t key)
{
	struct th_rule rule = {
		.cfa_offset = (int32_t)(key * 8),
		.kind = TH_RULE_FRAME,
		.cfa_register = (uint8_t)(key % TH_DWARF_COUNT),
		.saved = (uint16_t)(key * 3),
	};

	for (unsigned i = 0; i < TH_RULE_SAVED_MAX; i++)
		rule.slot[i] = (int16_t)(key + i);
	return rule;
}

static bool
is_rule_of(const struct th_rule *rule, uint64_t key)
{
	struct th_rule expected = rule_of(key);

	return !memcmp(rule, &expected, sizeof(expected));
}

static void
test_store_and_find(void **state)
{
	struct th_rule rule;
	unsigned found = 0;

	(void)state;
	assert_false(th_rule_find(1, &rule));
	for (uint64_t key = 1; key <= 1000; key++) {
		rule = rule_of(key);
		th_rule_store(key, &rule);
	}
	for (uint64_t key = 1; key <= 1000; key++) {
		if (!th_rule_find(key, &rule))
			continue;
		assert_true(is_rule_of(&rule, key));
		found++;
	}
	/* 1000 keys in 4096 entries, two per set: few sets get three. */
	assert_in_range(found, 900, 1000);
	assert_false(th_rule_find(1001, &rule));
}

struct worker {
	pthread_t thread;
	uint64_t seed;
	unsigned found;
	unsigned wrong;
};

static void *
store_and_find(void *argument)
{
	struct worker *worker = argument;
	uint64_t random = worker->seed;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t key;
		struct th_rule rule;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		key = (random >> 33) % KEYS + 1;
		if (th_rule_find(key, &rule)) {
			worker->found++;
			worker->wrong += !is_rule_of(&rule, key);
		} else {
			rule = rule_of(key);
			th_rule_store(key, &rule);
		}
	}
	return NULL;
}

static void
test_concurrent_use(void **state)
{
	struct worker workers[THREADS] = {0};

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].seed = i;
		assert_int_equal(
			pthread_create(&workers[i].thread, NULL, store_and_find, &workers[i]),
			0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong, 0);
		/* 4096 of 20,000 keys are stored at a time. */
		assert_in_range(workers[i].found, ROUNDS / 10, ROUNDS / 2);
	}
}

/* Rows without a compact form are not converted wrongly. */
static void
test_rows_that_are_not_compact(void **state)
{
	struct th_cfi_row plain = {.cfa_register = TH_DWARF_SP, .cfa_offset = 64};
	struct th_cfi_row row;
	struct th_rule rule;

	(void)state;
	plain.kind[TH_DWARF_RETURN] = TH_CFI_AT_OFFSET;
	plain.value[TH_DWARF_RETURN] = -8;
	th_rule_from_row(&plain, &rule);
	assert_int_equal(rule.kind, TH_RULE_FRAME);
	assert_int_equal(rule.slot[0], -1);
	assert_int_equal(rule.saved, 1u << (TH_PRESERVED_COUNT - 1));

	row = plain;
	row.cfa_offset = INT64_C(1) << 32;
	th_rule_from_row(&row, &rule);
	assert_int_equal(rule.kind, TH_RULE_ROW);

	row = plain;
	row.value[TH_DWARF_RETURN] = -8 * 32769;
	th_rule_from_row(&row, &rule);
	assert_int_equal(rule.kind, TH_RULE_ROW);

	row = plain;
	row.value[TH_DWARF_RETURN] = -12;
	th_rule_from_row(&row, &rule);
	assert_int_equal(rule.kind, TH_RULE_ROW);

	row = plain;
	row.kind[TH_DWARF_FRAME_POINTER] = TH_CFI_REGISTER;
	th_rule_from_row(&row, &rule);
	assert_int_equal(rule.kind, TH_RULE_ROW);

	row = plain;
	row.kind[TH_DWARF_RETURN] = TH_CFI_UNDEFINED;
	th_rule_from_row(&row, &rule);
	assert_int_equal(rule.kind, TH_RULE_BASE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store_and_find),
		cmocka_unit_test(test_concurrent_use),
		cmocka_unit_test(test_rows_that_are_not_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
