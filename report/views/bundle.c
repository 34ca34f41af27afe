/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle is a log plus, after its last record, the names of all native frames in its stacks,
 * so that it prints the same on another machine as on the recording machine.  The original
 * records keep their offsets, which are the ids of samples.  Of a ring, all records behind the
 * metadata are in KEPT events, as if it had kept everything.
 *
 * File layout: the log header with an updated tail, the log up to the end of its last record,
 * descriptions of the bundle's events (a log of an older library, or one that was cut, has none),
 * the names.  Unused space after the last record is dropped; the BUNDLE event records how much.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/bytes.h"
#include "report/base/gzip.h"
#include "report/base/id_map.h"
#include "report/base/progress.h"
#include "report/symbols/frames.h"

/* Longer texts (such as names of template instances) are cut, since records have a maximum size. */
#define LONGEST_TEXT (TH_LOG_RECORD_MAX / 4)
/* Records of a ring in one KEPT, unless one record is longer: half of the largest record. */
#define KEPT_BYTES (TH_LOG_RECORD_MAX / 2)

struct bundle {
	const struct th_recording *recording;
	struct th_frames *frames;
	struct th_id_map words; /* frame words whose names are written */
	uint32_t module;        /* module whose names are being looked up */
	bool without_command;
	th_symbols_warn *warn;
	void *warn_data;
	struct th_bundle_size size;
	struct th_bytes kept;  /* of a ring: its records, in KEPT events */
	uint64_t metadata_end; /* of a ring */
	uint64_t records_end;  /* file offset of the new records */
	struct th_bytes added; /* the new records */
	size_t start;          /* of the record under construction */
};

/* Records */

/* Behind zeros up to a multiple of `alignment`. */
static void
put(struct bundle *bundle, const void *bytes, size_t count, size_t alignment)
{
	while (bundle->added.items_count % alignment)
		th_bytes_add(&bundle->added, "", 1);
	th_bytes_add(&bundle->added, bytes, count);
}

static void
put_u32(struct bundle *bundle, uint32_t value)
{
	put(bundle, &value, sizeof(value), sizeof(value));
}

static void
put_u64(struct bundle *bundle, uint64_t value)
{
	put(bundle, &value, sizeof(value), sizeof(value));
}

static void
put_text(struct bundle *bundle, const char *text)
{
	size_t length = strlen(text);

	if (length > LONGEST_TEXT)
		length = LONGEST_TEXT;
	put_u32(bundle, (uint32_t)length);
	put(bundle, text, length, 1);
}

static void
begin_record(struct bundle *bundle)
{
	bundle->start = bundle->added.items_count;
	put_u64(bundle, 0); /* its header, written by end_record() */
}

static void
end_record(struct bundle *bundle, enum th_event_type type)
{
	put(bundle, "", 0, 8);
	uint64_t offset = bundle->records_end + bundle->start;
	struct th_log_record header = {
		.size = (uint32_t)(bundle->added.items_count - bundle->start),
		.type = (uint16_t)type,
	};

	header.check = th_log_check(offset, header.size, header.type);
	memcpy(bundle->added.items + bundle->start, &header, sizeof(header));
}

/* Descriptions */

static void
put_type(struct bundle *bundle, uint32_t type, const char *name, const char *label,
	const char *description)
{
	begin_record(bundle);
	put_u32(bundle, type);
	put_text(bundle, name);
	put_text(bundle, label);
	put_text(bundle, description);
	end_record(bundle, TH_EVENT_EVENT_TYPE);
}

static void
put_field(struct bundle *bundle, uint32_t type, uint32_t index, enum th_data_type data,
	enum th_content_type content, const char *name, const char *label)
{
	begin_record(bundle);
	put_u32(bundle, type);
	put_u32(bundle, index);
	put_u32(bundle, data);
	put_u32(bundle, content);
	put_text(bundle, name);
	put_text(bundle, label);
	end_record(bundle, TH_EVENT_EVENT_FIELD);
}

