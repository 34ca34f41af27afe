/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack machine.  Errors set `code.failed` and let the operation finish with zeros, so only
 * the loop has to check.
 *
 * Of the operations those that compilers, linkers and hand-written code use in call frame
 * information: in 1,000 libraries of a distribution these are constants, breg, deref, drop, and,
 * plus, minus, mul, shl and ge.  There are no jumps, so each byte is read once.
 */
#include "unify/unwind/dwarf_expression.h"

#include "unify/unwind/cursor.h"

/* A PLT entry needs four. */
#define STACK_MAX 16

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST8S = 0x0f,
	OP_CONSTU,
	OP_CONSTS,
	OP_DROP = 0x13,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

struct machine {
	struct th_cursor code;
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

/* 1, 2, 4 or 8 bytes, each unsigned or signed. */
static uintptr_t
read_constant(struct th_cursor *code, unsigned number)
{
	unsigned bytes = 1u << number / 2;
	unsigned unused = 64 - 8 * bytes;
	const uint8_t *at = th_cursor_take(code, bytes);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, bytes);
	if (number % 2)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static void
push_register(struct machine *machine, unsigned number)
{
	int64_t offset = th_cursor_sleb(&machine->code);

	if (number >= TH_DWARF_COUNT || !th_cpu_knows(machine->cpu, number))
		machine->code.failed = true;
	else
		push(machine, machine->cpu->value[number] + (uintptr_t)offset);
}

static void
dereference(struct machine *machine)
{
	uintptr_t address = pop(machine);
	uintptr_t value = 0;

	if (!th_read_bytes(machine->memory, address, &value, sizeof(value)))
		machine->code.failed = true;
	push(machine, value);
}

static uintptr_t
combine(struct machine *machine, uint8_t operation, uintptr_t a, uintptr_t b)
{
	switch (operation) {
	case OP_AND:
		return a & b;
	case OP_PLUS:
		return a + b;
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_GE:
		return (intptr_t)a >= (intptr_t)b;
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
	struct th_cursor *code = &machine->code;
	uint8_t operation = th_cursor_u8(code);
	uintptr_t value;

	switch (operation) {
	case OP_LIT0 ... OP_LIT31:
		push(machine, operation - OP_LIT0);
		break;
	case OP_BREG0 ... OP_BREG31:
		push_register(machine, operation - OP_BREG0);
		break;
	case OP_CONST1U ... OP_CONST8S:
		push(machine, read_constant(code, operation - OP_CONST1U));
		break;
	case OP_CONSTU:
		push(machine, th_cursor_uleb(code));
		break;
	case OP_CONSTS:
		push(machine, (uintptr_t)th_cursor_sleb(code));
		break;
	case OP_DROP:
		pop(machine);
		break;
	case OP_PLUS_UCONST:
		value = pop(machine);
		push(machine, value + th_cursor_uleb(code));
		break;
	case OP_DEREF:
		dereference(machine);
		break;
	default:
		run_binary(machine, operation);
	}
}

bool
th_expression_evaluate(const uint8_t *code, size_t bytes, const uintptr_t *initial,
	const struct th_cpu *cpu, struct th_safe_read *memory, uintptr_t *ret)
{
	struct machine machine = {
		.code = {.at = code, .end = code + bytes},
		.cpu = cpu,
		.memory = memory,
	};

	if (initial)
		push(&machine, *initial);
	while (!th_cursor_is_done(&machine.code))
		run_operation(&machine);
	*ret = pop(&machine);
	return !machine.code.failed && machine.code.at == machine.code.end;
}
