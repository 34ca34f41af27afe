/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of libsymbols_fixture.so, which marks some of its instructions, and of copies of it:
 * stripped, with a debug file elsewhere, with another build id.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/symbols/address_index.h"
#include "report/symbols/names.h"
#include "report/symbols/module_files.h"
#include "report/symbols/symbols.h"

#ifndef TH_TEST_BUILD
#	define TH_TEST_BUILD "build"
#endif

#if defined(__aarch64__)
#	define OBJCOPY_OF_THIS_MACHINE "aarch64-linux-gnu-objcopy"
#else
#	define OBJCOPY_OF_THIS_MACHINE "x86_64-linux-gnu-objcopy"
#endif

struct mark { /* as in libsymbols_fixture.cpp */
	uintptr_t address;
	uint64_t line;
	uint64_t number;
};

enum { MARK_INLINED = 1, MARK_METHOD, MARK_STATIC, MARK_PLAIN, MARK_COUNT };

static struct {
	char directory[64]; /* for copies */
	char library[256];
	char build_id[TH_BUILD_ID_TEXT];
	uint64_t address[MARK_COUNT];
	uint32_t line[MARK_COUNT];
	bool has_objcopy;
} fixture;

/* Set-up */

__attribute__((format(printf, 1, 2))) static int
shell(const char *format, ...)
{
	char command[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command);
}

static void
read_marks(void)
{
	void *handle = dlopen(fixture.library, RTLD_NOW);
	const struct mark *(*find)(uint64_t);
	Dl_info info;

	assert_non_null(handle);
	*(void **)&find = dlsym(handle, "th_fixture_mark");
	assert_non_null(find);
	assert_int_not_equal(dladdr((void *)(uintptr_t)find, &info), 0);
	for (uint64_t i = MARK_INLINED; i < MARK_COUNT; i++) {
		fixture.address[i] = find(i)->address - (uintptr_t)info.dli_fbase;
		fixture.line[i] = (uint32_t)find(i)->line;
	}
	dlclose(handle);
}

static void
read_build_id(const char *path, char build_id_ret[TH_BUILD_ID_TEXT])
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(th_build_id_read(fileno(file), build_id_ret));
	fclose(file);
}

/* Whether `name` is an objcopy for this machine; sets $OBJCOPY. */
static bool
find_objcopy(const char *name)
{
	setenv("OBJCOPY", name, 1);
	return shell("$OBJCOPY --strip-all %s %s/probe.so 2>/dev/null", fixture.library,
		       fixture.directory) == 0;
}

static int
set_up(void **state)
{
	const char *build = getenv("TH_TEST_BUILD");

	(void)state;
	snprintf(fixture.library, sizeof(fixture.library),
		"%s/tests/programs/libsymbols_fixture.so",
		build != NULL ? build : TH_TEST_BUILD);
	strcpy(fixture.directory, "/tmp/test-symbols-XXXXXX");
	assert_non_null(mkdtemp(fixture.directory));
	read_marks();
	read_build_id(fixture.library, fixture.build_id);
	assert_int_equal(strlen(fixture.build_id), 40);
	fixture.has_objcopy = find_objcopy(OBJCOPY_OF_THIS_MACHINE) || find_objcopy("objcopy");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return shell("rm -r %s", fixture.directory);
}

static void
need_objcopy(void)
{
	if (!fixture.has_objcopy)
		skip();
}

static void
count_warning(void *data, const char *text)
{
	(void)text;
	++*(unsigned *)data;
}

/* One lookup in a separate cache; the result is valid until the next call. */
static const struct th_symbol *
look_up(const char *path, const char *build_id, uint64_t address, size_t *count_ret,
	unsigned *warnings_ret)
{
	static struct th_symbols *symbols;
	const struct th_symbol *frames;

	*warnings_ret = 0;
	th_symbols_destroy(symbols);
	symbols = th_symbols_create(count_warning, warnings_ret);
	*count_ret = th_symbols_lookup(symbols, path, build_id, address, &frames);
	return frames;
}

/* With debug information */

