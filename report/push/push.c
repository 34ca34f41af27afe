/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command and its loop: recorded processes are found among all processes, each has a window
 * that becomes due, and all wait while the receiver does not accept.
 */
#include "report/push/push.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/end_signals.h"
#include "report/base/line.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/symbols/debuginfod.h"
#include "report/symbols/symbols.h"
#include "unify/shared/clock.h"

/* Processes are looked for so often in a window, and at least every SCAN_MAX. */
#define SCANS 6
#define SCAN_MAX (10 * TH_NS_PER_S)
/* Ended processes whose last window waits for the receiver. */
#define ENDED_MAX 256

struct push {
	const char *log;             /* LOG or PID; NULL: all recordings, until a signal */
	const char *to;              /* NULL: from the environment */
	const char *state_directory; /* as given; "none" = none, NULL = the default */
	uint64_t window;             /* ns */
	uint64_t timeout;            /* of a request, ns */
	uint64_t patience;           /* how long a single push is tried, ns */
	struct th_labels labels;
	struct th_labels only; /* processes that have these */
	bool wants_help;
	struct th_receiver receiver;
	char *state; /* directory of the files of state; NULL: none */
	TH_ARRAY(struct th_source *, sources);
	struct th_symbols *symbols; /* of all recordings */
	uint64_t scan_due;
};

