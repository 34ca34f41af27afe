/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line tool: a table of commands. The exit statuses are those of print_help().
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/base/format.h"
#include "report/base/log_text.h"
#include "report/base/nearest.h"
#include "report/base/progress.h"
#include "report/base/standard_input.h"
#include "report/base/terminal.h"
#include "report/control/ctl.h"
#include "report/control/list.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/holders/selection.h"
#include "report/ledger/ledger.h"
#include "report/live/watch_main.h"
#include "report/many/many.h"
#include "report/profile/marks.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"
#include "report/push/push.h"
#include "report/run/attach.h"
#include "report/run/doctor.h"
#include "report/run/launch.h"
#include "report/views/bundle.h"
#include "report/views/live_section.h"
#include "report/views/unseen_parts.h"
#include "report/views/view.h"

/* The implementation of a command that reads a log. */
typedef struct th_error *action(const struct th_options *options);

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	unsigned groups; /* of options, enum th_option_group bits */
	action *act;
	int (*main)(int argc, char **argv); /* for a command that parses its own command line */
};

/* Blocks of this size are mapped, bytes; the allocator would raise it to 32 MiB. */
#define MAPPED_FROM (1 << 20)

/* The name this program was called by, for the commands that views suggest. */
static const char *program = "twinheap";

/* Exit status of a command without errors: of `leaks` with --fail-on. */
static int status_of_findings;

/* Output */

/* Whether two paths name the same file, so that the output would overwrite the input. */
static bool
is_same_file(const char *a, const char *b)
{
	struct stat left;
	struct stat right;

	return !stat(a, &left) && !stat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/*
 * Opens a file for writing.  A new file is readable by its owner only, like a log: a report shows
 * as much of a process as its log.
 */
static FILE *
open_private(const char *path, int flags)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;

	if (descriptor >= 0 && !file)
		th_out_of_memory();
	return file;
}

static struct th_error *
open_output(const struct th_options *options, FILE **file_ret)
{
	const char *path = options->output;

	*file_ret = stdout;
	if (th_options_writes_stdout(options))
		return NULL;
	if (is_same_file(path, options->input))
		return th_error_create(TH_ERROR_OUTPUT, "%s: would overwrite the log", path);
	*file_ret = open_private(path, O_TRUNC);
	if (!*file_ret)
		return th_error_create_errno(TH_ERROR_OUTPUT, "%s", path);
	return NULL;
}

/* EPIPE is not an error: the reader, such as `head`, has closed the pipe. */
static struct th_error *
close_output(FILE *file, const char *path)
{
	bool failed = ferror(file) != 0;

	if (!failed)
		errno = 0;
	if (file == stdout ? fflush(file) : fclose(file))
		failed = true;
	if (!failed || errno == EPIPE)
		return NULL;
	return th_error_create_errno(TH_ERROR_OUTPUT, "%s", path ? path : "standard output");
}

/* Input */

/*
 * The path of the log given as LOG, as the id of a process, which is asked to write its pending
 * data, or as "-"; to be freed.
 */
static struct th_error *
find_input(const char *operand, char **path_ret)
{
	const char *copied;
	struct th_error *error;

	*path_ret = NULL;
	if (!strcmp(operand, "-")) {
		error = th_standard_input_path(&copied);
		if (!error)
			*path_ret = th_format_new("%s", copied);
		return error;
	}
	error = th_running_find(operand, path_ret);
	if (error || !strcmp(operand, *path_ret))
		return error;
	free(*path_ret);
	return th_request_current_log(operand, path_ret);
}

/* The same for `rss`, which has a running process take a breakdown in any case. */
static struct th_error *
find_current_input(const struct th_options *options, char **path_ret)
{
	if (options->counts_buffers)
		return th_request_count_buffers(options->log, path_ret);
	return strcmp(options->log, "-") ? th_request_current_log(options->log, path_ret)
					 : find_input(options->log, path_ret);
}

/* Reads the log of the options. */
static struct th_error *
load(const struct th_options *options, struct th_recording **recording_ret)
{
	struct th_error *error = th_recording_load(options->input, recording_ret);

	if (!error && options->no_command)
		th_recording_hide_command(*recording_ret);
	return error;
}

