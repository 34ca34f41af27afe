/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of all commands: one table of options, from which the parser and
 * the help of every command are generated.
 */
#ifndef TH_REPORT_PROFILE_OPTIONS_H
#define TH_REPORT_PROFILE_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/base/format.h"
#include "report/base/labels.h"
#include "report/base/terminal.h"
#include "unify/shared/log_format.h"
#include "unify/shared/settings_table.h"

/* The quantity that is summed up for each stack. */
enum th_measure {
	TH_MEASURE_ALLOC,
	TH_MEASURE_LIVE,
	TH_MEASURE_TEMPORARY,
	TH_MEASURE_TOUCHED, /* live and resident, at the snapshot of that time; native only */
	TH_MEASURES,
};

/* The value that a view shows for each stack. */
enum th_view_value {
	TH_VALUE_ALLOC_BYTES,
	TH_VALUE_ALLOC_OBJECTS,
	TH_VALUE_LIVE_BYTES,
	TH_VALUE_LIVE_OBJECTS,
	TH_VALUE_TEMPORARY_BYTES,
	TH_VALUE_TOUCHED_BYTES,
	TH_VALUES,
};

struct th_value_kind {
	const char *name;    /* on the command line */
	const char *heading; /* of its column, 9 characters at most */
	const char *title;
	enum th_measure measure;
	enum th_unit unit;
};

extern const struct th_value_kind th_values[TH_VALUES];

/*
 * Time at which live values are taken. LAST is the default: END, or --to if that is earlier.  END is
 * the last moment before the process began to end (report/statistics/teardown.h), EXIT the last
 * event of the recording.
 */
enum th_at { TH_AT_LAST, TH_AT_END, TH_AT_EXIT, TH_AT_PEAK, TH_AT_SECONDS };

enum th_output_format {
	TH_OUTPUT_NONE,
	TH_OUTPUT_COLLAPSED,
	TH_OUTPUT_JSON,
	TH_OUTPUT_PPROF,
	TH_OUTPUT_SPEEDSCOPE,
	TH_OUTPUT_OTLP,
	TH_OUTPUT_JFR,
	TH_OUTPUT_TEXT,
};

/* Condition for exit status 1 of `leaks`. */
enum th_fail_on {
	TH_FAIL_NEVER,
	TH_FAIL_LEAK, /* any leak */
	TH_FAIL_BYTES, /* leaks of at least this many bytes, at the lower end of their intervals */
};

/* Key by which stacks are grouped. */
enum th_group_by {
	TH_GROUP_NONE,
	TH_GROUP_PACKAGE,
	TH_GROUP_LIBRARY,
	TH_GROUP_CLASS,
	TH_GROUP_THREAD,
};

/* A POSIX extended regular expression, if one was given. */
struct th_pattern {
	bool is_given;
	const char *text;
	regex_t regex;
};

struct th_options {
	const char *program; /* name of this program, for commands that a view suggests */
	const char *log;     /* as given: a path, the id of a process, or "-" */
	char *input;         /* its path, set by the caller of th_options_parse(); else NULL */
	TH_ARRAY(const char *,
		logs);         /* all operands; of a comparison they may end in "@MOMENT" */
	const char *by;        /* label by which recordings are grouped; NULL = none */
	const char *old_group; /* diff: values of that label; NULL = the last two */
	const char *new_group;
	enum th_view_value value;
	bool has_value;
	unsigned heaps; /* bits 1 << enum th_heap */
	double from;    /* seconds since the start of the recording */
	double to;
	const char
		*from_mark; /* its name, instead of `from`, until th_options_resolve_marks() */
	const char *to_mark;
	const char *at_mark;
	enum th_at at;
	double at_seconds;
	struct th_pattern thread;
	struct th_pattern class_name;
	struct th_pattern include;
	struct th_pattern exclude;
	struct th_pattern focus;
	struct th_pattern hide;
	enum th_group_by group_by;
	bool all_vm_frames;
	bool annotate;
	bool lists_all; /* leaks: plateaus, churn, unclear below the detection limit */
	bool brief;
	bool wants_peak; /* set by a command that prints the peak: see th_profile_peak() */
	bool has_min;
	bool has_top;
	bool per_thread; /* tree: the threads are the first level */
	enum th_colors colors;
	bool no_command;     /* the executable instead of the command line */
	bool counts_buffers; /* requests a count of buffers from the process first */
	bool help;
	double min_share; /* percent */
	uint64_t top; /* sites or tree lines per heap, findings of a verdict, rows of a diff */
	enum th_output_format format;
	enum th_fail_on fail_on;
	uint64_t fail_bytes;
	uint64_t
		limit; /* detection limit required by --fail-on leak, bytes per second; 0 = any */
	uint64_t finding;       /* number of a finding, from 1; 0 = all */
	const char *held_class; /* name of a class; NULL = findings */
	uint32_t max_pause_ms;  /* of a walk of the heap; 0 = not given */
	uint32_t max_memory_mib;
	const char *output;         /* NULL and "-" = stdout */
	const char *source;         /* directory of source files; NULL = none */
	struct th_symbols *symbols; /* of many recordings; NULL = of each profile */
	/* run, attach */
	const char
		*settings[TH_SETTING_COUNT]; /* by option, not by variable; NULL: not given */
	bool is_quiet;
	uint64_t duration; /* attach --for, seconds; 0 = not given */
	char **command;    /* of run and doctor, NULL-terminated */
	/* push */
	const char *receiver; /* its URL; NULL: from the environment */
	const char *state; /* directory of the files of state; "none" = none, NULL = default */
	uint64_t window;   /* ns */
	uint64_t timeout;  /* of a request, ns */
	uint64_t patience; /* how long a single push is tried, ns */
	struct th_labels label; /* of everything that is sent */
	struct th_labels only;  /* only processes that have these */
};

