/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed values and their printers: th_print() makes text of them, th_json() an object.  A value is
 * boxed by its type in C: a double, an integer, a bool, a string, a struct th_text, a pointer to a
 * struct th_estimate, a struct th_frame_of, or a json_t.  A format names how it is shown, and cannot read
 * it as another type: a value that does not fit its field is "?" in text.  A pointer to anything else does
 * not compile; tests/unit/views/test_values.c checks the types of every call.
 */
#ifndef TH_REPORT_PROFILE_VALUES_H
#define TH_REPORT_PROFILE_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/log_text.h"
#include "report/statistics/estimate.h"
#include "report/symbols/frames.h"

/* A frame by its number: the function, with its source line or else its library; TH_NO_FRAME: null. */
struct th_frame_of {
	const struct th_frames *frames;
	uint32_t number;
};

static inline struct th_frame_of
th_frame_of(const struct th_frames *frames, uint32_t number)
{
	return (struct th_frame_of){frames, number};
}

/* Values of one call. */
#define TH_VALUES_MAX 20

enum th_box_type {
	TH_BOX_END,
	TH_BOX_INTEGER,
	TH_BOX_REAL,
	TH_BOX_BOOL,
	TH_BOX_STRING,
	TH_BOX_TEXT,
	TH_BOX_ESTIMATE,
	TH_BOX_FRAME,
	TH_BOX_JSON,
};

struct th_box {
	enum th_box_type type;
	union {
		int64_t integer;
		double real;
		const char *string;
		struct th_text text;
		const struct th_estimate *estimate;
		struct th_frame_of frame;
		json_t *json;
	};
};

/* clang-format off */
#define TH_BOX_FUNCTION(name, c_type, box_type, member) \
	static inline struct th_box th_box_##name(c_type value) \
	{ return (struct th_box){.type = box_type, .member = value}; }
TH_BOX_FUNCTION(integer, int64_t, TH_BOX_INTEGER, integer)
TH_BOX_FUNCTION(bool, bool, TH_BOX_BOOL, integer)
TH_BOX_FUNCTION(real, double, TH_BOX_REAL, real)
TH_BOX_FUNCTION(string, const char *, TH_BOX_STRING, string)
TH_BOX_FUNCTION(text, struct th_text, TH_BOX_TEXT, text)
TH_BOX_FUNCTION(estimate, const struct th_estimate *, TH_BOX_ESTIMATE, estimate)
TH_BOX_FUNCTION(frame, struct th_frame_of, TH_BOX_FRAME, frame)
TH_BOX_FUNCTION(json, json_t *, TH_BOX_JSON, json)
#undef TH_BOX_FUNCTION
/* Only a damaged log has larger ones. */
static inline struct th_box th_box_unsigned(uint64_t value)
{ return th_box_integer(value < INT64_MAX ? (int64_t)value : INT64_MAX); }

#define TH_BOX(value) _Generic((value), \
	double: th_box_real, float: th_box_real, bool: th_box_bool, char *: th_box_string, \
	const char *: th_box_string, struct th_text: th_box_text, json_t *: th_box_json, \
	struct th_frame_of: th_box_frame, \
	struct th_estimate *: th_box_estimate, const struct th_estimate *: th_box_estimate, \
	uint64_t: th_box_unsigned, default: th_box_integer)(value),
#define TH_BOX_TYPE(value) _Generic((value), \
	double: TH_BOX_REAL, float: TH_BOX_REAL, bool: TH_BOX_BOOL, char *: TH_BOX_STRING, \
	const char *: TH_BOX_STRING, struct th_text: TH_BOX_TEXT, json_t *: TH_BOX_JSON, \
	struct th_frame_of: TH_BOX_FRAME, \
	struct th_estimate *: TH_BOX_ESTIMATE, const struct th_estimate *: TH_BOX_ESTIMATE, \
	default: TH_BOX_INTEGER),

/* TH_BOX() or TH_BOX_TYPE() of each argument. */
#define TH_BOXES(...) (const struct th_box[]){ \
	__VA_OPT__(TH_EACH_4(TH_EACH(TH_BOX, __VA_ARGS__))) {.type = TH_BOX_END}}
#define TH_EACH(macro, value, ...) \
	macro(value) __VA_OPT__(TH_EACH_AGAIN TH_EACH_PARENTHESES (macro, __VA_ARGS__))
#define TH_EACH_PARENTHESES ()
#define TH_EACH_AGAIN() TH_EACH
#define TH_EACH_4(...) TH_EACH_3(TH_EACH_3(TH_EACH_3(__VA_ARGS__)))
#define TH_EACH_3(...) TH_EACH_2(TH_EACH_2(TH_EACH_2(__VA_ARGS__)))
#define TH_EACH_2(...) TH_EACH_1(TH_EACH_1(TH_EACH_1(__VA_ARGS__)))
#define TH_EACH_1(...) __VA_ARGS__

/*
 * Each call's format or keys with the types of its values, in a section of their own, so that a unit test
 * checks all calls, executed or not.
 */
