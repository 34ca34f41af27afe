/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of wanted frames in one walk over the directory. Only regular files are read,
 * and symbolic links are not followed: the directory is the user's, the names are the log's.
 */
#include "report/html/page.h"

#include <ctype.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/error.h"

/* Lines before and after the one of the frame, and the bytes shown of each. */
#define LINES_AROUND 3
#define LINE_MAX_BYTES 200
/* Frames of a finding from the allocation on, as on its card; findings; entries of the directory. */
#define FRAMES_MAX 40
#define FINDINGS_MAX 50
#define ENTRIES_MAX 500000

/* A frame with a file and a line. */
struct wanted {
	uint32_t frame;
	uint32_t line;
	char *path; /* as far as it is known: "gw/Gateway.java", "/build/x/blocks.c" */
	char *found;
	size_t agreement; /* bytes at the end of both paths, by whole names */
	bool is_ambiguous;
	bool is_java;
};

struct sources {
	struct th_page_names *names;
	TH_ARRAY(struct wanted, items);
};

/* The package of a Java method as a path, with the file: "a.b.C$D.run", "C.java": "a/b/C.java". */
static char *
java_path(const char *function, const char *file)
{
	const char *method = strrchr(function, '.');
	const char *class = method ? memrchr(function, '.', (size_t)(method - function)) : NULL;
	size_t length = class ? (size_t)(class - function) : 0;
	char *path = th_format_new("%.*s%s%s", (int)length, function, length ? "/" : "", file);

	for (size_t i = 0; i < length; i++)
		if (path[i] == '.')
			path[i] = '/';
	return path;
}

static void
want(struct sources *sources, uint32_t number)
{
	const struct th_frames *frames = sources->names->profile->frames;
	const struct th_frame *frame = th_frames_get(frames, number);
	const char *file = th_frames_string(frames, frame->file);

	if (!file[0] || !frame->line)
		return;
	for (size_t i = 0; i < sources->items_count; i++)
		if (sources->items[i].frame == number)
			return;
	struct wanted wanted = {
		.frame = number,
		.line = frame->line,
		.is_java = th_frames_kind(frames, number) == TH_KIND_JAVA,
	};
	wanted.path = wanted.is_java
			      ? java_path(
					th_frames_function_name(frames, frame->function), file)
			      : th_format_new("%s", file);
	th_array_append(sources, items, wanted);
}

static void
want_path(struct sources *sources, struct th_path path)
{
	uint32_t first = path.count > FRAMES_MAX ? path.count - FRAMES_MAX : 0;

	for (uint32_t i = first; i < path.count; i++)
		want(sources, path.frames[i]);
}

/* Findings that stopped growing are not explained by their source. */
static void
want_findings(struct sources *sources, const struct th_leaks *leaks)
{
	const struct th_tallies *tallies = &leaks->tallies;

	for (size_t i = 0; i < tallies->items_count && i < FINDINGS_MAX; i++)
		want_path(sources, th_paths_get(leaks->profile->paths, tallies->items[i].path));
	for (size_t i = 0; i < leaks->findings_count && i < FINDINGS_MAX; i++) {
		const struct th_listed *listed = &leaks->findings[i];
		const struct th_leak_site *place = &leaks->places.items[listed->place];

		if (listed->verdict <= TH_VERDICT_UNCLEAR && !place->internal)
			want_path(sources, th_leaks_path(leaks, place));
	}
}

/* Files */

static bool
is_at_name(const char *path, size_t at)
{
	return !at || path[at - 1] == '/';
}

/* The length of the equal ends of two paths, in whole names; 0 if the last names differ. */
static size_t
agreement_of(const char *a, const char *b)
{
	size_t a_left = strlen(a);
	size_t b_left = strlen(b);
	size_t length = 0;
	size_t whole = 0;

	while (a_left && b_left && a[a_left - 1] == b[b_left - 1]) {
		a_left--;
		b_left--;
		length++;
		if (is_at_name(a, a_left) && is_at_name(b, b_left))
			whole = length;
	}
	return whole;
}

