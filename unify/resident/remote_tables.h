/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the library in another process.  `twinheap run` and `twinheap rss PID` take the
 * breakdowns of a process without a Java VM, which has no library thread for this.  With
 * process_vm_readv(2) the tool copies the tables of that library into its own tables of the
 * same kind, and then uses them as the library does.
 *
 * The log's header has the address of the list of tables in the process.
 */
#ifndef TH_UNIFY_RESIDENT_REMOTE_TABLES_H
#define TH_UNIFY_RESIDENT_REMOTE_TABLES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unify/base/observed.h"
#include "unify/shared/outside.h"

#define TH_REMOTE_TABLES 5

/* What the library knows about its process. */
struct th_remote_tables {
	char magic[8];
	char version[24];             /* of the library */
	uint64_t start_monotonic;     /* as in the header of its log */
	uint64_t log;                 /* address of the header's mapping */
	int64_t to_thread_pointer;    /* from a thread's struct th_thread */
	bool has_owners;              /* mappings are recorded: mapping.h */
	char allocator[NAME_MAX + 1]; /* name of malloc's library; "" for libc */
	struct th_observed_tables tables[TH_REMOTE_TABLES];
};

/* Of the observed process. */
extern struct th_remote_tables th_remote_tables;

/*
 * In the library: fills the list and stores its address in the log's header, which must exist;
 * all tables must be initialized.  Not from the malloc path.
 */
void th_remote_tables_publish(void);

/*
 * In the tool: sets the observed process; the log with this header must be its own.  Copies
 * only the list.
 */
struct th_log_header;
enum th_observed_status th_remote_tables_begin(pid_t pid, const struct th_log_header *header);

/*
 * Whether the process is still that of th_remote_tables_begin(); in the library always true.
 * [any]
 */
bool th_remote_tables_are_there(void);

/*
 * Refreshes the copies of all tables of another process; false: it cannot be read, or out of
 * memory.  In the library it does nothing. [any]
 */
bool th_remote_tables_copy(void);

#endif
