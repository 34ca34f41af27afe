/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row for each process that writes a log or has a Java VM, also in other namespaces and of other
 * users, as far as /proc shows them.
 */
#include "report/commands/commands.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/error.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/control/java_process.h"
#include "report/control/running.h"
#include "report/profile/values.h"
#include "report/views/parts.h"
#include "unify/shared/heaps.h"

const char th_list_details[] =
	"  recorded    started with the library, by twinheap run or LD_PRELOAD\n"
	"  attached    recorded since twinheap attach, or as an agent alone\n"
	"  paused      recorded, but paused: twinheap attach or twinheap ctl PID resume\n"
	"  attachable  a Java VM that twinheap attach can record\n"
	"  refuses     a Java VM that it cannot record; twinheap attach prints the reason\n"
	"\n"
	"HEAPS are those that are sampled at present.\n";

#define COMMAND_COLUMNS 60

struct row {
	struct th_java_process process;
	char *log; /* NULL: not recorded */
	struct th_log_header header;
};

/* A static program cannot load the modules of the name service: the file only. */
static const struct passwd *
find_user(uid_t uid)
{
#ifdef TH_STATIC
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && user->pw_uid != uid)
		continue;
	if (file)
		fclose(file);
	return user;
#else
	return getpwuid(uid);
#endif
}

static const char *
user_of(uid_t uid)
{
	const struct passwd *user = find_user(uid);

	return user ? user->pw_name : th_text_format("%u", uid);
}

static const char *
state_of(const struct row *row)
{
	if (row->log && row->header.paused)
		return "paused";
	if (row->log)
		return th_java_process_is_preloaded(row->process.pid) ? "recorded" : "attached";
	struct th_error *error = th_virtual_machine_check(&row->process);
	bool is_refused = error || th_java_process_is_preloaded(row->process.pid);
	th_error_destroy(error);
	return is_refused ? "refuses" : "attachable";
}

static void
print_row(const struct row *row)
{
	const struct th_java_process *process = &row->process;
	const struct th_log_header *header = &row->header;

	printf("%7d  %-10.10s  %-9.9s  %-10s  ", (int)process->pid, user_of(process->uid),
		process->version[0] ? process->version : "-", state_of(row));
	if (row->log)
		th_print(stdout, "{-13}  {12s}  {9c}  {9b}  ", th_heaps_text(header->heaps),
			th_status_seconds(header), th_running_samples(header), header->tail);
	else
		th_print(stdout, "{-13}  {12}  {9}  {9}  ", "-", "-", "-", "-");
	th_format_cut(stdout, th_running_command(process->pid), COMMAND_COLUMNS);
	if (row->log)
		th_print(stdout, "\n{9}{}", "", th_text_of(row->log));
	putchar('\n');
}

/* A process without a log is listed if it has a VM; NULL log: none that is readable. */
static bool
read_row(pid_t pid, struct row *row)
{
	*row = (struct row){.log = th_running_log(pid)};
	if (!th_java_process_read(pid, &row->process)) {
		free(row->log);
		return false;
	}
	if (!row->log)
		return row->process.has_vm;
	if (th_running_header(row->log, &row->header))
		return true;
	free(row->log);
	row->log = NULL;
	return row->process.has_vm;
}

static void
print_head(void)
{
	printf("%7s  %-10s  %-9s  %-10s  %-13s  %12s  %9s  %9s  %s\n", "PID", "USER", "JDK",
		"STATE", "HEAPS", "DURATION", "SAMPLES", "LOG", "COMMAND");
}

/* NULL: not recorded. */
static json_t *
json_recording(const struct row *row)
{
	const struct th_log_header *header = &row->header;

	if (!row->log)
		return NULL;
	return th_json("log heaps recorded_s samples log_bytes", th_text_of(row->log),
		th_json_heap_names(header->heaps), th_status_seconds(header),
		th_running_samples(header), header->tail);
}

static json_t *
json_row(const struct row *row)
{
	const struct th_java_process *process = &row->process;

	return th_json("pid user jdk? state command recording", process->pid,
		th_text_of(user_of(process->uid)), th_text_of(process->version), state_of(row),
		th_running_command(process->pid), json_recording(row));
}

/* Prints the processes, or adds them to `rows` if it is not NULL.  Returns their number. */
static size_t
list(json_t *rows)
{
	struct th_running_pids all;
	size_t listed = 0;

	th_running_find_pids(&all);
	for (size_t i = 0; i < all.pids_count; i++) {
		struct row row;

		if (!read_row(all.pids[i], &row))
			continue;
		if (!rows && !listed)
			print_head();
		listed++;
		if (rows)
			json_array_append_new(rows, json_row(&row));
		else
			print_row(&row);
		free(row.log);
	}
	free(all.pids);
	return listed;
}

struct th_error *
th_command_list(const struct th_options *options)
{
	json_t *rows = json_array();

	if (options->format == TH_OUTPUT_JSON) {
		list(rows);
		th_json_print(stdout, th_json("twinheap processes", 1, rows));
		return NULL;
	}
	if (!list(NULL))
		puts("no process is recorded, and none has a Java VM");
	json_decref(rows);
	return NULL;
}
