/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small text parsers: sizes, symbol names, class signatures, the kernel's statistics.  The
 * first byte of an input chooses one.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/symbols/java_names.h"
#include "report/symbols/names.h"
#include "tests/fuzz/fuzz.h"
#include "unify/base/proc_file.h"
#include "unify/resident/address_space.h"
#include "unify/shared/size.h"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

/* A valid size must parse to the same value when printed in bytes. */
static void
try_size(const char *text)
{
	const char *rest = text;
	uint64_t bytes = 77, again;

	if (!th_size_parse(text, &bytes)) {
		require(bytes == 77);
		return;
	}
	require(th_proc_number(&rest, 10, &again));
	require(bytes >= again && (!again || bytes % again == 0));
}

static void
try_numbers(const char *text)
{
	uint64_t number;

	th_proc_field(text, "Rss:", &number);
	th_proc_number(&text, 10, &number);
	th_proc_number(&text, 16, &number);
}

static void
try_names(const char *text, size_t length)
{
	const struct th_text whole = {text, (uint32_t)length};
	struct th_java_families families = {0};

	free(th_demangle(text));
	th_java_families_add(&families, whole);
	if (families.sizes_count)
		families.sizes[0] = 100;
	free(th_java_class_name(&families, whole));
	free(th_java_method_name(&families, whole, whole));
	free(th_java_file_name(&families, whole, whole));
	th_java_families_deinit(&families);
}

/* Splitting the text into pieces of any length must not change the result. */
static void
try_smaps(const char *text, size_t length)
{
	static struct th_address_space space;
	size_t piece = 1;

	if (!space.entries)
		require(th_address_space_init(&space));
	th_address_space_begin(&space);
	for (size_t at = 0; at < length; at += piece) {
		piece = 1 + (at * 7 + length) % 23;
		if (piece > length - at)
			piece = length - at;
		th_address_space_feed(&space, text + at, piece);
	}
	th_address_space_end(&space);
	for (uint32_t i = 0; i < space.count; i++)
		require(strlen(th_address_space_path(&space, &space.entries[i])) <
			TH_MAPPING_PATH_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		try_size(text);
		break;
	case 1:
		try_numbers(text);
		break;
	case 2:
		try_names(text, size - 1);
		break;
	default:
		try_smaps(text, size - 1);
	}
	free(text);
	return 0;
}
