/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library answers when it is loaded into a running process: the VM hands the number to the
 * program that asked, as the result of Agent_OnAttach.
 */
#ifndef TH_UNIFY_SHARED_LATE_STATUS_H
#define TH_UNIFY_SHARED_LATE_STATUS_H

/* X(NAME, number, reason) */
#define TH_LATE_STATUSES(X)                                                                   \
	X(RECORDS, 0, "records")                                                              \
	X(RECORDED_ALREADY, 101, "is already recorded")                                       \
	X(REFUSED, 102, "runs with raised privileges, or the library is disabled in it")      \
	X(BAD_OPTION, 103,                                                                    \
		"the library rejects an option; its message is on the stderr of the process") \
	X(NO_LOG, 104,                                                                        \
		"the log cannot be created; the reason is on the stderr of the process; -o "  \
		"names another file")                                                         \
	X(BUSY, 105, "the previous recording has not ended yet; try again")                   \
	X(STARTING, 106, "its VM is still starting; try again")

enum th_late_status {
#define X(NAME, number, reason) TH_LATE_##NAME = number,
	TH_LATE_STATUSES(X)
#undef X
};

#endif
