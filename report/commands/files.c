/* SPDX-License-Identifier: Apache-2.0 */
#include "report/commands/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/progress.h"
#include "report/base/terminal.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/profile/values.h"
#include "report/views/view.h"

/* Of a time that this tool has printed. */
#define TIME_ROUNDING 0.0005

FILE *
th_output_open_private(const char *path, int flags)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;

	if (descriptor >= 0 && !file)
		th_out_of_memory();
	return file;
}

FILE *
th_output_fit(const struct th_options *options)
{
	bool is_text = options->format == TH_OUTPUT_NONE || options->format == TH_OUTPUT_TEXT;

	return th_terminal_fit(stdout, is_text ? th_terminal_columns(stdout) : 0);
}

struct th_error *
th_output_open(const struct th_options *options, FILE **file_ret)
{
	const char *path = options->output;

	if (th_options_writes_stdout(options)) {
		*file_ret = th_output_fit(options);
		return NULL;
	}
	/* It would be overwritten. */
	if (th_running_is_same_file(path, options->input))
		return th_error_create(TH_ERROR_OUTPUT, "%s: would overwrite the log", path);
	*file_ret = th_output_open_private(path, O_TRUNC);
	if (!*file_ret)
		return th_error_create_errno(TH_ERROR_OUTPUT, "%s", path);
	return NULL;
}

struct th_error *
th_output_close(FILE *file, const char *path)
{
	file = th_terminal_fitted(file);
	bool failed = ferror(file) != 0;

	if (!failed)
		errno = 0;
	if (file == stdout ? fflush(file) : fclose(file))
		failed = true;
	if (!failed || errno == EPIPE)
		return NULL;
	return th_error_create_errno(TH_ERROR_OUTPUT, "%s", path ? path : "standard output");
}

/* Standard input, for the operand "-" */

static struct th_error *
fail_input(void)
{
	return th_error_create_errno(TH_ERROR_UNREADABLE, "standard input");
}

static bool
copy_input(int to)
{
	static char buffer[1 << 16];
	size_t count;

	/* Memory takes all of it in one call. */
	while ((count = fread(buffer, 1, sizeof(buffer), stdin)))
		if (write(to, buffer, count) != (ssize_t)count)
			return false;
	return !ferror(stdin);
}

/*
 * The path of a file with the contents of standard input: a pipe is copied to memory, since a log is
 * read at random. Standard input is read once; later calls return the same.
 */
static struct th_error *
find_standard_input(char **path_ret)
{
	static char path[32];
	int descriptor = STDIN_FILENO;
	struct stat status;

	if (!path[0]) {
		if (fstat(STDIN_FILENO, &status))
			return fail_input();
		if (!S_ISREG(status.st_mode)) {
			descriptor = memfd_create("twinheap-log", MFD_CLOEXEC);
			if (descriptor < 0 || !copy_input(descriptor))
				return fail_input();
		}
		snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	}
	*path_ret = th_format_new("%s", path);
	return NULL;
}

/* Asks the process of an id, or also that of a log. */
static struct th_error *
find_input(const char *operand, enum th_control_verb verb, bool asks_of_logs, char **path_ret)
{
	*path_ret = NULL;
	if (!strcmp(operand, "-") && verb == TH_CONTROL_FLUSH)
		return find_standard_input(path_ret);
	struct th_error *error = th_running_find(operand, path_ret);
	if (!error && (asks_of_logs || strcmp(operand, *path_ret) != 0))
		error = th_request_of_log(*path_ret, verb);
	return error;
}

struct th_error *
th_input_find(const char *operand, char **path_ret)
{
	return find_input(operand, TH_CONTROL_FLUSH, false, path_ret);
}

struct th_error *
th_input_find_current(const struct th_options *options, char **path_ret)
{
	return find_input(options->log,
		options->counts_buffers ? TH_CONTROL_BUFFERS : TH_CONTROL_FLUSH, true,
		path_ret);
}

/* A time after the end of the recording; a range may end later. */
static struct th_error *
check_times(const struct th_options *options, const struct th_recording *recording)
{
	double seconds = (double)(recording->end - recording->start) / 1e9;
	/* Times are printed with up to four digits, rounded. */
	double most = seconds * (1 + TIME_ROUNDING);

	bool is_late = options->at == TH_AT_SECONDS && options->at_seconds > most;

	if (!is_late && options->from <= most)
		return NULL;
	return th_error_create(TH_ERROR_NOTHING, "%s: %s", options->log,
		th_printed("{} {t} s: the recording ends at {t} s", is_late ? "--at" : "--from",
			is_late ? options->at_seconds : options->from, seconds));
}

struct th_error *
th_input_read(const struct th_options *options, struct th_recording **recording_ret)
{
	struct th_error *error = th_recording_load(options->input, recording_ret);

	if (error)
		return error;
	if (options->no_command)
		th_recording_hide_command(*recording_ret);
	error = check_times(options, *recording_ret);
	if (error) {
		th_recording_destroy(*recording_ret);
		*recording_ret = NULL;
	}
	return error;
}

static void
report_defect(const struct th_options *options, const char *text)
{
	if (text) {
		th_progress_clear();
		th_notice("%s: %s", options->log ? options->log : options->input, text);
	}
}

/* Nothing is wrong with the log of a running process. */
static bool
is_running(const struct th_recording *recording)
{
	return !th_recording_missing_bytes(recording) &&
	       th_running_is_alive(th_reader_header(recording->reader));
}

static void
report_defects(const struct th_options *options, const struct th_recording *recording)
{
	report_defect(options, is_running(recording) ? NULL : th_health_end(recording));
	report_defect(options, th_health_damage(recording));
}

struct th_error *
th_input_load(const struct th_options *options, struct th_recording **recording_ret)
{
	struct th_error *error = th_input_read(options, recording_ret);

	if (!error)
		report_defects(options, *recording_ret);
	return error;
}

struct th_error *
th_input_use(const struct th_options *options, th_input_user *use, void *data)
{
	struct th_recording *recording;
	struct th_error *error = th_input_read(options, &recording);

	if (error)
		return error;
	error = use(options, recording, data);
	/* One line of an error is enough. */
	if (!error)
		report_defects(options, recording);
	th_recording_destroy(recording);
	return error;
}

struct th_error *
th_input_check_selection(const struct th_profile *profile)
{
	const struct th_options *options = profile->options;

	if (profile->rows_count || !th_options_filter_stacks(options))
		return NULL;
	return th_error_create(
		TH_ERROR_NOTHING, "%s: no sample is selected by these options", options->log);
}

void
th_input_warn(void *data, const char *text)
{
	(void)data;
	th_progress_clear();
	th_notice("%s", text);
}
