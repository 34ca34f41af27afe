/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/shared/outside.h"

#include <stdlib.h>

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"
#include "unify/resident/remote_tables.h"
#include "unify/shared/clock.h"

struct th_outside {
	pid_t pid;
	int descriptor;
	struct th_breakdown_subject subject;
};

struct th_outside *
th_outside_create(pid_t pid, int descriptor)
{
	struct th_outside *outside = calloc(1, sizeof(*outside));

	if (!outside)
		return NULL;
	outside->pid = pid;
	outside->descriptor = descriptor;
	return outside;
}

void
th_outside_destroy(struct th_outside *outside)
{
	free(outside);
}

/* On success the log is treated as this process's own until th_log_observe_end(). */
static enum th_observed_status
begin(struct th_outside *outside)
{
	enum th_observed_status status;

	if (!th_log_observe(outside->descriptor))
		return TH_OBSERVED_GONE;
	status = th_remote_tables_begin(outside->pid, th_log_header());
	if (status != TH_OBSERVED_OK)
		th_log_observe_end();
	else if (!outside->subject.plan.start)
		th_breakdown_begin(&outside->subject);
	return status;
}

static bool
is_library_responsible(const struct th_log_header *header)
{
	return th_load_relaxed(&header->has_server) || th_load_relaxed(&header->has_vm);
}

enum th_observed_status
th_outside_look(struct th_outside *outside, bool is_asked)
{
	enum th_observed_status status = begin(outside);

	if (status != TH_OBSERVED_OK)
		return status;
	if (is_library_responsible(th_log_header()))
		status = TH_OBSERVED_VM;
	else if (is_asked)
		th_breakdown_take(&outside->subject, TH_BREAKDOWN_ASKED, false);
	else
		th_breakdown_look(&outside->subject, th_clock_now());
	th_log_observe_end();
	return status;
}

uint64_t
th_outside_next(const struct th_outside *outside)
{
	return outside->subject.plan.next_look;
}

const char *
th_outside_problem(enum th_observed_status status)
{
	switch (status) {
	case TH_OBSERVED_GONE:
		return "the process has ended, or is not visible from here";
	case TH_OBSERVED_DENIED:
		return "this user may not read its memory (ptrace)";
	case TH_OBSERVED_UNKNOWN:
		return "its library has a different version";
	case TH_OBSERVED_VM:
		return "it had a Java VM, whose memory only its own library can attribute";
	default:
		return "";
	}
}
