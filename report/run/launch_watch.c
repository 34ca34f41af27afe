/* SPDX-License-Identifier: Apache-2.0 */
/* Processes are identified by their logs, whose headers contain their id and start time. */
#include "report/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "unify/shared/clock.h"
#include "unify/shared/log_format.h"

/* The same frequency as in the library (unify/resident/schedule.c). */
#define TURN_SHARE 16
#define TURN_LEAST_NS (TH_NS_PER_S / 10)
/* Reading the directory of the logs takes at most 1/SCAN_SPACING of the time. */
#define SCAN_SPACING 50
/* A log may get its header, or a directory its new time, shortly after it was read. */
#define SETTLE_NS TH_NS_PER_S

void
th_launch_watch_init(struct th_launch_watch *watch, const char *pattern, uint64_t since)
{
	*watch = (struct th_launch_watch){
		.pattern = pattern, .since = since, .begin = th_clock_now()};
}

/* Discovery of logs */

static bool
is_watched(const struct th_launch_watch *watch, const struct th_log_header *header)
{
	for (size_t i = 0; i < watch->count; i++) {
		const struct th_launch_watched *watched = &watch->watched[i];

		if (watched->pid == (pid_t)header->pid &&
			watched->start_realtime == header->start_realtime)
			return true;
	}
	return false;
}

static bool
is_wanted(const struct th_launch_watch *watch, const struct th_log_header *header)
{
	/* A process id from another namespace may belong to a different process here. */
	return header->state == TH_LOG_RECORDING && header->start_realtime >= watch->since &&
	       !is_watched(watch, header) && th_running_is_writer(header, (pid_t)header->pid);
}

static void
add(const char *path, void *data)
{
	struct th_launch_watch *watch = data;
	struct th_log_header header;
	int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	if (descriptor < 0)
		return;
	if (watch->count == TH_LAUNCH_WATCHED_MAX || !th_running_read(descriptor, &header) ||
		!is_wanted(watch, &header)) {
		close(descriptor);
		return;
	}
	struct th_outside *outside = th_outside_create((pid_t)header.pid, descriptor);
	if (!outside)
		th_out_of_memory();
	watch->watched[watch->count++] = (struct th_launch_watched){
		.pid = (pid_t)header.pid,
		.descriptor = descriptor,
		.outside = outside,
		.start_realtime = header.start_realtime,
	};
}

static bool
has_changed(const struct th_launch_watch *watch)
{
	char directory[PATH_MAX];
	struct stat status;

	th_launch_logs_directory(watch->pattern, directory);
	if (stat(directory, &status))
		return false;
	return (uint64_t)status.st_mtim.tv_sec * TH_NS_PER_S +
		       (uint64_t)status.st_mtim.tv_nsec + SETTLE_NS >=
	       watch->scanned;
}

static void
scan(struct th_launch_watch *watch)
{
	uint64_t begin = th_clock_now();

	if (begin < watch->next_scan || !has_changed(watch))
		return;
	watch->scanned = th_clock_read(CLOCK_REALTIME);
	th_launch_logs_each(watch->pattern, add, watch);
	watch->next_scan = begin + (th_clock_now() - begin) * SCAN_SPACING;
}

/* Breakdowns */

/* Frees the slots of processes that have ended. */
static void
forget(struct th_launch_watch *watch, size_t i)
{
	th_outside_destroy(watch->watched[i].outside);
	close(watch->watched[i].descriptor);
	watch->watched[i] = watch->watched[--watch->count];
}

static void
poll_one(struct th_launch_watch *watch, struct th_launch_watched *watched)
{
	watched->status = th_outside_poll(watched->outside, th_clock_now());
	if (watched->status == TH_OBSERVED_OK || watched->status == TH_OBSERVED_GONE)
		return;
	watch->problem = watched->status;
	watch->problem_pid = watched->pid;
}

static void
look(struct th_launch_watch *watch)
{
	for (size_t i = watch->count; i-- > 0;) {
		struct th_launch_watched *watched = &watch->watched[i];

		if (watched->status == TH_OBSERVED_OK)
			poll_one(watch, watched);
		if (watched->status == TH_OBSERVED_GONE ||
			(kill(watched->pid, 0) && errno == ESRCH))
			forget(watch, i);
	}
}

/* A process that grows fast is to be read sooner than the others. */
static uint64_t
until_next_look(const struct th_launch_watch *watch, uint64_t now, uint64_t pause)
{
	for (size_t i = 0; i < watch->count; i++) {
		uint64_t next = th_outside_next(watch->watched[i].outside);

		if (next > now && next - now < pause)
			pause = next - now;
	}
	return pause;
}

struct timespec
th_launch_watch_turn(struct th_launch_watch *watch)
{
	uint64_t pause = (th_clock_now() - watch->begin) / TURN_SHARE;

	scan(watch);
	look(watch);
	pause = until_next_look(
		watch, th_clock_now(), pause < TH_NS_PER_S ? pause : TH_NS_PER_S);
	if (pause < TURN_LEAST_NS)
		pause = TURN_LEAST_NS;
	return pause < TH_NS_PER_S ? (struct timespec){0, (long)pause}
				   : (struct timespec){1, 0};
}

void
th_launch_watch_deinit(struct th_launch_watch *watch)
{
	while (watch->count)
		forget(watch, watch->count - 1);
}
