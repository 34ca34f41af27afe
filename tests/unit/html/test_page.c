/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page: names with special characters survive as text, a page with a hundred
 * thousand stacks is built in time, and time slices add up.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/base/allocate.h"
#include "report/html/page.h"
#include "report/profile/time_slices.h"
#include "tests/unit/views/view_helper.h"
#include "unify/shared/clock.h"

#define DATA_START "<script type=\"application/json\" id=\"data\">\n"
#define SCRIPT TH_TEST_SOURCE "/tests/e2e/page.py"

#ifdef __SANITIZE_ADDRESS__
#	define IS_SANITIZED true
#else
#	define IS_SANITIZED false
#endif

#define LONG_NAME 10000
#define MANY_STACKS 100000

/* The JSON object in the script element of a page. */
static json_t *
page_data(const char *page)
{
	const char *start = strstr(page, DATA_START);
	json_error_t error;

	assert_non_null(start);
	start += strlen(DATA_START);
	const char *end = strstr(start, "</script>");
	assert_non_null(end);
	size_t length = (size_t)(end - start);
	assert_null(memchr(start, '<', length));
	assert_null(memchr(start, '>', length));
	assert_null(memchr(start, '&', length));
	for (size_t i = 0; i < length; i++)
		assert_true(start[i] == '\n' || (start[i] >= ' ' && start[i] < 0x7f));
	json_t *root = json_loadb(start, length, 0, &error);
	if (!root)
		fail_msg("%s at %d", error.text, error.position);
	return root;
}

static bool
has_string(json_t *root, const char *text)
{
	json_t *string;
	size_t i;

	json_array_foreach(json_object_get(root, "strings"), i, string)
	{
		if (!strcmp(json_string_value(string), text))
			return true;
	}
	return false;
}