static void
assert_ends_with(const char *text, const char *end)
{
	assert_non_null(text);
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* The DWARF frames at the innermost mark, wherever the DWARF comes from. */
static void
assert_inlined_chain(const struct th_symbol *frames, size_t count)
{
	assert_int_equal(count, 3);
	assert_string_equal(frames[0].function, "shapes::innermost");
	assert_int_equal(frames[0].line, fixture.line[MARK_INLINED]);
	assert_ends_with(frames[0].file, "tests/programs/libsymbols_fixture.cpp");
	assert_true(frames[0].inlined);
	assert_string_equal(frames[1].function, "shapes::middle");
	assert_true(frames[1].inlined);
	assert_true(frames[1].line > frames[0].line);
	assert_string_equal(frames[2].function, "shapes::Box<long>::grow");
	assert_false(frames[2].inlined);
	assert_in_range(
		frames[2].line, fixture.line[MARK_METHOD] - 4, fixture.line[MARK_METHOD]);
	for (size_t i = 0; i < count; i++)
		assert_true(frames[i].is_named);
}

static void
test_inlined_functions_innermost_first(void **state)
{
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames = look_up(fixture.library, fixture.build_id,
		fixture.address[MARK_INLINED], &count, &warnings);

	(void)state;
	assert_inlined_chain(frames, count);
	assert_int_equal(warnings, 0);
}

static void
test_line_of_the_instruction_itself(void **state)
{
	static const char *const names[MARK_COUNT] = {[MARK_METHOD] = "shapes::Box<long>::grow",
		[MARK_STATIC] = "only_in_symtab",
		[MARK_PLAIN] = "th_fixture_plain"};

	(void)state;
	for (int i = MARK_METHOD; i < MARK_COUNT; i++) {
		size_t count;
		unsigned warnings;
		const struct th_symbol *frames = look_up(fixture.library, fixture.build_id,
			fixture.address[i], &count, &warnings);

		assert_int_equal(count, 1);
		assert_string_equal(frames[0].function, names[i]);
		assert_int_equal(frames[0].line, fixture.line[i]);
		assert_false(frames[0].inlined);
	}
}

static void
test_answers_are_remembered(void **state)
{
	struct th_symbols *symbols = th_symbols_create(NULL, NULL);
	const struct th_symbol *first, *other, *again;

	(void)state;
	th_symbols_lookup(symbols, fixture.library, fixture.build_id,
		fixture.address[MARK_PLAIN], &first);
	/* More than the first size of the table, so that it grows in between. */
	for (uint64_t address = 0; address < 5000; address++)
		th_symbols_lookup(symbols, fixture.library, fixture.build_id, address, &other);
	th_symbols_lookup(symbols, fixture.library, fixture.build_id,
		fixture.address[MARK_PLAIN], &again);
	assert_ptr_equal(first, again);
	assert_string_equal(again[0].function, "th_fixture_plain");
	th_symbols_destroy(symbols);
}

/* Stripped copies */

static void
test_dynamic_symbols_when_stripped(void **state)
{
	char path[128];
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames;

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/stripped.so", fixture.directory);
	assert_int_equal(shell("$OBJCOPY --strip-all %s %s", fixture.library, path), 0);
	frames = look_up(
		path, fixture.build_id, fixture.address[MARK_PLAIN], &count, &warnings);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, "th_fixture_plain");
	assert_int_equal(frames[0].line, 0);
	assert_null(frames[0].file);
	assert_int_equal(warnings, 0);
}

/* Not the nearest symbol before it: that would be the name of another function. */
static void
test_offset_when_nothing_names_it(void **state)
{
	char path[128], expected[64];
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames;

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/nameless.so", fixture.directory);
	assert_int_equal(shell("$OBJCOPY --strip-all %s %s", fixture.library, path), 0);
	frames = look_up(
		path, fixture.build_id, fixture.address[MARK_STATIC], &count, &warnings);
	snprintf(expected, sizeof(expected), "nameless.so+0x%llx",
		(unsigned long long)fixture.address[MARK_STATIC]);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, expected);
	assert_false(frames[0].is_named);
}

static void
test_symbol_table_without_debug_information(void **state)
{
	char path[128];
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames;

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/symtab.so", fixture.directory);
	assert_int_equal(shell("$OBJCOPY --strip-debug %s %s", fixture.library, path), 0);
	frames = look_up(
		path, fixture.build_id, fixture.address[MARK_STATIC], &count, &warnings);
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, "only_in_symtab");
	frames = look_up(
		path, fixture.build_id, fixture.address[MARK_METHOD], &count, &warnings);
	assert_string_equal(frames[0].function, "shapes::Box<long>::grow");
}

