/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of a request is written last, behind its other fields, under a file lock that only
 * the tool takes.  With a JVM the agent thread sleeps on a futex in the page, and is woken.  Without one, a
 * thread whose sample is due polls it, at most every 10 ms.  In a process that allocates almost
 * nothing a request waits, but it takes effect before the next sample and before the end.
 */
#include "report/control/request.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/control/running.h"
#include "unify/shared/outside.h"

/* Time to wait for the answer; longer if the answer is certain to come. */
#define WAIT_MS 1000
#define SERVER_WAIT_MS 30000
#define STEP_MS 2
/* Maximum wait for another request to the same process. */
#define LOCK_WAIT_MS 5000

struct th_error *
th_target_open(const char *text, bool may_write, struct th_target *ret)
{
	*ret = (struct th_target){.descriptor = -1};
	struct th_error *error = th_running_find(text, &ret->path);

	if (!error)
		error = th_running_open(ret->path, may_write, &ret->descriptor, &ret->header);
	if (!error)
		ret->pid = th_running_writer(&ret->header);
	if (!error && may_write && ret->header.state != TH_LOG_RECORDING)
		error = th_error_create(
			TH_ERROR_UNREADABLE, "%s: the recording has ended", ret->path);
	return error;
}

void
th_target_close(struct th_target *target)
{
	if (target->descriptor >= 0)
		close(target->descriptor);
	free(target->path);
}

/* Submission */

static bool
write_field(const struct th_target *target, size_t offset, const void *bytes, size_t count)
{
	off_t at = (off_t)(offsetof(struct th_log_header, control) + offset);

	return pwrite(target->descriptor, bytes, count, at) == (ssize_t)count;
}

/*
 * Wakes the library's thread, which then finds the request.  The page is mapped, since a futex is
 * identified by its memory, but not touched: the file may be truncated meanwhile.
 */
static void
wake_server(struct th_target *target)
{
	char *page = mmap(NULL, TH_LOG_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		target->descriptor, 0);
	struct th_log_header *header = (struct th_log_header *)(void *)page;

	if (page == MAP_FAILED)
		return;
	/* Read after the request was written: the thread then sees another number, or the request. */
	bool is_read = th_running_read(target->descriptor, &target->header);
	uint32_t calls = target->header.control.calls + 1;
	if (is_read && write_field(target, offsetof(struct th_log_control, calls), &calls,
			       sizeof(calls)))
		syscall(SYS_futex, &header->control.calls, FUTEX_WAKE, 1, NULL, NULL, 0);
	munmap(page, TH_LOG_HEADER_BYTES);
}

/* The number last, so that the process finds the other fields complete. */
static bool
write_request(const struct th_target *target, const struct th_request *request, uint32_t number)
{
	struct th_log_control control = {.verb = request->verb, .value = request->value};
	const size_t begin = offsetof(struct th_log_control, verb);

	if (request->name)
		snprintf(control.name, sizeof(control.name), "%s", request->name);
	return write_field(target, begin, (const char *)&control + begin,
		       offsetof(struct th_log_control, served) - begin) &&
	       write_field(
		       target, offsetof(struct th_log_control, asked), &number, sizeof(number));
}

/*
 * Whether to keep waiting.  Without limit if the process is already serving the request.  Long
 * if it has a thread that polls the page, because the machine may be busy or the process
 * stopped.  Otherwise briefly: a process that does not allocate does not answer.
 */
static bool
may_answer(const struct th_target *target, uint32_t number, int waited_ms)
{
	const struct th_log_header *header = &target->header;

	if (waited_ms < WAIT_MS)
		return true;
	return th_running_is_alive(header) &&
	       (header->control.begun == number ||
		       (header->has_server && !target->is_quiet && waited_ms < SERVER_WAIT_MS));
}

/* Waits until the process has served request `number`; false: not yet accepted. */
static bool
wait_until_served(struct th_target *target, uint32_t number)
{
	for (int waited_ms = 0; may_answer(target, number, waited_ms); waited_ms += STEP_MS) {
		if (!th_running_read(target->descriptor, &target->header))
			return false;
		if (target->header.control.served == number)
			return true;
		usleep(STEP_MS * 1000);
	}
	return false;
}

static struct th_error *
no_vm(const struct th_target *target)
{
	return th_error_create(TH_ERROR_REFUSED,
		"%s: the process has no Java VM, or none that accepts requests at present",
		target->path);
}