static void
warn_on_stderr(void *data, const char *text)
{
	(void)data;
	th_progress_clear();
	th_notice("%s", text);
}

static void
warn_in_health(void *data, const char *text)
{
	th_health_add(data, false, "%s", text);
}

/* Commands */

static void
print_summary(const struct th_options *options, struct th_recording *recording)
{
	FILE *file = th_terminal_fit(stdout);
	struct th_options shown = *options;
	struct th_health health;

	shown.wants_peak = !options->brief && !th_options_filter_stacks(options);
	th_health_init(&health, recording);
	struct th_profile *profile = th_profile_create(
		recording, &shown, warn_in_health, &health);
	th_live_section_health(&health, profile);
	th_unseen_parts_health(&health, profile);
	if (options->brief)
		th_view_brief(file, profile, &health, program);
	else
		th_view_summary(file, profile, &health, program);
	th_terminal_fitted(file);
	th_profile_destroy(profile);
	th_health_deinit(&health);
}

typedef void view(FILE *file, const struct th_profile *profile);

static struct th_error *
print_view(const struct th_options *options, struct th_recording *recording, view *print)
{
	FILE *file;
	struct th_error *error = open_output(options, &file);

	if (error)
		return error;
	struct th_profile *profile = th_profile_create(
		recording, options, warn_on_stderr, NULL);
	FILE *fitted = print == th_view_tree ? th_terminal_fit(file) : file;

	print(fitted, profile);
	th_terminal_fitted(fitted);
	th_profile_destroy(profile);
	return close_output(file, options->output);
}

/* Shows the log of the options in one of the plain views. */
static struct th_error *
show(const struct th_options *options, view *print)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);

	if (!error) {
		error = print_view(options, recording, print);
		th_recording_destroy(recording);
	}
	return error;
}

static struct th_error *
summary(const struct th_options *options)
{
	struct th_recording *recording;

	if (options->format == TH_OUTPUT_JSON)
		return show(options, th_view_json);
	struct th_error *error = load(options, &recording);
	if (!error) {
		print_summary(options, recording);
		th_recording_destroy(recording);
		error = close_output(stdout, NULL);
	}
	return error;
}

static struct th_error *
tree(const struct th_options *options)
{
	return show(options, options->format == TH_OUTPUT_JSON ? th_view_json : th_view_tree);
}

/* The same for a format that a terminal cannot show. */
static struct th_error *
show_binary(const struct th_options *options, const char *format, view *print)
{
	if (th_options_writes_stdout(options) && isatty(STDOUT_FILENO))
		return th_error_create(
			TH_ERROR_USAGE, "export: %s is a binary format, use -o FILE", format);
	return show(options, print);
}

static struct th_error *export(const struct th_options *options)
{
	switch (options->format) {
	case TH_OUTPUT_COLLAPSED:
		return show(options, th_view_collapsed);
	case TH_OUTPUT_JSON:
		return show(options, th_view_json);
	case TH_OUTPUT_PPROF:
		return show_binary(options, "pprof", th_view_pprof);
	case TH_OUTPUT_OTLP:
		return show_binary(options, "otlp", th_view_otlp);
	case TH_OUTPUT_JFR:
		return show_binary(options, "jfr", th_view_jfr);
	case TH_OUTPUT_SPEEDSCOPE:
		return show(options, th_view_speedscope);
	default:
		return th_error_create(TH_ERROR_USAGE,
			"export: requires --format pprof|otlp|jfr|speedscope|collapsed|json");
	}
}

static void
print_leaks(const struct th_options *options, struct th_recording *recording)
{
	struct th_profile *profile = th_profile_create(
		recording, options, warn_on_stderr, NULL);
	FILE *file;
	struct th_leaks found;

	th_leaks_prepare(&found, profile);
	/* The sites have what findings need of them. */
	th_profile_forget_sums(profile);
	th_leaks_find(&found);
	if (options->format == TH_OUTPUT_JSON) {
		th_view_leaks_json(stdout, &found);
	} else {
		file = th_terminal_fit(stdout);
		th_view_leaks(file, &found);
		th_terminal_fitted(file);
	}
	status_of_findings = th_view_leaks_status(&found);
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
}

