/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/values.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/terminal.h"
#include "report/profile/leak_sites.h"

/* Bytes of the longest key. */
#define KEY_MAX 47

/* Text */

/* A field of a format. */
struct field {
	bool is_starred; /* a value in front gives `columns` */
	int columns;     /* negative: left-aligned */
	char kind;
	const char *word; /* behind a number; ends at '}' */
};

/* Reads the field at *format, behind its brace, and moves behind it. */
static struct field
parse(const char **format)
{
	struct field field = {.is_starred = **format == '*'};
	char *at = (char *)(uintptr_t)*format + 1;

	if (!field.is_starred)
		field.columns = (int)strtol(*format, &at, 10);
	if (*at && *at != '}' && *at != ' ')
		field.kind = *at++;
	field.word = *at == ' ' ? at : NULL;
	at += strcspn(at, "}");
	*format = at + (*at == '}');
	return field;
}

static bool
is_number(enum th_box_type type)
{
	return type == TH_BOX_INTEGER || type == TH_BOX_REAL || type == TH_BOX_ESTIMATE;
}

static bool
fits(const struct field *field, enum th_box_type type)
{
	switch (field->kind) {
	case '\0':
		return field->word ? type == TH_BOX_INTEGER
				   : type == TH_BOX_INTEGER || type == TH_BOX_STRING ||
					     type == TH_BOX_TEXT || type == TH_BOX_FRAME;
	case '#':
		return type == TH_BOX_INTEGER;
	case 'i':
	case 'I':
	case 'e':
	case 'E':
		return type == TH_BOX_ESTIMATE;
	default:
		return strchr("bnctspgf%", field->kind) && is_number(type);
	}
}

static double
real_of(const struct th_box *box)
{
	if (box->type == TH_BOX_ESTIMATE)
		return box->estimate->estimate;
	return box->type == TH_BOX_REAL ? box->real : (double)box->integer;
}

/* NaN and what is out of range, of a damaged log, is the largest. */
static uint64_t
count_of(double value)
{
	return value < 0 ? 0 : value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
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
		return th_format_count(count_of(value));
	case 'i':
		return th_estimate_interval(box->estimate, TH_UNIT_BYTES);
	case 'I':
		return th_estimate_interval(box->estimate, TH_UNIT_OBJECTS);
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

const char *
th_function_text(const struct th_frames *frames, uint32_t function)
{
	const char *name = th_frames_function_name(frames, function);
	const char *library = th_frames_library(frames, function);

	return library[0] && !th_frames_is_nameless(frames, function)
		       ? th_printed("{} ({})", name, library)
		       : name;
}

/* The function, and its source line or else its library. */
static const char *
frame_text(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);

	if (!frame->file || !frame->line)
		return th_function_text(frames, frame->function);
	return th_printed("{} ({}:{})", th_frames_function_name(frames, frame->function),
		th_frames_string(frames, frame->file), frame->line);
}

/* A value that is printed as it is. */
static void
print_plain(FILE *file, int columns, const struct th_box *box)
{
	if (box->type == TH_BOX_TEXT) {
		char *text = th_text_clean(box->text);

		fprintf(file, "%*s", columns, text);
		free(text);
	} else if (box->type == TH_BOX_INTEGER) {
		fprintf(file, "%*lld", columns, (long long)box->integer);
	} else {
		fprintf(file, "%*s", columns,
			box->type == TH_BOX_STRING
				? box->string
				: frame_text(box->frame.frames, box->frame.number));
	}
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
	if (field->kind)
		fprintf(file, "%*s", field->columns, number_text(field->kind, box).text);
	else
		print_plain(file, field->columns, box);
	if (field->kind == 'e' || field->kind == 'E')
		fprintf(file, " (%s)", number_text(field->kind == 'e' ? 'i' : 'I', box).text);
	if (field->word)
		print_word(file, field->word, real_of(box) == 1);
}

/* The value at *boxes, behind which it moves unless it is the end. */
static const struct th_box *
take(const struct th_box **boxes)
{
	return (*boxes)->type ? (*boxes)++ : *boxes;
}

static void
print_field(FILE *file, struct field *field, const struct th_box **boxes)
{
	if (field->kind == '/') {
		fputs(th_terminal_code(file, TH_STYLE_PLAIN), file);
		return;
	}
	bool is_counted = !field->is_starred || (*boxes)->type == TH_BOX_INTEGER;
	if (field->is_starred)
		field->columns = (int)take(boxes)->integer;
	const struct th_box *box = take(boxes);
	if (!is_counted || !fits(field, box->type) ||
		(field->kind == '%' && !fits(field, take(boxes)->type)))
		fputc('?', file);
	else if (field->kind == '#')
		fputs(th_terminal_code(file, (enum th_style)box->integer), file);
	else
		print_value(file, field, box);
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
		struct field field = parse(&format);
		print_field(file, &field, &boxes);
	}
}

const char *
th_printed_boxes(const char *format, const struct th_box *boxes)
{
	struct th_line line;

	th_line_begin(&line);
	th_print_boxes(line.stream, format, boxes);
	return th_line_text(&line);
}

void
th_print_cut(FILE *file, const char *before, int columns, const char *text)
{
	fputs(before, file);
	th_format_cut(file, text, th_terminal_room(file, columns, columns));
	fputc('\n', file);
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

json_t *
th_json_function(
	const struct th_frames *frames, uint32_t number, const char *file, uint32_t line)
{
	const struct th_function *function = th_frames_function(frames, number);
	const char *kind = function->kind == TH_KIND_JAVA     ? "java"
			   : function->kind == TH_KIND_NATIVE ? "native"
							      : "vm";

	return th_json("name kind module? file? line?",
		th_frames_string(frames, function->name), kind,
		th_frames_string(frames, function->module), file, line);
}

json_t *
th_json_frame(const struct th_frames *frames, uint32_t number)
{
	if (number == TH_NO_FRAME)
		return NULL;
	const struct th_frame *frame = th_frames_get(frames, number);
	return th_json_function(
		frames, frame->function, th_frames_string(frames, frame->file), frame->line);
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
		return json_null();
	}
}

void
th_json_put_box(json_t *json, const char *key, const struct th_box *box)
{
	json_object_set_new(json, key, box_json(box, false));
}

json_t *
th_json_set_boxes(json_t *json, const char *keys, const struct th_box *boxes)
{
	for (; boxes->type && *keys; boxes++) {
		char key[KEY_MAX + 1] = "";
		size_t length = strcspn(keys, " ?");
		bool or_null = keys[length] == '?';

		memcpy(key, keys, length < KEY_MAX ? length : KEY_MAX);
		json_object_set_new_nocheck(json, key, box_json(boxes, or_null));
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
