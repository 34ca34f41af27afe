/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All settings of a recording: the option of `twinheap run`, the environment variable that
 * passes it to the process, the format of its value, and its help text.  The launcher (options,
 * checks, help) and the library (variables) are generated from this table.
 */
/* clang-format off */
#ifndef TH_UNIFY_SHARED_SETTINGS_TABLE_H
#define TH_UNIFY_SHARED_SETTINGS_TABLE_H

#include <stdint.h>

#include "unify/shared/heaps.h"

/* Format of the value.  Minimum and maximum in the table apply to sizes and numbers. */
enum th_setting_kind {
	TH_SETTING_TEXT,
	TH_SETTING_SIZE,   /* th_size_parse() */
	TH_SETTING_NUMBER, /* decimal digits */
	TH_SETTING_PERCENT, /* th_percent_parse(), in millionths */
	TH_SETTING_SECONDS, /* th_seconds_parse() */
	TH_SETTING_CHOICE, /* one of the words in `argument`, separated by bars */
	TH_SETTING_HEAPS,  /* th_heaps_parse() */
	TH_SETTING_FLAG,   /* on if set to anything but "" and "0" */
};

/* How the setting can be given. */
enum th_setting_access {
	TH_SETTING_OPTION,   /* by option and variable */
	TH_SETTING_VARIABLE, /* by variable only */
	/*
	 * A variable of others that labels the process: recorded in the log, without effect; no
	 * option, no help.
	 */
	TH_SETTING_RESERVED,
};

/* The choices of GC_AT_EXIT, in its order. */
enum th_gc_at_exit { TH_GC_AT_EXIT_AUTO, TH_GC_AT_EXIT_ALWAYS, TH_GC_AT_EXIT_NEVER };

/* Not a setting: `twinheap run` sets it to the process id of the command that it starts. */
#define TH_ROOT_VARIABLE "TWINHEAP_ROOT"
/*
 * Likewise to the path of a file that processes which are not recorded map: one that allocates much
 * adds its id.  Once mapped it costs no system call, so that sandboxes do not matter.
 */
#define TH_UNRECORDED_VARIABLE "TWINHEAP_UNRECORDED"
#define TH_UNRECORDED_BYTES (4 << 20) /* mean bytes until it does */
struct th_unrecorded {
	uint32_t count; /* atomic; of those that wanted to be in `pids` */
	uint32_t pids[1022];
	uint32_t magic; /* what else the path may name by now has not this word here */
};
#define TH_UNRECORDED_MAGIC 0x6e756874

/* Mean bytes between samples; HotSpot's parameter is a jint. */
#define TH_INTERVAL_MAX INT32_MAX
/* With a rate only, as JFR and async-profiler. */
#define TH_INTERVAL_OF_RATE 524288
/* By default the interval starts here, and is never below the least. */
#define TH_INTERVAL_FIRST (128 << 10)
#define TH_INTERVAL_LEAST (32 << 10)
/* MAX_OVERHEAD under `run`: the default of a library that is always loaded is lower. */
#define TH_OVERHEAD_OF_RUN "2%"
#define TH_DEPTH_MAX 2048
/* Space for the first pages and a metadata block; a smaller log would hold no samples. */
#define TH_MAX_LOG_MIN (1 << 20)
/* A smaller ring would have no space for definitions beside its segments. */
#define TH_LOG_RING_MIN (8 << 20)

/*
 * S(NAME, letter or 0, "option", "VARIABLE", KIND, ACCESS, "argument", "default", minimum,
 *   maximum, "help")
 * The default is text in the syntax of the user, "" for none.  Help wraps at newlines.
 *
 * OUTPUT: a pattern as in log_name.h.  If the name is taken: log_path.h.
 */