/* Sleeps until a time of CLOCK_MONOTONIC, or a signal. */
static void
sleep_until(uint64_t time)
{
	struct timespec when = {(time_t)(time / TH_NS_PER_S), (long)(time % TH_NS_PER_S)};

	if (!th_end_signals_came())
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

/* Options */

static const char help[] =
	"usage: twinheap push [OPTIONS] [LOG|PID] --to URL\n"
	"\n"
	"Sends allocated and live memory to a receiver of profiles: of one recording,\n"
	"once, or, without LOG and PID, of every process that is recorded, also in other\n"
	"containers, in windows, until SIGTERM.\n"
	"\n"
	"Receivers:\n"
	"  otlp+http://HOST:4318       OpenTelemetry, /v1development/profiles\n"
	"  pyroscope+http://HOST:4040  Pyroscope, /ingest\n"
	"  pprof+http://HOST:PORT      the collector's pprof receiver, /v1/pprof\n"
	"or these with https.\n"
	"\n"
	"Options:\n"
	"  --to URL            receiver (default: $OTEL_EXPORTER_OTLP_ENDPOINT, by OTLP)\n"
	"  --window SECONDS    length of a window (default: 60)\n"
	"  --label KEY=VALUE   label of everything that is sent; repeatable\n"
	"  --only KEY=VALUE    only processes that have this label; repeatable: all\n"
	"  --state DIR|none    where a restart finds what was sent (default:\n"
	"                      $XDG_STATE_HOME/twinheap/push)\n"
	"  --timeout SECONDS   patience with one request (default: 10)\n"
	"  --patience SECONDS  how long LOG or PID is tried (default: 60)\n"
	"  -h, --help          this text\n"
	"\n"
	"Windows that a receiver does not take are merged with the next. Of the\n"
	"environment, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME (of the recorded\n"
	"process, else of push), OTEL_EXPORTER_OTLP_HEADERS and\n"
	"OTEL_EXPORTER_OTLP_CERTIFICATE are used.\n";

/* Readers of arguments, by name of the option. */

static struct th_error *
read_text(const char *name, void *text_ret)
{
	(void)name;
	*(const char **)text_ret = optarg;
	return NULL;
}

static struct th_error *
read_seconds(const char *name, void *nanoseconds_ret)
{
	char *end;
	double seconds = strtod(optarg, &end);

	if (end == optarg || (*end && strcmp(end, "s") != 0) || !(seconds >= 0.1) ||
		seconds > 86400)
		return th_error_create(TH_ERROR_USAGE,
			"push: --%s: %s: is not a number of seconds between 0.1 and 86400",
			name, optarg);
	*(uint64_t *)nanoseconds_ret = (uint64_t)(seconds * (double)TH_NS_PER_S);
	return NULL;
}

static struct th_error *
read_label(const char *name, void *labels)
{
	if (!strchr(optarg, '=') || optarg[0] == '=')
		return th_error_create(
			TH_ERROR_USAGE, "push: --%s: %s: is not KEY=VALUE", name, optarg);
	th_labels_parse(labels, optarg);
	return NULL;
}

#define OPTIONS 7

static struct th_error *
read_options(struct push *push, int argc, char **argv)
{
	const struct {
		const char *name;
		struct th_error *(*read)(const char *name, void *target);
		void *target;
	} options[OPTIONS] = {
		{"to", read_text, &push->to},
		{"window", read_seconds, &push->window},
		{"label", read_label, &push->labels},
		{"only", read_label, &push->only},
		{"state", read_text, &push->state_directory},
		{"timeout", read_seconds, &push->timeout},
		{"patience", read_seconds, &push->patience},
	};
	struct option names[OPTIONS + 2] = {[OPTIONS] = {"help", no_argument, NULL, 'h'}};
	struct th_error *error = NULL;
	int option;

	for (int i = 0; i < OPTIONS; i++)
		names[i] = (struct option){options[i].name, required_argument, NULL, i};
	opterr = 0;
	while (!error && (option = getopt_long(argc, argv, ":h", names, NULL)) >= 0) {
		if (option == 'h')
			push->wants_help = true;
		else if (option < OPTIONS)
			error = options[option].read(
				options[option].name, options[option].target);
		else
			error = th_error_create(TH_ERROR_USAGE,
				option == ':' ? "push: %s: requires a value"
					      : "push: %s: unknown option, see twinheap push "
						"--help",
				argv[optind - 1]);
	}
	if (!error && argc - optind > 1)
		error = th_error_create(
			TH_ERROR_USAGE, "push: %s: unexpected argument", argv[optind + 1]);
	if (!error && optind < argc)
		push->log = argv[optind];
	return error;
}

/* State */

/* Creates a directory and those above it. */
static bool
make_directories(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	return !mkdir(path, 0700) || (errno == EEXIST && !access(path, W_OK));
}

/* A receiver has a directory of its own. */
static char *
name_state(const struct push *push)
{
	const char *base = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *name = th_format_new("%s", push->receiver.text);
	char *path;

	for (char *at = name; *at; at++) {
		if (*at == '/' || *at == ':')
			*at = '_';
	}
	if (push->state_directory)
		path = th_format_new("%s/%.200s", push->state_directory, name);
	else if (base && base[0] == '/')
		path = th_format_new("%s/twinheap/push/%.200s", base, name);
	else
		path = th_format_new(
			"%s/.local/state/twinheap/push/%.200s", home ? home : "", name);
	free(name);
	return path;
}

static void
open_state(struct push *push)
{
	if (push->state_directory && !strcmp(push->state_directory, "none"))
		return;
	push->state = name_state(push);
	if (make_directories(push->state))
		return;
	th_notice("push: %s: %s: after a restart of push, everything is sent again",
		push->state, strerror(errno));
	free(push->state);
	push->state = NULL;
}

/* Finding recordings */

static bool
is_source(const struct push *push, pid_t pid)
{
	for (size_t i = 0; i < push->sources_count; i++) {
		if (push->sources[i]->pid == pid && !push->sources[i]->is_ended)
			return true;
	}
	return false;
}

/* Whether the process has all labels of --only. */
static bool
is_selected(const struct push *push, const struct th_source *source)
{
	for (size_t i = 0; i < push->only.items_count; i++) {
		const struct th_label *label = &push->only.items[i];
		const char *value = th_labels_get(&source->labels, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return true;
}

static void
begin_source(struct push *push, pid_t pid)
{
	char *log = th_running_log(pid);
	struct th_source *source;
	struct th_error *error =
		log ? th_source_open(log, pid, &push->labels, push->state, &source) : NULL;

	if (log && !error) {
		source->due = th_clock_now() + push->window;
		/* Others are kept, so that their logs are not read in each scan. */
		if (!is_selected(push, source)) {
			source->due = UINT64_MAX;
			free(source->state); /* the file stays */
			source->state = NULL;
		}
		th_source_rest(source);
		th_array_append(push, sources, source);
	}
	th_error_destroy(error);
	free(log);
}

static void
find_recordings(struct push *push)
{
	struct th_running_pids all;

	th_running_find_pids(&all);
	for (size_t i = 0; i < all.pids_count && !th_end_signals_came(); i++) {
		if (all.pids[i] != getpid() && !is_source(push, all.pids[i]))
			begin_source(push, all.pids[i]);
	}
	free(all.pids);
}

static void
find_ended(struct push *push, uint64_t now)
{
	for (size_t i = 0; i < push->sources_count; i++) {
		struct th_source *source = push->sources[i];

		if (source->is_ended || th_source_is_alive(source))
			continue;
		source->is_ended = true;
		if (source->due == UINT64_MAX)
			source->is_done = true;
		else
			source->due = now;
	}
}

/* Processes that ended while push was not there */

static bool
is_state_of_source(const struct push *push, const char *path)
{
	for (size_t i = 0; i < push->sources_count; i++) {
		const char *state = push->sources[i]->state;

		if (state && !strcmp(state, path))
			return true;
	}
	return false;
}

/* Its last window becomes due, unless it still runs, or --only leaves it out. */
static void
begin_ended(struct push *push, const char *path, const char *log)
{
	struct th_source *source = NULL;
	struct th_error *error = th_source_open(log, 0, &push->labels, push->state, &source);
	bool is_gone = error ? access(log, F_OK) != 0 : strcmp(source->state, path) != 0;

	th_error_destroy(error);
	/* Or it is the log of a later process. */
	if (is_gone) {
		th_notice("push: the last window of a process that ended before push was "
			  "started is lost: %s is gone",
			log);
		unlink(path);
	}
	if (!source)
		return;
	source->is_ended = !th_running_is_alive(th_reader_header(source->recording->reader));
	th_source_rest(source);
	if (!is_gone && source->is_ended && is_selected(push, source))
		th_array_append(push, sources, source);
	else
		th_source_close(source);
}

static void
find_ended_before(struct push *push)
{
	DIR *directory = push->state ? opendir(push->state) : NULL;
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		const char *path = th_text_format("%s/%s", push->state, entry->d_name);
		struct th_sent sent;
		char *log;

		if (th_source_read_state(path, &sent, &log) && !is_state_of_source(push, path))
			begin_ended(push, path, log);
		free(log);
	}
	if (directory)
		closedir(directory);
}

/* The loop */

/* Removes what is done, and of ended processes that wait for the receiver the oldest. */
static void
remove_done(struct push *push)
{
	size_t waiting = 0;

	for (size_t i = push->sources_count; i-- > 0;) {
		struct th_source *source = push->sources[i];

		waiting += source->is_ended && !source->is_done;
		if (!source->is_done && (!source->is_ended || waiting <= ENDED_MAX))
			continue;
		if (!source->is_done)
			th_notice("push: the last window of process %s is lost: more than %d "
				  "ended processes wait for the receiver",
				th_labels_get(&source->labels, "process.pid"), ENDED_MAX);
		if (source->state)
			unlink(source->state);
		th_source_close(source);
		push->sources_count--;
		memmove(&push->sources[i], &push->sources[i + 1],
			(push->sources_count - i) * sizeof(push->sources[0]));
	}
}

static void
send_due(struct push *push)
{
	for (size_t i = 0; i < push->sources_count && !th_end_signals_came(); i++) {
		struct th_source *source = push->sources[i];
		uint64_t now = th_clock_now();

		if (now < push->receiver.blocked)
			return;
		if (source->due > now)
			continue;
		push->symbols = th_symbols_reuse(push->symbols);
		if (!th_source_send(source, &push->receiver, push->symbols))
			continue;
		source->due += push->window;
		/* What came during an outage, or before the end of the process, follows at once. */
		if (source->is_ended || source->due < now)
			source->due = now;
	}
}

/* Sleeps until the next scan or window is due, or a signal comes. */
static void
sleep_until_due(const struct push *push)
{
	uint64_t next = push->scan_due;

	for (size_t i = 0; i < push->sources_count; i++) {
		uint64_t due = push->sources[i]->due;

		if (due < push->receiver.blocked)
			due = push->receiver.blocked;
		if (due < next)
			next = due;
	}
	sleep_until(next);
}

static void
push_all(struct push *push)
{
	uint64_t scan_period = push->window / SCANS < SCAN_MAX ? push->window / SCANS
							       : SCAN_MAX;

	open_state(push);
	find_recordings(push);
	find_ended_before(push);
	push->scan_due = th_clock_now() + scan_period;
	while (!th_end_signals_came()) {
		uint64_t now = th_clock_now();

		if (now >= push->scan_due) {
			find_ended(push, now);
			find_recordings(push);
			push->scan_due = th_clock_now() + scan_period;
		}
		send_due(push);
		remove_done(push);
		th_texts_free();
		/* Each recording uses the memory of the one before; that of large ones is returned. */
		malloc_trim(0);
		sleep_until_due(push);
	}
	while (push->sources_count)
		th_source_close(push->sources[--push->sources_count]);
	free(push->sources);
	th_symbols_destroy(push->symbols);
}

/* One recording */

static struct th_error *
find_log(const char *operand, char **path_ret)
{
	struct th_error *error = th_running_find(operand, path_ret);

	if (error || !strcmp(operand, *path_ret))
		return error;
	free(*path_ret);
	return th_request_current_log(operand, path_ret);
}

static struct th_error *
push_one(struct push *push)
{
	struct th_receiver *receiver = &push->receiver;
	struct th_source *source;
	char *path = NULL;
	bool is_sent = false;
	struct th_error *error = find_log(push->log, &path);

	if (!error)
		error = th_source_open(path, 0, &push->labels, NULL, &source);
	free(path);
	if (error)
		return error;
	uint64_t give_up = th_clock_now() + push->patience;
	while (!th_end_signals_came() && !(is_sent = th_source_send(source, receiver, NULL)) &&
		receiver->blocked <= give_up)
		sleep_until(receiver->blocked);
	if (!is_sent || source->is_lost)
		error = th_error_create(TH_ERROR_OUTPUT, "push: %s: was not accepted%s%s",
			receiver->text, receiver->reason[0] ? ": " : "", receiver->reason);
	th_source_close(source);
	return error;
}

static struct th_error *
run(struct push *push)
{
	struct th_error *error = th_receiver_init(&push->receiver, push->to);

	if (!error)
		error = th_delivery_init(push->timeout);
	if (error)
		return error;
	srandom((unsigned)getpid());
	/* A supervisor starts it again, without that file. */
	th_end_signals_catch(
		"twinheap: push: a log or library was truncated while it was read\n", NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A server of debug information would hold up all recordings. */
	th_debuginfod_disable();
	if (push->log)
		error = push_one(push);
	else
		push_all(push);
	th_delivery_deinit();
	return error;
}

int
th_push_main(int argc, char **argv)
{
	struct push push = {
		.window = 60 * TH_NS_PER_S,
		.timeout = 10 * TH_NS_PER_S,
		.patience = 60 * TH_NS_PER_S,
	};
	struct th_error *error = read_options(&push, argc, argv);

	if (!error && push.wants_help)
		fputs(help, stdout);
	else if (!error)
		error = run(&push);
	th_receiver_deinit(&push.receiver);
	free(push.state);
	th_labels_deinit(&push.labels);
	th_labels_deinit(&push.only);
	return th_error_report(error);
}
