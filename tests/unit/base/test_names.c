/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of views: Java names, formatted numbers, the map, text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/base/format.h"
#include "report/base/id_map.h"
#include "report/base/log_text.h"
#include "report/base/nearest.h"
#include "report/base/terminal.h"
#include "report/symbols/java_names.h"

static void
expect_class(const char *signature, const char *expected)
{
	const struct th_java_families none = {0};
	char *name = th_java_class_name(&none, th_text_of(signature));

	assert_string_equal(name, expected);
	free(name);
}

static void
test_class_names(void **state)
{
	(void)state;
	expect_class("Ljava/lang/String;", "java.lang.String");
	expect_class("[B", "byte[]");
	expect_class("[[J", "long[][]");
	expect_class("[Ljava/lang/Object;", "java.lang.Object[]");
	expect_class("LMain;", "Main");
	expect_class("Lapp/Outer$Inner;", "app.Outer$Inner");
	expect_class("Lapp/Class1;", "app.Class1");
	/* Invalid signatures are returned readable, without a crash. */
	expect_class("", "");
	expect_class("[", "[]");
	expect_class("L;", "");
	expect_class("nonsense", "nonsense");
	expect_class("X", "X");
}

static void
test_generated_classes(void **state)
{
	(void)state;
	/* JDK 11, 17, 21 and 25 in turn, as GetClassSignature spells them. */
	expect_class("Lapp/Foo$$Lambda$14/240237500;", "app.Foo$$Lambda");
	expect_class("Lapp/Foo$$Lambda$14/0x0000000840066840;", "app.Foo$$Lambda");
	expect_class("Lapp/Foo$$Lambda$14.0x0000000800c03000;", "app.Foo$$Lambda");
	expect_class("Lapp/Foo$$Lambda.0x000075d4b4001000;", "app.Foo$$Lambda");
	expect_class("[Lapp/Foo$$Lambda+0x000075d4b4001000;", "app.Foo$$Lambda[]");
	expect_class("Ljava/lang/invoke/LambdaForm$MH.0x0000000800c03000;",
		"java.lang.invoke.LambdaForm$MH");
	expect_class("Ljdk/internal/reflect/GeneratedMethodAccessor12;",
		"jdk.internal.reflect.GeneratedMethodAccessor");
	/* Names that only look like these. */
	expect_class("Lapp/face;", "app.face");
	expect_class("Lapp/Foo$1;", "app.Foo$1");
	expect_class("Lapp/V2;", "app.V2");
}

static void
add_classes(struct th_java_families *families, const char *format, int count)
{
	char signature[64];

	for (int i = 0; i < 2 * count; i++) {
		snprintf(signature, sizeof(signature), format, i % count);
		th_java_families_add(families, th_text_of(signature));
	}
}

static void
expect_member(const struct th_java_families *families, const char *signature,
	const char *expected, const char *file, const char *expected_file)
{
	char *name = th_java_class_name(families, th_text_of(signature));
	char *file_name = th_java_file_name(families, th_text_of(signature), th_text_of(file));

	assert_string_equal(name, expected);
	assert_string_equal(file_name, expected_file);
	free(name);
	free(file_name);
}

/* Classes that differ in the number of their outermost class alone are one from 64 on. */
static void
test_families(void **state)
{
	struct th_java_families families = {0};

	(void)state;
	add_classes(&families, "LScript%d;", 64);
	add_classes(&families, "[Lapp/Script%d$run;", 70);
	add_classes(&families, "Ljdk/proxy2/$Proxy%d;", 100);
	add_classes(&families, "Lscala/Tuple%d;", 63);
	add_classes(&families, "Lapp/Foo$%d;", 100);
	expect_member(&families, "LScript12;", "Script#", "Script12.groovy", "Script#.groovy");
	expect_member(&families, "LScript7;", "Script#", "Script12.groovy", "Script12.groovy");
	expect_member(&families, "LScript1234;", "Script#", "", "");
	expect_member(&families, "[[Lapp/Script12$run;", "app.Script#$run[][]",
		"Script12.groovy", "Script#.groovy");
	expect_member(&families, "Ljdk/proxy2/$Proxy7;", "jdk.proxy2.$Proxy#", "$", "$");
	expect_member(&families, "Lscala/Tuple22;", "scala.Tuple22", "Tuple22.scala",
		"Tuple22.scala");
	expect_member(&families, "Lapp/Foo$12;", "app.Foo$12", "Foo.java", "Foo.java");
	expect_member(&families, "Script12", "Script#", "Script12", "Script#");
	expect_member(&families, "[B", "byte[]", "", "");
	th_java_families_deinit(&families);
}

