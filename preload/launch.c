/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be known to go wrong is said before the command starts; from then on the
 * launcher only waits, passes signals on, and in the end names the logs.  The variables are set
 * in the child alone: a process whose parent has the library preloaded takes itself for a
 * follower.
 */
#include "preload/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/launch_logs.h"
#include "preload/launch_target.h"
#include "preload/settings_table.h"
#include "preload/size.h"

#if defined(__x86_64__)
#	define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#	define MULTIARCH "aarch64-linux-gnu"
#endif

#define LIBRARY "libtwinheap.so"
#define LIBRARY_VARIABLE "TWINHEAP_LIBRARY"
/* Room for a path and a reason. */
#define REASON_BYTES (PATH_MAX + 256)
/* Logs that are named after a run; more would push the summary off the screen. */
#define LOGS_NAMED 8
/* Values that getopt_long() returns for the options of the table. */
#define FIRST_SETTING_VALUE 256

struct setting {
	const char *name; /* for messages: the enumerator */
	char letter;
	const char *option;
	const char *variable;
	enum th_setting_kind kind;
	enum th_setting_access access;
	const char *argument;
	const char *standard;
	uint64_t minimum;
	uint64_t maximum;
	const char *help;
};

static const struct setting settings[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, ...) \
	{#NAME, letter, option, variable, TH_SETTING_##KIND, TH_SETTING_##ACCESS, __VA_ARGS__},
	TH_SETTINGS(S)
#undef S
};

struct launch {
	const char *given[TH_SETTING_COUNT]; /* by option; NULL = not */
	bool is_quiet;
	bool wants_help;
	char **command;
	char *pattern; /* of the log's name, absolute */
	char library[PATH_MAX];
	uint64_t start_realtime; /* nanoseconds */
};

/* One line on stderr; returns `status`. */
__attribute__((format(printf, 2, 3))) static int
fail(int status, const char *format, ...)
{
	va_list arguments;

	fputs("twinheap: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return status;
}

/* --- help ----------------------------------------------------------------------------------- */

/* One option or variable: `head` in the first column, the help in the second. */
static void
print_entry(const char *head, const struct setting *setting)
{
	const char *line = setting->help;

	printf("  %-*s", 29, head);
	for (;;) {
		int length = (int)strcspn(line, "\n");

		printf(" %.*s", length, line);
		if (line[length] == '\0')
			break;
		printf("\n%31s", "");
		line += length + 1;
	}
	if (setting->standard[0] != '\0')
		printf(" [%s]", setting->standard);
	putchar('\n');
}

static void
print_option(const struct setting *setting)
{
	char head[64];

	if (setting->letter != 0)
		snprintf(head, sizeof(head), "-%c, --%s %s", setting->letter, setting->option,
			setting->argument);
	else
		snprintf(head, sizeof(head), "    --%s %s", setting->option, setting->argument);
	print_entry(head, setting);
}

static void
print_variable(const struct setting *setting)
{
	char head[64];

	snprintf(head, sizeof(head), "%s=%s", setting->variable, setting->argument);
	print_entry(head, setting);
}

static int
print_help(void)
{
	puts("usage: twinheap run [OPTION...] [--] COMMAND [ARGUMENT...]\n\n"
	     "Runs a command and records the allocations of its Java heap and its C heap.\n");
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access == TH_SETTING_OPTION)
			print_option(&settings[i]);
	}
	puts("  -q, --quiet                   no summary after the run\n"
	     "  -h, --help                    this text\n\n"
	     "Each option has a variable, TWINHEAP_OUTPUT for --output and so on, which "
	     "counts\n"
	     "when the option is not given. By variable only:\n");
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access == TH_SETTING_VARIABLE)
			print_variable(&settings[i]);
	}
	puts("  " LIBRARY_VARIABLE "=FILE         the library to preload\n\n"
	     "The exit status is the command's own; 2 when it was not started because "
	     "recording\n"
	     "it cannot work, 126 when it cannot be executed, 127 when it was not found.");
	return 0;
}

/* --- options -------------------------------------------------------------------------------- */

struct parser {
	char letters[2 * TH_SETTING_COUNT + 8];
	struct option options[TH_SETTING_COUNT + 3];
};

