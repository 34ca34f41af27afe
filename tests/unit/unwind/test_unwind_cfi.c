/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the call frame information of whole libraries equals that from libdw. */
#include "tests/unit/unwind/unwind_oracle.h"

#include "unify/log/module.h"
#include "unify/unwind/cache.h"
#include "unify/unwind/cfi.h"
#include "unify/unwind/fde.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#define DIFFERENCES_MAX 20

/* Libdw */

struct library {
	const struct th_module *module;
	int file;
	Elf *elf;
	Dwarf_CFI *cfi;
	unsigned functions;
	unsigned rows;
	unsigned compact;
	unsigned foreign; /* FDEs in an unsupported form */
	unsigned differences;
};

static void
open_library(struct library *library, const void *inside)
{
	memset(library, 0, sizeof(*library));
	library->module = th_module_find((uintptr_t)inside);
	assert_non_null(library->module);
	library->file = open(library->module->path, O_RDONLY);
	assert_int_not_equal(library->file, -1);
	library->elf = elf_begin(library->file, ELF_C_READ_MMAP, NULL);
	assert_non_null(library->elf);
	library->cfi = dwarf_getcfi_elf(library->elf);
	assert_non_null(library->cfi);
}

static void
close_library(struct library *library)
{
	dwarf_cfi_end(library->cfi);
	elf_end(library->elf);
	close(library->file);
}

static void
complain(struct library *library, uintptr_t pc, const char *what, unsigned column)
{
	if (library->differences++ < DIFFERENCES_MAX)
		print_error("%s+%zx: %s %u differs\n", library->module->path,
			pc - library->module->bias, what, column);
}

/* libdw returns one breg for register and offset, else the operations of the expression. */
static bool
is_same_cfa(const struct th_cfi_row *row, const Dwarf_Op *ops, size_t count)
{
	bool is_register = count == 1 && ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31;

	if (row->cfa_is_expression)
		return count > 1;
	if (count == 1 && ops->atom == DW_OP_bregx)
		return row->cfa_register == ops->number &&
		       row->cfa_offset == (int64_t)ops->number2;
	return is_register && row->cfa_register == (uint64_t)(ops->atom - DW_OP_breg0) &&
	       row->cfa_offset == (int64_t)ops->number;
}

