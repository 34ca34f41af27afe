/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter works on one row and keeps two kinds of copies: the row after the CIE's
 * instructions (for DW_CFA_restore) and remembered rows.  Columns without a register in struct
 * th_cpu, such as vector registers, are parsed and ignored.
 */
#include "unify/unwind/cfi.h"

#include "unify/unwind/cursor.h"
#include "unify/unwind/dwarf_expression.h"

#include <string.h>

/* Compilers nest DW_CFA_remember_state once. */
#define REMEMBERED_MAX 4

enum {
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c, /* aarch64 */
	CFA_NEGATE_RA_STATE = 0x2d,         /* aarch64 */
	CFA_GNU_ARGS_SIZE = 0x2e,
	/* The operand is in the low six bits. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0,
	CFA_OPERAND = 0x3f,
};

struct interpreter {
	struct th_cursor code;
	const struct th_fde *fde;
	uintptr_t location; /* start of the range in which the row is valid */
	uintptr_t pc;       /* the pc whose row is wanted */
	struct th_cfi_row row;
	struct th_cfi_row initial;
	unsigned remembered_count;
	struct th_cfi_row remembered[REMEMBERED_MAX];
};

static void
set_rule(struct interpreter *interpreter, uint64_t column, enum th_cfi_kind kind, int64_t value)
{
	if (column >= TH_DWARF_COUNT)
		return;
	interpreter->row.kind[column] = (uint8_t)kind;
	interpreter->row.value[column] = value;
}

static void
restore_rule(struct interpreter *interpreter, uint64_t column)
{
	const struct th_cfi_row *initial = &interpreter->initial;

	if (column < TH_DWARF_COUNT)
		set_rule(interpreter, column, initial->kind[column], initial->value[column]);
}

static void
set_cfa(struct interpreter *interpreter, uint64_t column, int64_t offset)
{
	interpreter->row.cfa_is_expression = false;
	interpreter->row.cfa_register = column;
	interpreter->row.cfa_offset = offset;
}

static void
set_cfa_offset(struct interpreter *interpreter, int64_t offset)
{
	interpreter->code.failed |= interpreter->row.cfa_is_expression;
	interpreter->row.cfa_offset = offset;
}

static int64_t
factored(struct interpreter *interpreter)
{
	return (int64_t)(th_cursor_uleb(&interpreter->code) *
			 (uint64_t)interpreter->fde->data_factor);
}

static int64_t
factored_signed(struct interpreter *interpreter)
{
	return (int64_t)((uint64_t)th_cursor_sleb(&interpreter->code) *
			 (uint64_t)interpreter->fde->data_factor);
}

/* Skips an expression; returns the address of its length. */
static int64_t
take_expression(struct interpreter *interpreter)
{
	const uint8_t *at = interpreter->code.at;

	th_cursor_take(&interpreter->code, th_cursor_uleb(&interpreter->code));
	return (int64_t)(uintptr_t)at;
}

static void
advance(struct interpreter *interpreter, uint64_t distance)
{
	interpreter->location += distance * interpreter->fde->code_factor;
}

static void
remember_state(struct interpreter *interpreter)
{
	if (interpreter->remembered_count == REMEMBERED_MAX)
		interpreter->code.failed = true;
	else
		interpreter->remembered[interpreter->remembered_count++] = interpreter->row;
}

static void
restore_state(struct interpreter *interpreter)
{
	if (!interpreter->remembered_count)
		interpreter->code.failed = true;
	else
		interpreter->row = interpreter->remembered[--interpreter->remembered_count];
}

