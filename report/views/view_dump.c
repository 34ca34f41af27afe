/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per record: offset, type name, and each field as NAME=VALUE. All names come from the
 * descriptions in the log, so events of later versions are printed as well.
 */
#include "report/views/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/log/schema.h"

struct dump {
	FILE *file;
	const struct th_reader *reader;
	struct th_schema *schema;
	bool without_command;
};

/* Values */

static void
print_text(FILE *file, struct th_text text)
{
	char *clean = th_text_clean(text);

	fputc('"', file);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', file);
		fputc(*at, file);
	}
	fputc('"', file);
	free(clean);
}

/* A timestamp, in seconds since the log was opened. */
static void
print_time(const struct dump *dump, uint64_t time)
{
	uint64_t start = th_reader_header(dump->reader)->start_monotonic;
	double seconds = time >= start ? (double)(time - start) / 1e9
				       : -(double)(start - time) / 1e9;

	fprintf(dump->file, "%+.6fs", seconds);
}

static void
print_integer(const struct dump *dump, uint64_t value, uint32_t content_type)
{
	switch (content_type) {
	case TH_CONTENT_NANOSECONDS:
		print_time(dump, value);
		break;
	case TH_CONTENT_ADDRESS:
	case TH_CONTENT_SAMPLE:
	case TH_CONTENT_FLAGS:
		fprintf(dump->file, "0x%" PRIx64, value);
		break;
	default:
		fprintf(dump->file, "%" PRIu64, value);
		break;
	}
}

static void
print_frame(FILE *file, uint64_t word)
{
	switch (th_frame_kind(word)) {
	case TH_FRAME_NATIVE:
		fprintf(file, "native:%" PRIu32 "+0x%" PRIx64, th_frame_module(word),
			th_frame_offset(word));
		break;
	case TH_FRAME_JAVA:
		fprintf(file, "java:%" PRIu32 "@%" PRIu32, th_frame_method(word),
			th_frame_bci(word));
		break;
	default:
		fprintf(file, "marker:%" PRIu32, (uint32_t)word);
		break;
	}
}

static void
print_word(FILE *file, uint64_t word, uint32_t content_type)
{
	if (content_type == TH_CONTENT_FRAMES)
		print_frame(file, word);
	else if (content_type == TH_CONTENT_LINES)
		fprintf(file, "%" PRIu32 ":%" PRIu32, (uint32_t)(word >> 32), (uint32_t)word);
	else
		fprintf(file, "%" PRIu64, word);
}

static void
print_words(FILE *file, const struct th_words *words, uint32_t content_type)
{
	fputc('[', file);
	for (uint32_t i = 0; i < words->count; i++) {
		if (i)
			fputc(' ', file);
		print_word(file, words->words[i], content_type);
	}
	fputc(']', file);
}

static void
print_value(const struct dump *dump, const struct th_value *value, uint32_t content_type)
{
	switch (value->data_type) {
	case TH_DATA_F64:
		fprintf(dump->file, "%.9g", value->number);
		break;
	case TH_DATA_TEXT:
		print_text(dump->file, value->text);
		break;
	case TH_DATA_U64_ARRAY:
		print_words(dump->file, &value->words, content_type);
		break;
	default:
		print_integer(dump, value->integer, content_type);
		break;
	}
}

/* Records */

static bool
is_command(const struct th_record *record, const struct th_value *value,
	const struct th_schema_field *field)
{
	return record->type == TH_EVENT_PROCESS && value->data_type == TH_DATA_TEXT &&
	       field->name && !strcmp(field->name, "command");
}

static void
print_fields(const struct dump *dump, const struct th_record *record,
	const struct th_schema_event *event)
{
	uint32_t at = sizeof(struct th_log_record);

	for (uint32_t i = 0; i < event->field_count; i++) {
		const struct th_schema_field *field = &event->fields[i];
		struct th_value value;

		if (!th_schema_read_value(record, field->data_type, &at, &value)) {
			fputs(" (the record does not fit its description)", dump->file);
			return;
		}
		fprintf(dump->file, " %s=", field->name ? field->name : "?");
		if (dump->without_command && is_command(record, &value, field))
			value.text = (struct th_text){0};
		print_value(dump, &value, field->content_type);
	}
}

static void
print_record(const struct dump *dump, const struct th_record *record)
{
	const struct th_schema_event *event = th_schema_find(dump->schema, record->type);

	fprintf(dump->file, "0x%08" PRIx64 " ", record->offset);
	if (event && event->name) {
		fputs(event->name, dump->file);
		print_fields(dump, record, event);
	} else {
		fprintf(dump->file, "type %" PRIu32 ", %" PRIu32 " bytes, not described",
			record->type, record->size);
	}
	fputc('\n', dump->file);
}

static void
print_header(const struct dump *dump)
{
	const struct th_log_header *header = th_reader_header(dump->reader);

	fprintf(dump->file,
		"log version %" PRIu32 ", pid %" PRIu32 ", %s, %" PRIu64
		" bytes, interval %" PRIu64 ", rate %" PRIu64 ", overhead %" PRIu64 "\n",
		header->version, header->pid,
		header->state == TH_LOG_COMPLETE ? "complete" : "not closed",
		th_reader_bytes(dump->reader), header->interval, header->rate,
		header->overhead);
}

/* A record names a counter; the log header holds its value. */
static void
print_counter(const struct dump *dump, const struct th_record *record)
{
	const struct th_log_header *header = th_reader_header(dump->reader);
	union th_decoded event;

	if (!th_schema_decode(dump->schema, record, &event) ||
		event.counter_name.index >= TH_LOG_COUNTER_SLOTS)
		return;
	fprintf(dump->file, "0x%08" PRIx64 " counter ", record->offset);
	print_text(dump->file, event.counter_name.name);
	fprintf(dump->file, " = %" PRIu64 "\n", header->counters[event.counter_name.index]);
}

static void
print_hole(
	const struct dump *dump, const struct th_cursor *before, const struct th_cursor *after)
{
	if (after->torn > before->torn)
		fputs("-- a record that was never finished\n", dump->file);
	if (after->damaged > before->damaged)
		fputs("-- damage\n", dump->file);
}

/* Reads all descriptions before any record is printed: descriptions describe themselves too. */
static struct th_schema *
learn_all(const struct th_reader *reader)
{
	struct th_schema *schema = th_schema_create();
	struct th_cursor cursor = th_reader_start(reader);
	struct th_record record;

	while (th_reader_next(&cursor, &record))
		th_schema_learn(schema, &record);
	return schema;
}

void
th_view_dump(FILE *file, const struct th_reader *reader, bool without_command)
{
	struct dump dump = {file, reader, learn_all(reader), without_command};
	struct th_cursor cursor = th_reader_start(reader);
	struct th_cursor before = cursor;
	struct th_record record;

	print_header(&dump);
	while (th_reader_next(&cursor, &record)) {
		print_hole(&dump, &before, &cursor);
		before = cursor;
		print_record(&dump, &record);
		if (record.type == TH_EVENT_COUNTER_NAME)
			print_counter(&dump, &record);
	}
	print_hole(&dump, &before, &cursor);
	if (th_reader_is_cut(reader))
		fputs("-- the log is truncated here\n", file);
	th_schema_destroy(dump.schema);
}