static void
init_parser(struct parser *parser)
{
	struct option *option = parser->options;
	char *letter = stpcpy(parser->letters, "+:qh");

	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access != TH_SETTING_OPTION)
			continue;
		*option++ = (struct option){
			settings[i].option, required_argument, NULL, FIRST_SETTING_VALUE + i};
		if (settings[i].letter != 0) {
			*letter++ = settings[i].letter;
			*letter++ = ':';
		}
	}
	*letter = '\0';
	*option++ = (struct option){"quiet", no_argument, NULL, 'q'};
	*option++ = (struct option){"help", no_argument, NULL, 'h'};
	*option = (struct option){0};
}

/* The setting that getopt_long() found, by option or letter; -1 = none. */
static int
find_setting(int value)
{
	if (value >= FIRST_SETTING_VALUE)
		return value - FIRST_SETTING_VALUE;
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].letter == value && settings[i].access == TH_SETTING_OPTION)
			return i;
	}
	return -1;
}

/* What getopt_long() did not like, in words.  `value` is ':' or '?'. */
static int
fail_option(int value, char **argv)
{
	int setting = find_setting(optopt);

	if (value == ':')
		return fail(TH_EXIT_USAGE, "run: %s needs a value: %s", argv[optind - 1],
			setting >= 0 ? settings[setting].argument : "");
	if (optopt != 0 && optopt < FIRST_SETTING_VALUE && find_setting(optopt) < 0)
		return fail(TH_EXIT_USAGE, "run: unknown option -%c (see twinheap run --help)",
			optopt);
	return fail(TH_EXIT_USAGE, "run: unknown option %s (see twinheap run --help)",
		argv[optind - 1]);
}

static int
parse_options(struct launch *launch, int argc, char **argv)
{
	struct parser parser;
	int value;

	init_parser(&parser);
	opterr = 0;
	optind = 0; /* a fresh start, whatever was parsed before */
	while ((value = getopt_long(argc, argv, parser.letters, parser.options, NULL)) != -1) {
		if (value == ':' || value == '?')
			return fail_option(value, argv);
		if (value == 'q')
			launch->is_quiet = true;
		else if (value == 'h')
			launch->wants_help = true;
		else
			launch->given[find_setting(value)] = optarg;
	}
	launch->command = argv + optind;
	if (optind == argc && !launch->wants_help)
		return fail(TH_EXIT_USAGE, "run: no command given (see twinheap run --help)");
	return 0;
}

/* --- values --------------------------------------------------------------------------------- */

static bool
is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);

	while (*choices != '\0') {
		size_t end = strcspn(choices, "|");

		if (end == length && strncmp(choices, text, length) == 0)
			return true;
		choices += end + (choices[end] == '|');
	}
	return false;
}

/* What is wrong with the value of a setting, NULL if nothing is. */
static const char *
find_fault(const struct setting *setting, const char *text)
{
	uint64_t value;

	switch (setting->kind) {
	case TH_SETTING_SIZE:
		if (!th_size_parse(text, &value))
			return "not a size (as 4096, 512k, 2M, 1G)";
		break;
	case TH_SETTING_NUMBER:
		if (text[strspn(text, "0123456789")] != '\0' || !th_size_parse(text, &value))
			return "not a number";
		break;
	case TH_SETTING_CHOICE:
		return is_choice(setting->argument, text) ? NULL : "not one of the choices";
	case TH_SETTING_TEXT:
		return *text != '\0' ? NULL : "empty";
	case TH_SETTING_FLAG:
	default:
		return NULL;
	}
	return value < setting->minimum || value > setting->maximum ? "out of range" : NULL;
}

/* An empty variable counts as not set, as the library has it. */
static const char *
value_of(const struct launch *launch, int setting)
{
	const char *text = launch->given[setting];

	if (text == NULL)
		text = getenv(settings[setting].variable);
	if (launch->given[setting] == NULL && text != NULL && *text == '\0')
		return NULL;
	return text;
}

static int
fail_value(const struct launch *launch, const struct setting *setting, const char *text,
	const char *fault)
{
	char expected[128] = "";
	bool is_option = launch->given[setting - settings] != NULL;

	if (setting->maximum != 0)
		snprintf(expected, sizeof(expected), ", expected %llu to %llu",
			(unsigned long long)setting->minimum,
			(unsigned long long)setting->maximum);
	else if (setting->kind == TH_SETTING_CHOICE)
		snprintf(expected, sizeof(expected), ", expected %s", setting->argument);
	return fail(TH_EXIT_USAGE, "%s%s%s%s: %s%s", is_option ? "--" : "",
		is_option ? setting->option : setting->variable, is_option ? " " : "=", text,
		fault, expected);
}

