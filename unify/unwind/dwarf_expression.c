/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack machine.  Errors set `code.failed` and let the operation finish with zeros, so only
 * the loop has to check.
 */
#include "unify/unwind/dwarf_expression.h"

#include "unify/unwind/cursor.h"

/* A loop is legal in an expression, but compilers do not write any. */
#define OPERATIONS_MAX 256
/* A PLT entry needs four. */
#define STACK_MAX 16

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_DUP,
	OP_DROP,
	OP_OVER,
	OP_PICK,
	OP_SWAP,
	OP_ROT,
	OP_ABS = 0x19,
	OP_AND,
	OP_DIV,
	OP_MINUS,
	OP_MOD,
	OP_MUL,
	OP_NEG,
	OP_NOT,
	OP_OR,
	OP_PLUS,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_SHR,
	OP_SHRA,
	OP_XOR,
	OP_BRA,
	OP_EQ,
	OP_GE,
	OP_GT,
	OP_LE,
	OP_LT,
	OP_NE,
	OP_SKIP,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct machine {
	struct th_cursor code;
	const uint8_t *start;
	const struct th_cpu *cpu;
	struct th_safe_read *memory;
	unsigned depth;
	uintptr_t stack[STACK_MAX];
};

static void
push(struct machine *machine, uintptr_t value)
{
	if (machine->depth == STACK_MAX)
		machine->code.failed = true;
	else
		machine->stack[machine->depth++] = value;
}

static uintptr_t
pop(struct machine *machine)
{
	if (!machine->depth) {
		machine->code.failed = true;
		return 0;
	}
	return machine->stack[--machine->depth];
}

/* The value `below` positions under the top. */
static uintptr_t
peek(struct machine *machine, unsigned below)
{
	if (below >= machine->depth) {
		machine->code.failed = true;
		return 0;
	}
	return machine->stack[machine->depth - 1 - below];
}

static void
push_register(struct machine *machine, uint64_t number)
{
	int64_t offset = th_cursor_sleb(&machine->code);

	if (number >= TH_DWARF_COUNT || !th_cpu_knows(machine->cpu, (unsigned)number))
		machine->code.failed = true;
	else
		push(machine, machine->cpu->value[number] + (uintptr_t)offset);
}

static void
dereference(struct machine *machine, unsigned bytes)
{
	uintptr_t address = pop(machine);
	uintptr_t value = 0;

	/* Both processors are little-endian: the low bytes come first. */
	if (bytes > sizeof(value) || !th_read_bytes(machine->memory, address, &value, bytes))
		machine->code.failed = true;
	push(machine, value);
}

static void
jump(struct machine *machine, bool taken)
{
	int16_t distance = (int16_t)th_cursor_u16(&machine->code);
	ptrdiff_t target = machine->code.at - machine->start + distance;

	if (!taken || machine->code.failed)
		return;
	if (target < 0 || target > machine->code.end - machine->start)
		machine->code.failed = true;
	else
		machine->code.at = machine->start + target;
}

static bool
run_constant(struct machine *machine, uint8_t operation)
{
	struct th_cursor *code = &machine->code;

	switch (operation) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		push(machine, th_cursor_u64(code));
		return true;
	case OP_CONST1U:
		push(machine, th_cursor_u8(code));
		return true;
	case OP_CONST1S:
		push(machine, (uintptr_t)(int8_t)th_cursor_u8(code));
		return true;
	case OP_CONST2U:
		push(machine, th_cursor_u16(code));
		return true;
	case OP_CONST2S:
		push(machine, (uintptr_t)(int16_t)th_cursor_u16(code));
		return true;
	case OP_CONST4U:
		push(machine, th_cursor_u32(code));
		return true;
	case OP_CONST4S:
		push(machine, (uintptr_t)(int32_t)th_cursor_u32(code));
		return true;
	case OP_CONSTU:
		push(machine, th_cursor_uleb(code));
		return true;
	case OP_CONSTS:
		push(machine, (uintptr_t)th_cursor_sleb(code));
		return true;
	default:
		return false;
	}
}

static void
rotate(struct machine *machine)
{
	uintptr_t first = pop(machine);
	uintptr_t second = pop(machine);
	uintptr_t third = pop(machine);

	push(machine, first);
	push(machine, third);
	push(machine, second);
}