#define TH_SETTINGS(S)                                                                         \
	S(OUTPUT, 'o', "output", "TWINHEAP_OUTPUT", TEXT, OPTION, "LOG", "twinheap.%p.thl", 0, \
		0, "name of the log; %p is the process id,\n"                                  \
		"%h the host name")                                                            \
	S(INTERVAL, 'i', "interval", "TWINHEAP_INTERVAL", SIZE, OPTION, "BYTES", "", 0,        \
		TH_INTERVAL_MAX,                                                               \
		"mean bytes between two samples, in each heap;\n"                              \
		"0 samples every allocation; if not given, from\n"                             \
		"32k up, as --max-overhead allows (512k with\n"                                \
		"--rate)")                                                                     \
	S(RATE, 'r', "rate", "TWINHEAP_RATE", NUMBER, OPTION, "RATE", "", 0, 1000000,          \
		"samples per second, in all heaps, above which\n"                              \
		"the interval is raised; 0 = none; instead of\n"                               \
		"--max-overhead, unless that is given as well")                                \
	S(MAX_OVERHEAD, 0, "max-overhead", "TWINHEAP_MAX_OVERHEAD", PERCENT, OPTION,           \
		"PERCENT", "1%", 1, 1000000,                                                   \
		"share of the process's CPU time that recording\n"                             \
		"may take after its first 5 s; run sets 2%; not\n"                             \
		"by default with --interval or --rate")                                        \
	S(GC_EVERY, 0, "gc-every", "TWINHEAP_GC_EVERY", SECONDS, OPTION, "TIME", "", 1, 86400, \
		"collects the whole Java heap this often, e.g.\n"                              \
		"30s, so that old objects are judged; the program\n"                           \
		"stands still meanwhile, as at System.gc()")                                   \
	S(GC_AT_EXIT, 0, "gc-at-exit", "TWINHEAP_GC_AT_EXIT", CHOICE, OPTION,                  \
		"auto|always|never", "never", 0, 0,                                            \
		"collects the whole Java heap when the Java VM\n"                              \
		"begins to end; auto, which run sets if this is\n"                             \
		"not given: only if no collection has judged old\n"                            \
		"objects lately, after 5 s, up to 512 MiB in\n"                                \
		"use")                                                                         \
	S(LEDGER, 0, "ledger", "TWINHEAP_LEDGER", FLAG, OPTION, "", "", 0, 0,                  \
		"follow what native code takes from the Java VM\n"                             \
		"and does not give back: references, arrays,\n"                                \
		"strings; with TWINHEAP_LEDGER=exact, each call\n"                             \
		"is recorded")                                                                 \
	S(HEAPS, 0, "heaps", "TWINHEAP_HEAPS", HEAPS, OPTION, TH_HEAPS_WORDS, "all", 0, 0,     \
		"heaps to sample; java,mapped for several,\n"                                  \
		"both for java,native")                                                        \
	S(DEPTH, 0, "depth", "TWINHEAP_DEPTH", NUMBER, OPTION, "N", "256", 1, TH_DEPTH_MAX,    \
		"frames to keep per stack, counted from the\n"                                 \
		"allocation")                                                                  \
	S(FOLLOW, 0, "follow", "TWINHEAP_FOLLOW", CHOICE, OPTION, "java|all|none", "java", 0,  \
		0,                                                                             \
		"processes to record: those that load a\n"                                     \
		"Java VM, all of them, or only the command\n"                                  \
		"itself")                                                                      \
	S(ALLOCATOR, 0, "allocator", "TWINHEAP_ALLOCATOR", TEXT, OPTION, "NAME", "", 0, 0,     \
		"underlying allocator: jemalloc, tcmalloc,\n"                                  \
		"mimalloc, or the path of one")                                                \
	S(UNWINDER, 0, "unwinder", "TWINHEAP_UNWINDER", CHOICE, OPTION, "own|libunwind",       \
		"own", 0, 0,                                                                   \
		"unwinder of native stacks; libunwind is slower,\n"                            \
		"for comparison")                                                              \
	S(LOG_RING, 0, "log-ring", "TWINHEAP_LOG_RING", SIZE, OPTION, "SIZE", "",              \
		TH_LOG_RING_MIN, INT64_MAX,                                                    \
		"the log keeps the last of what happened in SIZE\n"                            \
		"bytes, at least 8M, and of what was before: what\n"                           \
		"is alive, totals, and a sample of the rest")                                  \
	S(MAX_LOG, 0, "", "TWINHEAP_MAX_LOG", SIZE, VARIABLE, "BYTES", "1G", TH_MAX_LOG_MIN,   \
		INT64_MAX, "maximum size of a log")                                            \
	S(SEED, 0, "", "TWINHEAP_SEED", NUMBER, VARIABLE, "N", "", 0, UINT64_MAX,              \
		"seed of the samplers, for reproducible\n"                                     \
		"recordings")                                                                  \
	S(LABELS, 0, "labels", "TWINHEAP_LABELS", TEXT, OPTION, "KEY=VALUE,...", "", 0, 0,     \
		"labels of the recording, e.g. version=2.4.1, by\n"                            \
		"which leaks and diff group recordings")                                       \
	S(DISABLE, 0, "", "TWINHEAP_DISABLE", FLAG, VARIABLE, "1", "", 0, 0,                   \
		"load the library, record nothing")                                            \
	S(VERBOSE, 0, "", "TWINHEAP_VERBOSE", FLAG, VARIABLE, "1", "", 0, 0,                   \
		"report on stderr what the library does")                                      \
	S(OTEL_ATTRIBUTES, 0, "", "OTEL_RESOURCE_ATTRIBUTES", TEXT, RESERVED, "", "", 0, 0, "") \
	S(OTEL_SERVICE, 0, "", "OTEL_SERVICE_NAME", TEXT, RESERVED, "", "", 0, 0, "")          \
	S(POD_NAME, 0, "", "POD_NAME", TEXT, RESERVED, "", "", 0, 0, "")                       \
	S(POD_NAMESPACE, 0, "", "POD_NAMESPACE", TEXT, RESERVED, "", "", 0, 0, "")

enum th_setting {
#define S(NAME, ...) TH_SETTING_NAME_##NAME,
	TH_SETTINGS(S)
#undef S
		TH_SETTING_COUNT
};

#endif