/* Makes NAME.so, stripped, and its debug file. */
static void
make_split(const char *name, const char *debug_file)
{
	assert_int_equal(shell("$OBJCOPY --only-keep-debug %s %s/%s && "
			       "$OBJCOPY --strip-all %s %s/%s.so",
				 fixture.library, fixture.directory, debug_file,
				 fixture.library, fixture.directory, name),
		0);
}

static void
test_debug_file_beside(void **state)
{
	static const char *const places[] = {"beside.so.debug", ".debug/beside.so.debug"};
	char path[128];

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/beside.so", fixture.directory);
	assert_int_equal(shell("mkdir %s/.debug", fixture.directory), 0);
	for (size_t i = 0; i < 2; i++) {
		size_t count;
		unsigned warnings;
		const struct th_symbol *frames;

		make_split("beside", places[i]);
		frames = look_up(path, fixture.build_id, fixture.address[MARK_INLINED], &count,
			&warnings);
		assert_inlined_chain(frames, count);
		assert_int_equal(shell("rm %s/%s", fixture.directory, places[i]), 0);
	}
}

/* Gives an ELF file another build id of the same length. */
static void
change_build_id(const char *path)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "r+");
	size_t length = fread(bytes, 1, sizeof(bytes), file);
	char id[20], text[3] = "";
	char *found;

	for (size_t i = 0; i < sizeof(id); i++) {
		memcpy(text, fixture.build_id + 2 * i, 2);
		id[i] = (char)strtoul(text, NULL, 16);
	}
	found = memmem(bytes, length, id, sizeof(id));
	assert_non_null(found);
	fseek(file, found - bytes, SEEK_SET);
	fputc(~*found, file);
	fclose(file);
}

static void
test_debug_file_of_another_build_is_not_used(void **state)
{
	char path[128], debug_path[160];
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames;

	(void)state;
	need_objcopy();
	make_split("other", "other.so.debug");
	snprintf(path, sizeof(path), "%s/other.so", fixture.directory);
	snprintf(debug_path, sizeof(debug_path), "%s.debug", path);
	change_build_id(debug_path);
	frames = look_up(
		path, fixture.build_id, fixture.address[MARK_INLINED], &count, &warnings);
	assert_int_equal(count, 1);
	assert_int_equal(frames[0].line, 0);
}

/* Without build ids the checksum of .gnu_debuglink decides. */
static void
test_debug_link_checksum(void **state)
{
	char path[128];
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames;

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/linked.so", fixture.directory);
	assert_int_equal(shell("cd %s && $OBJCOPY -R .note.gnu.build-id %s whole.so && "
			       "$OBJCOPY --only-keep-debug whole.so special.dbg && "
			       "$OBJCOPY --strip-all --add-gnu-debuglink=special.dbg whole.so "
			       "linked.so && "
			       "rm whole.so",
				 fixture.directory, fixture.library),
		0);
	frames = look_up(path, "", fixture.address[MARK_INLINED], &count, &warnings);
	assert_inlined_chain(frames, count);
	assert_int_equal(shell("echo >>%s/special.dbg", fixture.directory), 0);
	frames = look_up(path, "", fixture.address[MARK_INLINED], &count, &warnings);
	assert_int_equal(count, 1);
	assert_int_equal(frames[0].line, 0);
}

/* Changed and missing files */

#define OTHER_BUILD_ID "00112233445566778899aabbccddeeff00112233"

static void
test_changed_module_is_not_used_and_said_once(void **state)
{
	unsigned warnings = 0;
	struct th_symbols *symbols = th_symbols_create(count_warning, &warnings);
	const struct th_symbol *frames;

	(void)state;
	for (int i = MARK_INLINED; i < MARK_COUNT; i++) {
		assert_int_equal(th_symbols_lookup(symbols, fixture.library, OTHER_BUILD_ID,
					 fixture.address[i], &frames),
			1);
		assert_int_equal(
			strncmp(frames[0].function, "libsymbols_fixture.so+0x", 24), 0);
		assert_false(frames[0].is_named);
	}
	assert_int_equal(warnings, 1);
	th_symbols_destroy(symbols);
}

