/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of a log whose decoded fields were changed: three of all, chosen by the input, and the views
 * over many logs; of a bundle all. Or the live view of the log while it grows.
 *
 * The input does not hold the log but the changes: a byte that chooses the log and whether it grows,
 * one that chooses its kind (plain, ring, bundle, compressed), and then changes of six bytes each. The
 * records of the log are decoded, changed, and encoded again with the offsets of samples corrected, so
 * that each change reaches the views. TH_FUZZ_LOG names a recorded log to be used as well.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/error.h"
#include "report/base/line.h"
#include "report/fleet/fleet.h"
#include "report/live/live.h"
#include "report/log/schema.h"
#include "report/views/parts.h"
#include "report/views/view.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/views/every_view.h"

#define RECORDS_MAX 4096
#define FIELDS_MAX 16
#define CHANGE_BYTES 6
#define PATH_OF_MODULE 4 /* index of the field */
/* Of the views, chosen by the last byte: all of them take a second under the sanitizers. */
#define VIEWS_AT_ONCE 3
/* More changes only take longer. */
#define CHANGES_MAX 24
/* Of a log that grows, an update after each. */
#define PARTS 4

struct field_type {
	enum th_data_type data;
	enum th_content_type content;
};

static const struct field_type field_types[TH_EVENT_NUMBERS][FIELDS_MAX] = {
#define F(data, content, name, label) {TH_DATA_##data, TH_CONTENT_##content},
#define E(NUMBER, NAME, name, label, description) [NUMBER] = {TH_FIELDS_##NAME(F)},
	TH_EVENTS(E)
#undef E
#undef F
};

/* A decoded record; texts and words are in the original log. */
struct item {
	uint16_t type;
	uint64_t from; /* its offset in the original log */
	uint32_t count;
	struct log_field fields[FIELDS_MAX];
};

struct items {
	size_t count;
	struct item *list[RECORDS_MAX];
};

/* Decoding */

static bool
decode_field(const struct th_record *record, struct field_type type, uint32_t *at,
	struct log_field *ret)
{
	struct th_value value;

	if (!th_schema_read_value(record, type.data, at, &value))
		return false;
	*ret = (struct log_field){.type = type.data};
	if (type.data == TH_DATA_F64)
		ret->number = value.number;
	else if (type.data == TH_DATA_TEXT)
		*ret = (struct log_field){.type = type.data,
			.text = value.text.bytes,
			.length = value.text.length};
	else if (type.data == TH_DATA_U64_ARRAY)
		*ret = (struct log_field){.type = type.data,
			.words = value.words.words,
			.length = value.words.count};
	else
		ret->integer = value.integer;
	return true;
}

static bool
is_metadata(uint32_t type)
{
	return type == TH_EVENT_EVENT_TYPE || type == TH_EVENT_EVENT_FIELD ||
	       type == TH_EVENT_COUNTER_NAME;
}

/* Events after the metadata, which log_init() writes; false: the fields are not those known here. */
static bool
decode(const unsigned char *bytes, size_t at, struct item *ret)
{
	struct th_log_record head;

	memcpy(&head, bytes + at, sizeof(head));
	struct th_record record = {
		.offset = at, .bytes = bytes + at, .size = head.size, .type = head.type};
	uint32_t position = sizeof(head);

	*ret = (struct item){.type = head.type, .from = at};
	if (head.type >= TH_EVENT_NUMBERS || is_metadata(head.type))
		return false;
	const struct field_type *types = field_types[head.type];
	while (types[ret->count].data) {
		if (!decode_field(
			    &record, types[ret->count], &position, &ret->fields[ret->count]))
			return false;
		ret->count++;
	}
	/* Symbols of the modules of a recorded log would take most of the time. */
	if (head.type == TH_EVENT_MODULE)
		ret->fields[PATH_OF_MODULE] = (struct log_field)LOG_TEXT("/nonexistent/lib.so");
	return ret->count > 0;
}

