/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/push.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "report/log/recording.h"
#include "unify/shared/clock.h"

/* A file of state is one line: this, time, offset, sums by heap and value, path of the log. */
#define STATE_FORMAT "twinheap push 3"

/* Leaks are looked for in each so many windows, and at the end: it takes as long as ten windows. */
#define FINDING_WINDOWS 5
/*
 * How often the same bytes are sent whose fate is unknown. Then they are probably the cause: their
 * values become part of the next window.
 */
#define REPEATS_MAX 5

/* State */

bool
th_source_read_state(const char *path, struct th_sent *sent_ret, char **log_ret)
{
	FILE *file = fopen(path, "re");
	struct th_sent sent = {0};
	size_t room = 0;

	*log_ret = NULL;
	if (!file)
		return false;
	bool is_read = fscanf(file, STATE_FORMAT " %" SCNu64 " %" SCNu64, &sent.time,
			       &sent.offset) == 2;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (int value = 0; value < TH_DELTA_VALUES; value++)
			is_read = is_read &&
				  fscanf(file, "%" SCNd64, &sent.sums[heap][value]) == 1 &&
				  sent.sums[heap][value] >= 0;
	}
	is_read = is_read && fgetc(file) == ' ' && getline(log_ret, &room, file) > 1;
	fclose(file);
	if (is_read) {
		(*log_ret)[strcspn(*log_ret, "\n")] = '\0';
		*sent_ret = sent;
		return true;
	}
	free(*log_ret);
	*log_ret = NULL;
	return false;
}

static bool
write_line(const struct th_source *source, const char *path)
{
	const struct th_sent *sent = &source->sent;
	FILE *file = fopen(path, "we");

	if (!file)
		return false;
	fprintf(file, STATE_FORMAT " %" PRIu64 " %" PRIu64, sent->time, sent->offset);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		for (int value = 0; value < TH_DELTA_VALUES; value++)
			fprintf(file, " %" PRId64, sent->sums[heap][value]);
	}
	fprintf(file, " %s\n", source->log);
	bool is_written = !ferror(file);
	return !fclose(file) && is_written;
}

/* A file that cannot be written, because the disk is full, costs only the restart. */
static void
write_state(const struct th_source *source)
{
	static bool is_told;
	char *new_path = th_format_new("%s.new", source->state);

	if (!write_line(source, new_path) || rename(new_path, source->state)) {
		unlink(new_path);
		if (!is_told)
			th_notice("push: %s cannot be written: after a restart of push, what "
				  "was sent since will be sent again",
				source->state);
		is_told = true;
	}
	free(new_path);
}

/* The name is that of the process that writes the log, and of its start. */
static void
begin_state(struct th_source *source, const char *directory)
{
	const struct th_log_header *header = th_reader_header(source->recording->reader);
	char *log;

	source->sent.time = th_export_time(source->recording, source->recording->start);
	if (!directory)
		return;
	source->state = th_format_new("%s/%016" PRIx64 "-%u-%016" PRIx64 ".state", directory,
		header->start_realtime, header->pid, header->process_space);
	th_source_read_state(source->state, &source->sent, &log);
	free(log);
}

/* Labels */

/* Without POD_NAME: the host name of a pod is its name, and each pod has this file. */
static void
set_pod(struct th_labels *labels, pid_t pid)
{
	if (!pid)
		return;
	char *name = th_running_proc(
		pid, "root/var/run/secrets/kubernetes.io/serviceaccount/namespace", NULL);
	if (*name) {
		name[strcspn(name, "\n")] = '\0';
		th_labels_set(labels, "k8s.namespace.name", name);
		th_labels_set(labels, "k8s.pod.name", th_labels_get(labels, "host.name"));
	}
	free(name);
}

/*
 * By OpenTelemetry's semantic conventions, each winning over those before it: what the log knows
 * without arguments of the command, the pod and the node, the variables of this tool, and those of
 * the process, which the log contains.
 */
static void
set_labels(struct th_source *source, const struct th_labels *extra)
{
	struct th_labels *labels = &source->labels;

	th_recording_labels(source->recording, labels);
	set_pod(labels, source->pid);
	th_labels_set(labels, "host.name", getenv("NODE_NAME"));
	th_labels_parse(labels, getenv("OTEL_RESOURCE_ATTRIBUTES"));
	th_labels_set(labels, "service.name", getenv("OTEL_SERVICE_NAME"));
	th_recording_given_labels(source->recording, labels);
	th_labels_add(labels, extra);
}

/* Life */

struct th_error *
th_source_open(const char *log, pid_t pid, const struct th_labels *extra, const char *state,
	struct th_source **source_ret)
{
	struct th_source *source = th_allocate(1, sizeof(*source));
	struct th_error *error = th_recording_load(log, &source->recording);

	source->pid = pid;
	source->log = th_format_new("%s", log);
	source->descriptor = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!error && source->descriptor < 0)
		error = th_error_create_errno(TH_ERROR_UNREADABLE, "%s", log);
	if (error) {
		th_source_close(source);
		return error;
	}
	begin_state(source, state);
	set_labels(source, extra);
	*source_ret = source;
	return NULL;
}