/* A module recorded without a build id does not match one that has one. */
static void
test_build_id_appeared(void **state)
{
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames = look_up(
		fixture.library, NULL, fixture.address[MARK_PLAIN], &count, &warnings);

	(void)state;
	assert_false(frames[0].is_named);
	assert_int_equal(warnings, 1);
}

static void
test_missing_module(void **state)
{
	size_t count;
	unsigned warnings;
	const struct th_symbol *frames = look_up(
		"/nowhere/libgone.so", "1234", 0xabc, &count, &warnings);

	(void)state;
	assert_int_equal(count, 1);
	assert_string_equal(frames[0].function, "libgone.so+0xabc");
	assert_int_equal(warnings, 1);
}

/* Whether a cache that looked up a copy of the library is current after a command. */
static bool
is_current_after(const char *command)
{
	struct th_symbols *symbols = th_symbols_create(NULL, NULL);
	const struct th_symbol *frames;
	char path[160];

	snprintf(path, sizeof(path), "%s/copy.so", fixture.directory);
	th_symbols_lookup(
		symbols, path, fixture.build_id, fixture.address[MARK_PLAIN], &frames);
	assert_true(th_symbols_is_current(symbols));
	assert_int_equal(shell("cd %s && %s", fixture.directory, command), 0);
	bool is_current = th_symbols_is_current(symbols);
	th_symbols_destroy(symbols);
	return is_current;
}

static void
test_files_that_change_after_the_lookup(void **state)
{
	(void)state;
	need_objcopy();
	assert_int_equal(shell("cp %s %s/copy.so", fixture.library, fixture.directory), 0);
	/* Written to, replaced, removed, put there again. */
	assert_false(is_current_after("printf x >>copy.so"));
	assert_false(is_current_after("cp copy.so new.so && mv new.so copy.so"));
	assert_true(is_current_after("mv copy.so gone.so"));
	assert_false(is_current_after("cp gone.so copy.so"));
	/* The same for its debug file. */
	assert_int_equal(shell("cd %s && $OBJCOPY --only-keep-debug gone.so copy.so.debug && "
			       "$OBJCOPY --strip-all gone.so copy.so",
				 fixture.directory),
		0);
	assert_false(is_current_after("printf x >>copy.so.debug"));
	assert_true(is_current_after("rm copy.so.debug"));
}

static void
test_a_cache_of_too_many_answers_is_not_current(void **state)
{
	struct th_symbols *symbols = th_symbols_create(NULL, NULL);
	const struct th_symbol *frames;
	uint64_t address = 0;

	(void)state;
	for (; address < 1000; address++)
		th_symbols_lookup(symbols, "[vdso]", "", address, &frames);
	assert_true(th_symbols_is_current(symbols));
	for (; th_symbols_is_current(symbols); address++) {
		assert_in_range(address, 0, 1000000);
		th_symbols_lookup(symbols, "[vdso]", "", address, &frames);
	}
	th_symbols_destroy(symbols);
}

/* The module was replaced, but the debug file beside it is still that of the old one. */
static void
test_debug_file_of_a_replaced_module(void **state)
{
	unsigned warnings = 0;
	struct th_symbols *symbols = th_symbols_create(count_warning, &warnings);
	const struct th_symbol *frames;
	char path[128];
	size_t count;

	(void)state;
	need_objcopy();
	snprintf(path, sizeof(path), "%s/replaced.so", fixture.directory);
	assert_int_equal(shell("$OBJCOPY --only-keep-debug %s %s.debug && cp /proc/%d/exe %s",
				 fixture.library, path, (int)getpid(), path),
		0);
	count = th_symbols_lookup(
		symbols, path, fixture.build_id, fixture.address[MARK_INLINED], &frames);
	assert_inlined_chain(frames, count);
	assert_int_equal(warnings, 0);
	th_symbols_destroy(symbols);
}

static void
test_names_of_what_has_no_file(void **state)
{
	size_t count;
	unsigned warnings;

	(void)state;
	assert_string_equal(
		look_up("linux-vdso.so.1", "12", 5, &count, &warnings)->function, "[vdso]");
	assert_int_equal(warnings, 0);
	assert_string_equal(look_up("[vdso]", "12", 5, &count, &warnings)->function, "[vdso]");
	assert_string_equal(look_up(NULL, NULL, 0x1234, &count, &warnings)->function, "0x1234");
	assert_int_equal(count, 1);
	assert_int_equal(warnings, 0);
}