/* The operations whose first operand is a register. */
static void
run_register(struct interpreter *interpreter, uint8_t operation)
{
	uint64_t column = th_cursor_uleb(&interpreter->code);

	switch (operation) {
	case CFA_OFFSET_EXTENDED:
		set_rule(interpreter, column, TH_CFI_AT_OFFSET, factored(interpreter));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_rule(interpreter, column, TH_CFI_AT_OFFSET, factored_signed(interpreter));
		break;
	case CFA_VAL_OFFSET:
		set_rule(interpreter, column, TH_CFI_IS_OFFSET, factored(interpreter));
		break;
	case CFA_VAL_OFFSET_SF:
		set_rule(interpreter, column, TH_CFI_IS_OFFSET, factored_signed(interpreter));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_rule(interpreter, column);
		break;
	case CFA_UNDEFINED:
		set_rule(interpreter, column, TH_CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_rule(interpreter, column, TH_CFI_SAME, 0);
		break;
	case CFA_REGISTER:
		set_rule(interpreter, column, TH_CFI_REGISTER,
			(int64_t)th_cursor_uleb(&interpreter->code));
		break;
	case CFA_EXPRESSION:
		set_rule(interpreter, column, TH_CFI_AT_EXPRESSION,
			take_expression(interpreter));
		break;
	case CFA_VAL_EXPRESSION:
		set_rule(interpreter, column, TH_CFI_IS_EXPRESSION,
			take_expression(interpreter));
		break;
	default:
		interpreter->code.failed = true;
	}
}

/* The other ones with a byte of their own. */
static void
run_extended(struct interpreter *interpreter, uint8_t operation)
{
	struct th_cursor *code = &interpreter->code;
	struct th_cfi_row *row = &interpreter->row;
	uint64_t column;

	switch (operation) {
	case CFA_NOP:
		break;
	case CFA_ADVANCE_LOC1:
		advance(interpreter, th_cursor_u8(code));
		break;
	case CFA_ADVANCE_LOC2:
		advance(interpreter, th_cursor_u16(code));
		break;
	case CFA_ADVANCE_LOC4:
		advance(interpreter, th_cursor_u32(code));
		break;
	case CFA_DEF_CFA:
		column = th_cursor_uleb(code);
		set_cfa(interpreter, column, (int64_t)th_cursor_uleb(code));
		break;
	case CFA_DEF_CFA_SF:
		column = th_cursor_uleb(code);
		set_cfa(interpreter, column, factored_signed(interpreter));
		break;
	case CFA_DEF_CFA_REGISTER:
		column = th_cursor_uleb(code);
		code->failed |= row->cfa_is_expression;
		set_cfa(interpreter, column, row->cfa_offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(interpreter, (int64_t)th_cursor_uleb(code));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(interpreter, factored_signed(interpreter));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		row->cfa_is_expression = true;
		row->cfa_offset = take_expression(interpreter);
		break;
	case CFA_REMEMBER_STATE:
		remember_state(interpreter);
		break;
	case CFA_RESTORE_STATE:
		restore_state(interpreter);
		break;
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC:
		row->is_signed = !row->is_signed;
		break;
	case CFA_GNU_ARGS_SIZE:
		th_cursor_uleb(code);
		break;
	default:
		run_register(interpreter, operation);
	}
}

static void
run_instruction(struct interpreter *interpreter)
{
	uint8_t operation = th_cursor_u8(&interpreter->code);
	uint8_t operand = operation & CFA_OPERAND;

	switch (operation & CFA_PRIMARY) {
	case CFA_ADVANCE_LOC:
		advance(interpreter, operand);
		break;
	case CFA_OFFSET:
		set_rule(interpreter, operand, TH_CFI_AT_OFFSET, factored(interpreter));
		break;
	case CFA_RESTORE:
		restore_rule(interpreter, operand);
		break;
	default:
		run_extended(interpreter, operation);
	}
}

/* Executes [from, to) until it has advanced beyond the wanted pc. */
static bool
run(struct interpreter *interpreter, const uint8_t *from, const uint8_t *to)
{
	interpreter->code = (struct th_cursor){.at = from, .end = to};
	while (!th_cursor_is_done(&interpreter->code)) {
		run_instruction(interpreter);
		if (interpreter->location > interpreter->pc)
			break;
	}
	return !interpreter->code.failed;
}

bool
th_cfi_row(const struct th_fde *fde, uintptr_t pc, struct th_cfi_row *ret)
{
	struct interpreter interpreter;

	interpreter.fde = fde;
	interpreter.location = fde->start;
	interpreter.pc = pc;
	interpreter.remembered_count = 0;
	memset(&interpreter.row, 0, sizeof(interpreter.row));
	/* A row without a CFA cannot be applied: no register has this number. */
	interpreter.row.cfa_register = TH_DWARF_COUNT;
	interpreter.row.is_signal = fde->is_signal;
	interpreter.initial = interpreter.row;
	if (!run(&interpreter, fde->initial, fde->initial_end))
		return false;
	interpreter.initial = interpreter.row;
	if (!run(&interpreter, fde->program, fde->program_end))
		return false;
	*ret = interpreter.row;
	return true;
}

static bool
evaluate(int64_t at, const uintptr_t *initial, const struct th_cpu *cpu,
	struct th_safe_read *memory, uintptr_t *ret)
{
	/* The interpreter has checked that the expression lies within its program. */
	const uint8_t *length = (const uint8_t *)(uintptr_t)at;
	struct th_cursor cursor = {.at = length, .end = length + 10};
	uint64_t bytes = th_cursor_uleb(&cursor);

	return th_expression_evaluate(cursor.at, bytes, initial, cpu, memory, ret);
}

static bool
find_cfa(const struct th_cfi_row *row, const struct th_cpu *cpu, struct th_safe_read *memory,
	uintptr_t *ret)
{
	if (row->cfa_is_expression)
		return evaluate(row->cfa_offset, NULL, cpu, memory, ret);
	if (row->cfa_register >= TH_DWARF_COUNT ||
		!th_cpu_knows(cpu, (unsigned)row->cfa_register))
		return false;
	*ret = cpu->value[row->cfa_register] + (uintptr_t)row->cfa_offset;
	return true;
}

/* The caller's value of register `i`, which has a rule other than SAME and UNDEFINED. */
static bool
find_value(const struct th_cfi_row *row, unsigned i, uintptr_t cfa, const struct th_cpu *cpu,
	struct th_safe_read *memory, uintptr_t *ret)
{
	int64_t value = row->value[i];
	uintptr_t address;

	switch (row->kind[i]) {
	case TH_CFI_AT_OFFSET:
		return th_read_word(memory, cfa + (uintptr_t)value, ret);
	case TH_CFI_IS_OFFSET:
		*ret = cfa + (uintptr_t)value;
		return true;
	case TH_CFI_REGISTER:
		if (value < 0 || value >= TH_DWARF_COUNT || !th_cpu_knows(cpu, (unsigned)value))
			return false;
		*ret = cpu->value[value];
		return true;
	case TH_CFI_AT_EXPRESSION:
		return evaluate(value, &cfa, cpu, memory, &address) &&
		       th_read_word(memory, address, ret);
	case TH_CFI_IS_EXPRESSION:
		return evaluate(value, &cfa, cpu, memory, ret);
	default:
		return false;
	}
}

enum th_cfi_result
th_cfi_apply(const struct th_cfi_row *row, struct th_cpu *cpu, struct th_safe_read *memory)
{
	const struct th_cpu callee = *cpu;
	uintptr_t cfa;

	if (row->kind[TH_DWARF_RETURN] == TH_CFI_UNDEFINED)
		return TH_CFI_BASE;
	/*
	 * Where the column is pc itself, an unchanged pc would be a function that called
	 * itself.
	 */
	if (TH_DWARF_RETURN == TH_DWARF_PC && row->kind[TH_DWARF_RETURN] == TH_CFI_SAME)
		return TH_CFI_FAILED;
	if (!find_cfa(row, &callee, memory, &cfa))
		return TH_CFI_FAILED;
	th_cpu_set(cpu, TH_DWARF_SP, cfa);
	for (unsigned i = 0; i < TH_DWARF_COUNT; i++) {
		uintptr_t value;

		if (row->kind[i] == TH_CFI_SAME)
			continue;
		cpu->known &= ~(UINT64_C(1) << i);
		if (row->kind[i] == TH_CFI_UNDEFINED)
			continue;
		if (find_value(row, i, cfa, &callee, memory, &value))
			th_cpu_set(cpu, i, value);
		else if (TH_DWARF_PRESERVED >> i & 1)
			return TH_CFI_FAILED;
	}
	return TH_CFI_CALLER;
}
