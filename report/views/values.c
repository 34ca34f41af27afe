/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/values.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/views/json_parts.h"

/* Column at which the lines of a stack begin. */
#define STACK_COLUMN 16

/* Text */

/* A field of a format. */
struct field {
	int columns; /* negative: left-aligned */
	char kind;
	const char *word; /* behind a number; ends at '}' */
};

/* Reads the field at *format, behind its brace, and moves behind it. */
static struct field
parse(const char **format, const struct th_box **boxes)
{
	struct field field = {0};
	char *at;

	if (**format == '*') {
		field.columns = (int)(*boxes)++->integer;
		at = (char *)(uintptr_t)*format + 1;
	} else {
		field.columns = (int)strtol(*format, &at, 10);
	}
	if (*at != '}' && *at != ' ')
		field.kind = *at++;
	field.word = *at == ' ' ? at : NULL;
	*format = strchr(at, '}') + 1;
	return field;
}

static double
real_of(const struct th_box *box)
{
	switch (box->type) {
	case TH_BOX_INTEGER:
		return (double)box->integer;
	case TH_BOX_REAL:
		return box->real;
	case TH_BOX_ESTIMATE:
		return box->estimate->estimate;
	default:
		abort();
	}
}

static struct th_number
interval_of(const struct th_box *box, enum th_unit unit)
{
	if (box->type != TH_BOX_ESTIMATE)
		abort();
	return th_estimate_interval(box->estimate, unit);
}

static struct th_number
number_text(char kind, const struct th_box *box)
{
	double value = real_of(box);
	struct th_number text;

	switch (kind) {
	case 'b':
	case 'e':
		return th_format_number(value, TH_UNIT_BYTES);
	case 'n':
	case 'E':
		return th_format_number(value, TH_UNIT_OBJECTS);
	case 'c':
		return th_format_count((uint64_t)value);
	case 'i':
		return interval_of(box, TH_UNIT_BYTES);
	case 'I':
		return interval_of(box, TH_UNIT_OBJECTS);
	case 't':
		return th_format_time(value);
	case 's':
		return th_format_seconds(value);
	case 'p':
		return th_format_pause(value);
	case '%':
		return th_format_share(value, real_of(box + 1));
	default:
		snprintf(text.text, sizeof(text.text), kind == 'g' ? "%.3g" : "%.0f", value);
		return text;
	}
}

/* The function, and its source line or else its library; to be freed. */
static char *
frame_text(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);
	const char *function = th_frames_function_name(frames, frame->function);
	const char *library = th_frames_library(frames, frame->function);

	if (frame->file && frame->line)
		return th_format_new("%s (%s:%u)", function,
			th_frames_string(frames, frame->file), frame->line);
	if (library[0] && !th_frames_is_nameless(frames, frame->function))
		return th_format_new("%s (%s)", function, library);
	return th_format_new("%s", function);
}

/* A value that is printed as it is; to be freed. */
static char *
plain_text(const struct th_box *box)
{
	if (box->type == TH_BOX_TEXT)
		return th_text_clean(box->text);
	if (box->type == TH_BOX_FRAME)
		return frame_text(box->frame.frames, box->frame.number);
	if (box->type == TH_BOX_INTEGER)
		return th_format_new("%lld", (long long)box->integer);
	if (box->type != TH_BOX_STRING)
		abort();
	return th_format_new("%s", box->string);
}

static void
print_word(FILE *file, const char *word, bool is_one)
{
	int length = (int)strcspn(word, "/}");

	if (!is_one && word[length] == '/')
		fprintf(file, " %.*s", (int)strcspn(word + length + 1, "}"), word + length + 1);
	else
		fprintf(file, "%.*s%s", length, word, is_one ? "" : "s");
}