static struct th_error *
leaks(const struct th_options *options)
{
	struct th_recording *recording;

	if (th_many_is(options, 1))
		return th_many_leaks(options, find_input, &status_of_findings);
	struct th_error *error = load(options, &recording);

	if (!error) {
		print_leaks(options, recording);
		th_recording_destroy(recording);
		error = close_output(stdout, NULL);
	}
	return error;
}

static struct th_error *
show_ledger(const struct th_options *options, const struct th_recording *recording)
{
	bool is_json = options->format == TH_OUTPUT_JSON;
	struct th_profile *profile = th_profile_create(
		recording, options, warn_on_stderr, NULL);
	struct th_error *error = NULL;
	struct th_ledger found;

	th_ledger_init(&found, profile);
	FILE *file = is_json ? stdout : th_terminal_fit(stdout);
	if (!found.was_on && !is_json)
		error = th_error_create(TH_ERROR_UNREADABLE,
			"%s: the ledger was not on: twinheap run --ledger, or twinheap ctl PID "
			"ledger on",
			options->log);
	else
		(is_json ? th_view_ledger_json : th_view_ledger)(file, &found);
	th_terminal_fitted(file);
	th_ledger_deinit(&found);
	th_profile_destroy(profile);
	return error ? error : close_output(stdout, NULL);
}

static struct th_error *
ledger(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);

	if (!error) {
		error = show_ledger(options, recording);
		th_recording_destroy(recording);
	}
	return error;
}

static struct th_error *
show_holders(const struct th_options *options, const struct th_recording *recording)
{
	bool is_json = options->format == TH_OUTPUT_JSON;
	struct th_profile *profile;
	struct th_leaks found;

	if (!recording->holder_walks_count)
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: the Java heap was not walked: twinheap ctl PID holders does it "
			"while the process runs",
			options->log);
	profile = th_profile_create(recording, options, warn_on_stderr, NULL);
	th_leaks_init(&found, profile);
	FILE *file = is_json ? stdout : th_terminal_fit(stdout);
	(is_json ? th_view_holders_json : th_view_holders)(file, &found);
	th_terminal_fitted(file);
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
	return close_output(stdout, NULL);
}

static struct th_error *
holders(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);

	if (!error) {
		error = show_holders(options, recording);
		th_recording_destroy(recording);
	}
	return error;
}

static void
select_objects(const struct th_options *options, const struct th_recording *recording,
	const char *class_name, uint64_t finding, struct th_selection *ret)
{
	struct th_profile *profile = th_profile_create(recording, options, NULL, NULL);
	struct th_leaks found;

	th_leaks_init(&found, profile);
	if (class_name)
		th_selection_of_class(ret, &found, class_name);
	else
		th_selection_of_finding(ret, &found, finding);
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
}

static struct th_error *
select_held(const char *target, const char *class_name, uint64_t finding, uint64_t **items_ret,
	size_t *count_ret)
{
	struct th_selection selection = {.items = NULL};
	struct th_recording *recording;
	struct th_options options;

	th_options_set_defaults(&options);
	struct th_error *error = th_request_current_log(target, &options.input);
	if (!error)
		error = load(&options, &recording);
	if (!error) {
		select_objects(&options, recording, class_name, finding, &selection);
		th_recording_destroy(recording);
	}
	th_options_deinit(&options);
	*items_ret = selection.items;
	*count_ret = selection.items_count;
	return error;
}

static int
control(int argc, char **argv)
{
	return th_control_main(argc, argv, select_held);
}

static struct th_error *
show_rss(const struct th_options *options, const struct th_recording *recording)
{
	bool is_end = options->at == TH_AT_LAST || options->at == TH_AT_END;
	FILE *file = stdout;
	struct th_profile *profile;
	struct th_leaks leaks;

	if (!recording->accounts_count)
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: contains no breakdown of resident memory: without a Java VM, a "
			"process takes one only at normal exit; while it runs, twinheap run "
			"and twinheap rss PID take them",
			options->log);
	profile = th_profile_create(recording, options, warn_on_stderr, NULL);
	/* Verdicts apply to the end of a recording. */
	if (is_end)
		th_leaks_init(&leaks, profile);
	if (options->format != TH_OUTPUT_JSON)
		file = th_terminal_fit(stdout);
	(options->format == TH_OUTPUT_JSON ? th_view_rss_json : th_view_rss)(
		file, profile, is_end ? &leaks : NULL);
	th_terminal_fitted(file);
	if (is_end)
		th_leaks_deinit(&leaks);
	th_profile_destroy(profile);
	return close_output(stdout, NULL);
}