struct th_values_call {
	const char *file;
	int line;
	bool is_json;
	const char *format;
	char types[TH_VALUES_MAX + 1]; /* enum th_box_type, up to TH_BOX_END */
};
#define TH_VALUES_CALL(is_json, format, ...) \
	TH_VALUES_CALL_AS(__COUNTER__, is_json, format, __VA_ARGS__)
#define TH_VALUES_CALL_AS(number, ...) TH_VALUES_CALL_AS_2(number, __VA_ARGS__)
#define TH_VALUES_CALL_AS_2(number, is_json, format, ...) \
	static const struct th_values_call th_values_call_##number \
		__attribute__((used, aligned(8), section("th_values_calls"))) = \
		{__FILE__, __LINE__, is_json, format, \
		{__VA_OPT__(TH_EACH_4(TH_EACH(TH_BOX_TYPE, __VA_ARGS__)))}}
/* clang-format on */

/*
 * Prints text with fields: "{}" is a string, an integer or a frame, and
 *
 *	{b} bytes         {n} a number of objects   {c} a count, with commas
 *	{i} {I} interval  {e} {E} number (interval) of an estimate in bytes, in objects
 *	{t} a time        {s} {p} seconds of a duration, of a pause
 *	{%} two values: the share of the first in the second
 *	{g} {f} with 3 digits, as an integer
 *	{#} an enum th_style, which begins; {/} which ends
 *
 * In front of the letter "9", "-22" or "*", a preceding value, give the columns; behind it a word in
 * singular follows its number, with another plural than by "s" behind a slash:
 * "{c mapping}", "{c process/processes}".
 */
#define th_print(file, format, ...)                                  \
	({                                                           \
		TH_VALUES_CALL(false, format, __VA_ARGS__);          \
		th_print_boxes(file, format, TH_BOXES(__VA_ARGS__)); \
	})
void th_print_boxes(FILE *file, const char *format, const struct th_box *boxes);

/* The text as one of the output (line.h). */
#define th_printed(format, ...)                                  \
	({                                                       \
		TH_VALUES_CALL(false, format, __VA_ARGS__);      \
		th_printed_boxes(format, TH_BOXES(__VA_ARGS__)); \
	})
const char *th_printed_boxes(const char *format, const struct th_box *boxes);

/* "FUNCTION (LIBRARY)", or "FUNCTION" of a nameless one and without a library. */
const char *th_function_text(const struct th_frames *frames, uint32_t function);

/* Prints `text` behind `before`, which has `columns` columns, cut to the terminal. */
void th_print_cut(FILE *file, const char *before, int columns, const char *text);

/*
 * A new object with the members that `keys` names, separated by blanks; a new reference.  With "?"
 * behind its key a member is null for "" and 0.  NULL is null.  Steals references to json_t.
 */
#define th_json(keys, ...)                                                     \
	({                                                                     \
		TH_VALUES_CALL(true, keys, __VA_ARGS__);                       \
		th_json_set_boxes(json_object(), keys, TH_BOXES(__VA_ARGS__)); \
	})

/* Sets members of an object, which is returned. */
#define th_json_set(json, keys, ...)                                  \
	({                                                            \
		TH_VALUES_CALL(true, keys, __VA_ARGS__);              \
		th_json_set_boxes(json, keys, TH_BOXES(__VA_ARGS__)); \
	})
json_t *th_json_set_boxes(json_t *json, const char *keys, const struct th_box *boxes);

/* Sets one member, whose key is not known to the compiler. */
#define th_json_put(json, key, value) th_json_put_box(json, key, TH_BOXES(value))
void th_json_put_box(json_t *json, const char *key, const struct th_box *box);

/* A new array of values; appends values to an array, which is returned. */
#define th_json_list(...) th_json_append(json_array(), __VA_ARGS__)
#define th_json_append(list, ...) th_json_append_boxes(list, TH_BOXES(__VA_ARGS__))
json_t *th_json_append_boxes(json_t *list, const struct th_box *boxes);

/* A new array of `expression` for each `item`, a pointer to an element; none where it is NULL. */
#define th_json_map(item, items, count, expression)                     \
	({                                                              \
		json_t *item##_list = json_array();                     \
		for (__typeof__((items)[0]) *item = (items);            \
			(size_t)(item - (items)) < (count); item++)     \
			json_array_append_new(item##_list, expression); \
		item##_list;                                            \
	})

/* {"name", "kind", "module", "file", "line"} of a function; `file` may be "" and `line` 0. */
json_t *th_json_function(
	const struct th_frames *frames, uint32_t function, const char *file, uint32_t line);

/* The same of a frame; NULL for TH_NO_FRAME. */
json_t *th_json_frame(const struct th_frames *frames, uint32_t frame);

/* Text of a log, with unprintable characters replaced; a new reference. */
json_t *th_json_text(struct th_text text);

/* {"estimate", "ci95", "samples"} and, if counted, "exact"; a new reference. */
json_t *th_json_estimate(const struct th_estimate *estimate);

/* Prints `json` with a line feed behind it, and drops the caller's reference. */
void th_json_print(FILE *file, json_t *json);

#endif