/* Opens a page in the browser for a case of page.py; skipped without a browser. */
static void
browse(const char *name, const char *page)
{
	static unsigned pages;

	/* The browser is not sanitized: one page is enough to show that the output opens. */
	if (IS_SANITIZED && pages++)
		return;
	char *html = th_format_new("%s", "/tmp/twinheap-page-XXXXXX.html");
	int descriptor = mkstemps(html, 5);
	FILE *file = fdopen(descriptor, "w");

	fputs(page, file);
	fclose(file);
	char *check = th_format_new("python3 %s --check", SCRIPT);
	char *command = th_format_new("echo '{}' >%s.json && python3 %s %s %s %s.json; s=$?;"
				      " rm -f %s.json; exit $s",
		html, SCRIPT, name, html, html, html);
	/* An emulated program cannot start the host's programs. */
	bool is_possible = !getenv("TH_TEST_RUNNER") && system(check) == 0;
	int status = is_possible ? system(command) : 0;
	unlink(html);
	free(command);
	free(check);
	free(html);
	if (!is_possible) {
		print_message("no browser here: the page's data was checked, not the page\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void
add_sample(struct log_builder *log, uint32_t stack, uint32_t ms, uint64_t size)
{
	static uint64_t bytes;

	log_java(log, (struct log_sample){.ms = ms,
			      .size = size,
			      .thread_bytes = bytes += size,
			      .thread = 1,
			      .stack = stack,
			      .class = 1});
}

static void
test_hostile_names(void **state)
{
	static const char *const names[] = {"</script><script>window.hacked=1</script>",
		"<img src=x onerror=window.hacked=1>", "\"'`${window.hacked=1}\\",
		"&lt;b&gt;<b>", "\xe2\x80\xa8\xe2\x80\xae\xf0\x9f\x98\x80 \xe4\xb8\xad",
		"__proto__", "<!--<script>"};
	struct log_builder log;
	struct shown shown;
	char *long_name = malloc(LONG_NAME + 1);

	(void)state;
	memset(long_name, 'x', LONG_NAME);
	long_name[LONG_NAME] = '\0';
	log_init(&log, 0);
	log_jvm(&log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(&log, 1, names[0]);
	log_class(&log, 1, "L<script>window.hacked=1</script>;");
	log_method(&log, 1, "LLong;", long_name);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t frames[] = {
			th_frame_java(i + 2, TH_BCI_UNKNOWN), th_frame_java(1, TH_BCI_UNKNOWN)};

		log_method(&log, i + 2, "La/B;", names[i]);
		log_stack(&log, i + 1, frames, 2);
		add_sample(&log, i + 1, 10 * i, 1000 + i);
	}
	log_end(&log, 100);
	show(&shown, &log, NULL);
	char *page = show_text(&shown, th_view_flamegraph);
	json_t *root = page_data(page);

	assert_true(has_string(root, names[0]));
	assert_true(has_string(root, "a.B.<img src=x onerror=window.hacked=1>"));
	assert_true(
		has_string(root, "a.B.\xe2\x80\xa8\xe2\x80\xae\xf0\x9f\x98\x80 \xe4\xb8\xad"));
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
	free(long_name);
	browse("hostile", page);
	free(page);
}

/* Many stacks of fifty frames that share their first frames. */
static void
build_many(struct log_builder *log, uint32_t count)
{
	uint64_t frames[50];

	log_init(log, 0);
	log_jvm(log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_thread(log, 1, "main");
	log_class(log, 1, "[B");
	for (uint32_t i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "method%u", i);
		log_method(log, i + 1, "Lapp/Large;", name);
	}
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < 50; k++) {
			/* Frames near the root change rarely, the leaf changes with every stack. */
			uint32_t turn = k < 3 ? i : i / (count / 50);

			frames[k] = th_frame_java(
				1 + (turn * (k + 1) + k * 97) % 5000, TH_BCI_UNKNOWN);
		}
		frames[2] = th_frame_java(1 + i / 5000, TH_BCI_UNKNOWN);
		frames[1] = th_frame_java(1 + i % 5000, TH_BCI_UNKNOWN);
		log_stack(log, i + 1, frames, 50);
		add_sample(log, i + 1, i / 1000, 16 + i % 4096);
	}
	log_end(log, 200);
}

static void
test_many_stacks(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	build_many(&log, MANY_STACKS);
	uint64_t start = th_clock_now();
	show(&shown, &log, NULL);
	char *page = show_text(&shown, th_view_flamegraph);
	uint64_t end = th_clock_now();
	json_t *root = page_data(page);
	json_t *rows = json_object_get(root, "rows");

	assert_int_equal(json_integer_value(json_object_get(rows, "count")), MANY_STACKS);
	print_message("%d stacks: %.1f MB in %.2f s\n", MANY_STACKS, (double)strlen(page) / 1e6,
		(double)(end - start) / 1e9);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
	browse("large", page);
	free(page);
}

/* Two marks, one of which has a name that could end the script element. */
static void
test_marks(void **state)
{
	const uint64_t frame = th_frame_native(0, 0x10);
	struct log_builder log;
	struct shown shown;

	(void)state;
	log_init(&log, 0);
	log_thread(&log, 1, "main");
	log_stack(&log, 1, &frame, 1);
	for (uint32_t i = 0; i < 100; i++)
		log_native(&log,
			(struct log_sample){.ms = 10 * i, .size = 10, .thread = 1, .stack = 1});
	log_add_fields(&log, TH_EVENT_MARK, LOG_U64(LOG_START + 250000000u), LOG_TEXT("warm"));
	log_add_fields(&log, TH_EVENT_MARK, LOG_U64(LOG_START + 600000000u),
		LOG_TEXT("</script> & \xc3\xbc"));
	log_end(&log, 1000);
	show(&shown, &log, NULL);
	char *page = show_text(&shown, th_view_flamegraph);
	json_t *root = page_data(page);
	json_t *marks = json_object_get(json_object_get(root, "timeline"), "marks");

	assert_int_equal(json_array_size(marks), 2);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
	browse("marks", page);
	free(page);
}

static unsigned
letter_value(char letter)
{
	const char *letters =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(letters, letter);

	assert_non_null(found);
	return (unsigned)(found - letters);
}

/* Decodes a base64 column; returns its length. */
static size_t
column_bytes(json_t *column, unsigned char *bytes)
{
	const char *text = json_string_value(column);
	size_t count = 0;

	assert_int_equal(strlen(text) % 4, 0);
	for (; *text; text += 4) {
		uint32_t group = 0;
		unsigned held = text[2] == '=' ? 1 : text[3] == '=' ? 2 : 3;

		for (unsigned i = 0; i <= held; i++)
			group |= letter_value(text[i]) << (18 - 6 * i);
		for (unsigned i = 0; i < held; i++)
			bytes[count++] = (unsigned char)(group >> (16 - 8 * i));
	}
	return count;
}

static int64_t
next_difference(const unsigned char *bytes, size_t *at)
{
	uint64_t word = 0;
	unsigned shift = 0;

	do {
		word |= (uint64_t)(bytes[*at] & 127) << shift;
		shift += 7;
	} while (bytes[(*at)++] & 128);
	return (int64_t)(word >> 1 ^ -(word & 1));
}

/* Columns of every length are decoded correctly, including the largest floats and integers. */
static void
test_columns(void **state)
{
	static const int64_t integers[] = {
		0, 1, -1, 63, 64, -65, 300000, 300001, 7, INT32_MAX, 0, INT64_MAX, -12, 5};
	static const double numbers[] = {0, 1, 0.1, -2.5, 1e30, 1e300};
	const size_t integer_count = sizeof(integers) / sizeof(integers[0]);
	const size_t number_count = sizeof(numbers) / sizeof(numbers[0]);

	(void)state;
	for (size_t count = 0; count <= integer_count; count++) {
		unsigned char bytes[256];
		char *text = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);
		struct th_page_column column;

		th_page_column_begin(&column, file, "{", "first", "integer");
		for (size_t i = 0; i < count; i++)
			th_page_column_add_integer(&column, integers[i]);
		th_page_column_end(&column);
		th_page_column_begin(&column, file, ",", "second", "float");
		for (size_t i = 0; i < count && i < number_count; i++)
			th_page_column_add_float(&column, numbers[i]);
		th_page_column_end(&column);
		fputs("}", file);
		fclose(file);
		json_t *root = json_loads(text, 0, NULL);
		assert_non_null(root);
		size_t size = column_bytes(
			json_object_get(json_object_get(root, "first"), "integers"), bytes);
		uint64_t value = 0;
		size_t at = 0;
		for (size_t i = 0; i < count; i++) {
			value += (uint64_t)next_difference(bytes, &at);
			assert_int_equal(value, (uint64_t)integers[i]);
		}
		assert_int_equal(at, size);
		size = column_bytes(
			json_object_get(json_object_get(root, "second"), "floats"), bytes);
		assert_int_equal(size, 4 * (count < number_count ? count : number_count));
		for (size_t i = 0; 4 * i < size; i++) {
			float read;

			memcpy(&read, bytes + 4 * i, sizeof(read));
			assert_true(read == (float)fmin(numbers[i], FLT_MAX));
		}
		json_decref(root);
		free(text);
	}
}