/* Descriptions of the bundle's events, for logs whose library did not know them. */
static void
put_descriptions(struct bundle *bundle)
{
#define F(data, content, name, label) \
	put_field(bundle, type, index++, TH_DATA_##data, TH_CONTENT_##content, #name, label);
#define E(NUMBER, NAME, name, label, description)                            \
	if (NUMBER >= TH_EVENT_BUNDLE && NUMBER <= TH_EVENT_MODULE_REMARK) { \
		const uint32_t type = NUMBER;                                \
		uint32_t index = 0;                                          \
		put_type(bundle, type, #name, label, description);           \
		TH_FIELDS_##NAME(F)                                          \
	}
	TH_EVENTS(E)
#undef E
#undef F
}

static void
put_origin(struct bundle *bundle)
{
	const struct th_recording *recording = bundle->recording;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	begin_record(bundle);
	put_u64(bundle, th_recording_log_bytes(recording));
	put_u64(bundle, th_recording_missing_bytes(recording));
	put_u64(bundle, recording->damaged_end);
	put_text(bundle, TH_VERSION);
	put_text(bundle, host);
	end_record(bundle, TH_EVENT_BUNDLE);
}

/* Names */

static void
put_frame(struct bundle *bundle, uint64_t word, uint32_t index, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(bundle->frames, number);

	begin_record(bundle);
	put_u64(bundle, th_frame_offset(word));
	put_u32(bundle, th_frame_module(word));
	put_u32(bundle, index);
	put_u32(bundle, frame->line);
	put_u32(bundle, frame->is_inlined ? TH_NATIVE_FRAME_INLINED : 0);
	put_text(bundle, th_frames_function_name(bundle->frames, frame->function));
	put_text(bundle, th_frames_string(bundle->frames, frame->file));
	end_record(bundle, TH_EVENT_NATIVE_FRAME);
}

static void
put_word(struct bundle *bundle, uint64_t word)
{
	const uint32_t *numbers;

	bundle->module = th_frame_module(word);
	uint32_t count = th_frames_expand(bundle->frames, word, &numbers);
	for (uint32_t i = 0; i < count; i++)
		put_frame(bundle, word, i, numbers[i]);
	bundle->size.addresses++;
}

/* Warnings about a module precede its first names. */
static void
put_remark(void *data, const char *text)
{
	struct bundle *bundle = data;

	begin_record(bundle);
	put_u32(bundle, bundle->module);
	put_text(bundle, text);
	end_record(bundle, TH_EVENT_MODULE_REMARK);
	if (bundle->warn)
		bundle->warn(bundle->warn_data, text);
}

static void
put_names(struct bundle *bundle)
{
	const struct th_recording *recording = bundle->recording;

	for (size_t i = 0; i < recording->stacks_count; i++) {
		const struct th_words *frames = &recording->stacks[i].frames;

		th_progress("looking up names", i, recording->stacks_count);

		for (uint32_t j = 0; j < frames->count; j++) {
			uint64_t word = frames->words[j];
			bool added = false;

			if (th_frame_kind(word) == TH_FRAME_NATIVE)
				th_id_map_intern(&bundle->words, word, &added);
			if (added)
				put_word(bundle, word);
		}
	}
	th_progress_clear();
}

/* Rings */

static void
put_kept(struct bundle *bundle, const struct th_bytes *records)
{
	uint32_t count = (uint32_t)(records->items_count / 8);
	struct th_event_kept kept = {.from = 0};
	uint64_t count_word = count;

	kept.record.size = (uint32_t)(sizeof(kept) + sizeof(count_word) + records->items_count);
	kept.record.type = TH_EVENT_KEPT;
	kept.record.check = th_log_check(bundle->metadata_end + bundle->kept.items_count,
		kept.record.size, kept.record.type);
	if (!count)
		return;
	th_bytes_add(&bundle->kept, &kept, sizeof(kept));
	th_bytes_add(&bundle->kept, &count_word, sizeof(count_word));
	th_bytes_add(&bundle->kept, records->items, records->items_count);
}

/* Zeros in place of the command line in the last record of `records`. */
static void
blank_command(
	const struct bundle *bundle, const struct th_record *record, struct th_bytes *records)
{
	union th_decoded event;

	if (!bundle->without_command || record->type != TH_EVENT_PROCESS ||
		!th_schema_decode(bundle->recording->schema, record, &event))
		return;
	size_t at = (size_t)(event.process.command.bytes - (const char *)record->bytes);
	memset(records->items + records->items_count - record->size + at, 0,
		event.process.command.length);
}

static void
put_record(
	const struct bundle *bundle, const struct th_record *record, struct th_bytes *records)
{
	uint64_t place = record->offset | (record->thinned > 0 ? TH_KEPT_THINNED : 0);

	th_bytes_add(records, &place, sizeof(place));
	if (record->thinned > 0)
		th_bytes_add(records, &record->thinned, sizeof(record->thinned));
	th_bytes_add(records, record->bytes, record->size);
	blank_command(bundle, record, records);
}

static void
put_ring(struct bundle *bundle)
{
	struct th_cursor cursor = th_reader_start(bundle->recording->reader);
	struct th_bytes records = {0};
	struct th_record record;

	bundle->metadata_end = th_reader_header(cursor.reader)->header_bytes;
	while (th_reader_next(&cursor, &record)) {
		if (th_reader_is_metadata(record.type) &&
			record.offset == bundle->metadata_end) {
			bundle->metadata_end += record.size;
			continue;
		}
		if (records.items_count + record.size > KEPT_BYTES) {
			put_kept(bundle, &records);
			records.items_count = 0;
		}
		put_record(bundle, &record, &records);
	}
	put_kept(bundle, &records);
	free(records.items);
}

/* The file */

/* Writes the records from `at` on with command lines blanked; returns how far it wrote. */
static const char *
write_without_commands(const struct bundle *bundle, FILE *file, const char *at)
{
	struct th_cursor cursor = th_reader_start(bundle->recording->reader);
	struct th_record record;
	union th_decoded event;

	while (th_reader_next(&cursor, &record)) {
		if (record.type != TH_EVENT_PROCESS ||
			!th_schema_decode(bundle->recording->schema, &record, &event) ||
			!event.process.command.length)
			continue;
		fwrite(at, 1, (size_t)(event.process.command.bytes - at), file);
		at = event.process.command.bytes + event.process.command.length;
		for (uint32_t i = 0; i < event.process.command.length; i++)
			fputc('\0', file);
	}
	return at;
}

static void
write_file(const struct bundle *bundle, FILE *file)
{
	const struct th_reader *reader = bundle->recording->reader;
	const char *contents = th_reader_contents(reader);
	const char *end = contents + bundle->recording->records_end;
	const char *at = contents + sizeof(struct th_log_header);
	struct th_log_header header = *th_reader_header(reader);

	header.tail = header.limit = bundle->size.bytes;
	if (bundle->recording->is_ring) {
		header.ring_from = bundle->metadata_end;
		end = contents + bundle->metadata_end;
	}
	fwrite(&header, 1, sizeof(header), file);
	if (bundle->without_command && !bundle->recording->is_ring)
		at = write_without_commands(bundle, file, at);
	fwrite(at, 1, (size_t)(end - at), file);
	/* Without any record, `items` is NULL. */
	if (bundle->kept.items_count)
		fwrite(bundle->kept.items, 1, bundle->kept.items_count, file);
	if (bundle->added.items_count)
		fwrite(bundle->added.items, 1, bundle->added.items_count, file);
}

void
th_bundle_write(FILE *file, const struct th_recording *recording, bool compressed,
	bool without_command, th_symbols_warn *warn, void *warn_data,
	struct th_bundle_size *size_ret)
{
	struct bundle bundle = {
		.recording = recording,
		.without_command = without_command,
		.warn = warn,
		.warn_data = warn_data,
		.records_end = recording->records_end,
	};
	FILE *to = compressed ? th_gzip_open(file) : file;

	if (recording->is_ring) {
		put_ring(&bundle);
		bundle.records_end = bundle.metadata_end + bundle.kept.items_count;
	}
	bundle.frames = th_frames_create(recording, NULL, put_remark, &bundle);
	put_descriptions(&bundle);
	put_origin(&bundle);
	put_names(&bundle);
	bundle.size.bytes = bundle.records_end + bundle.added.items_count;
	write_file(&bundle, to);
	if (compressed)
		fclose(to);
	*size_ret = bundle.size;
	th_frames_destroy(bundle.frames);
	th_id_map_deinit(&bundle.words);
	free(bundle.kept.items);
	free(bundle.added.items);
}
