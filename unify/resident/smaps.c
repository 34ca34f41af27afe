/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping is a head line as in /proc/PID/maps and lines "Key:  N kB", some of which are used.
 * Keys begin with a capital letter, head lines with a hexadecimal digit in lower case.
 */
#include "unify/resident/smaps.h"

#include <errno.h>
#include <string.h>

#include "unify/base/proc_file.h"
#include "unify/base/system.h"

#define KIB 1024u

void
th_smaps_parser_init(struct th_smaps_parser *parser, th_smaps_visit *visit, void *data)
{
	*parser = (struct th_smaps_parser){.visit = visit, .data = data};
}

static void
give(struct th_smaps_parser *parser)
{
	if (parser->has_entry && !parser->is_stopped)
		parser->is_stopped = !parser->visit(&parser->entry, parser->data);
	parser->has_entry = false;
}

/* Head lines: START-END rwxp OFFSET MAJOR:MINOR INODE      PATH */

static void
read_permissions(struct th_smaps_entry *entry, const char *text)
{
	entry->is_readable = text[0] == 'r';
	entry->is_writable = text[1] == 'w';
	entry->is_accessible = memcmp(text, "---", 3) != 0;
	entry->is_shared = text[3] == 's';
}

static void
copy_path(struct th_smaps_entry *entry, const char *path)
{
	size_t length = strlen(path);
	size_t skip = length >= sizeof(entry->path) ? length - sizeof(entry->path) + 1 : 0;

	memcpy(entry->path, path + skip, length - skip + 1);
}

static bool
skip_char(const char **text, char c)
{
	bool is_there = **text == c;

	*text += is_there;
	return is_there;
}

static bool
read_head(struct th_smaps_entry *entry, const char *at)
{
	uint64_t start, end, device, inode;

	*entry = (struct th_smaps_entry){0};
	if (!th_proc_hexadecimal(&at, &start) || !skip_char(&at, '-') ||
		!th_proc_hexadecimal(&at, &end) || !skip_char(&at, ' ') || strlen(at) < 5)
		return false;
	entry->start = start;
	entry->end = end;
	read_permissions(entry, at);
	at += 4;
	if (!th_proc_hexadecimal(&at, &entry->offset) || !th_proc_hexadecimal(&at, &device) ||
		!skip_char(&at, ':') || !th_proc_hexadecimal(&at, &device) ||
		!th_proc_number(&at, &inode) || start >= end)
		return false;
	entry->has_file = inode != 0;
	while (*at == ' ')
		at++;
	copy_path(entry, at);
	return true;
}

/* Key lines */

static bool
has_key(const char *line, const char *key, const char **rest_ret)
{
	size_t length = strlen(key);

	*rest_ret = line + length;
	return !strncmp(line, key, length);
}

static void
read_key(struct th_smaps_entry *entry, const char *line)
{
	uint64_t *field = NULL;
	const char *rest;
	uint64_t kib;

	if (has_key(line, "Rss:", &rest))
		field = &entry->resident;
	else if (has_key(line, "Swap:", &rest))
		field = &entry->swapped;
	else if (has_key(line, "Anonymous:", &rest))
		field = &entry->anonymous;
	else if (has_key(line, "Private_Hugetlb:", &rest) ||
		 has_key(line, "Shared_Hugetlb:", &rest))
		field = &entry->huge;
	if (field && th_proc_number(&rest, &kib))
		*field += kib * KIB;
}

static void
take_line(struct th_smaps_parser *parser)
{
	parser->line[parser->line_length] = '\0';
	parser->line_length = 0;
	if (parser->line[0] >= 'A' && parser->line[0] <= 'Z') {
		if (parser->has_entry)
			read_key(&parser->entry, parser->line);
		return;
	}
	give(parser);
	parser->has_entry = read_head(&parser->entry, parser->line);
	parser->is_malformed = !parser->has_entry;
}

void
th_smaps_parser_feed(struct th_smaps_parser *parser, const char *text, size_t length)
{
	for (size_t i = 0; i < length && !parser->is_malformed; i++) {
		if (text[i] == '\n')
			take_line(parser);
		else if (parser->line_length < sizeof(parser->line) - 1)
			parser->line[parser->line_length++] = text[i];
	}
}

bool
th_smaps_parser_end(struct th_smaps_parser *parser)
{
	give(parser);
	return !parser->is_malformed && !parser->line_length;
}

bool
th_smaps_read(
	const char *path, char *buffer, size_t capacity, th_smaps_visit *visit, void *data)
{
	int saved_errno = errno;
	int descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC, 0);
	struct th_smaps_parser parser;
	size_t total = 0;
	size_t got;

	th_smaps_parser_init(&parser, visit, data);
	while (descriptor >= 0 && !parser.is_stopped &&
		(got = th_proc_file_chunk(descriptor, buffer, capacity)) > 0) {
		th_smaps_parser_feed(&parser, buffer, got);
		total += got;
	}
	if (descriptor >= 0)
		th_system_close(descriptor);
	errno = saved_errno;
	return th_smaps_parser_end(&parser) && total;
}