static void
decode_all(const unsigned char *bytes, size_t length, struct items *items)
{
	size_t at = TH_LOG_HEADER_BYTES;
	struct th_log_record head;

	items->count = 0;
	while (items->count < RECORDS_MAX && at + sizeof(head) <= length) {
		struct item item;

		memcpy(&head, bytes + at, sizeof(head));
		if (head.size < sizeof(head) || head.size % 8 || head.size > length - at)
			break;
		if (decode(bytes, at, &item)) {
			items->list[items->count] = malloc(sizeof(item));
			*items->list[items->count++] = item;
		}
		at += head.size;
	}
}

/* Changes */

static uint64_t
extreme(const struct item *other, uint32_t field, uint64_t before, const uint8_t *change)
{
	const uint64_t values[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)1 << 62,
		(uint64_t)1 << 57, UINT32_MAX, (uint64_t)1 << 31, LOG_START - 1, LOG_START,
		before + 1, before - 1, 2 * before, before / 2,
		before + ((uint64_t)1 << (change[5] % 64)), (uint64_t)1 << (change[5] % 64),
		before ^ (uint64_t)1 << (change[5] % 64), change[5],
		field < other->count ? other->fields[field].integer : 0,
		LOG_START + (uint64_t)change[5] * 1000000};

	return values[change[4] % (sizeof(values) / sizeof(values[0]))];
}

static double
extreme_number(const uint8_t *change)
{
	const double values[] = {0, -1, 1, 2, 0x1p-40, 0x1p-41, 1e-300, 1e300, 0.5,
		(double)__builtin_nan(""), __builtin_inf(), 1 / (1.0 + change[5])};

	return values[change[4] % (sizeof(values) / sizeof(values[0]))];
}

