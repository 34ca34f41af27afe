/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of `push`: recorded processes are found among all processes, each has a window that
 * becomes due, and all wait while the receiver does not accept.
 */
#include "report/push/push.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/end_signals.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/push/http.h"
#include "report/push/push_options.h"
#include "report/push/receiver.h"
#include "report/symbols/debuginfod.h"
#include "unify/shared/clock.h"

/* Processes are looked for so often in a window, and at least every SCAN_MAX. */
#define SCANS 6
#define SCAN_MAX (10 * TH_NS_PER_S)
/* A process that was not recorded is looked at again after 1, 2, 4, ... scans, at most this. */
#define SKIPS_MAX 16
/* Ended processes whose last window waits for the receiver. */
#define ENDED_MAX 256

/* A process without a recording. */
struct other {
	pid_t pid;
	unsigned skips; /* scans to skip after the next look */
	unsigned left;  /* scans to skip now */
};

struct push {
	struct th_push_options options;
	struct th_receiver receiver;
	TH_ARRAY(struct th_source *, sources);
	TH_ARRAY(struct other, others); /* by pid */
	uint64_t scan_due;
	uint64_t scan_period;
};

/* Sleeps until a time of CLOCK_MONOTONIC, or a signal. */
static void
sleep_until(uint64_t time)
{
	struct timespec when = {(time_t)(time / TH_NS_PER_S), (long)(time % TH_NS_PER_S)};

	if (!th_end_signals_came())
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
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
	const char *given = push->options.state;
	const char *base = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *directory;

	if (given)
		directory = th_format_new("%s", given);
	else if (base && base[0] == '/')
		directory = th_format_new("%s/twinheap/push", base);
	else
		directory = th_format_new("%s/.local/state/twinheap/push", home ? home : "");
	char *name = th_format_new("%s", push->receiver.destination.text);
	for (char *at = name; *at; at++) {
		if (*at == '/' || *at == ':')
			*at = '_';
	}
	char *path = th_format_new("%s/%.200s", directory, name);
	free(name);
	free(directory);
	return path;
}

static void
open_state(struct push *push)
{
	if (push->options.state && !strcmp(push->options.state, "none"))
		return;
	char *path = name_state(push);
	if (make_directories(path)) {
		push->receiver.state = path;
		return;
	}
	th_notice("push: %s: %s: after a restart of push, everything is sent again", path,
		strerror(errno));
	free(path);
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
	const struct th_labels *only = &push->options.only;

	for (size_t i = 0; i < only->items_count; i++) {
		const char *value = th_labels_get(&source->labels, only->items[i].key);

		if (!value || strcmp(value, only->items[i].value) != 0)
			return false;
	}
	return true;
}

static bool
begin_source(struct push *push, pid_t pid)
{
	char *log = th_running_log(pid);
	struct th_source *source;

	if (!log)
		return false;
	struct th_error *error = th_source_open(
		log, pid, &push->options.labels, push->receiver.state, &source);
	free(log);
	if (error) {
		th_error_destroy(error);
		return false;
	}
	if (!is_selected(push, source)) {
		th_source_close(source);
		return false;
	}
	source->due = th_clock_now() + push->options.window;
	th_source_rest(source);
	th_array_append(push, sources, source);
	return true;
}

/* The entry of a process that was not recorded before; NULL: it is new. */
static struct other *
find_other(const struct push *push, pid_t pid)
{
	size_t low = 0, high = push->others_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (push->others[middle].pid == pid)
			return &push->others[middle];
		if (push->others[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/*
 * Reading the mappings of a process takes as long as it has mappings, so processes without a
 * recording are looked at ever less often.
 */
static void
find_recordings(struct push *push)
{
	struct th_running_pids all;
	struct push next = {0};

	th_running_find_pids(&all);
	for (size_t i = 0; i < all.pids_count && !th_end_signals_came(); i++) {
		const struct other *known = find_other(push, all.pids[i]);
		struct other other = known ? *known : (struct other){.pid = all.pids[i]};

		if (all.pids[i] == getpid() || is_source(push, all.pids[i]))
			continue;
		if (other.left) {
			other.left--;
		} else {
			if (begin_source(push, all.pids[i]))
				continue;
			other.left = other.skips;
			other.skips = other.skips * 2 + 1 < SKIPS_MAX ? other.skips * 2 + 1
								      : SKIPS_MAX;
		}
		th_array_append(&next, others, other);
	}
	free(all.pids);
	free(push->others);
	push->others = next.others;
	push->others_count = next.others_count;
	push->others_capacity = next.others_capacity;
}

static void
find_ended(struct push *push, uint64_t now)
{
	for (size_t i = 0; i < push->sources_count; i++) {
		struct th_source *source = push->sources[i];

		if (source->is_ended ||
			th_running_is_alive(th_reader_header(source->recording->reader)))
			continue;
		source->is_ended = true;
		source->due = now;
	}
}

/* Processes that ended while push was not there */

static bool
is_state_of_source(const struct push *push, const char *path)
{
	for (size_t i = 0; i < push->sources_count; i++) {
		if (th_source_has_state(push->sources[i], push->receiver.state, path))
			return true;
	}
	return false;
}

/* The log is gone, or it is that of a later process: what was not sent is lost. */
static void
forget_state(const char *path, const char *log)
{
	th_notice("push: the last window of a process that ended before push was started is "
		  "lost: %s is gone",
		log);
	unlink(path);
}

/* Its last window becomes due, unless it still runs, or --only leaves it out. */
static void
begin_ended(struct push *push, const char *path, const char *log)
{
	const char *state = push->receiver.state;
	struct th_source *source;
	struct th_error *error = th_source_open(log, 0, &push->options.labels, state, &source);

	if (error) {
		if (access(log, F_OK))
			forget_state(path, log);
		th_error_destroy(error);
		return;
	}
	bool is_same = th_source_has_state(source, state, path);
	if (is_same && is_selected(push, source) &&
		!th_running_is_alive(th_reader_header(source->recording->reader))) {
		source->is_ended = true;
		th_array_append(push, sources, source);
		return;
	}
	th_source_close(source);
	if (!is_same)
		forget_state(path, log);
}

static void
find_ended_before(struct push *push)
{
	DIR *directory = push->receiver.state ? opendir(push->receiver.state) : NULL;
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *path = th_format_new("%s/%s", push->receiver.state, entry->d_name);
		const char *suffix = strrchr(entry->d_name, '.');
		char *log = suffix && !strcmp(suffix, ".state") ? th_source_log_of(path) : NULL;

		if (log && log[0] && !is_state_of_source(push, path))
			begin_ended(push, path, log);
		free(log);
		free(path);
	}
	if (directory)
		closedir(directory);
}

/* Removing recordings */

static void
remove_source(struct push *push, size_t index)
{
	struct th_source *source = push->sources[index];

	th_source_forget(source, push->receiver.state);
	th_source_close(source);
	push->sources_count--;
	memmove(&push->sources[index], &push->sources[index + 1],
		(push->sources_count - index) * sizeof(push->sources[0]));
}

static void
remove_done(struct push *push)
{
	size_t waiting = 0;

	for (size_t i = push->sources_count; i-- > 0;) {
		if (push->sources[i]->is_done)
			remove_source(push, i);
		else
			waiting += push->sources[i]->is_ended;
	}
	for (size_t i = 0; i < push->sources_count && waiting > ENDED_MAX;) {
		if (!push->sources[i]->is_ended) {
			i++;
			continue;
		}
		th_notice("push: the last window of process %u is lost: more than %d ended "
			  "processes wait for the receiver",
			push->sources[i]->recording->process.pid, ENDED_MAX);
		remove_source(push, i);
		waiting--;
	}
}

/* The loop */

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
		th_source_prepare(source, &push->receiver.destination, false);
		if (th_receiver_send(&push->receiver, source))
			source->due = now + push->options.window;
		th_source_rest(source);
	}
}