static struct th_error *
rss(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);

	if (!error) {
		error = show_rss(options, recording);
		th_recording_destroy(recording);
	}
	return error;
}

/* A side of a diff: its own options; the recording may be shared with the other side. */
struct side {
	struct th_options options;
	char *log; /* as given, without the time */
	struct th_recording *recording;
	struct th_profile *profile;
	struct th_leak_sites places;
};

static struct th_error *
side_load(struct side *side, const struct th_options *options, const char *operand,
	const struct side *other)
{
	side->options = *options;
	if (!options->has_value)
		side->options.value = TH_VALUE_LIVE_BYTES;
	side->log = th_options_split_moment(operand, &side->options);
	side->options.log = side->log;
	struct th_error *error = find_input(side->log, &side->options.input);
	if (!error)
		error = th_marks_resolve(&side->options);
	if (error)
		return error;
	if (other && is_same_file(side->options.input, other->options.input)) {
		side->recording = other->recording;
		return NULL;
	}
	return th_recording_load(side->options.input, &side->recording);
}

static void
side_look(struct side *side)
{
	side->profile = th_profile_create(
		side->recording, &side->options, warn_on_stderr, NULL);
	th_leak_sites_init(&side->places, side->profile);
}

static void
side_deinit(struct side *side)
{
	if (side->profile)
		th_leak_sites_deinit(&side->places);
	th_profile_destroy(side->profile);
	free(side->log);
	free(side->options.input);
}

static void
print_diff(const struct side *old_side, const struct side *new_side)
{
	struct th_diff found;

	th_diff_init(&found, &(struct th_side){old_side->profile, &old_side->places},
		&(struct th_side){new_side->profile, &new_side->places});
	if (new_side->options.format == TH_OUTPUT_JSON) {
		th_view_diff_json(stdout, &found);
	} else {
		FILE *file = th_terminal_fit(stdout);

		th_view_diff(file, &found);
		th_terminal_fitted(file);
	}
	th_diff_deinit(&found);
}

static struct th_error *
sides_load(struct side sides[2], const struct th_options *options)
{
	struct th_error *error = side_load(&sides[0], options, options->log, NULL);

	if (!error)
		error = side_load(&sides[1], options, options->new_log, &sides[0]);
	if (error)
		return error;
	side_look(&sides[0]);
	side_look(&sides[1]);
	return NULL;
}

static void
sides_deinit(struct side sides[2])
{
	side_deinit(&sides[0]);
	side_deinit(&sides[1]);
	if (sides[1].recording != sides[0].recording)
		th_recording_destroy(sides[1].recording);
	th_recording_destroy(sides[0].recording);
}

static struct th_error *
diff(const struct th_options *options)
{
	struct side sides[2] = {0};
	struct th_error *error;

	if (options->value == TH_VALUE_TOUCHED_BYTES)
		return th_error_create(TH_ERROR_USAGE,
			"diff: touched-bytes exist only in breakdowns of "
			"resident memory, see rss");
	if (th_many_is(options, 2))
		return th_many_diff(options, find_input, &status_of_findings);
	if (!options->new_log)
		return th_error_create(
			TH_ERROR_USAGE, "diff: requires two logs, or one log at two times");
	error = sides_load(sides, options);
	if (!error) {
		print_diff(&sides[0], &sides[1]);
		error = close_output(stdout, NULL);
	}
	sides_deinit(sides);
	return error;
}

/* The page of the newer snapshot, with the changes since the older one. */
static struct th_error *
flamegraph_diff(const struct th_options *options)
{
	struct side sides[2] = {0};
	struct th_error *error = sides_load(sides, options);
	FILE *file;

	if (!error && options->output && is_same_file(options->output, sides[0].log))
		error = th_error_create(
			TH_ERROR_OUTPUT, "%s: would overwrite the log", options->output);
	if (!error)
		error = open_output(&sides[1].options, &file);
	if (!error) {
		th_view_flamegraph_diff(file, sides[0].profile, sides[1].profile);
		error = close_output(file, options->output);
	}
	sides_deinit(sides);
	return error;
}