static int
check_values(const struct launch *launch)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *text = value_of(launch, i);
		const char *fault = text != NULL ? find_fault(&settings[i], text) : NULL;

		if (fault != NULL)
			return fail_value(launch, &settings[i], text, fault);
	}
	return 0;
}

static int
prepare_output(struct launch *launch)
{
	const char *pattern = value_of(launch, TH_SETTING_NAME_OUTPUT);
	char reason[REASON_BYTES];

	if (pattern == NULL)
		pattern = settings[TH_SETTING_NAME_OUTPUT].standard;
	launch->pattern = th_launch_logs_absolute(pattern);
	if (launch->pattern == NULL)
		return fail(TH_EXIT_USAGE, "%s: %s", pattern, strerror(errno));
	if (!th_launch_logs_check(launch->pattern, reason, sizeof(reason)))
		return fail(TH_EXIT_USAGE, "%s", reason);
	return 0;
}

/* --- the library ---------------------------------------------------------------------------- */

static bool
is_readable(const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* Looks where the build and the installation put it, seen from the tool itself. */
static bool
find_beside_tool(char path_ret[PATH_MAX])
{
	static const char *const places[] = {
		"", "../lib/twinheap/", "../lib/" MULTIARCH "/", "../lib/", "../lib64/"};
	char tool[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", tool, sizeof(tool) - 1);

	if (length <= 0)
		return false;
	tool[length] = '\0';
	*(strrchr(tool, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char path[2 * PATH_MAX];

		snprintf(path, sizeof(path), "%s%s" LIBRARY, tool, places[i]);
		if (is_readable(path) && realpath(path, path_ret) != NULL)
			return true;
	}
	return false;
}

static int
prepare_library(struct launch *launch)
{
	const char *named = getenv(LIBRARY_VARIABLE);

	if (named != NULL && *named != '\0') {
		if (!is_readable(named) || realpath(named, launch->library) == NULL)
			return fail(TH_EXIT_USAGE, LIBRARY_VARIABLE "=%s: %s", named,
				strerror(errno));
	} else if (!find_beside_tool(launch->library)) {
		return fail(
			TH_EXIT_USAGE, LIBRARY " is neither beside the tool nor in ../lib from "
					       "there; " LIBRARY_VARIABLE " can name it");
	}
	if (launch->library[strcspn(launch->library, " :")] != '\0')
		return fail(TH_EXIT_USAGE,
			"%s: LD_PRELOAD cannot name a path with a blank or a colon",
			launch->library);
	return 0;
}

static int
prepare(struct launch *launch)
{
	char reason[REASON_BYTES];
	int status = check_values(launch);

	if (status == 0)
		status = prepare_output(launch);
	if (status == 0)
		status = prepare_library(launch);
	if (status != 0)
		return status;
	status = th_launch_target_check(launch->command[0], reason, sizeof(reason));
	return status != 0 ? fail(status, "%s", reason) : 0;
}

/* --- the child ------------------------------------------------------------------------------ */

static int
set_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *value;
	int result;

	if (before == NULL || *before == '\0')
		return setenv("LD_PRELOAD", library, 1);
	if (asprintf(&value, "%s:%s", library, before) < 0)
		return -1;
	result = setenv("LD_PRELOAD", value, 1);
	free(value);
	return result;
}

static int
set_environment(const struct launch *launch)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (launch->given[i] != NULL &&
			setenv(settings[i].variable, launch->given[i], 1) != 0)
			return -1;
	}
	if (setenv(settings[TH_SETTING_NAME_OUTPUT].variable, launch->pattern, 1) != 0)
		return -1;
	return set_preload(launch->library);
}

/* What the parent changes for itself and the child puts back. */
struct signals {
	sigset_t awaited;
	sigset_t mask_before;
	struct sigaction child_before;
};

/* Becomes the command, or tells the parent through `report` why it could not. */
__attribute__((noreturn)) static void
run_child(const struct launch *launch, const struct signals *signals, int report)
{
	ssize_t written;
	int error;

	sigaction(SIGCHLD, &signals->child_before, NULL);
	if (set_environment(launch) == 0) {
		sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
		execvp(launch->command[0], launch->command);
	}
	error = errno;
	written = write(report, &error, sizeof(error));
	(void)written;
	_exit(TH_EXIT_NOT_FOUND);
}

/* --- the parent ----------------------------------------------------------------------------- */

