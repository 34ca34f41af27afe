/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is "0xOFFSET NAME FIELD=VALUE ...", texts in quotes.  The text is kept unchanged: only
 * the current line ends with a NUL.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

void
th_dump_init(struct th_dump *dump, const char *log)
{
	memset(dump, 0, sizeof(*dump));
	dump->text = th_command_output(TH_WORDS(TH_TOOL, "dump", log));
	th_dump_rewind(dump);
}

void
th_dump_deinit(struct th_dump *dump)
{
	free(dump->text);
	memset(dump, 0, sizeof(*dump));
}

static void
leave_line(struct th_dump *dump)
{
	if (dump->line && dump->rest > dump->line && dump->rest[-1] == '\0')
		dump->rest[-1] = '\n';
	dump->line = NULL;
}

void
th_dump_rewind(struct th_dump *dump)
{
	leave_line(dump);
	dump->rest = dump->text;
}

/* Whether `line` is an event of that name. */
static bool
is_event(const char *line, const char *event)
{
	size_t length = strlen(event);
	const char *name = strncmp(line, "0x", 2) == 0 ? strchr(line, ' ') : NULL;

	return name && strncmp(name + 1, event, length) == 0 && name[length + 1] == ' ';
}

bool
th_dump_next(struct th_dump *dump, const char *event)
{
	leave_line(dump);
	while (*dump->rest) {
		char *line = dump->rest;
		size_t length = strcspn(line, "\n");

		dump->rest = line + length + (line[length] == '\n');
		if (!is_event(line, event))
			continue;
		dump->line = line;
		line[length] = '\0';
		return true;
	}
	return false;
}

/* The value of a field of the current event; NULL: no such field. */
static const char *
find_field(const struct th_dump *dump, const char *field)
{
	char *key = th_format(" %s=", field);
	const char *at = strstr(dump->line, key);

	at = at ? at + strlen(key) : NULL;
	free(key);
	return at;
}

uint64_t
th_dump_number(const struct th_dump *dump, const char *field)
{
	const char *at = find_field(dump, field);

	if (!at)
		fail_msg("no field %s in: %s", field, dump->line);
	return strtoull(at, NULL, 0);
}

bool
th_dump_has_text(const struct th_dump *dump, const char *field, const char *text)
{
	const char *at = find_field(dump, field);
	size_t length = strlen(text);

	return at && at[0] == '"' && strncmp(at + 1, text, length) == 0 &&
	       at[length + 1] == '"';
}

size_t
th_dump_count(struct th_dump *dump, const char *event)
{
	size_t count = 0;

	th_dump_rewind(dump);
	while (th_dump_next(dump, event))
		count++;
	th_dump_rewind(dump);
	return count;
}

uint64_t
th_dump_counter(struct th_dump *dump, const char *name)
{
	char *wanted = th_format("\"%s\" = ", name);
	const char *found = NULL;

	th_dump_rewind(dump);
	while (!found && th_dump_next(dump, "counter"))
		found = strstr(dump->line, wanted);
	if (!found)
		fail_msg("no counter %s", name);
	uint64_t value = strtoull(found + strlen(wanted), NULL, 10);
	th_dump_rewind(dump);
	free(wanted);
	return value;
}

static size_t
count_lines(const struct th_dump *dump, const char *start)
{
	size_t count = 0;

	for (const char *at = dump->text; (at = strstr(at, start)); at++)
		count += at == dump->text || at[-1] == '\n';
	return count;
}

size_t
th_dump_torn(const struct th_dump *dump)
{
	return count_lines(dump, "-- a record that was never finished\n");
}

size_t
th_dump_damaged(const struct th_dump *dump)
{
	return count_lines(dump, "-- damage\n");
}

bool
th_dump_is_complete(const struct th_dump *dump)
{
	size_t first_line = strcspn(dump->text, "\n");
	const char *found = strstr(dump->text, ", complete, ");

	return found && (size_t)(found - dump->text) < first_line;
}
