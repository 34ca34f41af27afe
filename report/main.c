/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line tool: a table of commands.  Exit status: 0 success, 1 findings that match
 * --fail-on, 2 usage error, 3 unreadable input, 4 the process refused the request, 5 and 6 see
 * th_view_leaks_status(); `run` exits with the status of the command it ran.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "report/base/progress.h"
#include "report/control/ctl.h"
#include "report/control/list.h"
#include "report/control/request.h"
#include "report/live/watch_main.h"
#include "report/profile/marks.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"
#include "report/run/attach.h"
#include "report/run/launch.h"
#include "report/views/bundle.h"
#include "report/views/live_section.h"
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
	if (!path)
		return NULL;
	if (is_same_file(path, options->log))
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

/* Reads the log of the options. */
static struct th_error *
load(const struct th_options *options, struct th_recording **recording_ret)
{
	struct th_error *error = th_recording_load(options->log, recording_ret);

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

static struct th_error *
summary(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);
	struct th_health health;

	if (error)
		return error;
	th_health_init(&health, recording);
	struct th_profile *profile = th_profile_create(
		recording, options, warn_in_health, &health);
	th_live_section_health(&health, profile);
	if (options->brief)
		th_view_brief(stdout, profile, &health, program);
	else
		th_view_summary(stdout, profile, &health, program);
	th_profile_destroy(profile);
	th_health_deinit(&health);
	th_recording_destroy(recording);
	return close_output(stdout, NULL);
}

typedef void view(FILE *file, const struct th_profile *profile);

/* Shows the log of the options in one of the plain views. */
static struct th_error *
show(const struct th_options *options, view *print)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);
	FILE *file;

	if (error)
		return error;
	error = open_output(options, &file);
	if (!error) {
		struct th_profile *profile = th_profile_create(
			recording, options, warn_on_stderr, NULL);

		print(file, profile);
		th_profile_destroy(profile);
		error = close_output(file, options->output);
	}
	th_recording_destroy(recording);
	return error;
}

static struct th_error *
tree(const struct th_options *options)
{
	return show(options, th_view_tree);
}

static struct th_error *export(const struct th_options *options)
{
	switch (options->format) {
	case TH_OUTPUT_COLLAPSED:
		return show(options, th_view_collapsed);
	case TH_OUTPUT_JSON:
		return show(options, th_view_json);
	case TH_OUTPUT_PPROF:
		if (!options->output && isatty(STDOUT_FILENO))
			return th_error_create(TH_ERROR_USAGE,
				"export: pprof is a binary format, use -o FILE");
		return show(options, th_view_pprof);
	case TH_OUTPUT_SPEEDSCOPE:
		return show(options, th_view_speedscope);
	default:
		return th_error_create(TH_ERROR_USAGE,
			"export: requires --format pprof|speedscope|collapsed|json");
	}
}

static struct th_error *
leaks(const struct th_options *options)
{
	struct th_recording *recording;
	struct th_error *error = load(options, &recording);
	struct th_leaks found;

	if (error)
		return error;
	struct th_profile *profile = th_profile_create(
		recording, options, warn_on_stderr, NULL);
	th_leaks_init(&found, profile);
	if (options->format == TH_OUTPUT_JSON)
		th_view_leaks_json(stdout, &found);
	else
		th_view_leaks(stdout, &found);
	status_of_findings = th_view_leaks_status(&found);
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	return close_output(stdout, NULL);
}

static struct th_error *
show_rss(const struct th_options *options, const struct th_recording *recording)
{
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
	if (options->at == TH_AT_END)
		th_leaks_init(&leaks, profile);
	(options->format == TH_OUTPUT_JSON ? th_view_rss_json : th_view_rss)(
		stdout, profile, options->at == TH_AT_END ? &leaks : NULL);
	if (options->at == TH_AT_END)
		th_leaks_deinit(&leaks);
	th_profile_destroy(profile);
	return close_output(stdout, NULL);
}

static struct th_error *
rss(const struct th_options *options)
{
	struct th_options current = *options;
	struct th_recording *recording;
	char *log = NULL;
	struct th_error *error = options->counts_buffers
					 ? th_request_count_buffers(options->log, &log)
					 : th_request_current_log(options->log, &log);

	current.log = log;
	if (!error)
		error = th_recording_load(log, &recording);
	if (!error) {
		error = show_rss(&current, recording);
		th_recording_destroy(recording);
	}
	free(log);
	return error;
}

/* A side of a diff: its own options; the recording may be shared with the other side. */
struct side {
	struct th_options options;
	char *log;
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
	struct th_error *error = th_marks_resolve(&side->options);
	if (error)
		return error;
	if (other && is_same_file(side->log, other->log)) {
		side->recording = other->recording;
		return NULL;
	}
	return th_recording_load(side->log, &side->recording);
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
}

static void
print_diff(const struct side *old_side, const struct side *new_side)
{
	struct th_diff found;

	th_diff_init(&found, &(struct th_side){old_side->profile, &old_side->places},
		&(struct th_side){new_side->profile, &new_side->places});
	if (new_side->options.format == TH_OUTPUT_JSON)
		th_view_diff_json(stdout, &found);
	else
		th_view_diff(stdout, &found);
	th_diff_deinit(&found);
}

