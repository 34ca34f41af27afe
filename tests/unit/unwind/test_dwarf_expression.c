/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator of DWARF expressions, operation by operation. */
#include "unify/unwind/dwarf_expression.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

static struct th_cpu cpu;

static bool
evaluate(const uint8_t *code, size_t bytes, uintptr_t *ret)
{
	struct th_safe_read memory = {0};

	return th_expression_evaluate(code, bytes, NULL, &cpu, &memory, ret);
}

#define ASSERT_EVALUATES(expected, ...)                               \
	do {                                                          \
		const uint8_t code_[] = {__VA_ARGS__};                \
		uintptr_t found_;                                     \
                                                                      \
		assert_true(evaluate(code_, sizeof(code_), &found_)); \
		assert_int_equal(found_, (uintptr_t)(expected));      \
	} while (0)

#define ASSERT_FAILS(...)                                              \
	do {                                                           \
		const uint8_t code_[] = {__VA_ARGS__};                 \
		uintptr_t found_;                                      \
                                                                       \
		assert_false(evaluate(code_, sizeof(code_), &found_)); \
	} while (0)

static void
test_constants(void **state)
{
	(void)state;
	ASSERT_EVALUATES(0, DW_OP_lit0);
	ASSERT_EVALUATES(31, DW_OP_lit31);
	ASSERT_EVALUATES(0xfe, DW_OP_const1u, 0xfe);
	ASSERT_EVALUATES(-2, DW_OP_const1s, 0xfe);
	ASSERT_EVALUATES(0xfffe, DW_OP_const2u, 0xfe, 0xff);
	ASSERT_EVALUATES(-2, DW_OP_const2s, 0xfe, 0xff);
	ASSERT_EVALUATES(0xfffffffe, DW_OP_const4u, 0xfe, 0xff, 0xff, 0xff);
	ASSERT_EVALUATES(-2, DW_OP_const4s, 0xfe, 0xff, 0xff, 0xff);
	ASSERT_EVALUATES(-2, DW_OP_const8s, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
	ASSERT_EVALUATES(300, DW_OP_constu, 0xac, 0x02);
	ASSERT_EVALUATES(-300, DW_OP_consts, 0xd4, 0x7d);
	ASSERT_EVALUATES(-1, DW_OP_consts, 0x7f);
}

static void
test_arithmetic(void **state)
{
	(void)state;
	ASSERT_EVALUATES(12, DW_OP_lit7, DW_OP_lit5, DW_OP_plus);
	ASSERT_EVALUATES(2, DW_OP_lit7, DW_OP_lit5, DW_OP_minus);
	ASSERT_EVALUATES(35, DW_OP_lit7, DW_OP_lit5, DW_OP_mul);
	ASSERT_EVALUATES(5, DW_OP_lit7, DW_OP_lit5, DW_OP_and);
	ASSERT_EVALUATES(56, DW_OP_lit7, DW_OP_lit3, DW_OP_shl);
	ASSERT_EVALUATES(0, DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl);
	ASSERT_EVALUATES(207, DW_OP_lit7, DW_OP_plus_uconst, 0xc8, 0x01);
}

static void
test_comparisons(void **state)
{
	(void)state;
	/* Signed: -1 < 1. */
	ASSERT_EVALUATES(0, DW_OP_const1s, 0xff, DW_OP_lit1, DW_OP_ge);
	ASSERT_EVALUATES(1, DW_OP_lit1, DW_OP_lit1, DW_OP_ge);
}

static void
test_stack_operations(void **state)
{
	(void)state;
	ASSERT_FAILS(DW_OP_lit2, DW_OP_dup, DW_OP_plus);
	ASSERT_EVALUATES(1, DW_OP_lit1, DW_OP_lit2, DW_OP_drop);
	ASSERT_FAILS(DW_OP_drop);
	ASSERT_FAILS(DW_OP_lit1, DW_OP_plus);
}

static void
test_registers_and_memory(void **state)
{
	static const uintptr_t words[2] = {0x1122334455667788, 42};

	(void)state;
	cpu = (struct th_cpu){0};
	th_cpu_set(&cpu, 3, (uintptr_t)words);
	ASSERT_EVALUATES((uintptr_t)words + 8, DW_OP_breg3, 8);
	ASSERT_EVALUATES((uintptr_t)words - 8, DW_OP_breg3, 0x78);
	ASSERT_EVALUATES(42, DW_OP_breg3, 8, DW_OP_deref);
	ASSERT_FAILS(DW_OP_breg4, 0);
	ASSERT_FAILS(DW_OP_lit8, DW_OP_deref);
}

static void
test_malformed_expressions(void **state)
{
	uint8_t deep[20];
	uintptr_t found;

	(void)state;
	ASSERT_FAILS(DW_OP_const2u, 1);
	ASSERT_FAILS(DW_OP_constu, 0x80);
	ASSERT_FAILS(DW_OP_lit1, DW_OP_call_frame_cfa);
	ASSERT_FAILS(DW_OP_lit7, DW_OP_lit5, DW_OP_div);
	ASSERT_FAILS(DW_OP_lit1, DW_OP_skip, 0xfd, 0xff);
	ASSERT_FAILS(DW_OP_breg31, 0);
	memset(deep, DW_OP_lit1, sizeof(deep));
	assert_true(evaluate(deep, 16, &found));
	assert_false(evaluate(deep, 17, &found));
}

/* The GNU linker's expression for .plt: 16-byte entries, the push at byte 11. */
static void
test_plt_expression(void **state)
{
	static const uint8_t code[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
		DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uintptr_t found;

	(void)state;
	cpu = (struct th_cpu){0};
	th_cpu_set(&cpu, 7, 0x1000);
	for (unsigned byte = 0; byte < 16; byte++) {
		th_cpu_set(&cpu, 16, 0x4000 + byte);
		assert_true(evaluate(code, sizeof(code), &found));
		assert_int_equal(found, byte >= 11 ? 0x1010 : 0x1008);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_stack_operations),
		cmocka_unit_test(test_registers_and_memory),
		cmocka_unit_test(test_malformed_expressions),
		cmocka_unit_test(test_plt_expression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
