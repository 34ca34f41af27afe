/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line tool: a table of commands. The exit statuses are those of print_help().
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/base/nearest.h"
#include "report/base/terminal.h"
#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/live/live.h"
#include "report/profile/options.h"
#include "report/push/push.h"
#include "report/run/launch.h"

/* One of `act` and `judge` is set. */
struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	unsigned groups; /* of options, enum th_option_group bits */
	th_command *act;
	th_judging_command *judge;
	const char *details; /* printed by its help; NULL: none */
};

/* Commands that find logs by themselves, once for each operand, or have none. */
#define FIND_LOGS (TH_OPTIONS_DIFF | TH_OPTIONS_LIVE | TH_OPTIONS_CTL | TH_OPTIONS_PID)

/* Blocks of this size are mapped, bytes; the allocator would raise it to 32 MiB. */
#define MAPPED_FROM (1 << 20)

/* The name this program was called by, for the commands that views suggest. */
static const char *program = "twinheap";

/* clang-format off: keeps one entry per line */
static const struct command commands[] = {
	{"run", "[OPTIONS] -- COMMAND...", "record a command", TH_OPTIONS_RUN,
		.judge = th_launch, .details = th_launch_details},
	{"attach", "[OPTIONS] PID", "record a Java VM that runs already",
		TH_OPTIONS_ATTACH | TH_OPTIONS_PID, .act = th_attach,
		.details = th_attach_details},
	{"detach", "PID", "end the recording that attach began", TH_OPTIONS_PID,
		.act = th_detach, .details = th_detach_details},
	{"summary", "[OPTIONS] LOG|PID",
		"totals of every heap, top allocation sites, recording quality",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_SUMMARY | TH_OPTIONS_COMMAND |
			TH_OPTIONS_JSON | TH_OPTIONS_COLOR,
		.act = th_command_summary},
	{"tree", "[OPTIONS] LOG|PID", "call tree, with the heaps side by side",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_TREE | TH_OPTIONS_JSON |
			TH_OPTIONS_COLOR,
		.act = th_command_tree},
	{"leaks", "[OPTIONS] LOG|PID|DIRECTORY...",
		"memory that is retained or leaked, with the evidence",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_LEAKS | TH_OPTIONS_JSON |
			TH_OPTIONS_COLOR | TH_OPTIONS_MANY,
		.judge = th_command_leaks},
	{"ledger", "[OPTIONS] LOG|PID",
		"what native code takes from the Java VM and does not give back",
		TH_OPTIONS_LEDGER | TH_OPTIONS_JSON | TH_OPTIONS_COLOR,
		.act = th_command_ledger},
	{"holders", "[OPTIONS] LOG|PID", "what holds the Java objects of findings",
		TH_OPTIONS_HOLDERS | TH_OPTIONS_JSON | TH_OPTIONS_COLOR,
		.act = th_command_holders},
	{"rss", "[OPTIONS] LOG|PID", "breakdown of resident memory that adds up to RSS",
		TH_OPTIONS_RSS | TH_OPTIONS_JSON | TH_OPTIONS_COLOR, .act = th_command_rss},
	{"export", "--format FORMAT [OPTIONS] LOG|PID",
		"all stacks in the format of another tool",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_EXPORT |
			TH_OPTIONS_COMMAND,
		.act = th_command_export},
	{"flamegraph", "[OPTIONS] [OLD] LOG|PID -o FILE.html",
		"self-contained HTML page for a browser",
		TH_OPTIONS_SELECT | TH_OPTIONS_VIEW | TH_OPTIONS_OUTPUT | TH_OPTIONS_COMMAND |
			TH_OPTIONS_PAGE,
		.act = th_command_flamegraph},
	{"diff", "[OPTIONS] OLD[@TIME] NEW[@TIME]",
		"changes between two logs, two times of one, or two sets of logs",
		TH_OPTIONS_SELECT | TH_OPTIONS_TIME | TH_OPTIONS_VALUE | TH_OPTIONS_DIFF |
			TH_OPTIONS_JSON | TH_OPTIONS_COLOR | TH_OPTIONS_MANY,
		.judge = th_command_diff},
	{"ctl", "[OPTIONS] PID|LOG COMMAND [VALUE]", "show or change a running recording",
		TH_OPTIONS_CTL | TH_OPTIONS_JSON, .act = th_command_ctl,
		.details = th_ctl_details},
	{"list", "[OPTIONS]", "list recorded processes, and Java VMs that can be attached to",
		TH_OPTIONS_LIST | TH_OPTIONS_JSON, .act = th_command_list,
		.details = th_list_details},
	{"push", "[OPTIONS] [LOG|PID] --to URL",
		"send recordings to OpenTelemetry or Pyroscope", TH_OPTIONS_PUSH,
		.act = th_push, .details = th_push_details},
	{"doctor", "[-- COMMAND...]", "what works on this machine, what does not, and why",
		TH_OPTIONS_DOCTOR, .judge = th_doctor, .details = th_doctor_details},
	{"live", "[OPTIONS] PID|LOG", "live view of the heaps of a process on the terminal",
		TH_OPTIONS_LIVE | TH_OPTIONS_SELECT | TH_OPTIONS_COMMAND | TH_OPTIONS_COLOR,
		.act = th_live_run},
	{"bundle", "LOG|PID [-o FILE]",
		"log and symbol names in one file, to read on another machine",
		TH_OPTIONS_BUNDLE | TH_OPTIONS_COMMAND, .act = th_command_bundle},
	{"dump", "[OPTIONS] LOG|PID", "every event of a log, as described by the log",
		TH_OPTIONS_COMMAND, .act = th_command_dump},
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
	if (command->details)
		puts(command->details);
	else if (command->act != th_live_run)
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
	if (command->groups & TH_OPTIONS_RUN) {
		puts("\nBy variable only:\n");
		th_options_print_help(stdout, TH_OPTIONS_VARIABLES);
		puts("  " TH_LIBRARY_VARIABLE "=FILE     the library to preload");
	}
	return th_error_report(th_output_close(stdout, NULL));
}

