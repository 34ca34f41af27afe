/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks and diff over many recordings. Logs are read one after the other into report/fleet; one
 * that cannot be read costs a line on stderr, and the exit status.
 */
#include <fnmatch.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/allocate.h"
#include "report/base/progress.h"
#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/fleet/fleet.h"
#include "report/leaks/leaks.h"
#include "report/views/parts.h"
#include "report/views/view.h"

/* Exit status of a report over many logs some of which could not be read. */
#define STATUS_UNREAD 7

/* The logs of a directory */

struct logs {
	TH_ARRAY(char *, paths);
};

static bool
is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static void
add_path(struct logs *logs, const char *path)
{
	th_array_append(logs, paths, th_format_new("%s", path));
}

static void
logs_deinit(struct logs *logs)
{
	for (size_t i = 0; i < logs->paths_count; i++)
		free(logs->paths[i]);
	free(logs->paths);
}

static bool
is_log(const FTSENT *entry)
{
	/* A link to a file is followed. */
	return (entry->fts_info == FTS_F || entry->fts_info == FTS_SL) &&
	       (!fnmatch("?*.thl", entry->fts_name, 0) ||
		       !fnmatch("?*.thl.gz", entry->fts_name, 0));
}

static int
compare_entries(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

/*
 * Appends the logs in a directory and those below it, sorted by path: regular files that end in
 * ".thl" or ".thl.gz". Links to directories are not followed. An error if there are none or the
 * directory cannot be read; directories below it that cannot be read are left out, with a line on
 * stderr.
 */
static struct th_error *
find_below(struct logs *logs, const char *directory)
{
	/* The slash follows a link that is named itself. */
	char *root = th_format_new("%s/", directory);
	char *roots[] = {root, NULL};
	size_t before = logs->paths_count;
	const FTSENT *entry;

	for (size_t end = strlen(root); end > 1 && root[end - 2] == '/';)
		root[--end] = '\0';
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_entries);
	if (!tree)
		th_out_of_memory();
	while ((entry = fts_read(tree))) {
		if (is_log(entry))
			add_path(logs, entry->fts_path);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			th_notice("%s: %s", entry->fts_path, strerror(entry->fts_errno));
	}
	fts_close(tree);
	free(root);
	if (logs->paths_count > before)
		return NULL;
	return th_error_create(TH_ERROR_UNREADABLE,
		"%s: contains no logs: no file whose name ends in .thl or .thl.gz", directory);
}

/* Operands */

bool
th_many_is(const struct th_options *options, size_t takes)
{
	if (options->logs_count > takes || options->by)
		return true;
	for (size_t i = 0; i < options->logs_count; i++) {
		if (is_directory(options->logs[i]))
			return true;
	}
	return false;
}

/* The logs of one operand. */
static struct th_error *
find_logs(const char *operand, struct logs *logs)
{
	struct th_error *error;
	char *path;

	if (is_directory(operand))
		return find_below(logs, operand);
	error = th_input_find(operand, &path);
	if (!error)
		add_path(logs, path);
	free(path);
	return error;
}

static void
print_unread(struct th_error *error)
{
	th_progress_clear();
	th_notice("%s", th_error_message(error));
	th_error_destroy(error);
}

/* Adds the logs of one operand; those that cannot be read get a line each. */
static void
read_operand(struct th_fleet *fleet, const char *operand, const char *group)
{
	struct logs logs = {0};
	struct th_error *error = find_logs(operand, &logs);

	if (error) {
		fleet->unreadable++;
		print_unread(error);
	}
	for (size_t i = 0; i < logs.paths_count; i++) {
		th_progress("reading logs", i, logs.paths_count);
		error = th_fleet_add(fleet, logs.paths[i], group);
		if (error)
			print_unread(error);
	}
	logs_deinit(&logs);
}

/* Reads all operands; with `has_sides` the two are groups of their own. */
static struct th_error *
read_operands(struct th_fleet *fleet, bool has_sides)
{
	const struct th_options *options = fleet->options;

	for (size_t i = 0; i < options->logs_count; i++)
		read_operand(fleet, options->logs[i], has_sides ? options->logs[i] : NULL);
	th_progress_clear();
	if (!fleet->logs_count)
		return th_error_create(TH_ERROR_UNREADABLE, "no log could be read");
	return th_fleet_finish(fleet);
}

typedef void view_fleet(FILE *file, const struct th_fleet *fleet);

static struct th_error *
print_fleet(const struct th_fleet *fleet, view_fleet *text, view_fleet *json)
{
	FILE *file = th_output_fit(fleet->options);

	(fleet->options->format == TH_OUTPUT_JSON ? json : text)(file, fleet);
	return th_output_close(file, NULL);
}

/* Lines come with the worst verdict first. */
static int
status_of_fleet(const struct th_fleet *fleet)
{
	enum th_verdict worst = fleet->lines_count ? fleet->lines[0].verdict
						   : TH_VERDICT_PLATEAU;

	if (fleet->options->fail_on != TH_FAIL_NEVER && worst == TH_VERDICT_LEAK)
		return 1;
	if (fleet->unreadable)
		return STATUS_UNREAD;
	return fleet->options->fail_on != TH_FAIL_NEVER && worst == TH_VERDICT_UNCLEAR
		       ? TH_STATUS_INCONCLUSIVE
		       : 0;
}

struct th_error *
th_many_leaks(const struct th_options *options, int *status_ret)
{
	struct th_fleet found;
	struct th_error *error = NULL;

	if (options->fail_on == TH_FAIL_BYTES || options->limit)
		return th_error_create(TH_ERROR_USAGE,
			"leaks: over many logs, --fail-on takes leak only, without --limit");
	th_fleet_init(&found, options, true, th_view_leaks_line);
	error = read_operands(&found, false);
	if (!error)
		error = print_fleet(&found, th_view_fleet_leaks, th_view_fleet_leaks_json);
	*status_ret = status_of_fleet(&found);
	th_fleet_deinit(&found);
	return error;
}

struct th_error *
th_many_diff(const struct th_options *options, int *status_ret)
{
	struct th_options chosen = *options;
	struct th_fleet found;
	struct th_error *error;

	if (!options->by && options->logs_count != 2)
		return th_error_create(TH_ERROR_USAGE,
			"diff: takes two logs or directories, or any number with --by LABEL");
	if (!options->has_value)
		chosen.value = TH_VALUE_LIVE_BYTES;
	if (!options->by) {
		chosen.old_group = options->logs[0];
		chosen.new_group = options->logs[1];
	}
	th_fleet_init(&found, &chosen, false, th_view_diff_site);
	error = read_operands(&found, !options->by);
	if (!error && found.old_group == found.new_group)
		error = th_error_create(TH_ERROR_USAGE,
			"diff: all recordings are of one group: there is nothing to compare");
	if (!error)
		error = print_fleet(&found, th_view_fleet_diff, th_view_fleet_diff_json);
	*status_ret = found.unreadable ? STATUS_UNREAD : 0;
	th_fleet_deinit(&found);
	return error;
}
