/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command and its loop: recorded processes are found among all processes, each has a window
 * that becomes due, and all wait while the receiver does not accept.
 */
#include "report/push/push.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/end_signals.h"
#include "report/base/line.h"
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
	const struct th_options *options; /* without a log: all recordings, until a signal */
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

const char th_push_details[] =
	"Allocated and live memory: of one recording, once, or, without LOG and PID, of\n"
	"every process that is recorded, also in other containers, in windows, until\n"
	"SIGTERM.\n"
	"\n"
	"Receivers:\n"
	"  otlp+http://HOST:4318       OpenTelemetry, /v1development/profiles\n"
	"  pyroscope+http://HOST:4040  Pyroscope, /ingest\n"
	"  pprof+http://HOST:PORT      the collector's pprof receiver, /v1/pprof\n"
	"or these with https.\n"
	"\n"
	"Windows that a receiver does not take are merged with the next. Of the\n"
	"environment, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME (of the recorded\n"
	"process, else of push), OTEL_EXPORTER_OTLP_HEADERS and\n"
	"OTEL_EXPORTER_OTLP_CERTIFICATE are used.\n";

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
	if (push->options->state)
		path = th_format_new("%s/%.200s", push->options->state, name);
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
	if (push->options->state && !strcmp(push->options->state, "none"))
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
	for (size_t i = 0; i < push->options->only.items_count; i++) {
		const struct th_label *label = &push->options->only.items[i];
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
	struct th_error *error = log ? th_source_open(log, pid, &push->options->label,
					       push->state, &source)
				     : NULL;

	if (log && !error) {
		source->due = th_clock_now() + push->options->window;
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
	struct th_error *error = th_source_open(
		log, 0, &push->options->label, push->state, &source);
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
		source->due += push->options->window;
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
	uint64_t scan_period = push->options->window / SCANS < SCAN_MAX
				       ? push->options->window / SCANS
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
push_one(struct push *push)
{
	struct th_receiver *receiver = &push->receiver;
	struct th_source *source;
	bool is_sent = false;
	struct th_error *error = th_source_open(
		push->options->input, 0, &push->options->label, NULL, &source);

	if (error)
		return error;
	uint64_t give_up = th_clock_now() + push->options->patience;
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
	struct th_error *error = th_receiver_init(&push->receiver, push->options->receiver);

	if (!error)
		error = th_delivery_init(push->options->timeout);
	if (error)
		return error;
	srandom((unsigned)getpid());
	/* A supervisor starts it again, without that file. */
	th_end_signals_catch(
		"twinheap: push: a log or library was truncated while it was read\n", NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A server of debug information would hold up all recordings. */
	th_debuginfod_disable();
	if (push->options->log)
		error = push_one(push);
	else
		push_all(push);
	th_delivery_deinit();
	return error;
}

struct th_error *
th_push(const struct th_options *options)
{
	struct push push = {.options = options};
	struct th_error *error = run(&push);

	th_receiver_deinit(&push.receiver);
	free(push.state);
	return error;
}
