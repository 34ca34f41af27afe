/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/self/cgroup has a line "0::PATH" for version 2 and "N:memory,...:PATH" for version 1.
 * Inside a container PATH may name a directory that only the host can see; then the group is
 * the root of the mounted hierarchy.
 */
#include "unify/resident/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "unify/base/observed.h"
#include "unify/base/proc_file.h"

struct names {
	const char *directory; /* below the root */
	const char *limit;
	const char *current;
	const char *anonymous; /* keys of memory.stat */
	const char *file;
	const char *kernel;
};

static const struct names versions[] = {
	[1] = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_rss ",
		"total_cache ", "kernel "},
	[2] = {"", "memory.max", "memory.current", "anon ", "file ", "kernel "},
};

/* Version 1 writes LONG_MAX rounded down to a page for "no limit". */
#define NO_LIMIT (UINT64_C(1) << 62)

static bool
read_number(const char *directory, const char *name, uint64_t *ret)
{
	char path[TH_CGROUP_PATH_MAX + 64];
	char text[64];
	const char *at = text;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return th_proc_file_read(path, text, sizeof(text)) && th_proc_number(&at, 10, ret);
}

/* Text that is not a number ("max") means no limit. */
static uint64_t
read_limit(const char *directory, const struct names *names)
{
	uint64_t limit;

	return read_number(directory, names->limit, &limit) && limit < NO_LIMIT ? limit : 0;
}

static bool
is_memory_line(const char *line, const char *colon)
{
	const char *list = strchr(line, ':') + 1;

	for (const char *at = list; at < colon; at++) {
		if (!strncmp(at, "memory", 6) && (at == list || at[-1] == ',') &&
			(at[6] == ',' || at[6] == ':'))
			return true;
	}
	return false;
}

/* The path of the group; returns the version, 0 if there is no such line. */
static unsigned
find_line(const char *text, char *path_ret, size_t capacity)
{
	unsigned found = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *first = strchr(line, ':');
		const char *colon = first ? strchr(first + 1, ':') : NULL;

		if (!colon)
			break;
		unsigned version = is_memory_line(line, colon) ? 1
				   : !strncmp(line, "0::", 3)  ? 2
							       : 0;
		if (!version || found == 1)
			continue;
		snprintf(path_ret, capacity, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
		found = version;
	}
	return found;
}

/* Ascends to the root; of equally tight limits that of the group itself is used. */
static void
find_tightest(struct th_cgroup *group, size_t root_length)
{
	const struct names *names = &versions[group->version];
	char directory[TH_CGROUP_PATH_MAX];

	strcpy(directory, group->path);
	group->limit = read_limit(directory, names);
	while (strlen(directory) > root_length) {
		*strrchr(directory, '/') = '\0';
		uint64_t limit = read_limit(directory, names);

		if (limit && (!group->limit || limit < group->limit)) {
			group->limit = limit;
			strcpy(group->path, directory);
		}
	}
}

void
th_cgroup_find_below(struct th_cgroup *group, const char *process, const char *root)
{
	char text[TH_CGROUP_TEXT_MAX];
	char file[TH_CGROUP_PATH_MAX];
	char path[TH_CGROUP_PATH_MAX / 2];
	char base[TH_CGROUP_PATH_MAX / 2];
	uint64_t current;

	*group = (struct th_cgroup){0};
	snprintf(file, sizeof(file), "%s/cgroup", process);
	if (!th_proc_file_read(file, text, sizeof(text)))
		return;
	unsigned version = find_line(text, path, sizeof(path));
	if (!version)
		return;
	snprintf(base, sizeof(base), "%s%s", root, versions[version].directory);
	snprintf(group->path, sizeof(group->path), "%s%s", base, strcmp(path, "/") ? path : "");
	if (!read_number(group->path, versions[version].current, &current))
		snprintf(group->path, sizeof(group->path), "%s", base);
	group->version = version;
	find_tightest(group, strlen(base));
	if (!read_number(group->path, versions[version].current, &current))
		*group = (struct th_cgroup){0};
}

void
th_cgroup_find(struct th_cgroup *group)
{
	char path[TH_OBSERVED_PATH_MAX];

	th_cgroup_find_below(group, th_observed_path("", path), "/sys/fs/cgroup");
}

uint64_t
th_cgroup_current(const struct th_cgroup *group)
{
	uint64_t current;

	return group->version && read_number(group->path, versions[group->version].current,
					 &current)
		       ? current
		       : 0;
}

struct th_event_cgroup
th_cgroup_use(const struct th_cgroup *group, char *text)
{
	const struct names *names = &versions[group->version];
	struct th_event_cgroup use = {
		.limit = group->limit,
		.current = th_cgroup_current(group),
		.version = group->version,
	};
	char path[TH_CGROUP_PATH_MAX + 64];

	if (!group->version)
		return use;
	snprintf(path, sizeof(path), "%s/memory.stat", group->path);
	th_proc_file_read(path, text, TH_CGROUP_TEXT_MAX);
	th_proc_field(text, names->anonymous, &use.anonymous);
	th_proc_field(text, names->file, &use.file);
	th_proc_field(text, names->kernel, &use.kernel);
	return use;
}