static void
offer(struct sources *sources, const char *path)
{
	for (size_t i = 0; i < sources->items_count; i++) {
		struct wanted *wanted = &sources->items[i];

		size_t agreement = agreement_of(wanted->path, path);
		/* A class of another package is another class; binaries are built elsewhere. */
		size_t least = wanted->is_java ? strlen(wanted->path) : 1;

		if (agreement < least)
			continue;
		if (agreement == wanted->agreement)
			wanted->is_ambiguous = true;
		if (agreement <= wanted->agreement)
			continue;
		free(wanted->found);
		wanted->found = th_format_new("%s", path);
		wanted->agreement = agreement;
		wanted->is_ambiguous = false;
	}
}

/* Hidden directories, such as those of version control, are skipped. */
static void
walk(struct sources *sources, const char *directory)
{
	char *root = th_format_new("%s", directory);
	char *const roots[] = {root, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	for (size_t i = 0; tree && (entry = fts_read(tree)) && i < ENTRIES_MAX; i++) {
		if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
			entry->fts_name[0] == '.')
			fts_set(tree, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_F)
			offer(sources, entry->fts_path);
	}
	if (tree)
		fts_close(tree);
	free(root);
}

/* Lines */

/* Without control characters, and not longer than a line of the page. */
static json_t *
line_json(char *line)
{
	size_t length = strcspn(line, "\r\n");

	if (length > LINE_MAX_BYTES)
		length = LINE_MAX_BYTES;
	for (size_t i = 0; i < length; i++)
		if (line[i] != '\t' && iscntrl((unsigned char)line[i]))
			line[i] = '?';
	line[length] = 0;
	json_t *json = json_string(line);
	/* Not UTF-8, or cut inside a character. */
	for (size_t i = 0; !json && i < length; i++)
		if ((unsigned char)line[i] >= 0x80)
			line[i] = '?';
	return json ? json : json_string(line);
}

static json_t *
lines_json(FILE *file, uint32_t first, uint32_t last)
{
	json_t *lines = json_array();
	char *line = NULL;
	size_t capacity = 0;

	for (uint32_t number = 1; number <= last && getline(&line, &capacity, file) >= 0;
		number++)
		if (number >= first)
			json_array_append_new(lines, line_json(line));
	free(line);
	return lines;
}

/* NULL: not found, ambiguous, or shorter than it was when the program was built. */
static json_t *
source_json(const struct sources *sources, const struct wanted *wanted)
{
	uint32_t first = wanted->line > LINES_AROUND ? wanted->line - LINES_AROUND : 1;
	FILE *file = wanted->found && !wanted->is_ambiguous ? fopen(wanted->found, "re") : NULL;

	if (!file)
		return NULL;
	json_t *lines = lines_json(file, first,
		wanted->line < UINT32_MAX - LINES_AROUND ? wanted->line + LINES_AROUND
							 : wanted->line);
	fclose(file);
	if (json_array_size(lines) <= wanted->line - first) {
		json_decref(lines);
		return NULL;
	}
	return json_pack("[I, I, o]",
		(json_int_t)th_page_index(&sources->names->frames, wanted->frame),
		(json_int_t)first, lines);
}

void
th_page_source_print(FILE *file, struct th_page_names *names, const struct th_leaks *leaks)
{
	const char *directory = names->profile->options->source;
	struct sources sources = {.names = names};
	json_t *list = json_array();

	if (directory) {
		want_findings(&sources, leaks);
		walk(&sources, directory);
	}
	for (size_t i = 0; i < sources.items_count; i++) {
		json_t *source = source_json(&sources, &sources.items[i]);

		if (source)
			json_array_append_new(list, source);
		free(sources.items[i].path);
		free(sources.items[i].found);
	}
	if (directory && !json_array_size(list))
		th_notice("--source %s: has no file of a finding", directory);
	th_page_print_json(file, ",\n\"sources\":", list);
	free(sources.items);
}