static uint64_t
next_turn(const struct push *push)
{
	uint64_t next = push->scan_due;

	for (size_t i = 0; i < push->sources_count; i++) {
		uint64_t due = push->sources[i]->due;

		if (due < push->receiver.blocked)
			due = push->receiver.blocked;
		if (due < next)
			next = due;
	}
	return next;
}

static void
push_all(struct push *push)
{
	push->scan_period = push->options.window / SCANS;
	if (push->scan_period > SCAN_MAX)
		push->scan_period = SCAN_MAX;
	open_state(push);
	find_recordings(push);
	find_ended_before(push);
	push->scan_due = th_clock_now() + push->scan_period;
	while (!th_end_signals_came()) {
		uint64_t now = th_clock_now();

		if (now >= push->scan_due) {
			find_ended(push, now);
			find_recordings(push);
			push->scan_due = th_clock_now() + push->scan_period;
		}
		send_due(push);
		remove_done(push);
		sleep_until(next_turn(push));
	}
	while (push->sources_count)
		th_source_close(push->sources[--push->sources_count]);
	free(push->sources);
	free(push->others);
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
send_once(struct push *push, struct th_source *source)
{
	struct th_receiver *receiver = &push->receiver;
	uint64_t give_up = th_clock_now() + push->options.patience;

	while (!th_end_signals_came()) {
		th_source_prepare(source, &receiver->destination, true);
		if (th_receiver_send(receiver, source) && !source->is_lost)
			return NULL;
		if (source->is_lost)
			break;
		if (receiver->blocked > give_up)
			break;
		sleep_until(receiver->blocked);
	}
	return th_error_create(TH_ERROR_OUTPUT, "push: %s: was not accepted%s%s",
		receiver->destination.text, receiver->reason[0] ? ": " : "", receiver->reason);
}

static struct th_error *
push_one(struct push *push)
{
	struct th_source *source;
	char *path = NULL;
	struct th_error *error = find_log(push->options.log, &path);

	if (!error)
		error = th_source_open(path, 0, &push->options.labels, NULL, &source);
	free(path);
	if (error)
		return error;
	error = send_once(push, source);
	th_source_close(source);
	return error;
}

static struct th_error *
run(struct push *push)
{
	struct th_error *error = th_destination_init(
		&push->receiver.destination, push->options.to);

	if (!error)
		error = th_http_init();
	if (error)
		return error;
	push->receiver.timeout = push->options.timeout;
	srandom((unsigned)getpid());
	/* A supervisor starts push again, without that log. */
	th_end_signals_catch("twinheap: push: a log was truncated while it was read\n", NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A server of debug information would hold up all recordings. */
	th_debuginfod_disable();
	if (push->options.log)
		error = push_one(push);
	else
		push_all(push);
	th_http_deinit();
	return error;
}

int
th_push_main(int argc, char **argv)
{
	struct push push = {0};
	struct th_error *error = th_push_options_read(&push.options, argc, argv);

	if (!error && push.options.wants_help)
		th_push_options_help();
	else if (!error)
		error = run(&push);
	th_destination_deinit(&push.receiver.destination);
	free(push.receiver.state);
	th_labels_deinit(&push.options.labels);
	th_labels_deinit(&push.options.only);
	return th_error_report(error);
}