/* Files that are not ELF files, empty ones, and an ELF file truncated at every length. */
static void
test_damaged_files(void **state)
{
	char path[128];
	size_t count;
	unsigned warnings;

	(void)state;
	snprintf(path, sizeof(path), "%s/damaged.so", fixture.directory);
	assert_int_equal(shell(": >%s", path), 0);
	assert_false(look_up(path, "", 0x1100, &count, &warnings)->is_named);
	assert_false(look_up(fixture.directory, "", 0x1100, &count, &warnings)->is_named);
	assert_int_equal(shell("cp %s %s && chmod u+w %s", fixture.library, path, path), 0);
	for (off_t length = 20000; length > 0; length -= 61) {
		assert_int_equal(truncate(path, length), 0);
		look_up(path, fixture.build_id, fixture.address[MARK_INLINED], &count,
			&warnings);
		assert_true(count >= 1);
	}
}

/* Ranges */

static int64_t
find_value(const struct th_address_index *index, uint64_t address)
{
	const struct th_address_range *range = th_address_index_find(index, address);

	return range != NULL ? (int64_t)range->value : -1;
}

static void
test_innermost_range(void **state)
{
	struct th_address_index index = {0};

	(void)state;
	th_address_index_add(&index, 100, 200, 1, 0);
	th_address_index_add(&index, 120, 130, 2, 0);
	th_address_index_add(&index, 300, 310, 3, 0);
	th_address_index_add(&index, 300, 310, 4, 1); /* the same extent, a better name */
	th_address_index_add(&index, 100, 150, 5, 0);
	th_address_index_sort(&index);
	assert_int_equal(find_value(&index, 99), -1);
	assert_int_equal(find_value(&index, 100), 5);
	assert_int_equal(find_value(&index, 120), 2);
	assert_int_equal(find_value(&index, 130), 5);
	assert_int_equal(find_value(&index, 150), 1);
	assert_int_equal(find_value(&index, 199), 1);
	assert_int_equal(find_value(&index, 200), -1);
	assert_int_equal(find_value(&index, 305), 4);
	assert_int_equal(find_value(&index, 310), -1);
	th_address_index_deinit(&index);
}

static void
test_labels_reach_to_the_next_start(void **state)
{
	struct th_address_index index = {0}, limits = {0};

	(void)state;
	th_address_index_add(&limits, 0, 1000, 0, 0);
	th_address_index_sort(&limits);
	th_address_index_add(&index, 100, 200, 1, 0);
	th_address_index_add(&index, 150, 150, 2, 0); /* inside a function: no extent */
	th_address_index_add(&index, 200, 200, 3, 0);
	th_address_index_add(&index, 300, 350, 4, 0);
	th_address_index_add(&index, 900, 900, 5, 0); /* the last: to the end of the code */
	th_address_index_sort(&index);
	th_address_index_extend_labels(&index, &limits);
	assert_int_equal(find_value(&index, 160), 1);
	assert_int_equal(find_value(&index, 299), 3);
	assert_int_equal(find_value(&index, 300), 4);
	assert_int_equal(find_value(&index, 400), -1);
	assert_int_equal(find_value(&index, 999), 5);
	assert_int_equal(find_value(&index, 1000), -1);
	th_address_index_deinit(&index);
	th_address_index_deinit(&limits);
}

/* Names */

