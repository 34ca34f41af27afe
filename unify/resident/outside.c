/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/shared/outside.h"

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/resident/breakdown.h"
#include "unify/resident/remote_tables.h"

static bool
is_library_responsible(const struct th_log_header *header)
{
	return th_load_relaxed(&header->has_server) || th_load_relaxed(&header->knows_vm);
}

/* While the log is treated as this process's own. */
static enum th_observed_status
take(pid_t pid)
{
	enum th_observed_status status = th_remote_tables_begin(pid, th_log_header());

	if (status != TH_OBSERVED_OK)
		return status;
	if (is_library_responsible(th_log_header()))
		return TH_OBSERVED_VM;
	/* Its owners are copied with its tables. */
	th_breakdown_start(false);
	th_breakdown_flush();
	return TH_OBSERVED_OK;
}

enum th_observed_status
th_outside_take(pid_t pid, int descriptor)
{
	enum th_observed_status status;

	if (!th_log_observe(descriptor))
		return TH_OBSERVED_GONE;
	status = take(pid);
	th_log_observe_end();
	return status;
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