/* Converts libdw's description of a register; expressions only by their kind. */
static enum th_cfi_kind
kind_of(const Dwarf_Op *ops, size_t count, const Dwarf_Op *memory, int64_t *value_ret)
{
	bool is_value = count && ops[count - 1].atom == DW_OP_stack_value;

	*value_ret = 0;
	if (!count)
		return ops == memory ? TH_CFI_UNDEFINED : TH_CFI_SAME;
	if (ops->atom == DW_OP_regx || (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)) {
		*value_ret = ops->atom == DW_OP_regx ? (int64_t)ops->number
						     : ops->atom - DW_OP_reg0;
		return TH_CFI_REGISTER;
	}
	count -= is_value;
	if (ops->atom != DW_OP_call_frame_cfa || count > 2 ||
		(count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return is_value ? TH_CFI_IS_EXPRESSION : TH_CFI_AT_EXPRESSION;
	*value_ret = count == 2 ? (int64_t)ops[1].number : 0;
	return is_value ? TH_CFI_IS_OFFSET : TH_CFI_AT_OFFSET;
}

static bool
is_same_rule(const struct th_cfi_row *row, unsigned column, Dwarf_Frame *frame)
{
	bool has_expression = row->kind[column] == TH_CFI_AT_EXPRESSION ||
			      row->kind[column] == TH_CFI_IS_EXPRESSION;
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;
	int64_t value;
	enum th_cfi_kind kind;

	assert_int_equal(dwarf_frame_register(frame, (int)column, memory, &ops, &count), 0);
	kind = kind_of(ops, count, memory, &value);
	/* libdw's defaults: sp is the CFA, others are unchanged or undefined. */
	if (column == TH_DWARF_SP && row->kind[column] == TH_CFI_SAME)
		return kind == TH_CFI_IS_OFFSET && value == 0;
	if (row->kind[column] == TH_CFI_SAME)
		return kind == TH_CFI_SAME || kind == TH_CFI_UNDEFINED;
	return kind == row->kind[column] && (has_expression || value == row->value[column]);
}

/* On aarch64 only this unwinder has a column for pc: the ABI defines none. */
static bool
has_rule(unsigned column)
{
	return column != TH_DWARF_PC || TH_DWARF_PC == TH_DWARF_RETURN;
}

static void
compare_row(
	struct library *library, const struct th_cfi_row *row, Dwarf_Frame *frame, uintptr_t pc)
{
	struct th_rule rule;
	Dwarf_Op *ops;
	size_t count;

	library->rows++;
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (row->kind[TH_DWARF_RETURN] != TH_CFI_UNDEFINED && !is_same_cfa(row, ops, count))
		complain(library, pc, "CFA", 0);
	for (unsigned i = 0; i < TH_DWARF_COUNT; i++)
		if ((TH_DWARF_PRESERVED >> i & 1) && has_rule(i) &&
			!is_same_rule(row, i, frame))
			complain(library, pc, "register", i);
	th_rule_from_row(row, &rule);
	library->compact += rule.kind != TH_RULE_ROW;
}

/* All rows of the function at `fde`. */
static void
compare_function(struct library *library, const struct th_fde *fde)
{
	uintptr_t bias = library->module->bias;
	uintptr_t pc = fde->start;

	while (pc < fde->end) {
		Dwarf_Frame *frame;
		Dwarf_Addr start;
		Dwarf_Addr end;
		bool is_signal;
		struct th_cfi_row row;

		if (dwarf_cfi_addrframe(library->cfi, pc - bias, &frame)) {
			complain(library, pc, "whether there is a row", 0);
			return;
		}
		dwarf_frame_info(frame, &start, &end, &is_signal);
		assert_int_equal(is_signal, fde->is_signal);
		if (!th_cfi_row(fde, pc, &row))
			complain(library, pc, "whether the row is understood", 0);
		else
			compare_row(library, &row, frame, pc);
		free(frame);
		pc = end + bias;
	}
	library->functions++;
}

/* Every function listed in the search table. */
static void
compare_library(struct library *library, const void *inside)
{
	const uint8_t *header;
	uint32_t count;

	open_library(library, inside);
	header = library->module->eh_frame_hdr;
	memcpy(&count, header + 8, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		struct th_fde fde;
		int32_t start;

		memcpy(&start, header + 12 + 8 * (size_t)i, sizeof(start));
		if (!th_fde_find(library->module, (uintptr_t)(header + start), &fde)) {
			library->foreign++;
			continue;
		}
		assert_int_equal(fde.start, (uintptr_t)(header + start));
		compare_function(library, &fde);
	}
	close_library(library);
	print_message("%s: %u functions, %u rows, %.3f%% compact\n", library->module->path,
		library->functions, library->rows, 100.0 * library->compact / library->rows);
}

static void
test_c_library(void **state)
{
	struct library library;

	(void)state;
	compare_library(&library, (void *)(uintptr_t)printf);
	assert_int_equal(library.differences, 0);
	assert_in_range(library.functions, 1000, UINT32_MAX);
	/* On aarch64 one function keeps its return address in x15. */
	assert_in_range(library.foreign, 0, 1);
	/* The rest does not fit into the step cache. */
	assert_true(library.compact > library.rows * 0.999);
}

static void
test_this_program(void **state)
{
	struct library library;

	(void)state;
	compare_library(&library, (void *)(uintptr_t)test_this_program);
	assert_int_equal(library.differences + library.foreign, 0);
	assert_in_range(library.functions, 50, UINT32_MAX);
}

static void
test_compiler_runtime(void **state)
{
	struct library library;

	(void)state;
	compare_library(&library, (void *)(uintptr_t)_Unwind_Backtrace);
	assert_int_equal(library.differences + library.foreign, 0);
}

/* TH_TEST_LIBRARY names an additional one, for example libjvm.so. */
static void
test_given_library(void **state)
{
	const char *path = getenv("TH_TEST_LIBRARY");
	struct library library;
	void *handle;
	void *symbol;

	(void)state;
	if (!path)
		skip();
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		print_error("%s\n", dlerror());
	assert_non_null(handle);
	symbol = dlsym(handle, "JNI_CreateJavaVM");
	assert_non_null(symbol);
	compare_library(&library, symbol);
	assert_int_equal(library.differences + library.foreign, 0);
}

/* Of a header without a table nothing is read. */
static void
test_no_table(void **state)
{
	struct th_module module = *th_module_find((uintptr_t)test_no_table);
	uint8_t bare[12] = {1, DW_EH_PE_absptr, DW_EH_PE_omit, DW_EH_PE_omit};
	struct th_fde found;

	(void)state;
	assert_true(th_fde_find(&module, (uintptr_t)test_no_table, &found));
	module.eh_frame_hdr = bare;
	/* The header must lie in the module, so the module reaches to the stack. */
	assert_true((uintptr_t)bare > module.end);
	module.end = (uintptr_t)bare + sizeof(bare);
	assert_false(th_fde_find(&module, (uintptr_t)test_no_table, &found));
}

static int
setup(void **state)
{
	(void)state;
	oracle_init();
	elf_version(EV_CURRENT);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_library),
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_compiler_runtime),
		cmocka_unit_test(test_given_library),
		cmocka_unit_test(test_no_table),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