static void
test_display_names(void **state)
{
	static const char *const names[][2] = {
		/* C, versions, clones */
		{"malloc", "malloc"},
		{"malloc@@GLIBC_2.2.5", "malloc"},
		{"parse.constprop.0", "parse"},
		{"parse.part.3.cold", "parse"},
		{"main.main", "main.main"},
		/* C++: no parameters, no return type; those inside stay */
		{"_ZN6shapes3BoxIlE4growEi.isra.0", "shapes::Box<long>::grow"},
		{"_ZZ3fooiENKUliE_clEi", "foo(int)::{lambda(int)#1}::operator()"},
		{"_ZN1AlsIiEERS_RKT_", "A::operator<< <int>"},
		{"_ZN1AgtIiEEbRKT_", "A::operator><int>"},
		{"_ZN1AptEv", "A::operator->"},
		{"_ZNSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_"
		 "EE9push_"
		 "backERKS5_",
			"std::vector<std::string>::push_back"},
		/* Rust, both manglings; the hash is removed */
		{"_ZN4core3fmt5Write9write_str17h0123456789abcdefE",
			"core::fmt::Write::write_str"},
		{"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
			"<std::path::PathBuf>::new"},
		/* debug information of gcc */
		{"std::vector<int, std::allocator<int> >::push_back",
			"std::vector<int>::push_back"},
		/* damaged or empty */
		{"", ""},
		{"_Z", "_Z"},
		{"_R", "_R"},
		{"_ZN", "_ZN"},
		{"@", "@"},
		{".cold", ".cold"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *display = th_demangle(names[i][0]);

		assert_string_equal(display, names[i][1]);
		free(display);
	}
}

/* Each level of this name doubles the text; the full text would be 2^59 characters. */
static void
test_exploding_name_is_cut(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[4096] = "_Z1fI1PI1aS0_E";
	char *display;

	(void)state;
	for (unsigned i = 1; i < 36; i++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[i], digits[i]);
	strcat(name, "Evv");
	display = th_demangle(name);
	assert_int_equal(strncmp(display, "f<", 2), 0);
	assert_in_range(strlen(display), 1, 512);
	free(display);
}

static char *
repeat(const char *before, const char *what, unsigned times, const char *after)
{
	static char name[4096];

	strcpy(name, before);
	for (unsigned i = 0; i < times; i++)
		strcat(name, what);
	return strcat(name, after);
}

static void
test_long_names_are_abbreviated_from_the_inside(void **state)
{
	char *display;

	(void)state;
	display = th_demangle(repeat("_Z4mainI", "3BoxI20LongLongLongLongLongE", 40, "Evv"));
	assert_string_equal(display, repeat("main<Box<...>", ", Box<...>", 39, ">"));
	free(display);
	display = th_demangle(repeat("_Z4mainI", "3BoxI20LongLongLongLongLongE", 80, "Evv"));
	assert_string_equal(display, "main<...>");
	free(display);
	display = th_demangle(repeat("", "x", 1000, ""));
	assert_string_equal(display, repeat("", "x", 509, "..."));
	free(display);
}

/* Every truncation and change of a valid name. */
static void
test_garbage_does_no_harm(void **state)
{
	static const char valid[] = "_ZNSt6vectorIN6shapes3BoxIlEESaIS2_EE4growIJRKiEEEvDpOT_";
	char name[sizeof(valid)];

	(void)state;
	free(th_demangle("_RNvC0mycrate3foo")); /* a crate without a name */
	for (size_t at = 0; at < sizeof(valid) - 1; at++) {
		for (int c = 0; c < 256; c++) {
			char *display;

			memcpy(name, valid, sizeof(valid));
			name[at] = (char)c;
			display = th_demangle(name);
			assert_in_range(strlen(display), 0, 512);
			free(display);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_functions_innermost_first),
		cmocka_unit_test(test_line_of_the_instruction_itself),
		cmocka_unit_test(test_answers_are_remembered),
		cmocka_unit_test(test_dynamic_symbols_when_stripped),
		cmocka_unit_test(test_offset_when_nothing_names_it),
		cmocka_unit_test(test_symbol_table_without_debug_information),
		cmocka_unit_test(test_debug_file_beside),
		cmocka_unit_test(test_debug_file_of_another_build_is_not_used),
		cmocka_unit_test(test_debug_link_checksum),
		cmocka_unit_test(test_changed_module_is_not_used_and_said_once),
		cmocka_unit_test(test_files_that_change_after_the_lookup),
		cmocka_unit_test(test_a_cache_of_too_many_answers_is_not_current),
		cmocka_unit_test(test_build_id_appeared),
		cmocka_unit_test(test_missing_module),
		cmocka_unit_test(test_debug_file_of_a_replaced_module),
		cmocka_unit_test(test_names_of_what_has_no_file),
		cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_labels_reach_to_the_next_start),
		cmocka_unit_test(test_display_names),
		cmocka_unit_test(test_exploding_name_is_cut),
		cmocka_unit_test(test_long_names_are_abbreviated_from_the_inside),
		cmocka_unit_test(test_garbage_does_no_harm),
		cmocka_unit_test(test_innermost_range),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
