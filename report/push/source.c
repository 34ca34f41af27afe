/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/source.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "report/push/process_labels.h"
#include "unify/shared/clock.h"

/* First line of a file of state; the log is not in those of version 1. */
#define STATE_FORMAT "twinheap push 2 %" PRIu64 " %s\n"
#define STATE_SCAN "twinheap push %u %" SCNu64 " %n"
#define STATE_VERSION 2

/* Leaks are looked for after each so many windows, and at the end: it takes as long as ten windows. */
#define FINDING_WINDOWS 5

/* State */

/* A file's name: the process that writes the log, and when it began. To be freed. */
static char *
state_path(const struct th_source *source, const char *state, const char *suffix)
{
	const struct th_log_header *header = th_reader_header(source->recording->reader);

	return th_format_new("%s/%016" PRIx64 "-%u-%016" PRIx64 "%s", state,
		header->start_realtime, header->pid, header->process_space, suffix);
}

/* The log, to be freed, empty if it is not known; NULL: this is no file of state. */
static char *
read_first_line(FILE *file, uint64_t *sent_to_ret)
{
	char *line = NULL;
	size_t room = 0;
	unsigned version;
	int at = 0;

	if (getline(&line, &room, file) < 0 ||
		sscanf(line, STATE_SCAN, &version, sent_to_ret, &at) != 2 ||
		version > STATE_VERSION) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	memmove(line, line + at, strlen(line + at) + 1);
	return line;
}

static void
read_state(struct th_source *source, const char *state)
{
	char *path = state_path(source, state, ".state");
	FILE *file = fopen(path, "re");
	uint64_t sent_to;

	free(path);
	if (!file)
		return;
	char *log = read_first_line(file, &sent_to);
	if (log && th_increments_read(&source->increments, file))
		source->sent_to = sent_to;
	else
		th_increments_deinit(&source->increments);
	free(log);
	fclose(file);
}

char *
th_source_log_of(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t sent_to;

	if (!file)
		return NULL;
	char *log = read_first_line(file, &sent_to);
	fclose(file);
	return log;
}

bool
th_source_has_state(const struct th_source *source, const char *state, const char *path)
{
	char *own = state_path(source, state, ".state");
	bool is_own = !strcmp(own, path);

	free(own);
	return is_own;
}

/* A file that cannot be written, because the disk is full, costs only the restart. */
static void
write_state(const struct th_source *source, const char *state)
{
	static bool is_told;
	char *path = state_path(source, state, ".state");
	char *new_path = state_path(source, state, ".new");
	FILE *file = fopen(new_path, "we");
	bool is_written = file != NULL;

	if (file) {
		fprintf(file, STATE_FORMAT, source->sent_to,
			strchr(source->log, '\n') ? "" : source->log);
		th_increments_write(&source->increments, file);
		is_written = !ferror(file);
		is_written = !fclose(file) && is_written;
	}
	if (!is_written || rename(new_path, path)) {
		unlink(new_path);
		if (!is_told)
			th_notice("push: %s cannot be written: after a restart of push, what "
				  "was sent since will be sent again",
				path);
		is_told = true;
	}
	free(new_path);
	free(path);
}

void
th_source_forget(const struct th_source *source, const char *state)
{
	if (!state)
		return;
	char *path = state_path(source, state, ".state");
	unlink(path);
	free(path);
}

/* Life */

struct th_error *
th_source_open(const char *log, pid_t pid, const struct th_labels *extra, const char *state,
	struct th_source **source_ret)
{
	struct th_source *source = th_allocate(1, sizeof(*source));
	struct th_error *error = pid ? th_recording_follow(log, &source->recording)
				     : th_recording_load(log, &source->recording);

	if (error) {
		free(source);
		return error;
	}
	source->pid = pid;
	source->log = th_format_new("%s", log);
	th_options_set_defaults(&source->options);
	source->sent_to = th_export_time(source->recording, source->recording->start);
	th_process_labels(source->recording, pid, &source->labels);
	th_labels_add(&source->labels, extra);
	if (state)
		read_state(source, state);
	*source_ret = source;
	return NULL;
}

static void
clear_requests(struct th_source *source)
{
	for (size_t i = 0; i < source->requests_count; i++)
		th_request_body_deinit(&source->requests[i]);
	source->requests_count = source->requests_sent = 0;
	source->repeats = 0;
}

void
th_source_close(struct th_source *source)
{
	clear_requests(source);
	th_increments_deinit(&source->increments);
	th_findings_deinit(&source->findings);
	th_profile_destroy(source->profile);
	th_recording_destroy(source->recording);
	th_labels_deinit(&source->labels);
	th_options_deinit(&source->options);
	free(source->log);
	free(source);
}

/* Windows */

static uint64_t
realtime_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TH_NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool
is_same_process(const struct th_recording *a, const struct th_recording *b)
{
	const struct th_log_header *left = th_reader_header(a->reader);
	const struct th_log_header *right = th_reader_header(b->reader);

	return left->pid == right->pid && left->start_realtime == right->start_realtime;
}

