/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of which the loader gives the code alone, as glibc 2.43 does for those with gaps between
 * their segments, are described like others.
 */
#include "unify/log/module.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h must follow the headers above. */
#include <cmocka.h>

#include "unify/base/align.h"

static int
narrow_to_code(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	struct dl_find_object *found = closure;

	(void)bytes;
	if (info->dlpi_addr != found->dlfo_link_map->l_addr)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		found->dlfo_map_start = (char *)info->dlpi_addr + segment->p_vaddr;
		found->dlfo_map_end = (char *)found->dlfo_map_start + segment->p_memsz;
	}
	return 1;
}

/* In front of the loader's own. */
int
_dl_find_object(void *pc, struct dl_find_object *ret)
{
	int (*next)(void *, struct dl_find_object *);
	void *symbol = dlsym(RTLD_NEXT, "_dl_find_object");

	memcpy(&next, &symbol, sizeof(next));
	if (!next || next(pc, ret))
		return -1;
	dl_iterate_phdr(narrow_to_code, ret);
	return 0;
}

struct range {
	uintptr_t address; /* in the object */
	uintptr_t start;
	uintptr_t end;
};

static int
find_range(struct dl_phdr_info *info, size_t bytes, void *closure)
{
	struct range *range = closure;
	uintptr_t start = UINTPTR_MAX, end = 0;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		start = begin < start ? begin : start;
		end = begin + segment->p_memsz > end ? begin + segment->p_memsz : end;
	}
	if (range->address < start || range->address >= end)
		return 0;
	range->start = start & -(uintptr_t)TH_PAGE_BYTES;
	range->end = end;
	return 1;
}

/* Compared with the program headers, and with the loader's list, which has whole objects. */
static void
assert_whole(void *function)
{
	struct range range = {.address = (uintptr_t)function};
	const struct th_module *code = th_module_find((uintptr_t)function);
	const struct th_module *whole;

	th_module_use_snapshot(true);
	whole = th_module_find((uintptr_t)function);
	th_module_use_snapshot(false);
	assert_non_null(code);
	assert_non_null(whole);
	assert_int_equal(dl_iterate_phdr(find_range, &range), 1);
	assert_int_equal(code->start, range.start);
	assert_int_equal(code->end, range.end);
	assert_int_equal(code->start, whole->start);
	assert_int_equal(code->end, whole->end);
	assert_int_equal(code->bias, whole->bias);
	assert_ptr_equal(code->eh_frame_hdr, whole->eh_frame_hdr);
	assert_string_equal(code->path, whole->path);
	assert_int_equal(code->is_self, whole->is_self);
	assert_true(code->build_id_bytes > 0);
	assert_int_equal(code->build_id_bytes, whole->build_id_bytes);
	assert_memory_equal(code->build_id, whole->build_id, code->build_id_bytes);
	assert_ptr_equal(th_module_find((uintptr_t)function), code);
}

static void
test_program(void **state)
{
	(void)state;
	assert_whole((void *)(uintptr_t)test_program);
	assert_true(th_module_find((uintptr_t)test_program)->is_self);
}

static void
test_library(void **state)
{
	(void)state;
	assert_whole((void *)(uintptr_t)printf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
	};

	if (!th_module_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