static struct th_error *
flamegraph(const struct th_options *options)
{
	if (th_options_writes_stdout(options) && isatty(STDOUT_FILENO))
		return th_error_create(
			TH_ERROR_USAGE, "flamegraph: no output file, use -o FILE.html");
	if (options->new_log)
		return flamegraph_diff(options);
	struct th_options shown = *options;

	shown.wants_peak = true;
	return show(&shown, th_view_flamegraph);
}

static struct th_error *
dump(const struct th_options *options)
{
	struct th_reader *reader;
	struct th_error *error = th_reader_open(options->input, &reader);

	if (!error) {
		th_view_dump(stdout, reader, options->no_command);
		th_reader_close(reader);
		error = close_output(stdout, NULL);
	}
	return error;
}

static bool
ends_in(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* "twinheap.17.thl" becomes "twinheap.17.bundle.thl", to be freed. */
static char *
name_bundle(const char *log)
{
	int length = (int)strlen(log) - (ends_in(log, ".thl") ? 4 : 0);

	return th_format_new("%.*s.bundle.thl", length, log);
}

/* Opens the bundle's file; without -o, an existing file is not overwritten. */
static struct th_error *
open_bundle(const struct th_options *options, char **path_ret, FILE **file_ret)
{
	if (options->output || !strcmp(options->log, "-")) {
		*path_ret = th_format_new("%s", options->output ? options->output : "-");
		return open_output(options, file_ret);
	}
	*path_ret = name_bundle(options->input);
	*file_ret = open_private(*path_ret, O_EXCL);
	return *file_ret ? NULL
			 : th_error_create_errno(TH_ERROR_OUTPUT,
				   "%s (use -o to name another file)", *path_ret);
}

static struct th_error *
write_bundle(const struct th_options *options, const struct th_recording *recording)
{
	struct th_bundle_size size;
	char *path;
	FILE *file;
	struct th_error *error = open_bundle(options, &path, &file);
	bool is_stdout = !error && file == stdout;

	if (is_stdout && isatty(STDOUT_FILENO))
		error = th_error_create(
			TH_ERROR_USAGE, "bundle: is a binary format, use -o FILE");
	if (!error) {
		th_bundle_write(file, recording, ends_in(path, ".gz"), options->no_command,
			warn_on_stderr, NULL, &size);
		error = close_output(file, path);
	}
	if (!error && !is_stdout) {
		th_text_print(stdout, path);
		printf(": %s, names of %s native addresses; every command reads it, on "
		       "any machine\n",
			th_format_number((double)size.bytes, TH_UNIT_BYTES).text,
			th_format_count(size.addresses).text);
	}
	free(path);
	return error ? error : close_output(stdout, NULL);
}

static struct th_error *
bundle(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);

	if (!error) {
		error = recording->is_bundle ? th_error_create(TH_ERROR_USAGE,
						       "%s: is already a bundle", options->log)
					     : write_bundle(options, recording);
		th_recording_destroy(recording);
	}
	return error;
}