/*
 * The increments are of texts, so they outlive the profile.  A log that has been deleted, or whose
 * name a later process uses, is still open here.
 */
static void
open_again(struct th_source *source)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_follow(source->log, &recording);

	if (error || !is_same_process(source->recording, recording)) {
		char open_file[64];

		if (error)
			th_error_destroy(error);
		else
			th_recording_destroy(recording);
		snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d",
			th_reader_descriptor(source->recording->reader));
		error = th_recording_follow(open_file, &recording);
	}
	if (error) {
		th_error_destroy(error);
		return;
	}
	th_profile_destroy(source->profile);
	th_recording_destroy(source->recording);
	source->profile = NULL;
	source->recording = recording;
}

/* Reads all that the log contains; of a process that ended, unfinished records stay so. */
static void
read_on(struct th_source *source)
{
	struct th_recording *recording = source->recording;
	const struct th_log_header *header = th_reader_header(recording->reader);

	source->is_ended = !source->pid || !th_running_is_alive(header);
	while (source->pid && th_recording_update(recording) && source->is_ended) {
	}
	if (source->pid && th_recording_is_stale(recording))
		open_again(source);
}

static void
renew_profile(struct th_source *source)
{
	if (source->profile)
		th_profile_renew(source->profile);
	else
		source->profile = th_profile_create(
			source->recording, &source->options, NULL, NULL);
}

/* Identifies a window of a process, to a receiver that gets the same request twice. */
static void
set_id(const struct th_source *source, struct th_export_part *part)
{
	const struct th_log_header *header = th_reader_header(source->recording->reader);

	part->id[0] = header->start_realtime ^ (uint64_t)header->pid << 40;
	part->id[1] = source->sent_to << 4;
}

/* The end of the window: now, or the end of the process. */
static uint64_t
window_end(const struct th_source *source)
{
	uint64_t end = source->is_ended
			       ? th_export_time(source->recording, source->recording->end)
			       : realtime_now();

	return end > source->sent_to ? end : source->sent_to + 1;
}

/* Brings the profile up to date; false: the log cannot be read again. */
static bool
look(struct th_source *source)
{
	read_on(source);
	if (source->recording->is_resting)
		return false;
	/* Arguments of a command may be secrets. */
	th_recording_hide_command(source->recording);
	renew_profile(source);
	source->is_resting = false;
	return true;
}

void
th_source_rest(struct th_source *source)
{
	/* A log that is read once is not read again. */
	if (!source->pid || source->is_resting)
		return;
	if (source->profile)
		th_profile_rest(source->profile);
	th_recording_rest(source->recording);
	source->is_resting = true;
	/* Freed memory is used by the next recording, but of a large one it is returned. */
	malloc_trim(0);
}

void
th_source_prepare(
	struct th_source *source, const struct th_destination *destination, bool is_whole)
{
	struct th_export_part parts[2];

	if (source->requests_count)
		return;
	if (!look(source)) {
		source->is_done = source->is_ended;
		return;
	}
	th_export_row *rows = th_export_rows(source->profile);
	bool has_alloc = th_increments_take(&source->increments, source->profile, rows);
	source->window_to = window_end(source);
	th_export_both(source->profile, rows, &source->labels, parts);
	parts[0].is_whole = is_whole;
	if (!is_whole) {
		parts[0].start = source->sent_to;
		parts[0].duration = source->window_to - source->sent_to;
		parts[1].start = source->window_to;
	}
	set_id(source, &parts[0]);
	set_id(source, &parts[1]);
	source->requests_count =
		has_alloc
			? th_destination_requests(destination, parts, 2, source->requests)
			: th_destination_requests(destination, &parts[1], 1, source->requests);
	free(rows);
	/* There may be hundreds of recordings. */
	th_frames_close_files(source->profile->frames);
}

/* The values of the current request are not to be sent again. */
static void
settle(struct th_source *source, const char *state)
{
	if (!source->requests[source->requests_sent].has_alloc)
		return;
	th_increments_commit(&source->increments);
	source->sent_to = source->window_to;
	if (state)
		write_state(source, state);
}

void
th_source_accepted(struct th_source *source, const char *state)
{
	settle(source, state);
	source->repeats = 0;
	if (++source->requests_sent == source->requests_count) {
		source->windows++;
		source->is_done = source->is_ended;
		clear_requests(source);
	}
}

void
th_source_merge(struct th_source *source)
{
	clear_requests(source);
}

void
th_source_drop(struct th_source *source, const char *state)
{
	settle(source, state);
	source->is_lost = true;
	source->is_done = source->is_ended;
	clear_requests(source);
}

bool
th_source_findings(struct th_source *source, const struct th_destination *destination,
	struct th_request_body *request_ret)
{
	if (destination->kind != TH_TO_OTLP ||
		(!source->is_ended && source->windows % FINDING_WINDOWS))
		return false;
	/* The window was made in an earlier turn. */
	if (source->is_resting && !look(source))
		return false;
	return th_findings_request(&source->findings, source->profile, destination,
		&source->labels, source->window_to, request_ret);
}
