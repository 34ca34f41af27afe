/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that a breakdown of resident memory is of.  In the library that is the process
 * itself.  In the tool it is another: `twinheap run` and `twinheap rss PID` take the breakdowns of
 * a process without a Java VM, which has no thread of the library to take them.  The tool copies
 * the tables of the library into its own of the same kind, with process_vm_readv(2), and then works
 * on them as the library would.
 *
 * Each of the modules that has such tables gives the place and the sizes of what is to be copied
 * (a part).  The header of the log has the address of the list of parts in the process.
 */
#ifndef TH_UNIFY_RESIDENT_OBSERVED_H
#define TH_UNIFY_RESIDENT_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unify/shared/outside.h"

struct th_observed_part {
	const void *start;
	uint32_t bytes;       /* of what is there */
	uint32_t entry_bytes; /* of an entry of the table that it leads to; 0 = none */
};

enum th_observed_table {
	TH_OBSERVED_MEMORY,
	TH_OBSERVED_LOG,
	TH_OBSERVED_THREADS,
	TH_OBSERVED_MAPPING,
	TH_OBSERVED_LIVE,
	TH_OBSERVED_MODULES,
	TH_OBSERVED_ACCOUNT,
	TH_OBSERVED_TABLES,
};

/* The list of parts, as it lies in the observed process. */
struct th_observed_list {
	char magic[8];
	char version[24];          /* of the library */
	uint64_t start_monotonic;  /* as the header of its log has it */
	uint64_t log;              /* where its header is mapped */
	int64_t to_thread_pointer; /* from a thread's struct th_thread */
	struct th_observed_part parts[TH_OBSERVED_TABLES];
};

/*
 * In the library: fills the list and puts its address into the log's header, which is there; all
 * tables have been started.  Not from the malloc path.
 */
void th_observed_publish(void);

/* Data about the observed process besides tables. [any] */
const struct th_observed_list *th_observed_list(void);

/* "/proc/self/NAME", or "/proc/PID/NAME" of another process. [any] */
#define TH_OBSERVED_PATH_MAX 64
const char *th_observed_path(const char *name, char path[TH_OBSERVED_PATH_MAX]);

/* Copies bytes at an address of the process; false: not all of them can be read. [any] */
bool th_observed_copy(uintptr_t from, void *ret, uint64_t bytes);

/*
 * In the tool: `pid` is the process that is observed from now on; the log with this header is its
 * own.  Copies nothing yet but the list.
 */
struct th_log_header;
enum th_observed_status th_observed_begin(pid_t pid, const struct th_log_header *header);

/* Whether the process is still the one of th_observed_begin(); in the library always. [any] */
bool th_observed_is_there(void);

/*
 * Brings the copies of all tables of another process up to date; false: it cannot be read, or no
 * memory.  In the library it does nothing. [any]
 */
bool th_observed_copy_tables(void);

#endif