/* Sets the input and resolves marks; for two logs both are done for each side. */
static struct th_error *
find_log(const struct command *command, struct th_options *options)
{
	struct th_error *error;

	if (command->groups & FIND_LOGS || options->logs_count != 1 ||
		(command->groups & TH_OPTIONS_MANY && th_many_is(options, 1)))
		return NULL;
	if (command->groups & TH_OPTIONS_RSS)
		error = th_input_find_current(options, &options->input);
	else
		error = th_input_find(options->log, &options->input);
	return error ? error : th_options_resolve_marks(options);
}

static int
run_command(const struct command *command, int argc, char **argv)
{
	struct th_options options;
	struct th_error *error;
	int findings = 0;
	int status;

	/*
	 * Writes to a closed pipe fail with EPIPE, which th_output_close() handles.  A command would
	 * inherit that.
	 */
	if (!(command->groups & (TH_OPTIONS_RUN | TH_OPTIONS_DOCTOR)))
		signal(SIGPIPE, SIG_IGN);
	error = th_options_parse(&options, command->groups, argc, argv);
	options.program = program;
	if (!error && options.help) {
		status = print_command_help(command);
	} else {
		th_terminal_set_colors(options.colors);
		if (!error)
			error = find_log(command, &options);
		if (!error)
			error = command->judge ? command->judge(&options, &findings)
					       : command->act(&options);
		status = th_error_report(error);
		if (!status)
			status = findings;
	}
	th_options_deinit(&options);
	return status;
}

static struct th_error *
find_command(const char *name, const struct command **ret)
{
	struct th_nearest nearest;

	th_nearest_init(&nearest, name);
	for (*ret = commands; *ret < commands + COMMAND_COUNT; ++*ret) {
		if (!strcmp((*ret)->name, name))
			return NULL;
		th_nearest_offer(&nearest, (*ret)->name);
	}
	return th_error_create(TH_ERROR_USAGE, "%s: unknown command%s", name,
		th_nearest_text(&nearest, "", ""));
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
	if (argc && argv[0][0] && strncmp(argv[0], "/proc/", 6) != 0)
		program = argv[0];
	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	if (is_one_of(argv[1], "--help", "-h", "help")) {
		print_help(stdout);
		return th_error_report(th_output_close(stdout, NULL));
	}
	if (is_one_of(argv[1], "--version", "-V", "version")) {
		puts("twinheap " TH_VERSION);
		return th_error_report(th_output_close(stdout, NULL));
	}
	const struct command *command;
	struct th_error *error = find_command(argv[1], &command);
	return error ? th_error_report(error) : run_command(command, argc - 1, argv + 1);
}