static void
clear_window(struct th_source *source)
{
	for (size_t i = 0; i < source->requests_count; i++)
		th_push_request_deinit(&source->requests[i]);
	th_push_request_deinit(&source->leaks);
	source->requests_count = source->requests_sent = 0;
	source->repeats = 0;
}

void
th_source_close(struct th_source *source)
{
	clear_window(source);
	free(source->findings.hashes);
	th_recording_destroy(source->recording);
	th_labels_deinit(&source->labels);
	if (source->descriptor >= 0)
		close(source->descriptor);
	free(source->state);
	free(source->log);
	free(source);
}

void
th_source_rest(struct th_source *source)
{
	th_recording_destroy(source->recording);
	source->recording = NULL;
}

bool
th_source_is_alive(const struct th_source *source)
{
	struct th_log_header header;

	return source->pid && th_running_read(source->descriptor, &header) &&
	       header.state == TH_LOG_RECORDING && th_running_is_writer(&header, source->pid);
}

/* Windows */

static bool
load(struct th_source *source)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", source->descriptor);
	struct th_error *error = source->recording
					 ? NULL
					 : th_recording_load(path, &source->recording);
	if (!error)
		return true;
	th_error_destroy(error);
	return false;
}

/* The end of the window: now, or the end of the process. */
static uint64_t
window_end(const struct th_source *source)
{
	uint64_t end = source->is_last
			       ? th_export_time(source->recording, source->recording->end)
			       : th_clock_read(CLOCK_REALTIME);

	return end > source->sent.time ? end : source->sent.time + 1;
}

/* The times of the parts. A log that is sent once is one window with the times of the recording. */
static void
set_times(const struct th_source *source, struct th_export_part parts[2])
{
	const struct th_log_header *header = th_reader_header(source->recording->reader);

	for (int i = 0; i < 2; i++) {
		/* Identifies the window, to a receiver that gets the same request twice. */
		parts[i].id[0] = header->start_realtime ^ (uint64_t)header->pid << 40;
		parts[i].id[1] = source->sent.time << 4;
		parts[i].is_whole = !source->pid && !source->state;
	}
	if (parts[0].is_whole)
		return;
	parts[0].start = source->sent.time;
	parts[0].duration = source->next.time - source->sent.time;
	parts[1].start = source->next.time;
}

static void
make_requests(struct th_source *source, const struct th_receiver *receiver,
	const struct th_profile *profile)
{
	struct th_export_part parts[2];
	th_export_row *rows = th_export_rows(profile);

	source->has_alloc = th_deltas_take(&source->sent, profile, rows, &source->next);
	source->next.time = window_end(source);
	th_export_both(profile, rows, &source->labels, parts);
	set_times(source, parts);
	source->requests_count = th_receiver_requests(receiver, &parts[!source->has_alloc],
		source->has_alloc ? 2 : 1, source->requests);
	free(rows);
	if (receiver->kind == TH_TO_OTLP &&
		(source->is_last || (source->windows + 1) % FINDING_WINDOWS == 0))
		th_findings_request(&source->findings, profile, receiver->url, &source->labels,
			source->next.time, &source->leaks);
}

static void
make_window(struct th_source *source, const struct th_receiver *receiver,
	struct th_symbols *symbols)
{
	struct th_options options;

	/* Before the log is read: nothing is added to it then. */
	source->is_last = !th_source_is_alive(source);
	if (!load(source)) {
		source->is_done = source->is_last;
		return;
	}
	/* Arguments of a command may be secrets. */
	th_recording_hide_command(source->recording);
	th_options_set_defaults(&options);
	options.symbols = symbols;
	struct th_profile *profile = th_profile_create(source->recording, &options, NULL, NULL);
	make_requests(source, receiver, profile);
	th_profile_destroy(profile);
	th_options_deinit(&options);
	th_source_rest(source);
}

/* The values of the window are not to be sent again. */
static void
settle(struct th_source *source)
{
	if (!source->has_alloc || source->requests_sent)
		return;
	source->sent = source->next;
	if (source->state)
		write_state(source);
}

static void
end_window(struct th_source *source)
{
	clear_window(source);
	source->windows++;
	source->is_done = source->is_last;
}

bool
th_source_send(
	struct th_source *source, struct th_receiver *receiver, struct th_symbols *symbols)
{
	if (!source->requests_count)
		make_window(source, receiver, symbols);
	while (source->requests_sent < source->requests_count) {
		switch (th_delivery_send(receiver, &source->requests[source->requests_sent])) {
		case TH_DELIVERY_ACCEPTED:
			settle(source);
			source->requests_sent++;
			break;
		case TH_DELIVERY_REJECTED:
			th_notice("push: %s: rejects a window of process %s, which is lost: %s",
				receiver->text, th_labels_get(&source->labels, "process.pid"),
				receiver->reason);
			settle(source);
			source->is_lost = true;
			end_window(source);
			return true;
		case TH_DELIVERY_UNKNOWN:
			if (++source->repeats >= REPEATS_MAX)
				clear_window(source);
			return false;
		case TH_DELIVERY_REFUSED:
			return false;
		}
	}
	if (source->requests_count) {
		if (source->leaks.body && th_delivery_send_logs(receiver, &source->leaks))
			source->findings.accepted = source->findings.hashes_count;
		end_window(source);
	}
	return true;
}