static void
test_method_name(void **state)
{
	const struct th_java_families none = {0};
	char *name = th_java_method_name(&none, th_text_of("Lapp/Main;"), th_text_of("<init>"));

	(void)state;
	assert_string_equal(name, "app.Main.<init>");
	free(name);
}

static void
expect_number(double value, enum th_unit unit, const char *expected)
{
	assert_string_equal(th_format_number(value, unit).text, expected);
}

static void
test_numbers(void **state)
{
	(void)state;
	expect_number(0, TH_UNIT_BYTES, "0 B");
	expect_number(999, TH_UNIT_BYTES, "999 B");
	expect_number(1000, TH_UNIT_BYTES, "0.98 KiB");
	expect_number(1024, TH_UNIT_BYTES, "1.00 KiB");
	expect_number(524288, TH_UNIT_BYTES, "512 KiB");
	expect_number(1.5 * 1024 * 1024 * 1024, TH_UNIT_BYTES, "1.50 GiB");
	expect_number(0x1p80, TH_UNIT_BYTES, "1048576 EiB");
	expect_number(12, TH_UNIT_OBJECTS, "12");
	expect_number(1.25, TH_UNIT_OBJECTS, "1.25");
	expect_number(999.7, TH_UNIT_OBJECTS, "1.00 k");
	expect_number(4560000, TH_UNIT_OBJECTS, "4.56 M");
	assert_string_equal(th_format_count(0).text, "0");
	assert_string_equal(th_format_count(1234567).text, "1,234,567");
	assert_string_equal(th_format_count(123).text, "123");
	assert_string_equal(th_format_seconds(12.34).text, "12.3 s");
	assert_string_equal(th_format_seconds(184).text, "3 min 04 s");
	assert_string_equal(th_format_seconds(3720).text, "1 h 02 min");
}

static void
test_shares_and_intervals(void **state)
{
	(void)state;
	assert_string_equal(th_format_share(1, 2).text, "50.0 %");
	assert_string_equal(th_format_share(1, 100).text, "1.00 %");
	assert_string_equal(th_format_share(1, 1e6).text, "<0.01 %");
	assert_string_equal(th_format_share(0, 2).text, "0.0 %");
	assert_string_equal(th_format_share(1, 0).text, "-");
	assert_string_equal(
		th_format_interval(2048, 1024 * 1024, TH_UNIT_BYTES).text, "0.00 .. 1.00 MiB");
}

static void
test_cut(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	(void)state;
	th_format_cut(file, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5);
	th_format_cut(file, "|short", 20);
	fclose(file);
	assert_string_equal(text, "\xc3\xa9...\xc3\xa9|short");
	free(text);
}

/* Times are printed as --at takes them: without an exponent. */
static void
test_times(void **state)
{
	(void)state;
	assert_string_equal(th_format_time(0).text, "0");
	assert_string_equal(th_format_time(0.05).text, "0.05");
	assert_string_equal(th_format_time(8.1).text, "8.1");
	assert_string_equal(th_format_time(10.238).text, "10.238");
	assert_string_equal(th_format_time(10.2384567).text, "10.24");
	assert_string_equal(th_format_time(100).text, "100");
	assert_string_equal(th_format_time(3600).text, "3600");
	assert_string_equal(th_format_time(99999).text, "99999");
	assert_string_equal(th_format_time(12345.678).text, "12345.678");
	assert_string_equal(th_format_time(1e300).text, "1000000000000000");
}

static const char *
nearest(const char *word)
{
	static const char *const known[] = {"summary", "tree", "leaks", "flamegraph", "diff"};
	struct th_nearest found;

	th_nearest_init(&found, word);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		th_nearest_offer(&found, known[i]);
	return found.found ? found.found : "";
}

static void
test_nearest(void **state)
{
	(void)state;
	assert_string_equal(nearest("leak"), "leaks");
	assert_string_equal(nearest("laeks"), "leaks");
	assert_string_equal(nearest("flame"), "flamegraph");
	assert_string_equal(nearest("flamgraf"), "flamegraph");
	assert_string_equal(nearest("sumary"), "summary");
	assert_string_equal(nearest("dif"), "diff");
	/* Neither too far nor too short. */
	assert_string_equal(nearest("top"), "");
	assert_string_equal(nearest("t"), "");
	/* An option of another command. */
	assert_string_equal(nearest("tree"), "");
	assert_string_equal(nearest("a_word_that_is_longer_than_any_known"), "");
}

