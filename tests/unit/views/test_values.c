/* SPDX-License-Identifier: Apache-2.0 */
/* Text and JSON of typed values, and the types of the values in every call of the report. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/views/parts.h"
#include "report/profile/values.h"

extern const struct th_values_call __start_th_values_calls[], __stop_th_values_calls[];

static const struct th_estimate about = {
	.estimate = 2048, .low = 1024, .high = 4096, .samples = 7};

static void
require(const char *text, const char *expected)
{
	assert_string_equal(text, expected);
}

static void
require_json(json_t *json, const char *expected)
{
	char *text = th_json_dump(json, 0);

	require(text, expected);
	free(text);
}

/* Calls */

static struct th_frame_of frame;

/* A value of that type, which is null where JSON allows it. */
static struct th_box
box_of(char type)
{
	struct th_box box = {.type = (enum th_box_type)type};

	if (box.type == TH_BOX_STRING)
		box.string = "";
	else if (box.type == TH_BOX_ESTIMATE)
		box.estimate = &about;
	else if (box.type == TH_BOX_FRAME)
		box.frame = frame;
	else if (box.type == TH_BOX_JSON)
		box.json = json_true();
	return box;
}

static size_t
count_of(const char *text, char c)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == c;
	return count;
}

/* Whether the first `count` values of a call are enough for its format, and of the right types. */
static bool
prints(const struct th_values_call *call, size_t count)
{
	struct th_box boxes[TH_VALUES_MAX + 1] = {{0}};

	for (size_t i = 0; i < count; i++)
		boxes[i] = box_of(call->types[i]);
	return count_of(th_printed_boxes(call->format, boxes), '?') ==
	       count_of(call->format, '?');
}

/* Whether each key has one value, and those with "?" a type that may be null. */
static bool
sets_members(const struct th_values_call *call)
{
	const char *keys = call->format;
	size_t count = strlen(call->types);
	struct th_box boxes[TH_VALUES_MAX + 1] = {{0}};

	for (size_t i = 0; i < count; i++)
		boxes[i] = box_of(call->types[i]);
	json_t *json = th_json_set_boxes(json_object(), keys, boxes);
	bool fits = json_object_size(json) == count;
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(keys, " ?");
		bool or_null = keys[length] == '?';
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)length, keys);
		const json_t *value = json_object_get(json, key);
		fits = fits && length && value && (!or_null || json_is_null(value));
		keys += length + or_null;
		keys += *keys == ' ';
	}
	json_decref(json);
	return fits && !*keys;
}

/* Whether the values of a call are of the number and of the types that its format or keys ask for. */
static bool
call_fits(const struct th_values_call *call)
{
	size_t count = strlen(call->types);

	if (call->is_json)
		return sets_members(call);
	return count_of(call->format, '{') == count_of(call->format, '}') &&
	       prints(call, count) && (!count || !prints(call, count - 1));
}

