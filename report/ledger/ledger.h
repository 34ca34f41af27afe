/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: what native code has taken from the Java VM and not given back, by kind, call path and
 * class, worst first, each with a verdict.
 *
 * A sampled take stands for 1/keep takes.  Verdicts are those of a time window that begins with the
 * first take of the entry, without its first fifth, divided into quarters of the time or of the load
 * (load.h).  A leak: of those taken in
 * each quarter some are held at the end, at least TH_LEDGER_LEAST samples in all, and of the last
 * quarter at least half as many as of the others on average.
 */
#ifndef TH_REPORT_LEDGER_LEDGER_H
#define TH_REPORT_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"
#include "report/statistics/estimate.h"

#define TH_LEDGER_QUARTERS 4
#define TH_LEDGER_LEAST 8

/* In the order of the report. */
enum th_ledger_verdict {
	TH_LEDGER_LEAK,
	TH_LEDGER_COMMIT,   /* grows, and was released with JNI_COMMIT only */
	TH_LEDGER_LONG,     /* critical sections of TH_LEDGER_LONG_NS and more */
	TH_LEDGER_CACHE,    /* some are given back, the number does not grow */
	TH_LEDGER_NEVER,    /* none is given back, the number does not grow */
	TH_LEDGER_BALANCED, /* none is held */
};

struct th_ledger_entry {
	enum th_ledger_kind kind;
	enum th_ledger_verdict verdict;
	uint32_t path;       /* leaf: the caller of JNI */
	uint32_t class_name; /* string number; 0 = not known */
	struct th_estimate held;
	struct th_estimate taken;
	struct th_estimate held_per_second; /* growth of those held, over the window */
	double median_age;                  /* of those held, seconds */
	uint32_t collections;               /* begun since the median one of them was taken */
	double longest;                     /* critical section, seconds; 0 = none was long */
};

struct th_ledger {
	const struct th_profile *profile;
	TH_ARRAY(struct th_ledger_entry, items);
	size_t findings_count; /* of the items, the first ones: leaks and long sections */
	bool is_exact;         /* every take was recorded */
	uint64_t begin;        /* ns: when it was switched on last */
	uint64_t end;          /* ns: as of when it judges */
};

/* Resolves paths of the profile, which must outlive the ledger. */
void th_ledger_init(struct th_ledger *ledger, const struct th_profile *profile);
void th_ledger_deinit(struct th_ledger *ledger);

/* "global", "string-critical", ... */
extern const char *const th_ledger_kind_names[];
bool th_ledger_is_critical(enum th_ledger_kind kind);

/* "leak", "critical section of 31 ms". */
const char *th_ledger_verdict_text(const struct th_ledger_entry *entry);

/*
 * The number of JNI references over time (TH_EVENT_JNI_REFERENCES), and whether it grows.
 *
 * A leak: after the warm-up, the smallest number of each quarter of the time is higher than that of the
 * quarter before, by TH_REFERENCES_LEAST together, and the last step is at least half the mean step.
 * Minima, since references that are given back later do not count.
 */

/* A VM of itself creates some dozen references while it warms up. */
#define TH_REFERENCES_LEAST 64
/* Shorter recordings are not judged. */
#define TH_REFERENCES_LEAST_NS UINT64_C(2000000000)

struct th_reference_count {
	uint64_t first;
	uint64_t last;
	uint64_t max;
	bool is_leak;
	double rate;  /* growth per second since `since`; of a leak */
	double since; /* seconds since the start of the recording: when it began to grow */
};

struct th_references {
	bool is_known; /* the VM's count was recorded */
	struct th_reference_count globals;
	struct th_reference_count weaks;
	uint64_t undetached; /* threads that ended while attached */
};

/* Counts up to `end` (ns), the time at which the report judges. */
struct th_references th_references_find(const struct th_recording *recording, uint64_t end);

/* "781 -> 200,004", or one number if it did not change. */
const char *th_reference_count_text(const struct th_reference_count *count);

#endif
