/* SPDX-License-Identifier: Apache-2.0 */
#include "report/fleet/fleet_logs.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/allocate.h"

bool
th_fleet_logs_is_directory(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

void
th_fleet_logs_add(struct th_fleet_logs *logs, const char *path)
{
	th_array_append(logs, paths, th_format_new("%s", path));
}

void
th_fleet_logs_deinit(struct th_fleet_logs *logs)
{
	for (size_t i = 0; i < logs->paths_count; i++)
		free(logs->paths[i]);
	free(logs->paths);
}

static bool
is_log(const FTSENT *entry)
{
	static const char *const ends[] = {".thl", ".thl.gz"};

	/* A link to a file is followed. */
	if (entry->fts_info != FTS_F && entry->fts_info != FTS_SL)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t length = strlen(ends[i]);

		if (entry->fts_namelen > length &&
			!strcmp(entry->fts_name + entry->fts_namelen - length, ends[i]))
			return true;
	}
	return false;
}

static int
compare_entries(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

struct th_error *
th_fleet_logs_find(struct th_fleet_logs *logs, const char *directory)
{
	char *roots[] = {(char *)directory, NULL};
	/* The slash follows a link that is named itself. */
	char *root = th_format_new("%s/", directory);
	size_t before = logs->paths_count;
	const FTSENT *entry;

	for (size_t end = strlen(root); end > 1 && root[end - 2] == '/';)
		root[--end] = '\0';
	roots[0] = root;
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_entries);
	if (!tree)
		th_out_of_memory();
	while ((entry = fts_read(tree))) {
		if (is_log(entry))
			th_fleet_logs_add(logs, entry->fts_path);
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
