/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates docs/configuration.md from the table of settings, and checks that it is current.
 *
 *     test_configuration             fails if the document differs from the table
 *     TH_TEST_UPDATE=1 ...           writes it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/settings_table.h"

#define DOCUMENT TH_TEST_SOURCE "/docs/configuration.md"

struct setting {
	char letter;
	const char *option;
	const char *variable;
	enum th_setting_kind kind;
	enum th_setting_access access;
	const char *argument;
	const char *standard;
	uint64_t minimum;
	uint64_t maximum;
	const char *help;
};

static const struct setting settings[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, ...) \
	{letter, option, variable, TH_SETTING_##KIND, TH_SETTING_##ACCESS, __VA_ARGS__},
	TH_SETTINGS(S)
#undef S
};

static const char head[] =
	"# Configuration\n"
	"\n"
	"Every setting is an environment variable of the recorded process; `twinheap run` has "
	"an option\n"
	"for most of them, which counts before the variable.  Sizes take `k`, `M` and `G` "
	"(powers of\n"
	"1024).  The log contains the settings that a process was started with.\n"
	"\n"
	"| Option | Variable | Default | Meaning |\n"
	"|---|---|---|---|\n";

static const char tail[] =
	"\n"
	"`twinheap run` also sets `TWINHEAP_ROOT` to the process id of the command: without it "
	"a process\n"
	"takes itself for the command when its parent does not have the library preloaded; "
	"and\n"
	"`TWINHEAP_UNRECORDED` to a file in which a process that allocates some MiB and is not "
	"recorded\n"
	"notes its id, for the last lines of `run`.\n"
	"\n"
	"`twinheap ctl PID|LOG` changes a recording that runs: [control](control.md).\n";

/* A bar would end the cell. */
static void
print_cell(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			fputc('\\', file);
		fputc(*text == '\n' ? ' ' : *text, file);
	}
}

static void
print_row(FILE *file, const struct setting *setting)
{
	fputs("| ", file);
	if (setting->access == TH_SETTING_OPTION) {
		if (setting->letter)
			fprintf(file, "`-%c`, ", setting->letter);
		fprintf(file, "`--%s%s", setting->option, setting->argument[0] ? " " : "");
		print_cell(file, setting->argument);
		fputc('`', file);
	}
	fprintf(file, " | `%s` | ", setting->variable);
	if (setting->standard[0])
		fprintf(file, "`%s`", setting->standard);
	fputs(" | ", file);
	print_cell(file, setting->help);
	fputs(" |\n", file);
}

static char *
generate(void)
{
	char *text;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	fputs(head, file);
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access != TH_SETTING_RESERVED)
			print_row(file, &settings[i]);
	}
	fputs(tail, file);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void
write_document(const char *text)
{
	FILE *file = fopen(DOCUMENT, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void
document_is_what_the_table_gives(void **state)
{
	static char found[1 << 16];
	char *text = generate();

	(void)state;
	if (getenv("TH_TEST_UPDATE"))
		write_document(text);
	FILE *file = fopen(DOCUMENT, "r");
	if (!file)
		fail_msg("there is no " DOCUMENT);
	found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
	fclose(file);
	if (strcmp(found, text) != 0)
		fail_msg(DOCUMENT " is out of date; TH_TEST_UPDATE=1 writes it anew");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(document_is_what_the_table_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