/* The views have some hundred calls; without them in the program this would check nothing. */
static void
test_values_of_every_call_fit(void **state)
{
	size_t count = (size_t)(__stop_th_values_calls - __start_th_values_calls);
	size_t wrong = 0;

	(void)state;
	assert_true(count > 200);
	for (size_t i = 0; i < count; i++) {
		const struct th_values_call *call = &__start_th_values_calls[i];

		if (!strcmp(call->file, __FILE__) || call_fits(call))
			continue;
		print_error("%s:%d: values do not fit \"%s\"\n", call->file, call->line,
			call->format);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static bool
does_fit(bool is_json, const char *format, const char *types)
{
	struct th_values_call call = {"", 0, is_json, format, ""};

	strcpy(call.types, types);
	return call_fits(&call);
}

#define INTEGER "\1"
#define REAL "\2"
#define STRING "\4"
#define ESTIMATE "\6"
#define FRAME "\7"
#define JSON "\10"

static void
test_wrong_values_are_found(void **state)
{
	(void)state;
	assert_int_equal(TH_BOX_INTEGER, *INTEGER);
	assert_int_equal(TH_BOX_REAL, *REAL);
	assert_int_equal(TH_BOX_STRING, *STRING);
	assert_int_equal(TH_BOX_ESTIMATE, *ESTIMATE);
	assert_int_equal(TH_BOX_FRAME, *FRAME);
	assert_int_equal(TH_BOX_JSON, *JSON);
	assert_true(does_fit(false, "{} {b} {9b}", STRING INTEGER REAL));
	assert_true(does_fit(false, "{*c log} {#}x{/} {}", INTEGER INTEGER INTEGER FRAME));
	assert_true(does_fit(false, "{%} {e}", REAL REAL ESTIMATE));
	assert_false(does_fit(false, "{}", REAL));
	assert_false(does_fit(false, "{}", ESTIMATE));
	assert_false(does_fit(false, "{}", JSON));
	assert_false(does_fit(false, "{b}", STRING));
	assert_false(does_fit(false, "{i}", REAL));
	assert_false(does_fit(false, "{x}", INTEGER));
	assert_false(does_fit(false, "{ log}", STRING));
	assert_false(does_fit(false, "{*b}", REAL REAL));
	assert_false(does_fit(false, "{%}", REAL));
	assert_false(does_fit(false, "{} {}", STRING));
	assert_false(does_fit(false, "{}", STRING STRING));
	assert_false(does_fit(false, "{}", ""));
	assert_false(does_fit(false, "{b", INTEGER));
	assert_true(does_fit(true, "a b? c", REAL STRING JSON));
	assert_false(does_fit(true, "a", REAL REAL));
	assert_false(does_fit(true, "a b", REAL));
	assert_false(does_fit(true, "a  b", REAL REAL));
	assert_false(does_fit(true, "a?", REAL));
}

/* A value that does not fit prints as "?", so that a report is never lost to one. */
static void
test_wrong_values_print_a_question_mark(void **state)
{
	const struct th_box boxes[] = {
		{.type = TH_BOX_STRING, .string = "x"}, {.type = TH_BOX_END}};

	(void)state;
	require(th_printed_boxes("{b}, {}, {%}.", boxes), "?, ?, ?.");
	require(th_printed_boxes("{*c}{", boxes), "??");
}

/* Figures of a damaged log, which no conversion may overflow. */
static void
test_figures_out_of_range(void **state)
{
	(void)state;
	require(th_printed("{}", UINT64_MAX), "9223372036854775807");
	require(th_printed("{c}", UINT64_MAX), "9,223,372,036,854,775,808");
	require(th_printed("{c} {c}", -1.0, -INFINITY), "0 0");
	require(th_printed("{c}", (double)NAN), "18,446,744,073,709,551,615");
	require(th_printed("{c}", 1e300), "18,446,744,073,709,551,615");
	require_json(th_json("a", UINT64_MAX), "{\"a\":9223372036854775807}");
}

/* Text */

static void
test_text_of_each_field(void **state)
{
	(void)state;
	require(th_printed("{} {} {}", "a", 12, th_text_of("b\n")), "a 12 b ");
	require(th_printed("[{5}] [{-5}] [{*}]", "a", "b", 3, 7), "[    a] [b    ] [  7]");
	require(th_printed("{b}, {9b}", 1024, 1536.0), "1.00 KiB,  1.50 KiB");
	require(th_printed("{e}; {i}", &about, &about),
		"2.00 KiB (1.00 .. 4.00 KiB); 1.00 .. 4.00 KiB");
	require(th_printed("{c}", 1234567), "1,234,567");
	require(th_printed("{c mapping}, {c mapping}", 1, 2), "1 mapping, 2 mappings");
	require(th_printed("{c process/processes}, {c process/processes}", 1, 0),
		"1 process, 0 processes");
	require(th_printed("{g} {f}", 0.12345, 2.6), "0.123 3");
	require(th_printed("{%}", 1, 4), "25.0 %");
	require(th_printed("{#}a{/}", 1), "a");
}

/* JSON */

static void
test_json_of_each_type(void **state)
{
	const struct th_estimate *none = NULL;
	const char *null = NULL;
	json_t *json = NULL;

	(void)state;
	require_json(th_json("a b c d", 1, 0.5, (bool)true, "x"),
		"{\"a\":1,\"b\":0.5,\"c\":true,\"d\":\"x\"}");
	require_json(th_json("a b c", none, null, json), "{\"a\":null,\"b\":null,\"c\":null}");
	require_json(th_json("a? b? c? d", "", 0, "x", ""),
		"{\"a\":null,\"b\":null,\"c\":\"x\",\"d\":\"\"}");
	require_json(th_json("a", &about),
		"{\"a\":{\"estimate\":2048.0,\"ci95\":[1024.0,4096.0],\"samples\":7}}");
	require_json(th_json("a", th_text_of("b\n")), "{\"a\":\"b \"}");
	require_json(th_json_list(1, "x", th_json("a", 2)), "[1,\"x\",{\"a\":2}]");
	require_json(th_json_set(th_json("a", 1), "b", 2), "{\"a\":1,\"b\":2}");
	json = json_object();
	th_json_put(json, "a key", 1);
	require_json(json, "{\"a key\":1}");
}

static void
test_json_of_an_array(void **state)
{
	const int numbers[] = {1, 2, 3};
	size_t none = 0;

	(void)state;
	require_json(th_json_map(number, numbers, 3, th_json("n", *number)),
		"[{\"n\":1},{\"n\":2},{\"n\":3}]");
	require_json(th_json_map(number, numbers, none, th_json("n", *number)), "[]");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_every_call_fit),
		cmocka_unit_test(test_wrong_values_are_found),
		cmocka_unit_test(test_wrong_values_print_a_question_mark),
		cmocka_unit_test(test_figures_out_of_range),
		cmocka_unit_test(test_text_of_each_field),
		cmocka_unit_test(test_json_of_each_type),
		cmocka_unit_test(test_json_of_an_array),
	};

	const struct th_recording recording = {0};
	struct th_frames *frames = th_frames_create(&recording, NULL, NULL, NULL);

	frame = th_frame_of(frames, th_frames_special(frames, "f", "", TH_KIND_VM));
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	th_frames_destroy(frames);
	return result;
}
