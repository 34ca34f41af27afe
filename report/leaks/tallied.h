/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks of things that the library counts instead of sampling (TH_EVENT_TALLY): threads and
 * class loaders. The makers with one line of the application are judged together.
 *
 * A leak: more of them are alive at the end than after the warm-up, and of those made in each
 * quarter of the time in between some are, in the last quarter at least half as many as in the
 * others on average. Where none were made in the first quarter, the time begins with the first; with
 * less than half of it left the verdict is unclear. Quarters of the load, in which the heap
 * allocated as much, do as well: a program may work in bursts.  Those younger than `old`
 * (observation_window.h) do not count. So neither a pool, whose members were made early, nor
 * short-lived ones are leaks.
 *
 * Class loaders die in a collection only: the quarters end where the last old-generation
 * collection began, and as many must be made after it. Without a collection late enough the
 * verdict is unclear.
 *
 * Threads that end with the full collection at exit are unclosed, as blocks are: a Java object that
 * the program dropped would have ended them (an HttpClient, an executor).  If those that ended before
 * did so soon after GCs, they count as if they were alive.
 *
 * What a leak holds: stacks of threads, from the breakdown; metaspace of classes, estimated by
 * the library; and what the VM allocates for either, from samples of the C heap.
 */
#ifndef TH_REPORT_LEAKS_TALLIED_H
#define TH_REPORT_LEAKS_TALLIED_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/evidence.h"
#include "report/leaks/observation_window.h"
#include "report/profile/leak_sites.h"
#include "report/statistics/estimate.h"

#define TH_TALLIED_QUARTERS 4
#define TH_TALLIED_STEPS 64
/* Parts of the whole window in which the survivors' times of creation are counted. */
#define TH_TALLIED_PARTS 32

struct th_tallied {
	enum th_tally_kind kind;
	uint32_t number;     /* of the group */
	uint32_t key;        /* the makers of one line have the same */
	uint32_t path;       /* of the maker of most of them */
	uint32_t line;       /* frame of the application, else of the maker's leaf */
	uint32_t user;       /* frame in another library that called it, TH_NO_FRAME = none */
	uint32_t class_name; /* string number; 0 = none */
	uint32_t starter; /* stack that started the thread of `path`, plus one; 0 = not known */
	uint32_t stacks;  /* number of makers */
	uint32_t level;   /* counts are exact if 0, else one of 2^level was counted */
	double most;      /* alive, of one maker */
	double made;
	double alive;        /* at the end */
	double alive_before; /* after the warm-up */
	double parts;        /* classes of class loaders */
	double bytes;        /* stacks: address space; classes: estimated metaspace */
	double births[TH_TALLIED_QUARTERS];            /* alive, of the quarters */
	double births_by_load[TH_TALLIED_QUARTERS];    /* the same of quarters of equal load */
	double load_quarters[TH_TALLIED_QUARTERS + 1]; /* their bounds, ns */
	bool is_brief;                         /* the load ended too soon for a verdict by it */
	bool is_by_load;                       /* `births` are of these, not of equal times */
	double born_after;                     /* alive, made after them */
	double collected;                      /* of `alive`: ended with the full GC at exit */
	double ended;                          /* after the warm-up */
	double ended_by_gc;                    /* of these, soon after a GC */
	double made_in_step[TH_TALLIED_STEPS]; /* all, of the time after the warm-up */
	bool is_ended_by_gcs;                  /* `births` are all that were made */
	double made_in[TH_TALLIED_PARTS];      /* alive, by part of the window in which made */
	double begin, until;                   /* of the quarters, ns */
	double seconds;                        /* of the quarters */
	bool is_late;                          /* the quarters are too short for a verdict */
	bool is_idle;          /* they end early: next to nothing was allocated since */
	double resident;       /* of the stacks or the metaspace; at most `bytes` */
	struct th_estimate vm; /* live bytes that the VM allocated for them in the C heap */
	enum th_verdict verdict;
};

struct th_tallies {
	TH_ARRAY(struct th_tallied, items); /* leaks, then unclear ones; most bytes first */
	size_t leaks_count;                 /* of the items */
	struct th_id_map maker_ids;         /* stack, type and kind */
	TH_ARRAY(
		uint32_t, groups); /* by maker: `number` of its item; UINT32_MAX = not judged */
	struct th_id_map line_ids; /* keys: path prefix << 32 | line */
};

/*
 * `window`: that of the C heap. Adds prefixes to the sites and paths to the profile of these.
 * All must outlive the tallies.
 */
void th_tallies_init(struct th_tallies *tallies, struct th_leak_sites *places,
	const struct th_observation_window *window);
void th_tallies_deinit(struct th_tallies *tallies);

/* That of its verdict, as for findings: TH_REASON_UNCLOSED, TH_REASON_IDLE or TH_REASON_GROWS. */
enum th_reason th_tallied_reason(const struct th_tallied *tallied);

/* Whether its figures contain memory with this purpose (th_leak_site.internal). */
bool th_tallied_contains(const struct th_tallied *tallied, const char *purpose);

/* Whether class loaders of this type are made by this stack, as in a TALLY, for an item. */
bool th_tallied_has_loaders(const struct th_tallies *tallies, const struct th_tallied *tallied,
	uint32_t stack, uint32_t type);

/* Bytes that the leak holds: resident ones, and those of the C heap at the lower end. */
double th_tallied_bytes(const struct th_tallied *tallied);

/* Number of those made in a second that stay alive. */
double th_tallied_rate(const struct th_tallied *tallied);

/* Bytes by which those that stay grow in a second. */
double th_tallied_growth(const struct th_tallied *tallied);

/* "threads" or "classes": the heap in JSON. */
const char *th_tallied_heap(const struct th_tallied *tallied);

/* Between tallied.c and tallied_memory.c */

struct th_tallied_line {
	uint32_t key;        /* equal for all stacks with this line, and for no others */
	uint32_t frame;      /* of the application, else of the Java runtime, else the leaf */
	uint32_t user;       /* as in struct th_tallied */
	bool is_application; /* the frame is one of the application */
};

/* The line of a path. */
struct th_tallied_line
th_tallied_line(struct th_tallies *tallies, struct th_leak_sites *places, uint32_t path);

/* Sets `resident` and `vm` of all items, as of `time`. */
void
th_tallied_measure(struct th_tallies *tallies, struct th_leak_sites *places, uint64_t time);

#endif
