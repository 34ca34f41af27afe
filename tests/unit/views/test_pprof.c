/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof profile, decoded by the field numbers of its schema: functions inlined at one
 * address form one location at that address, with one line each.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "report/symbols/module_files.h"
#include "tests/unit/views/view_helper.h"

#define LIBRARY TH_TEST_BUILD "/tests/programs/libsymbols_fixture.so"
#define MARK_INLINED 1 /* innermost, inlined into middle, inlined into grow */
#define BIAS 0x10000u

/* Field numbers of profile.proto. */
enum { PROFILE_MAPPING = 3, PROFILE_LOCATION = 4 };
enum { LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { MAPPING_BUILD_ID = 6 };

struct mark {
	uintptr_t address;
	uint64_t line;
	uint64_t number;
};

/* A field of a message: `value` for numbers, `bytes` for all other types. */
struct field {
	uint64_t number;
	uint64_t value;
	const unsigned char *bytes;
	size_t length;
};

static uint64_t
read_varint(const unsigned char **at)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

/* Reads the next field before `end`; false if there is none. */
static bool
read_field(const unsigned char **at, const unsigned char *end, struct field *field)
{
	if (*at >= end)
		return false;
	uint64_t key = read_varint(at);
	*field = (struct field){.number = key >> 3};
	assert_true((key & 7) == 0 || (key & 7) == 2);
	field->value = read_varint(at);
	if ((key & 7) == 2) {
		field->bytes = *at;
		field->length = field->value;
		*at += field->length;
	}
	assert_true(*at <= end);
	return true;
}

/* The value of a field; for a message, its number of occurrences. */
static uint64_t
look(const struct field *message, uint64_t number)
{
	const unsigned char *at = message->bytes;
	struct field field;
	uint64_t found = 0;

	while (read_field(&at, message->bytes + message->length, &field)) {
		if (field.number == number)
			found = field.bytes ? found + 1 : field.value;
	}
	return found;
}

/* The address of the inlined code in the ELF file. */
static uint64_t
inlined_address(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW);
	const struct mark *(*find)(uint64_t);
	Dl_info info;

	assert_non_null(handle);
	*(void **)&find = dlsym(handle, "th_fixture_mark");
	assert_non_null(find);
	assert_int_not_equal(dladdr((void *)(uintptr_t)find, &info), 0);
	uint64_t address = find(MARK_INLINED)->address - (uintptr_t)info.dli_fbase;
	dlclose(handle);
	return address;
}

static void
build(struct log_builder *log, uint64_t address)
{
	const uint64_t frames[] = {th_frame_native(1, address)};
	char build_id[TH_BUILD_ID_TEXT];
	FILE *file = fopen(LIBRARY, "r");

	assert_non_null(file);
	assert_true(th_build_id_read(fileno(file), build_id));
	fclose(file);
	log_init(log, 0);
	log_thread(log, 1, "main");
	log_add_fields(log, TH_EVENT_MODULE, LOG_U64(BIAS), LOG_U64(0x20000), LOG_U64(BIAS),
		LOG_U32(1), LOG_TEXT(LIBRARY), LOG_TEXT(build_id));
	log_stack(log, 1, frames, 1);
	log_native(log,
		(struct log_sample){
			.ms = 1, .size = 100, .thread_bytes = 100, .thread = 1, .stack = 1});
	log_end(log, 10);
}

/* The uncompressed profile of a log; the caller frees it. */
static unsigned char *
profile_of(const struct log_builder *log, size_t *length_ret)
{
	struct shown shown;
	char *packed = NULL;
	size_t packed_length;
	FILE *file = open_memstream(&packed, &packed_length);
	size_t capacity = 1 << 16;
	unsigned char *bytes = malloc(capacity);
	z_stream stream = {0};

	show(&shown, log, NULL);
	th_view_pprof(file, shown.profile);
	fclose(file);
	show_end(&shown);
	stream.next_in = (unsigned char *)packed;
	stream.avail_in = (uInt)packed_length;
	stream.next_out = bytes;
	stream.avail_out = (uInt)capacity;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	*length_ret = stream.total_out;
	inflateEnd(&stream);
	free(packed);
	return bytes;
}

static void
test_inlined_functions(void **state)
{
	uint64_t address = inlined_address();
	struct log_builder log;
	struct field field;
	size_t length;
	unsigned locations = 0;
	unsigned mappings = 0;

	(void)state;
	build(&log, address);
	unsigned char *bytes = profile_of(&log, &length);
	const unsigned char *at = bytes;
	while (read_field(&at, bytes + length, &field)) {
		if (field.number == PROFILE_LOCATION) {
			locations++;
			assert_int_equal(look(&field, LOCATION_LINE), 3);
			assert_int_equal(look(&field, LOCATION_ADDRESS), BIAS + address);
			assert_int_equal(look(&field, LOCATION_MAPPING), 1);
		} else if (field.number == PROFILE_MAPPING) {
			mappings++;
			assert_int_not_equal(look(&field, MAPPING_BUILD_ID), 0);
		}
	}
	assert_int_equal(locations, 1);
	assert_int_equal(mappings, 1);
	free(bytes);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
