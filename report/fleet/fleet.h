/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many recordings, by group: of each line of the application, the mean over the processes of a
 * group of one number per process. With `leaks` that is the growth, with `diff` a value such as
 * live bytes.
 *
 * Recordings are read one after the other, and only sums are kept: memory is that of the largest
 * recording and of the different stacks of all. A line that a process does not have counts as 0,
 * if its heap was recorded (for growth: long enough to be judged).
 */
#ifndef TH_REPORT_FLEET_FLEET_H
#define TH_REPORT_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/labels.h"
#include "report/leaks/leaks.h"
#include "report/profile/stack_keys.h"
#include "report/statistics/process_mean.h"

#define TH_NO_CELL UINT32_MAX

/* Processes with one value of a label. */
struct th_fleet_group {
	char *name;      /* the value; "" = processes without the label */
	uint64_t start;  /* of the first process, ns since 1970 */
	double seconds;  /* recorded, of all processes together */
	uint32_t number; /* before they were sorted */
	uint32_t processes;
	uint32_t counted[TH_HEAPS]; /* processes whose heap counts */
	uint32_t
		of_counts; /* leaks: processes that leak threads, class loaders or references */
	struct th_process_sums totals[TH_HEAPS]; /* values: of the whole heap */
};

/* A line in a group. */
struct th_fleet_cell {
	uint32_t group;
	uint32_t next;                /* cell of the same line, TH_NO_CELL */
	struct th_process_sums value; /* processes without the line are added at the end */
	struct th_process_sums live;  /* growth: bytes */
	uint32_t processes;           /* that have the line */
	uint32_t growing;             /* growth above 0 */
	uint32_t leaks;               /* verdict of the process alone: leak */
	uint32_t unclear;             /* ... unclear */
	struct th_estimate leaking;   /* growth of those that leak, summed up */
	double most;                  /* the largest value */
	uint32_t most_log;            /* its recording */
	/* Set by th_fleet_finish(). */
	enum th_verdict verdict; /* LEAK, UNCLEAR or PLATEAU */
	/*
	 * Of all counted processes; see th_process_mean().  Of those alone that leak by themselves if
	 * the mean of all is not significant: `samples` is their number.
	 */
	struct th_estimate mean;
	struct th_estimate average; /* of `live` */
};

struct th_fleet_line {
	enum th_heap heap;
	uint32_t key;        /* stack down to the line */
	uint32_t stack;      /* of the allocation, in the process of `shown` */
	uint32_t class_name; /* string of the keys; values only */
	uint32_t title;      /* string: how the line is printed */
	double shown;        /* largest value so far, from which stack and title are */
	bool is_internal;    /* memory of the VM for itself */
	uint32_t first;      /* cell */
	/* Set by th_fleet_finish(). */
	enum th_verdict verdict; /* growth: the worst of its groups */
	uint32_t since;          /* growth: first group of those with the leak; or UINT32_MAX */
	struct th_estimate change; /* from the old group to the new one */
};

/* A site for readers, a text of the output. */
typedef const char *
th_fleet_title(const struct th_leak_sites *places, const struct th_leak_site *place);

struct th_fleet {
	const struct th_options *options;
	th_fleet_title *title;
	bool is_growth;
	struct th_symbols *symbols; /* of all recordings */
	struct th_stack_keys keys;
	struct th_id_map line_ids; /* stack << 32 | class << 2 | heap */
	TH_ARRAY(struct th_fleet_line, lines);
	TH_ARRAY(struct th_fleet_cell, cells);
	TH_ARRAY(struct th_fleet_group, groups); /* sorted by th_fleet_finish() */
	TH_ARRAY(char *, logs);                  /* that were read, by number */
	struct th_id_map processes;              /* that were read, by identity */
	uint32_t repeated;                       /* logs of processes that were read before */
	uint32_t unreadable;
	uint32_t damaged;   /* logs that could be read in part */
	uint32_t old_group; /* that are compared; both UINT32_MAX with less than two groups */
	uint32_t new_group;
};

/* `is_growth`: leaks, else values. All that is passed must outlive the fleet. */
void th_fleet_init(struct th_fleet *fleet, const struct th_options *options, bool is_growth,
	th_fleet_title *title);
void th_fleet_deinit(struct th_fleet *fleet);

/*
 * Reads the log at `path` and adds its process to the group of its label (--by), or to the group
 * `group` unless that is NULL. A log that cannot be read is counted and returned as an error, which
 * changes nothing else. A log of a process that was read before is only counted.
 */
struct th_error *th_fleet_add(struct th_fleet *fleet, const char *path, const char *group);

/*
 * Sorts groups and lines, computes means and verdicts. Groups are sorted by version number if each
 * name has one, else by the start of their first process; those without the label come first.
 * Lines: the worst verdict first, then the largest growth or change. Returns an error if the
 * options name groups (--old, --new) that do not exist.
 */
struct th_error *th_fleet_finish(struct th_fleet *fleet);

/* The cell of a line in a group, after th_fleet_finish(); NULL: no process has the line. */
const struct th_fleet_cell *
th_fleet_cell(const struct th_fleet *fleet, const struct th_fleet_line *line, uint32_t group);

/*
 * Compares versions: numbers by value, "v2.4.10" after "v2.4.9"; what follows a "-" marks a version
 * before the one without. As strcmp().
 */
int th_fleet_compare_versions(const char *a, const char *b);

/* The value of a label as --by names it: KEY, service.KEY, KEY.name, k8s.KEY.name or log.KEY. */
const char *th_fleet_label(const struct th_labels *labels, const char *key);

#endif