/* clang-format off: keeps one entry per line */
static const struct command commands[] = {
	{"run", "[OPTIONS] -- COMMAND...", "record a command", 0, NULL, th_launch_main},
	{"attach", "[OPTIONS] PID", "record a Java VM that runs already", 0, NULL,
		th_attach_main},
	{"detach", "PID", "end the recording that attach began", 0, NULL, th_detach_main},
	{"summary", "[OPTIONS] LOG|PID",
		"totals of every heap, top allocation sites, recording quality",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_SUMMARY | TH_OPTIONS_COMMAND |
			TH_OPTIONS_JSON | TH_OPTIONS_COLOR,
		summary, NULL},
	{"tree", "[OPTIONS] LOG|PID", "call tree, with the heaps side by side",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_TREE | TH_OPTIONS_JSON |
			TH_OPTIONS_COLOR,
		tree, NULL},
	{"leaks", "[OPTIONS] LOG|PID|DIRECTORY...",
		"memory that is retained or leaked, with the evidence",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_LEAKS | TH_OPTIONS_JSON |
			TH_OPTIONS_COLOR | TH_OPTIONS_MANY,
		leaks, NULL},
	{"ledger", "[OPTIONS] LOG|PID",
		"what native code takes from the Java VM and does not give back",
		TH_OPTIONS_LEDGER | TH_OPTIONS_JSON | TH_OPTIONS_COLOR, ledger, NULL},
	{"holders", "[OPTIONS] LOG|PID", "what holds the Java objects of findings",
		TH_OPTIONS_HOLDERS | TH_OPTIONS_JSON | TH_OPTIONS_COLOR, holders, NULL},
	{"rss", "[OPTIONS] LOG|PID", "breakdown of resident memory that adds up to RSS",
		TH_OPTIONS_RSS | TH_OPTIONS_JSON | TH_OPTIONS_COLOR, rss, NULL},
	{"export", "--format FORMAT [OPTIONS] LOG|PID",
		"all stacks in the format of another tool",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_EXPORT |
			TH_OPTIONS_COMMAND,
		export, NULL},
	{"flamegraph", "[OPTIONS] [OLD] LOG|PID -o FILE.html",
		"self-contained HTML page for a browser",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_COMMAND |
			TH_OPTIONS_PAGE,
		flamegraph, NULL},
	{"diff", "[OPTIONS] OLD[@TIME] NEW[@TIME]",
		"changes between two logs, two times of one, or two sets of logs",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_VALUE | TH_OPTIONS_DIFF |
			TH_OPTIONS_JSON | TH_OPTIONS_COLOR | TH_OPTIONS_MANY,
		diff, NULL},
	{"ctl", "[OPTIONS] PID|LOG COMMAND [VALUE]", "show or change a running recording", 0,
		NULL, control},
	{"list", "[OPTIONS]", "list recorded processes, and Java VMs that can be attached to",
		0, NULL, th_list_main},
	{"push", "[OPTIONS] [LOG|PID] --to URL",
		"send recordings to OpenTelemetry, Pyroscope or Parca", 0, NULL, th_push_main},
	{"doctor", "[-- COMMAND...]", "what works on this machine, what does not, and why", 0,
		NULL, th_doctor_main},
	{"live", "[OPTIONS] PID|LOG", "live view of the heaps of a process on the terminal",
		TH_OPTIONS_LIVE | TH_OPTIONS_COMMAND | TH_OPTIONS_COLOR, th_watch_run, NULL},
	{"bundle", "LOG|PID [-o FILE]",
		"log and symbol names in one file, to read on another machine",
		TH_OPTIONS_BUNDLE | TH_OPTIONS_COMMAND, bundle, NULL},
	{"dump", "[OPTIONS] LOG|PID", "every event of a log, as described by the log",
		TH_OPTIONS_COMMAND, dump, NULL},
};
/* clang-format on */
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Dispatch */

static void
print_help(FILE *file)
{
	fputs("usage: twinheap COMMAND [OPTIONS] ...\n\n", file);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(file, "  %-10s  %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "twinheap COMMAND --help lists the options of a command; twinheap --version\n"
	      "prints the version.\n"
	      "All heaps are sampled with the same method; every figure is unbiased, in\n"
	      "bytes or objects, with its 95 % confidence interval.\n"
	      "\n"
	      "Exit status:\n"
	      "    0    success\n"
	      "    1    leaks --fail-on: a leak; doctor: nothing can be recorded\n"
	      "    2    usage error, or output that cannot be written; run: not started\n"
	      "    3    unreadable input\n"
	      "    4    the process refused the request (ctl, attach, rss --count-buffers)\n"
	      "    5    leaks --fail-on --limit: no leak, but one could have been missed\n"
	      "    6    leaks --fail-on: inconclusive\n"
	      "    7    leaks, diff over many logs: some could not be read\n"
	      "    10   attach, detach: a process of another user\n"
	      "    11   attach: no Java VM\n"
	      "    12   attach: the VM has -XX:+DisableAttachMechanism\n"
	      "    13   attach: the VM has -Xrs\n"
	      "    14   attach: the VM has -XX:-EnableDynamicAgentLoading\n"
	      "    15   attach: the library could not be loaded\n"
	      "    126  run: the command cannot be executed\n"
	      "    127  run: the command was not found\n"
	      "run exits with the status of the command it ran.\n",
		file);
}