/* Groups of options that a command accepts. */
enum th_option_group {
	TH_OPTIONS_VIEW = 1, /* options of every view at one time */
	TH_OPTIONS_SUMMARY = 2,
	TH_OPTIONS_TREE = 4,
	TH_OPTIONS_EXPORT = 8,
	TH_OPTIONS_SELECT = 16, /* selects stacks */
	TH_OPTIONS_LEAKS = 32,
	TH_OPTIONS_DIFF = 64, /* takes two logs */
	TH_OPTIONS_VALUE = 128,
	TH_OPTIONS_OUTPUT = 256, /* writes a file */
	TH_OPTIONS_BUNDLE = 512,
	TH_OPTIONS_TIME = 1024, /* a part of the recording */
	TH_OPTIONS_RSS = 2048,
	TH_OPTIONS_LIVE = 4096,
	TH_OPTIONS_COMMAND = 8192, /* shows the recorded command line */
	TH_OPTIONS_COLOR = 16384,
	TH_OPTIONS_JSON = 32768, /* prints text or JSON */
	TH_OPTIONS_PAGE = 65536, /* takes one log or two */
	TH_OPTIONS_LEDGER = 131072,
	TH_OPTIONS_MANY = 262144,    /* takes any number of logs and directories */
	TH_OPTIONS_HOLDERS = 524288, /* objects of a finding or a class */
	TH_OPTIONS_CTL = 1048576,    /* takes a recording, a command and its value */
	TH_OPTIONS_LIST = 2097152,   /* takes no log */
	TH_OPTIONS_PUSH = 4194304,   /* takes a log or none */
	TH_OPTIONS_RUN = 8388608,    /* takes a command with its arguments */
	TH_OPTIONS_ATTACH = 16777216,
	TH_OPTIONS_PID = 33554432,       /* takes a process instead of a log */
	TH_OPTIONS_VARIABLES = 67108864, /* variables of the environment, for the help */
	TH_OPTIONS_DOCTOR = 134217728,   /* takes a command or none */
	TH_OPTIONS_OF_LOGS = TH_OPTIONS_CTL - 1, /* all of commands that show logs */
};

/*
 * Reads the arguments of a command, argv[0] being its name: options of `groups` and one log, or
 * two, or any number, or none. th_options_deinit() must be called after an error as well as after success.
 */
struct th_error *
th_options_parse(struct th_options *options, unsigned groups, int argc, char **argv);
void th_options_deinit(struct th_options *options);

/*
 * Splits "LOG@end", "LOG@exit", "LOG@peak" or "LOG@12.5s" into the log, which the caller frees, and the
 * time, which is set in `options`; without such a suffix the whole operand is the log.
 */
char *th_options_split_moment(const char *operand, struct th_options *options);

/*
 * Replaces the marks that the options name (--from mark:NAME) by their times in the log that the options
 * name, which is read again if there are any. If a mark occurs more than once, the last one counts.
 */
struct th_error *th_options_resolve_marks(struct th_options *options);

/* Sets the defaults of all options. */
void th_options_set_defaults(struct th_options *options);

/* Prints the options of `groups`. */
void th_options_print_help(FILE *file, unsigned groups);

/* Whether the output is standard output. */
bool th_options_writes_stdout(const struct th_options *options);

/* Whether the options leave out stacks, and whether they shape them. */
bool th_options_filter_stacks(const struct th_options *options);
bool th_options_shape_stacks(const struct th_options *options);

/* Groupings on the command line. */
extern const char *const th_group_by_names[];

/* Whether no pattern is given or it matches. */
bool th_pattern_matches(const struct th_pattern *pattern, const char *text);

#endif