static void
change_text(struct log_field *field, const struct item *other, const uint8_t *change)
{
	static const char long_text[] =
		"L/very/long/$$Lambda/0x0000000800c03000;\xff\xfe\x80<script>\"\\\t\n;:%s"
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[_ZN4core3fmt5Write9write_fmt17h0123456789E";

	switch (change[4] % 4) {
	case 0:
		field->length = 0;
		break;
	case 1:
		field->text = long_text;
		field->length = sizeof(long_text) - 1;
		break;
	case 2:
		field->length = field->length ? change[5] % field->length : 0;
		break;
	default:
		for (uint32_t i = 0; i < other->count; i++)
			if (other->fields[i].type == TH_DATA_TEXT)
				*field = other->fields[i];
	}
}

/* The changed words live until the next input. */
static void
change_words(struct log_field *field, const struct item *other, const uint8_t *change)
{
	static uint64_t words[CHANGES_MAX][256];
	static unsigned turn;
	uint64_t *to = words[turn++ % CHANGES_MAX];
	uint32_t count = field->length < 256 ? field->length : 256;

	if (count)
		memcpy(to, field->words, 8 * (size_t)count);
	if (change[4] >= 0xf0)
		count = change[5];
	for (uint32_t i = field->length; i < count; i++)
		to[i] = i * change[4];
	if (count && change[4] < 0xf0)
		to[change[5] % count] = extreme(
			other, FIELDS_MAX, to[change[5] % count], change);
	field->words = to;
	field->length = count;
}

static void
change_field(struct item *item, const struct item *other, const uint8_t *change)
{
	uint32_t index = change[3] % item->count;
	struct log_field *field = &item->fields[index];

	switch (field->type) {
	case TH_DATA_U32:
	case TH_DATA_U64:
		field->integer = extreme(other, index, field->integer, change);
		break;
	case TH_DATA_F64:
		field->number = extreme_number(change);
		break;
	case TH_DATA_TEXT:
		change_text(field, other, change);
		break;
	case TH_DATA_U64_ARRAY:
		change_words(field, other, change);
		break;
	}
}

static void
delete_item(struct items *items, size_t at)
{
	free(items->list[at]);
	items->count--;
	memmove(&items->list[at], &items->list[at + 1],
		(items->count - at) * sizeof(items->list[0]));
}

static void
insert_copy(struct items *items, size_t from, size_t to)
{
	if (items->count == RECORDS_MAX)
		return;
	struct item *copy = malloc(sizeof(*copy));
	*copy = *items->list[from];
	memmove(&items->list[to + 1], &items->list[to],
		(items->count - to) * sizeof(items->list[0]));
	items->list[to] = copy;
	items->count++;
}

/* All of one type: definitions that are missing, ends that never come. */
static void
delete_type(struct items *items, uint16_t type)
{
	for (size_t i = items->count; i-- > 0;)
		if (items->list[i]->type == type)
			delete_item(items, i);
}

static void
change_one(struct items *items, const uint8_t *change)
{
	if (!items->count)
		return;
	size_t at = (change[1] | (size_t)change[2] << 8) % items->count;
	size_t other = (at + 1 + change[5] * (size_t)change[5] / 16) % items->count;
	struct item *swapped = items->list[at];

	switch (change[0] % 16) {
	case 0:
		delete_item(items, at);
		break;
	case 1:
		insert_copy(items, at, other);
		break;
	case 2:
		items->list[at] = items->list[other];
		items->list[other] = swapped;
		break;
	case 3:
		delete_type(items, items->list[at]->type);
		break;
	case 4: /* the same field in all of this type */
		for (size_t i = 0; i < items->count; i++)
			if (items->list[i]->type == swapped->type)
				change_field(items->list[i], items->list[other], change);
		break;
	default:
		change_field(items->list[at], items->list[other], change);
	}
}

/* Encoding */

/* New offset of the record that was at `from`; another number stays. */
static uint64_t
moved(const struct items *items, const uint64_t *offsets, size_t count, uint64_t from)
{
	for (size_t i = 0; i < count; i++)
		if (items->list[i]->from == from)
			return offsets[i];
	return from;
}

static void
encode(const struct items *items, struct log_builder *log, size_t ring_at)
{
	static uint64_t offsets[RECORDS_MAX];
	static uint64_t samples[1024];

	for (size_t i = 0; i < items->count; i++) {
		struct item item = *items->list[i];

		for (uint32_t k = 0; k < item.count; k++) {
			struct log_field *field = &item.fields[k];

			if (field_types[item.type][k].content != TH_CONTENT_SAMPLE)
				continue;
			field->integer = moved(items, offsets, i, field->integer);
			for (uint32_t j = 0; j < field->length && j < 1024; j++)
				samples[j] = moved(items, offsets, i, field->words[j]);
			if (field->length && field->length <= 1024)
				field->words = samples;
		}
		offsets[i] = log_add(log, item.type, item.fields, item.count);
		if (i + 1 == ring_at)
			log_keep_past(log, NULL);
	}
}

/* The logs */

/* What malloc reports: the first and the last of these are compared with what was seen. */
static void
add_figures(struct log_builder *log, uint32_t number, uint64_t used)
{
	log_add_fields(log, TH_EVENT_ALLOCATOR, LOG_U64(used), LOG_U64(0), LOG_U64(used),
		LOG_U64(0), LOG_U64(0), LOG_U32(number), LOG_TEXT("libc.so.6"));
	log_add_fields(log, TH_EVENT_ACCOUNT, LOG_U64(LOG_START + number * 20000000000ull),
		LOG_U64(1), LOG_U64(1), LOG_U64(0), LOG_U64(0), LOG_U32(number), LOG_U32(1),
		LOG_U32(0), LOG_U32(1), LOG_U32(1));
}

/* As of a program that runs already: calls are seen by import slots, and some are not. */
static void
attach(struct log_builder *log)
{
	log_add_fields(log, TH_EVENT_SLOT_COPIES, LOG_U64(LOG_START + 24000000), LOG_U64(2),
		LOG_TEXT("/lib/libcopy.so"));
	log_header(log)->counters[TH_COUNTER_SLOTS] = 60;
	log_header(log)->counters[TH_COUNTER_SLOT_OBJECTS] = 12;
	log_header(log)->counters[TH_COUNTER_SLOT_SEARCHED] = 15;
	log_header(log)->counters[TH_COUNTER_SLOTS_FOREIGN] = 1;
	log_header(log)->counters[TH_COUNTER_LIVE_REUSED] = 9;
	log_header(log)->counters[TH_COUNTER_NATIVE_SAMPLES] = 150;
}

/*
 * Growth at two sites of both heaps over a minute, with ends, collections and a ledger, in a program
 * that was attached to.
 */
static void
build_growth(struct log_builder *log)
{
	const uint64_t frames[] = {th_frame_native(1, 0x1234), th_frame_java(7, 3)};

	log_init(log, 4096);
	log_jvm(log, 21, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(log, 1, "main");
	log_module(log, 1, "/nonexistent/libwork.so");
	log_method(log, 7, "Lapp/Main;", "work");
	log_class(log, 1, "[B");
	log_stack(log, 1, frames, 2);
	log_stack(log, 2, frames + 1, 1);
	attach(log);
	for (uint32_t i = 0; i < 150; i++) {
		struct log_sample sample = {.ms = 400 * i,
			.size = 1 << (i % 20),
			.interval = 4096,
			.thread = 1,
			.thread_bytes = 1000000 * i,
			.stack = 1 + i % 2,
			.class = 1};
		uint64_t block = log_native(log, sample);
		uint64_t object = log_java(log, sample);

		if (i % 10 == 0)
			log_collection(log, 400 * i, 400 * i + 5, i / 10 + 1, "old");
		if (i % 10 == 0)
			log_heap_use(log, 400 * i + 5, 100000 * i, i / 10 + 1);
		if (i % 3 == 0)
			log_java_death(log, 400 * i + 300, object);
		if (i % 4 == 0)
			log_free(log, 60000 - i, block);
		if (i % 50 == 0)
			add_figures(log, 1 + i / 50, 40000000 * (uint64_t)i);
		if (i % 5 == 0)
			log_add_fields(log, TH_EVENT_LEDGER_TAKE,
				LOG_U64(LOG_START + i * 400000000ull), LOG_F64(0.5), LOG_U32(1),
				LOG_U32(1), LOG_U32(1), LOG_U32(1 + i / 5 % 4));
	}
	log_end(log, 60000);
}

static bool
read_recorded(struct log_builder *log)
{
	const char *path = getenv("TH_FUZZ_LOG");
	FILE *file = path ? fopen(path, "r") : NULL;

	if (!file)
		return false;
	*log = (struct log_builder){.capacity = 8 << 20};
	log->bytes = malloc(log->capacity);
	log->length = fread(log->bytes, 1, log->capacity, file);
	fclose(file);
	return log->length > TH_LOG_HEADER_BYTES;
}

#define LOGS 3

static const struct log_builder *
choose_log(unsigned which)
{
	static struct log_builder logs[LOGS];

	if (!logs[0].bytes) {
		every_event(&logs[0]);
		build_growth(&logs[1]);
		if (!read_recorded(&logs[2]))
			every_event(&logs[2]);
	}
	return &logs[which % LOGS];
}

/* The views */

static char *
open_memory(const char *name, int *file_ret)
{
	char *path = malloc(64);

	*file_ret = memfd_create(name, MFD_CLOEXEC);
	snprintf(path, 64, "/proc/self/fd/%d", *file_ret);
	return path;
}

static void
write_all(int file, const void *bytes, size_t size)
{
	if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
}

static void
write_compressed(const char *path, const struct log_builder *log)
{
	gzFile gzip = gzopen(path, "wb1");

	gzwrite(gzip, log->bytes, (unsigned)log->length);
	gzclose(gzip);
}

static void
write_bundle(const char *path, const char *bundle_path)
{
	struct th_bundle_size size;
	struct th_recording *recording;
	struct th_error *error = th_recording_load(path, &recording);

	if (error) {
		th_error_destroy(error);
		return;
	}
	FILE *file = fopen(bundle_path, "w");
	if (!recording->is_bundle)
		th_bundle_write(file, recording, false, true, NULL, NULL, &size);
	fclose(file);
	th_recording_destroy(recording);
	every_view(bundle_path);
}

/* As many logs: the changed one and the unchanged one. */
static void
view_fleet(const char *path, const char *other, bool is_growth)
{
	struct th_options options;
	struct th_fleet fleet;
	FILE *file = fopen("/dev/null", "w");

	th_options_set_defaults(&options);
	if (!is_growth)
		options.value = TH_VALUE_LIVE_BYTES;
	th_fleet_init(&fleet, &options, is_growth,
		is_growth ? th_view_leaks_line : th_view_diff_site);
	th_error_destroy(th_fleet_add(&fleet, path, "old"));
	th_error_destroy(th_fleet_add(&fleet, other, "new"));
	struct th_error *error = fleet.logs_count ? th_fleet_finish(&fleet) : NULL;
	if (fleet.logs_count && !error && is_growth) {
		th_view_fleet_leaks(file, &fleet);
		th_view_fleet_leaks_json(file, &fleet);
	} else if (fleet.logs_count && !error && fleet.old_group != fleet.new_group) {
		th_view_fleet_diff(file, &fleet);
		th_view_fleet_diff_json(file, &fleet);
	}
	th_error_destroy(error);
	th_fleet_deinit(&fleet);
	th_texts_free();
	fclose(file);
}

/* A process that never ends, unless its log has. */
static bool
is_alive(const struct th_log_header *header)
{
	(void)header;
	return true;
}

static uint64_t
no_clock(void)
{
	return 0;
}

/* The first `part` of PARTS of the log, in a file that is not smaller than before. */
static void
write_part(int file, struct log_builder *log, unsigned part)
{
	uint64_t records = log->length - TH_LOG_HEADER_BYTES;
	uint64_t length = TH_LOG_HEADER_BYTES + records * part / PARTS / 8 * 8;

	log_header(log)->tail = length;
	if (pwrite(file, log->bytes, length, 0) != (ssize_t)length)
		abort();
}

/* An update and keys after each part. */
static void
view_growing(int file, const char *path, struct log_builder *log, unsigned which)
{
	static const struct th_live_world world = {is_alive, no_clock};
	static const char keys[] = "123\ts<aphjk?";
	struct th_options options;
	struct th_live live;

	log_header(log)->state = TH_LOG_RECORDING;
	th_options_set_defaults(&options);
	options.log = path;
	options.program = "twinheap";
	write_all(file, log->bytes, TH_LOG_HEADER_BYTES);
	write_part(file, log, 1);
	struct th_error *error = th_live_open(path, &options, &world, &live);
	if (error) {
		th_error_destroy(error);
		return;
	}
	for (unsigned part = 2; part <= PARTS; part++) {
		write_part(file, log, part);
		live.due = live.judged_due = 0;
		th_live_update(&live);
		for (unsigned i = 0; i < 3; i++)
			th_live_key(&live, keys[(which * (part + i) + i) % (sizeof(keys) - 1)]);
	}
	th_live_close(&live);
}

static void
view(struct log_builder *log, const struct log_builder *original, unsigned kind,
	bool is_growing, unsigned which)
{
	static int file = -1, bundle = -1, other = -1;
	static char *path, *bundle_path, *other_path;

	if (file < 0) {
		path = open_memory("fuzz.thl", &file);
		bundle_path = open_memory("bundle.thl", &bundle);
		other_path = open_memory("other.thl", &other);
	}
	if (is_growing) {
		view_growing(file, path, log, which);
		return;
	}
	write_all(file, log->bytes, log->length);
	write_all(other, original->bytes, original->length);
	if (kind == 3)
		write_compressed(path, log);
	if (kind == 2) {
		write_bundle(path, bundle_path);
		return;
	}
	some_views(path, which, 5, VIEWS_AT_ONCE);
	view_fleet(path, other_path, which % 2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct items items;

	if (size < 2)
		return 0;
	const struct log_builder *original = choose_log(data[0]);
	unsigned kind = data[1] % 4;
	struct log_builder log;

	decode_all(original->bytes, original->length, &items);
	for (size_t at = 2, i = 0; at + CHANGE_BYTES <= size && i < CHANGES_MAX;
		at += CHANGE_BYTES, i++)
		change_one(&items, data + at);
	log_init(&log, 4096);
	const struct th_log_header *header = (const void *)original->bytes;
	log_header(&log)->start_monotonic = header->start_monotonic;
	memcpy(log_header(&log)->counters, header->counters, sizeof(header->counters));
	/* The limits of log_keep_past(): stacks of recorded logs may be longer. */
	bool is_ring = kind == 1 && data[0] % LOGS != 2;
	encode(&items, &log, is_ring ? 1 + data[1] / 4 * items.count / 64 : 0);
	view(&log, original, kind, data[0] / LOGS % 2, size > 2 ? data[size - 1] : 0);
	for (size_t i = 0; i < items.count; i++)
		free(items.list[i]);
	log_deinit(&log);
	return 0;
}