static struct th_error *
diff(const struct th_options *options)
{
	struct side sides[2] = {0};
	struct th_error *error;

	if (!options->new_log)
		return th_error_create(
			TH_ERROR_USAGE, "diff: requires two logs, or one log at two times");
	if (options->value == TH_VALUE_TOUCHED_BYTES)
		return th_error_create(TH_ERROR_USAGE,
			"diff: touched-bytes exist only in breakdowns of "
			"resident memory, see rss");
	error = side_load(&sides[0], options, options->log, NULL);
	if (!error)
		error = side_load(&sides[1], options, options->new_log, &sides[0]);
	if (!error) {
		side_look(&sides[0]);
		side_look(&sides[1]);
		print_diff(&sides[0], &sides[1]);
		error = close_output(stdout, NULL);
	}
	side_deinit(&sides[0]);
	side_deinit(&sides[1]);
	if (sides[1].recording != sides[0].recording)
		th_recording_destroy(sides[1].recording);
	th_recording_destroy(sides[0].recording);
	return error;
}

static struct th_error *
flamegraph(const struct th_options *options)
{
	if (!options->output && isatty(STDOUT_FILENO))
		return th_error_create(
			TH_ERROR_USAGE, "flamegraph: no output file, use -o FILE.html");
	return show(options, th_view_flamegraph);
}

static struct th_error *
dump(const struct th_options *options)
{
	struct th_reader *reader;
	struct th_error *error = th_reader_open(options->log, &reader);

	if (error)
		return error;
	th_view_dump(stdout, reader, options->no_command);
	th_reader_close(reader);
	return close_output(stdout, NULL);
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
	if (options->output) {
		*path_ret = th_format_new("%s", options->output);
		return open_output(options, file_ret);
	}
	*path_ret = name_bundle(options->log);
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

	if (!error) {
		th_bundle_write(file, recording, ends_in(path, ".gz"), options->no_command,
			warn_on_stderr, NULL, &size);
		error = close_output(file, path);
	}
	if (!error) {
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

	if (error)
		return error;
	error = recording->is_bundle ? th_error_create(TH_ERROR_USAGE,
					       "%s: is already a bundle", options->log)
				     : write_bundle(options, recording);
	th_recording_destroy(recording);
	return error;
}

/* clang-format off: keeps one entry per line */
static const struct command commands[] = {
	{"run", "[OPTIONS] -- COMMAND...", "record a command", 0, NULL, th_launch_main},
	{"attach", "[OPTIONS] PID", "record a Java VM that runs already", 0, NULL,
		th_attach_main},
	{"detach", "PID", "end the recording that attach began", 0, NULL, th_detach_main},
	{"summary", "[OPTIONS] LOG",
		"totals of every heap, top allocation sites, recording quality",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_SUMMARY | TH_OPTIONS_COMMAND,
		summary, NULL},
	{"tree", "[OPTIONS] LOG", "call tree, with the heaps side by side",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_TREE, tree, NULL},
	{"leaks", "[OPTIONS] LOG", "memory that is retained or leaked, with the evidence",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_LEAKS, leaks, NULL},
	{"rss", "[OPTIONS] LOG|PID", "breakdown of resident memory that adds up to RSS",
		TH_OPTIONS_RSS, rss, NULL},
	{"export", "--format FORMAT [OPTIONS] LOG", "all stacks in the format of another tool",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_EXPORT |
			TH_OPTIONS_COMMAND,
		export, NULL},
	{"flamegraph", "[OPTIONS] LOG -o FILE.html", "self-contained HTML page for a browser",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_COMMAND,
		flamegraph, NULL},
	{"diff", "[OPTIONS] OLD[@TIME] NEW[@TIME]",
		"changes between two logs, or between two times of one: end, peak, 12s, "
		"mark:NAME",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_VALUE | TH_OPTIONS_DIFF, diff,
		NULL},
	{"ctl", "PID|LOG status|interval BYTES|rate N|mark NAME",
		"show or change a running recording", 0, NULL, th_control_main},
	{"list", "", "list recorded processes, and Java VMs that can be attached to", 0, NULL,
		th_list_main},
	{"live", "[OPTIONS] PID|LOG", "live view of the heaps of a process on the terminal",
		TH_OPTIONS_LIVE | TH_OPTIONS_COMMAND, th_watch_run, NULL},
	{"bundle", "LOG [-o FILE]",
		"log and symbol names in one file, to read on another machine",
		TH_OPTIONS_BUNDLE | TH_OPTIONS_COMMAND, bundle, NULL},
	{"dump", "[OPTIONS] LOG", "every event of a log, as described by the log",
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
	      "Exit status: 0 success, 2 usage error, 3 unreadable input, 4 the process "
	      "refused\n"
	      "the request; leaks --fail-on: 1 a leak, 5 --limit not reached, 6 inconclusive;\n"
	      "run: that of the command; attach: 10 to 15, see twinheap attach --help.\n",
		file);
}

static int
print_command_help(const struct command *command)
{
	printf("usage: twinheap %s %s\n\n%s\n\n", command->name, command->arguments,
		command->summary);
	th_options_print_help(stdout, command->groups);
	return th_error_report(close_output(stdout, NULL));
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
		/* diff resolves marks for each side by itself. */
		if (!error && !(command->groups & TH_OPTIONS_DIFF))
			error = th_marks_resolve(&options);
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
		return th_error_report(th_error_create(
			TH_ERROR_USAGE, "%s: unknown command, see twinheap --help", argv[1]));
	return run_command(command, argc - 1, argv + 1);
}