static int
print_command_help(const struct command *command)
{
	printf("usage: twinheap %s %s\n\n%s\n\n", command->name, command->arguments,
		command->summary);
	if (command->act != th_watch_run)
		puts("LOG may be a log, a bundle or - for standard input, PID a process that "
		     "is\n"
		     "being recorded.\n");
	if (command->groups & TH_OPTIONS_MANY)
		puts("Several logs, or DIRECTORY with the logs in it (*.thl, *.thl.gz), are "
		     "judged\n"
		     "as many processes: figures are means over processes, with the interval\n"
		     "over processes, for each group of --by. diff compares two directories, "
		     "or\n"
		     "with --by two groups of all that is given.\n");
	if (strstr(command->arguments, "OLD"))
		puts("OLD is what it is compared with; both may be times of a log: LOG@end,\n"
		     "LOG@peak, LOG@12s, LOG@mark:NAME.\n");
	th_options_print_help(stdout, command->groups);
	return th_error_report(close_output(stdout, NULL));
}

/* Sets the input and resolves marks; for two logs both are done for each side, live finds its process. */
static struct th_error *
find_log(const struct command *command, struct th_options *options)
{
	struct th_error *error;

	if (command->groups & (TH_OPTIONS_DIFF | TH_OPTIONS_LIVE) || options->new_log ||
		(command->groups & TH_OPTIONS_MANY && th_many_is(options, 1)))
		return NULL;
	if (command->groups & TH_OPTIONS_RSS)
		error = find_current_input(options, &options->input);
	else
		error = find_input(options->log, &options->input);
	return error ? error : th_marks_resolve(options);
}

static int
run_command(const struct command *command, int argc, char **argv)
{
	struct th_options options;
	struct th_error *error;
	int status;

	if (command->main)
		return command->main(argc, argv);
	/* Writes to a closed pipe fail with EPIPE, which close_output() handles. */
	signal(SIGPIPE, SIG_IGN);
	error = th_options_parse(&options, command->groups, argc, argv);
	if (!error && options.help) {
		status = print_command_help(command);
	} else {
		th_terminal_set_colors(options.colors);
		if (!error)
			error = find_log(command, &options);
		if (!error)
			error = command->act(&options);
		status = th_error_report(error);
		if (!status)
			status = status_of_findings;
	}
	th_options_deinit(&options);
	return status;
}

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static struct th_error *
unknown_command(const char *name)
{
	struct th_nearest nearest;

	th_nearest_init(&nearest, name);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		th_nearest_offer(&nearest, commands[i].name);
	char *suggestion = th_nearest_text(&nearest, "", "");
	struct th_error *error = th_error_create(
		TH_ERROR_USAGE, "%s: unknown command%s", name, suggestion);

	free(suggestion);
	return error;
}

/* The parent may have closed them; no log or output file may get descriptors 0 to 2. */
static void
open_standard_descriptors(void)
{
	int descriptor;

	do
		descriptor = open("/dev/null", O_RDONLY);
	while (descriptor >= 0 && descriptor <= STDERR_FILENO);
	if (descriptor >= 0)
		close(descriptor);
}

static void
find_program_name(const char *name)
{
	if (name && name[0] && strncmp(name, "/proc/", 6) != 0)
		program = name;
}

static bool
is_one_of(const char *argument, const char *a, const char *b, const char *c)
{
	return !strcmp(argument, a) || !strcmp(argument, b) || !strcmp(argument, c);
}

int
main(int argc, char **argv)
{
	/* Larger arrays grow without being copied. */
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	open_standard_descriptors();
	find_program_name(argc ? argv[0] : NULL);
	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	if (is_one_of(argv[1], "--help", "-h", "help")) {
		print_help(stdout);
		return th_error_report(close_output(stdout, NULL));
	}
	if (is_one_of(argv[1], "--version", "-V", "version")) {
		puts("twinheap " TH_VERSION);
		return th_error_report(close_output(stdout, NULL));
	}
	const struct command *command = find_command(argv[1]);
	if (!command)
		return th_error_report(unknown_command(argv[1]));
	return run_command(command, argc - 1, argv + 1);
}