static struct th_error *
check_answer(const struct th_target *target)
{
	switch (target->header.control.answer) {
	case TH_CONTROL_DONE:
		return NULL;
	case TH_CONTROL_NO_JAVA:
		th_notice("the C heap is sampled; another agent samples the Java heap, and "
			  "sampling of "
			  "the Java heap starts when that agent releases it");
		return NULL;
	case TH_CONTROL_UNSEEN:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: malloc or mmap of this process does not reach the library, so "
			"that heap cannot be sampled; start the program with twinheap run or "
			"LD_PRELOAD",
			target->path);
	case TH_CONTROL_NO_VM:
		return no_vm(target);
	case TH_CONTROL_FAILED:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: not supported by the Java VM; a note in the log gives the reason",
			target->path);
	case TH_CONTROL_UNKNOWN:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: not supported by the older library in the process", target->path);
	default:
		return th_error_create(TH_ERROR_REFUSED, "%s: refused", target->path);
	}
}

static bool
needs_vm(const struct th_request *request)
{
	return request->verb == TH_CONTROL_BUFFERS || request->verb == TH_CONTROL_COLLECT ||
	       request->verb == TH_CONTROL_HOLDERS;
}

/*
 * No agent thread polls the page: there is no Java VM, or the process has ended or is stopped.
 */
static struct th_error *
explain_silence(const struct th_target *target, const struct th_request *request)
{
	if (!th_running_is_alive(&target->header))
		return th_error_create(
			TH_ERROR_UNREADABLE, "%s: the process has ended", target->path);
	if (target->is_quiet)
		return NULL;
	if (target->header.has_server) {
		th_notice("submitted; takes effect when the process runs again");
		return NULL;
	}
	if (needs_vm(request))
		return no_vm(target);
	th_notice(
		"submitted; takes effect before the next sample; the process allocates nothing "
		"at present");
	return NULL;
}

static struct th_error *
explain_backlog(const struct th_target *target, const struct th_request *request)
{
	if (needs_vm(request))
		return explain_silence(target, request);
	return th_error_create(TH_ERROR_UNREADABLE,
		"%s: the process has not accepted an earlier request: it allocates nothing, or "
		"has ended",
		target->path);
}

/*
 * Takes the breakdown of resident memory that a flush includes, if the process has no thread of
 * the library to do it.
 */
static void
take_breakdown(const struct th_target *target)
{
	if (target->header.has_server)
		return;
	struct th_outside *outside = th_outside_create(target->pid, target->descriptor);
	if (!outside)
		th_out_of_memory();
	enum th_observed_status status = th_outside_look(outside, true);
	th_outside_destroy(outside);
	if (status != TH_OBSERVED_OK)
		th_notice("process %d: no new breakdown of its resident memory: %s",
			(int)target->pid, th_outside_problem(status));
}

/* Closing the log releases the lock. */
static bool
lock(const struct th_target *target)
{
	int result = -1;

	for (int waited_ms = 0; waited_ms <= LOCK_WAIT_MS; waited_ms += STEP_MS) {
		result = flock(target->descriptor, LOCK_EX | LOCK_NB);
		if (!result || errno != EWOULDBLOCK)
			break;
		usleep(STEP_MS * 1000);
	}
	return !result;
}

static struct th_error *
explain_lock(const struct th_target *target)
{
	if (errno == EWOULDBLOCK)
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: another process has held the lock of the log for %d s, as a "
			"request does; no request was sent",
			target->path, LOCK_WAIT_MS / 1000);
	return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", target->path);
}

struct th_error *
th_request_ask(struct th_target *target, const struct th_request *request)
{
	if (!lock(target))
		return explain_lock(target);
	if (!th_running_read(target->descriptor, &target->header))
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", target->path);
	if (request->verb == TH_CONTROL_FLUSH || request->verb == TH_CONTROL_STOP)
		take_breakdown(target);
	uint32_t number = target->header.control.asked;
	if (!wait_until_served(target, number))
		return explain_backlog(target, request);
	if (!write_request(target, request, ++number))
		return th_error_create_errno(TH_ERROR_OUTPUT, "%s", target->path);
	wake_server(target);
	return wait_until_served(target, number) ? check_answer(target)
						 : explain_silence(target, request);
}

struct th_error *
th_request_of_log(const char *path, enum th_control_verb verb)
{
	const struct th_request request = {.verb = verb};
	bool is_flush = verb == TH_CONTROL_FLUSH;
	struct th_target target;
	struct th_error *error = th_target_open(path, true, &target);

	target.is_quiet = is_flush;
	if (!error && (!is_flush || th_running_is_alive(&target.header)))
		error = th_request_ask(&target, &request);
	th_target_close(&target);
	if (!is_flush)
		return error;
	th_error_destroy(error);
	return NULL;
}