static double
sum_of_cells(const struct th_time_slices *cells, uint32_t from, uint32_t to)
{
	double sum = 0;

	for (size_t i = 0; i < cells->items_count; i++) {
		const struct th_time_slice *cell = &cells->items[i];

		if (cell->birth >= from && cell->birth < to)
			sum += (double)cell->bytes;
	}
	return sum;
}

/* Three blocks of 100 ms; one is freed in the last quarter. */
static void
test_cells(void **state)
{
	const uint64_t frame = th_frame_native(0, 0x10);
	struct log_builder log;
	struct shown shown;
	struct th_time_slices cells;

	(void)state;
	log_init(&log, 0);
	log_thread(&log, 1, "main");
	log_stack(&log, 1, &frame, 1);
	log_native(&log,
		(struct log_sample){
			.ms = 1, .size = 10, .thread_bytes = 10, .thread = 1, .stack = 1});
	uint64_t freed = log_native(&log,
		(struct log_sample){
			.ms = 30, .size = 20, .thread_bytes = 30, .thread = 1, .stack = 1});
	log_native(&log,
		(struct log_sample){
			.ms = 60, .size = 40, .thread_bytes = 70, .thread = 1, .stack = 1});
	log_free(&log, 90, freed);
	log_end(&log, 100);
	show(&shown, &log, NULL);
	th_time_slices_init(&cells, shown.profile, 4, 100);
	assert_int_equal(cells.slices, 4);
	assert_int_equal(cells.items_count, 3);
	assert_true(sum_of_cells(&cells, 0, 1) == 10);
	assert_true(sum_of_cells(&cells, 1, 2) == 20);
	assert_true(sum_of_cells(&cells, 2, 4) == 40);
	assert_int_equal(cells.items[1].death, 3);
	assert_int_equal(cells.items[2].death, TH_TIME_SLICE_NEVER);
	th_time_slices_deinit(&cells);
	/* Too many cells for the limit: the number of slices is halved until they fit. */
	th_time_slices_init(&cells, shown.profile, 4, 2);
	assert_true(cells.slices < 4);
	assert_true(sum_of_cells(&cells, 0, cells.slices) == 70);
	th_time_slices_deinit(&cells);
	show_end(&shown);
	log_deinit(&log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_many_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
