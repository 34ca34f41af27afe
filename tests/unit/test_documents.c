/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the documents refer to is there: every relative link leads to a file, every anchor to a
 * heading, every row of a table belongs to one, and the tests named in a row exist.
 *
 * Read are README.md, CHANGELOG.md, CONTRIBUTING.md, and all *.md below docs, bench, examples and
 * tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fewer documents mean that they were not found. */
#define LEAST_DOCUMENTS 25

static unsigned documents;
static unsigned faults;

static void
fault(const char *path, const char *what, const char *where, size_t length)
{
	print_error("%s: %s: %.*s\n", path, what, (int)length, where);
	faults++;
}

/* The caller frees it. */
static char *
read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t length = 0;

	assert_non_null(file);
	if (getdelim(&text, &length, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	assert_non_null(text);
	fclose(file);
	return text;
}

static const char *
end_of_line(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *
next_line(const char *line)
{
	const char *end = end_of_line(line);

	return *end ? end + 1 : end;
}

/*
 * Whether a heading has this anchor: in lower case, without punctuation, with hyphens for spaces
 * (names are compared up to 255 bytes).
 */
static bool
is_heading(const char *line, const char *anchor, size_t length)
{
	char made[256];
	size_t used = 0;
	const char *end = end_of_line(line);

	if (*line != '#')
		return false;
	line += strspn(line, "#");
	line += strspn(line, " ");
	for (; line < end && used < sizeof(made); line++) {
		if (*line == ' ')
			made[used++] = '-';
		else if (isalnum((unsigned char)*line) || *line == '-' || *line == '_')
			made[used++] = (char)tolower((unsigned char)*line);
	}
	return used == length && !strncmp(made, anchor, length);
}

static bool
has_anchor(const char *path, const char *anchor, size_t length)
{
	char *text = read_file(path);
	bool found = false;

	for (const char *line = text; *line && !found; line = next_line(line))
		found = is_heading(line, anchor, length);
	free(text);
	return found;
}

/* A link that stands in the document at `path`: "file", "file#anchor" or "#anchor". */
static void
check_link(const char *path, const char *link, size_t length)
{
	char target[PATH_MAX];
	size_t file_length = strcspn(link, "#)");
	const char *slash = strrchr(path, '/');

	if (!strncmp(link, "http://", 7) || !strncmp(link, "https://", 8))
		return;
	if (file_length)
		snprintf(target, sizeof(target), "%.*s/%.*s", (int)(slash - path), path,
			(int)file_length, link);
	else
		snprintf(target, sizeof(target), "%s", path);
	if (access(target, F_OK))
		fault(path, "no such file", link, length);
	else if (file_length < length &&
		 !has_anchor(target, link + file_length + 1, length - file_length - 1))
		fault(path, "no such heading", link, length);
}

static void
check_links(const char *path, const char *line)
{
	const char *end = end_of_line(line);

	while ((line = strstr(line, "](")) && line < end) {
		line += 2;
		check_link(path, line, strcspn(line, ")\n"));
	}
}

/* Tests */

/* A test program: "test_host" is tests/e2e/test_host.c.  NULL: there is none. */
static char *
read_test(const char *name, size_t length)
{
	static const char *const folders[] = {"*", "*/*"};
	char *text = NULL;

	for (size_t i = 0; i < 2 && !text; i++) {
		char pattern[PATH_MAX];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "%s/tests/%s/%.*s.c", TH_TEST_SOURCE,
			folders[i], (int)length, name);
		if (!glob(pattern, 0, NULL, &found))
			text = read_file(found.gl_pathv[0]);
		globfree(&found);
	}
	return text;
}

/* Functions of a test program, named before `end`: words that contain an underscore. */
static void
check_functions(const char *path, const char *text, const char *word, const char *end)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

	for (; word < end; word += strcspn(word, letters)) {
		size_t length = strspn(word, letters);
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)length, word);
		if (strchr(name, '_') && !strstr(text, name))
			fault(path, "no such function of the test", word, length);
		word += length;
	}
}

/* In a row: "`test_host` user_locks_all_memory, root_locks_all_memory". */
static void
check_tests(const char *path, const char *line)
{
	const char *end = end_of_line(line);

	while ((line = strstr(line, "`test_")) && line < end) {
		size_t length = strcspn(++line, "`");
		char *text = read_test(line, length);

		if (text)
			check_functions(path, text, line + length,
				line + length + 1 + strcspn(line + length + 1, "`|\n"));
		else
			fault(path, "no such test", line, length);
		free(text);
		line += length;
	}
}

static bool
is_row(const char *line)
{
	return *line == '|';
}

/* The line below a table's head. */
static bool
is_rule(const char *line)
{
	return is_row(line) && strspn(line, "|-: ") == strcspn(line, "\n");
}

static void
check_document(const char *path)
{
	char *text = read_file(path);
	bool is_code = false;
	bool was_row = false;

	for (const char *line = text; *line; line = next_line(line)) {
		if (!strncmp(line, "```", 3))
			is_code = !is_code;
		if (is_code)
			continue;
		check_links(path, line);
		if (is_row(line) && !was_row && !is_rule(next_line(line)))
			fault(path, "a row without a table", line, strcspn(line, "\n"));
		was_row = is_row(line);
		if (was_row)
			check_tests(path, line);
	}
	free(text);
}

static int
visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
	size_t length = strlen(path);

	(void)status;
	(void)where;
	if (type == FTW_F && length > 3 && !strcmp(path + length - 3, ".md")) {
		check_document(path);
		documents++;
	}
	return 0;
}

static void
test_links_and_tables(void **state)
{
	static const char *const roots[] = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md",
		"docs", "bench", "examples", "tests"};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", TH_TEST_SOURCE, roots[i]);
		assert_int_equal(nftw(path, visit, 16, FTW_PHYS), 0);
	}
	assert_true(documents >= LEAST_DOCUMENTS);
	assert_int_equal(faults, 0);
}

/* That the check can fail: what it has to find. */
static void
test_what_is_found(void **state)
{
	char path[] = "/tmp/twinheap-documents-XXXXXX.md";
	int file = mkstemps(path, 3);
	static const char text[] =
		"# The log's file\n\n"
		"[a](#the-logs-file) [b](#the-log-s-file) [c](nowhere.md)\n\n"
		"| a |\n|---|\n| 1 |\n\n| 2 |\n\n"
		"| b |\n|---|\n| `test_nowhere`, `test_documents` main, is_row and no_"
		"row |\n\n"
		"```\n| no table | [d](nowhere.md)\n```\n";

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
	faults = 0;
	check_document(path);
	unlink(path);
	assert_int_equal(faults, 5);
	faults = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_found),
		cmocka_unit_test(test_links_and_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