/* A terminal of 40 columns. */
static FILE *
open_terminal(int *master_ret)
{
	const struct winsize size = {.ws_row = 24, .ws_col = 40};
	int slave;

	assert_int_equal(openpty(master_ret, &slave, NULL, NULL, &size), 0);
	return fdopen(slave, "w");
}

/* Lines are wrapped below the text after a label; paths and what fits stay whole. */
static void
test_fit(void **state)
{
	char text[1024];
	int master;
	FILE *terminal = open_terminal(&master);
	FILE *file = th_terminal_fit(terminal, th_terminal_columns(terminal));

	(void)state;
	assert_ptr_not_equal(file, terminal);
	assert_int_equal(th_terminal_columns(file), 40);
	fputs("it fits, with its   blanks, to the edge\n", file);
	fputs("leak     a title that is longer than one line\n", file);
	fputs("  a sentence that is longer than one line\n", file);
	fputs("\033[1;31mcolors have no columns in a line\033[0m, none\n", file);
	fputs("a_word_of_the_kind_that_is_too_long_for_a_line\n", file);
	fputs("  a command with its log is whole /tmp/twinheap.thl\n", file);
	fputs("the end of the text, without a line feed of its own", file);
	th_terminal_fitted(file);
	fclose(terminal);
	size_t length = 0;
	ssize_t count;
	/* The end is an error, since the terminal is closed. */
	while ((count = read(master, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)count;
	text[length] = '\0';
	assert_string_equal(text, "it fits, with its   blanks, to the edge\r\n"
				  "leak     a title that is longer than one\r\n"
				  "         line\r\n"
				  "  a sentence that is longer than one\r\n"
				  "    line\r\n"
				  "\033[1;31mcolors have no columns in a line\033[0m, none\r\n"
				  "a_word_of_the_kind...too_long_for_a_line\r\n"
				  "  a command with its log is whole /tmp/twinheap.thl\r\n"
				  "the end of the text, without a line feed\r\n"
				  "  of its own");
	close(master);
}

/* In a file nothing is changed. */
static void
test_fit_of_a_file(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	assert_ptr_equal(th_terminal_fit(file, th_terminal_columns(file)), file);
	assert_ptr_equal(th_terminal_fitted(file), file);
	assert_true(th_terminal_room(file, 50, 20) > 1000);
	fclose(file);
}

/* Numbers are assigned from 0 in the order of first occurrence, across all enlargements. */
static void
test_map(void **state)
{
	struct th_id_map map = {0};
	bool added;

	(void)state;
	assert_int_equal(th_id_map_find(&map, 5), TH_ID_MAP_NONE);
	for (uint64_t word = 0; word < 10000; word++) {
		assert_int_equal(th_id_map_intern(&map, word << 48, &added), word);
		assert_true(added);
	}
	for (uint64_t word = 0; word < 10000; word++) {
		assert_int_equal(th_id_map_intern(&map, word << 48, &added), word);
		assert_false(added);
		assert_int_equal(th_id_map_find(&map, word << 48), word);
	}
	assert_int_equal(th_id_map_find(&map, 1), TH_ID_MAP_NONE);
	th_id_map_deinit(&map);
}

static void
test_strings(void **state)
{
	struct th_strings strings;

	(void)state;
	th_strings_init(&strings);
	assert_int_equal(th_strings_intern(&strings, ""), 0);
	uint32_t number = th_strings_intern(&strings, "one");
	assert_int_not_equal(number, th_strings_intern(&strings, "two"));
	assert_int_equal(number, th_strings_intern_text(&strings, th_text_of("one")));
	assert_string_equal(th_strings_get(&strings, number), "one");
	assert_int_equal(th_strings_find(&strings, "one"), number);
	assert_int_equal(th_strings_find(&strings, "three"), TH_NO_STRING);
	th_strings_deinit(&strings);
}

static void
test_clean_text(void **state)
{
	static const struct {
		const char *dirty;
		const char *clean;
	} cases[] = {
		{"plain", "plain"},
		{"a\tb\x7f", "a b "},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
			"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc2\x85", "\xef\xbf\xbd"}, /* C1 control */
		{"\xc0\x80", "\xef\xbf\xbd"}, /* overlong, Java's NUL */
		{"\xed\xa0\xbd\xed\xb8\x80", "\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogates */
		{"\xe2\x82", "\xef\xbf\xbd"},                             /* cut off */
		{"\xff!", "\xef\xbf\xbd!"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *clean = th_text_clean(th_text_of(cases[i].dirty));

		assert_string_equal(clean, cases[i].clean);
		free(clean);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class_names),
		cmocka_unit_test(test_generated_classes),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_method_name),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_shares_and_intervals),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_fit_of_a_file),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_clean_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
