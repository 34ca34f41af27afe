/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind information: .eh_frame with its table, call frame instructions, DWARF expressions.  An
 * input is the unwind information of an otherwise empty module; its last page is followed by an
 * unreadable one.
 *
 *     byte 0    which of the three
 *     byte 1    position of the pc in the code
 *     rest      the data
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "unify/log/module.h"
#include "unify/unwind/cfi.h"
#include "unify/unwind/dwarf_expression.h"
#include "unify/unwind/fde.h"

#define CODE_BYTES 256

/* Readable pages, followed by an unreadable one; the data is at their end. */
#define ARENA_BYTES (FUZZ_PAGES * FUZZ_PAGE)

static uint8_t *arena;

static void
make_arena(void)
{
	arena = mmap(NULL, ARENA_BYTES + FUZZ_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED || mprotect(arena + ARENA_BYTES, FUZZ_PAGE, PROT_NONE))
		abort();
}

/* Copies data to the end of the arena. */
static uint8_t *
place(const uint8_t *data, size_t size)
{
	uint8_t *at = arena + fuzz_place(size);

	memset(arena, 0, ARENA_BYTES);
	memcpy(at, data, size);
	return at;
}

/*
 * Registers with plausible addresses: inside the stack, which is the arena here, and beside it.
 */
static void
set_registers(struct th_cpu *cpu, unsigned seed)
{
	memset(cpu, 0, sizeof(*cpu));
	for (unsigned i = 0; i < TH_DWARF_COUNT; i++)
		th_cpu_set(cpu, i,
			(uintptr_t)arena +
				(fuzz_below(&seed, ARENA_BYTES + 2 * FUZZ_PAGE) & ~7u));
}

static void
try_row(const struct th_fde *fde, uintptr_t pc, unsigned seed)
{
	struct th_safe_read memory = {0};
	struct th_cfi_row row;
	struct th_cpu cpu;

	if (!th_cfi_row(fde, pc, &row))
		return;
	set_registers(&cpu, seed);
	th_cfi_apply(&row, &cpu, &memory);
}

static void
try_module(const uint8_t *data, size_t size, uint8_t offset)
{
	uint8_t *at = place(data, size);
	const struct th_module module = {
		.start = (uintptr_t)arena,
		.end = (uintptr_t)at + size,
		.eh_frame_hdr = at,
	};
	uintptr_t pc = (uintptr_t)arena + offset;
	struct th_fde fde;

	if (th_fde_find(&module, pc, &fde))
		try_row(&fde, pc, offset);
}

/* The first byte of the data is the length of the CIE's instructions. */
static void
try_program(const uint8_t *data, size_t size, uint8_t offset)
{
	if (!size)
		return;
	size_t initial = data[0] < size ? data[0] : size - 1;
	const uint8_t *at = place(data + 1, size - 1);
	const struct th_fde fde = {
		.start = (uintptr_t)arena,
		.end = (uintptr_t)arena + CODE_BYTES,
		.initial = at,
		.initial_end = at + initial,
		.program = at + initial,
		.program_end = at + size - 1,
		.code_factor = 1,
		.data_factor = -8,
		.pointer_encoding = 0x1b,
	};

	try_row(&fde, fde.start + offset, offset);
}

static void
try_expression(const uint8_t *data, size_t size, uint8_t offset)
{
	const uint8_t *at = place(data, size);
	const uintptr_t initial = (uintptr_t)arena + offset;
	struct th_safe_read memory = {0};
	struct th_cpu cpu;
	uintptr_t value;

	set_registers(&cpu, offset);
	th_expression_evaluate(at, size, offset % 2 ? &initial : NULL, &cpu, &memory, &value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!arena)
		make_arena();
	if (size < 2 || size > ARENA_BYTES / 2)
		return 0;
	switch (data[0] % 3) {
	case 0:
		try_module(data + 2, size - 2, data[1]);
		break;
	case 1:
		try_program(data + 2, size - 2, data[1]);
		break;
	default:
		try_expression(data + 2, size - 2, data[1]);
	}
	return 0;
}
