/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the library in another process.  `twinheap run` and `twinheap rss PID` take the
 * breakdowns of a process without a Java VM, which has no thread of the library to take them.  The
 * tool copies the tables of the library into its own of the same kind, with process_vm_readv(2),
 * and then works on them as the library would.
 *
 * Each of the modules that has such tables gives the place and the sizes of what is to be copied
 * (a part).  The header of the log has the address of the list of parts in the process.
 */
#ifndef TH_UNIFY_RESIDENT_REMOTE_TABLES_H
#define TH_UNIFY_RESIDENT_REMOTE_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unify/shared/outside.h"
#include "unify/base/observed.h"

enum th_remote_table {
	TH_REMOTE_MEMORY,
	TH_REMOTE_LOG,
	TH_REMOTE_THREADS,
	TH_REMOTE_MAPPING,
	TH_REMOTE_LIVE,
	TH_REMOTE_MODULES,
	TH_REMOTE_ACCOUNT,
	TH_REMOTE_TABLES,
};

/* The list of parts, as it lies in the observed process. */
struct th_remote_tables {
	char magic[8];
	char version[24];          /* of the library */
	uint64_t start_monotonic;  /* as the header of its log has it */
	uint64_t log;              /* where its header is mapped */
	int64_t to_thread_pointer; /* from a thread's struct th_thread */
	struct th_observed_part parts[TH_REMOTE_TABLES];
};

/*
 * In the library: fills the list and puts its address into the log's header, which is there; all
 * tables have been started.  Not from the malloc path.
 */
void th_remote_tables_publish(void);

/* Data about the observed process besides tables. [any] */
const struct th_remote_tables *th_remote_tables(void);

/*
 * In the tool: `pid` is the process that is observed from now on; the log with this header is its
 * own.  Copies nothing yet but the list.
 */
struct th_log_header;
enum th_observed_status th_remote_tables_begin(pid_t pid, const struct th_log_header *header);

/* Whether the process is still the one of th_remote_tables_begin(); in the library always. [any] */
bool th_remote_tables_are_there(void);

/*
 * Brings the copies of all tables of another process up to date; false: it cannot be read, or no
 * memory.  In the library it does nothing. [any]
 */
bool th_remote_tables_copy(void);

#endif
