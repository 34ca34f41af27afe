/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged logs in every view, one of them a ring: truncated at every byte of their events, and with
 * every byte of them flipped.  test_reader.c tests the reader's handling of damage; here no view may crash or
 * hang on the data that the reader accepts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/views/every_view.h"

/* Many thousand loads: under an emulator or a sanitizer there is no time for every byte. */
static size_t
stride(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 7;
#else
	return getenv("TH_TEST_RUNNER") ? 7 : 1;
#endif
}

/* Offset of the first event of `type`. */
static size_t
find_event(const struct log_builder *log, uint32_t type)
{
	size_t at = TH_LOG_HEADER_BYTES;

	while (at < log->length) {
		const struct th_log_record *record = (const void *)(log->bytes + at);

		if (record->type == type)
			return at;
		at += record->size;
	}
	fail_msg("no event %u", type);
	return 0;
}

/* In three of the views, alternating: all views for every byte would take minutes. */
static void
view_bytes(const void *bytes, size_t length, size_t turn)
{
	char *path = log_save_bytes(bytes, length);

	some_views(path, (unsigned)turn, 3, 3);
	unlink(path);
	free(path);
}

/* The undamaged log is accepted, so the other tests reach all views. */
static void
check_whole(struct log_builder *log)
{
	char *path = log_save(log);

	assert_true(every_view(path));
	unlink(path);
	free(path);
	log_deinit(log);
}

static void
test_whole_log_is_shown(void **state)
{
	struct log_builder log;

	(void)state;
	every_event(&log);
	check_whole(&log);
	every_event_in_ring(&log);
	check_whole(&log);
}

static void
cut_from(const struct log_builder *log, size_t start, size_t step)
{
	for (size_t length = start; length <= log->length; length += step)
		view_bytes(log->bytes, length, length);
}

static void
test_cut_anywhere(void **state)
{
	struct log_builder log;

	(void)state;
	every_event(&log);
	cut_from(&log, find_event(&log, TH_EVENT_JVM), stride());
	log_deinit(&log);
}

/* All bits of a byte, or the lowest, alternating: a number far off, or an adjacent one. */
static void
flip_each(const struct log_builder *log, size_t from, size_t to, size_t step)
{
	for (size_t at = from; at < to; at += step) {
		const unsigned char flip = at % 3 ? 0xff : 0x01;

		log->bytes[at] ^= flip;
		view_bytes(log->bytes, log->length, at);
		log->bytes[at] ^= flip;
	}
}

static void
test_every_byte_flipped(void **state)
{
	struct log_builder log;

	(void)state;
	every_event(&log);
	flip_each(&log, find_event(&log, TH_EVENT_JVM), log.length, stride());
	log_deinit(&log);
}

/* Of a ring also the header, and one in five of the bytes that have been in the log above. */
static void
test_damaged_ring(void **state)
{
	struct log_builder log;

	(void)state;
	every_event_in_ring(&log);
	const size_t from = log_header(&log)->ring_from;
	cut_from(&log, from, 5 * stride());
	flip_each(&log, 0, offsetof(struct th_log_header, counters), stride());
	flip_each(&log, from, log.length, 5 * stride());
	log_deinit(&log);
}

/* Event descriptions, a flip in each of their fields; they have the same few formats. */
static void
test_descriptions_flipped(void **state)
{
	struct log_builder log;
	size_t end;

	(void)state;
	every_event(&log);
	end = find_event(&log, TH_EVENT_JVM);
	for (size_t at = TH_LOG_HEADER_BYTES; at < end; at += 37) {
		log.bytes[at] ^= 0xff;
		view_bytes(log.bytes, log.length, at);
		log.bytes[at] ^= 0xff;
	}
	log_deinit(&log);
}

#define LATE ((uint64_t)1 << 60)

/* Memory that grows for a second and is freed at its end; one block is older than the recording. */
static void
test_block_from_before_the_start(void **state)
{
	uint64_t blocks[100];
	struct log_builder log;

	(void)state;
	log_init(&log, 1);
	log_header(&log)->start_monotonic = LATE;
	for (uint64_t i = 0; i < 100; i++)
		blocks[i] = log_add_fields(&log, TH_EVENT_NATIVE_ALLOC,
			LOG_U64(i ? LATE + i * 9000000 : 0), LOG_U64(1 << 20), LOG_U64(1),
			LOG_U64(i << 20), LOG_U32(1), LOG_U32(1), LOG_U64(0), LOG_U32(1),
			LOG_U32(1));
	for (uint64_t i = 0; i < 100; i++)
		log_add_fields(&log, TH_EVENT_NATIVE_FREE, LOG_U64(LATE + 990000000 + i),
			LOG_U64(blocks[i]), LOG_U32(1));
	log_add_fields(&log, TH_EVENT_MARK, LOG_U64(LATE + 500000000), LOG_TEXT("middle"));
	log_add_fields(&log, TH_EVENT_END, LOG_U64(LATE + 1000000000));
	check_whole(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_log_is_shown),
		cmocka_unit_test(test_block_from_before_the_start),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_damaged_ring),
		cmocka_unit_test(test_descriptions_flipped),
	};

	return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