static bool
run_stack(struct machine *machine, uint8_t operation)
{
	uintptr_t first;
	uintptr_t second;

	switch (operation) {
	case OP_DUP:
		push(machine, peek(machine, 0));
		return true;
	case OP_DROP:
		pop(machine);
		return true;
	case OP_OVER:
		push(machine, peek(machine, 1));
		return true;
	case OP_PICK:
		push(machine, peek(machine, th_cursor_u8(&machine->code)));
		return true;
	case OP_SWAP:
		first = pop(machine);
		second = pop(machine);
		push(machine, first);
		push(machine, second);
		return true;
	case OP_ROT:
		rotate(machine);
		return true;
	default:
		return false;
	}
}

static bool
run_unary(struct machine *machine, uint8_t operation)
{
	uintptr_t value;

	switch (operation) {
	case OP_ABS:
		value = pop(machine);
		push(machine, (intptr_t)value < 0 ? -value : value);
		return true;
	case OP_NEG:
		push(machine, -pop(machine));
		return true;
	case OP_NOT:
		push(machine, ~pop(machine));
		return true;
	case OP_PLUS_UCONST:
		value = pop(machine);
		push(machine, value + th_cursor_uleb(&machine->code));
		return true;
	case OP_DEREF:
		dereference(machine, sizeof(uintptr_t));
		return true;
	case OP_DEREF_SIZE:
		dereference(machine, th_cursor_u8(&machine->code));
		return true;
	default:
		return false;
	}
}

static uintptr_t
shift_right_signed(uintptr_t value, uintptr_t bits)
{
	return (uintptr_t)((intptr_t)value >> (bits < 64 ? bits : 63));
}

/* a op b; fails on a division by zero or an overflow. */
static uintptr_t
divide(struct machine *machine, uint8_t operation, uintptr_t a, uintptr_t b)
{
	if (!b || (b == UINTPTR_MAX && operation == OP_DIV)) {
		machine->code.failed |= !b;
		return -a;
	}
	return operation == OP_DIV ? (uintptr_t)((intptr_t)a / (intptr_t)b) : a % b;
}

static uintptr_t
combine(struct machine *machine, uint8_t operation, uintptr_t a, uintptr_t b)
{
	switch (operation) {
	case OP_AND:
		return a & b;
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_PLUS:
		return a + b;
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
	case OP_MOD:
		return divide(machine, operation, a, b);
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return shift_right_signed(a, b);
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_GE:
		return (intptr_t)a >= (intptr_t)b;
	case OP_GT:
		return (intptr_t)a > (intptr_t)b;
	case OP_LE:
		return (intptr_t)a <= (intptr_t)b;
	case OP_LT:
		return (intptr_t)a < (intptr_t)b;
	default:
		machine->code.failed = true;
		return 0;
	}
}

static void
run_binary(struct machine *machine, uint8_t operation)
{
	uintptr_t b = pop(machine);
	uintptr_t a = pop(machine);

	push(machine, combine(machine, operation, a, b));
}

static void
run_operation(struct machine *machine)
{
	uint8_t operation = th_cursor_u8(&machine->code);

	if (operation >= OP_LIT0 && operation <= OP_LIT31)
		push(machine, operation - OP_LIT0);
	else if (operation >= OP_BREG0 && operation <= OP_BREG31)
		push_register(machine, operation - OP_BREG0);
	else if (operation == OP_BREGX)
		push_register(machine, th_cursor_uleb(&machine->code));
	else if (operation == OP_SKIP)
		jump(machine, true);
	else if (operation == OP_BRA)
		jump(machine, pop(machine) != 0);
	else if (operation != OP_NOP && !run_constant(machine, operation) &&
		 !run_stack(machine, operation) && !run_unary(machine, operation))
		run_binary(machine, operation);
}

bool
th_expression_evaluate(const uint8_t *code, size_t bytes, const uintptr_t *initial,
	const struct th_cpu *cpu, struct th_safe_read *memory, uintptr_t *ret)
{
	struct machine machine = {
		.code = {.at = code, .end = code + bytes},
		.start = code,
		.cpu = cpu,
		.memory = memory,
	};
	unsigned left = OPERATIONS_MAX;

	if (initial)
		push(&machine, *initial);
	while (!th_cursor_is_done(&machine.code) && left--)
		run_operation(&machine);
	*ret = pop(&machine);
	return !machine.code.failed && machine.code.at == machine.code.end;
}