static void
print_value(FILE *file, const struct field *field, const struct th_box *box)
{
	if (field->kind) {
		fprintf(file, "%*s", field->columns, number_text(field->kind, box).text);
	} else {
		char *text = plain_text(box);

		fprintf(file, "%*s", field->columns, text);
		free(text);
	}
	if (field->kind == 'e' || field->kind == 'E')
		fprintf(file, " (%s)",
			interval_of(box, field->kind == 'e' ? TH_UNIT_BYTES : TH_UNIT_OBJECTS)
				.text);
	if (field->word)
		print_word(file, field->word, real_of(box) == 1);
}

void
th_print_boxes(FILE *file, const char *format, const struct th_box *boxes)
{
	while (*format) {
		size_t length = strcspn(format, "{");

		fwrite(format, 1, length, file);
		format += length;
		if (!*format++)
			break;
		struct field field = parse(&format, &boxes);
		if (field.kind == '#')
			fputs(th_terminal_code(file, (enum th_style)boxes++->integer), file);
		else if (field.kind == '/')
			fputs(th_terminal_code(file, TH_STYLE_PLAIN), file);
		else
			print_value(file, &field, boxes++);
		boxes += field.kind == '%';
	}
}

char *
th_printed_boxes(const char *format, const struct th_box *boxes)
{
	struct th_line line;

	th_line_begin(&line);
	th_print_boxes(line.stream, format, boxes);
	return th_line_end(&line);
}

void
th_print_cut(FILE *file, const char *before, int columns, char *text)
{
	fputs(before, file);
	th_format_cut(file, text, th_terminal_room(file, columns, columns));
	fputc('\n', file);
	free(text);
}

void
th_print_step(FILE *file, size_t number, char *text)
{
	th_print_cut(
		file, number ? "              < " : "         by     ", STACK_COLUMN, text);
}

/* JSON */

json_t *
th_json_estimate(const struct th_estimate *estimate)
{
	json_t *json = th_json("estimate ci95 samples", estimate->estimate,
		th_json_list(estimate->low, estimate->high), estimate->samples);

	if (estimate->exact)
		json_object_set_new(json, "exact", json_true());
	return json;
}

json_t *
th_json_text(struct th_text text)
{
	char *clean = th_text_clean(text);
	json_t *json = json_string(clean);

	free(clean);
	return json;
}

static json_t *
box_json(const struct th_box *box, bool or_null)
{
	switch (box->type) {
	case TH_BOX_INTEGER:
		return or_null && !box->integer ? json_null() : json_integer(box->integer);
	case TH_BOX_REAL:
		return json_real(box->real);
	case TH_BOX_BOOL:
		return json_boolean(box->integer);
	case TH_BOX_STRING:
		return !box->string || (or_null && !box->string[0]) ? json_null()
								    : json_string(box->string);
	case TH_BOX_TEXT:
		return or_null && !box->text.length ? json_null() : th_json_text(box->text);
	case TH_BOX_ESTIMATE:
		return box->estimate ? th_json_estimate(box->estimate) : json_null();
	case TH_BOX_FRAME:
		return th_json_frame(box->frame.frames, box->frame.number);
	case TH_BOX_JSON:
		return box->json ? box->json : json_null();
	default:
		abort();
	}
}

json_t *
th_json_set_boxes(json_t *json, const char *keys, const struct th_box *boxes)
{
	for (; boxes->type; boxes++) {
		char key[48];
		size_t length = strcspn(keys, " ?");
		bool or_null = keys[length] == '?';

		snprintf(key, sizeof(key), "%.*s", (int)length, keys);
		json_object_set_new(json, key, box_json(boxes, or_null));
		keys += length + or_null;
		keys += *keys == ' ';
	}
	return json;
}

json_t *
th_json_append_boxes(json_t *list, const struct th_box *boxes)
{
	for (; boxes->type; boxes++)
		json_array_append_new(list, box_json(boxes, false));
	return list;
}

void
th_json_print(FILE *file, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_INDENT(1));

	if (!text)
		th_out_of_memory();
	fprintf(file, "%s\n", text);
	json_decref(json);
	free(text);
}