/*
 * Signals are taken with sigwaitinfo(), so there is no handler and no race between a signal and
 * the end of the child.
 */
static void
take_signals(struct signals *signals)
{
	static const int awaited[] = {
		SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	sigemptyset(&signals->awaited);
	for (size_t i = 0; i < sizeof(awaited) / sizeof(*awaited); i++)
		sigaddset(&signals->awaited, awaited[i]);
	sigprocmask(SIG_BLOCK, &signals->awaited, &signals->mask_before);
	sigaction(SIGCHLD, &standard, &signals->child_before);
}

static void
give_signals_back(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

/*
 * Waits for the child and passes on what was sent to the launcher alone.  What the terminal
 * sends (Ctrl-C, Ctrl-\, hang-up) the kernel has sent to the whole process group.
 */
static int
wait_for(pid_t child, const struct signals *signals)
{
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(&signals->awaited, &info);
		int status;

		if (number == SIGCHLD) {
			if (waitpid(child, &status, WNOHANG) == child)
				return status;
		} else if (number > 0 && info.si_code <= 0 && info.si_pid != child) {
			kill(child, number);
		}
	}
}

/* The errno that kept the child from becoming the command; 0 = it has become the command. */
static int
read_report(int report)
{
	int error = 0;
	ssize_t got;

	do
		got = read(report, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == sizeof(error) ? error : 0;
}

static int
exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

/* --- afterwards ----------------------------------------------------------------------------- */

/* `path` as one would type it here. */
static const char *
short_path(const char *path)
{
	char directory[PATH_MAX];
	size_t length;

	if (getcwd(directory, sizeof(directory)) == NULL)
		return path;
	length = strlen(directory);
	if (strncmp(path, directory, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

/* The tool again, for a summary of the log on stderr. */
static void
print_summary(char *path)
{
	char *arguments[] = {"twinheap", "summary", "--brief", path, NULL};
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv("/proc/self/exe", arguments);
		_exit(TH_EXIT_NOT_FOUND);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static void
print_logs(const struct launch *launch)
{
	struct th_launch_logs logs;

	th_launch_logs_find(launch->pattern, launch->start_realtime, &logs);
	for (size_t i = 0; i < logs.count && i < LOGS_NAMED; i++) {
		const struct th_launch_log *log = &logs.logs[i];

		fail(0, "process %u%s recorded in %s", log->pid, log->has_jvm ? " (Java)" : "",
			short_path(log->path));
	}
	if (logs.count > LOGS_NAMED)
		fail(0, "and %zu more logs beside", logs.count - LOGS_NAMED);
	if (logs.count > 0)
		print_summary((char *)short_path(logs.logs[0].path));
	else
		fail(0, "no log was written: the command ended before it allocated anything, "
			"or it "
			"cleared LD_PRELOAD, or left the work to a process that ran already");
	th_launch_logs_deinit(&logs);
}

static int
finish(const struct launch *launch, int wait_status)
{
	if (WIFSIGNALED(wait_status) && !launch->is_quiet)
		fail(0, "%s was ended by signal %d (%s)", launch->command[0],
			WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	if (!launch->is_quiet)
		print_logs(launch);
	return exit_status(wait_status);
}

static uint64_t
realtime_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int
run(struct launch *launch)
{
	struct signals signals;
	int report[2];
	int error, status = 0;
	pid_t child;

	if (pipe2(report, O_CLOEXEC) != 0)
		return fail(TH_EXIT_USAGE, "cannot start a process: %s", strerror(errno));
	fflush(NULL);
	launch->start_realtime = realtime_now();
	take_signals(&signals);
	child = fork();
	if (child == 0)
		run_child(launch, &signals, report[1]);
	error = child < 0 ? errno : 0;
	close(report[1]);
	if (child > 0) {
		error = read_report(report[0]);
		status = wait_for(child, &signals);
	}
	close(report[0]);
	give_signals_back(&signals);
	if (error != 0)
		return fail(error == ENOENT ? TH_EXIT_NOT_FOUND : TH_EXIT_NOT_EXECUTABLE,
			"%s: %s", launch->command[0], strerror(error));
	return finish(launch, status);
}

int
th_launch_main(int argc, char **argv)
{
	struct launch launch = {0};
	int status = parse_options(&launch, argc, argv);

	if (status != 0 || launch.wants_help)
		return status != 0 ? status : print_help();
	status = prepare(&launch);
	if (status == 0)
		status = run(&launch);
	free(launch.pattern);
	return status;
}
