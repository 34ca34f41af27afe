/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All data of a view of resident memory: the breakdown at a snapshot, the breakdowns over time, and
 * the verdict: the cause of the resident memory, in one sentence.
 */
#ifndef TH_REPORT_RSS_RSS_H
#define TH_REPORT_RSS_RSS_H

#include <stddef.h>
#include <stdint.h>

#include "report/leaks/leaks.h"
#include "report/rss/breakdown.h"

/* A point of the RSS over time. */
struct th_rss_point {
	double seconds;
	double bytes;
};

/* One of the breakdowns over time: its lines, without parts. */
struct th_rss_moment {
	double seconds;
	double resident;
	double lines[TH_BREAKDOWN_KINDS];
};

enum th_rss_course {
	TH_RSS_SHORT,   /* too short for a verdict */
	TH_RSS_GROWING, /* still growing */
	TH_RSS_PLATEAU,
	TH_RSS_FELL, /* below its peak again */
};

enum th_rss_cause {
	TH_RSS_NOTHING_STANDS_OUT,
	TH_RSS_LEAK_OF_MALLOC,
	TH_RSS_RETAINED,
	TH_RSS_JAVA_HEAP,
	TH_RSS_DIRECT_BUFFERS,
	TH_RSS_STACKS,
	TH_RSS_MAPPED,
	TH_RSS_FILES,
	TH_RSS_METASPACE,
	TH_RSS_LOADERS,    /* class loaders that are never unloaded, with all that they hold */
	TH_RSS_THREADS,    /* threads that never end or are not joined */
	TH_RSS_PAGE_CACHE, /* of the control group, not in the RSS */
};

struct th_rss_verdict {
	enum th_rss_course course;
	double growth; /* bytes per second from the second to the last quarter */
	enum th_breakdown_kind grower; /* the line that explains it, if the RSS grows */
	double grown;                  /* growth of that line since `before` */
	double grown_all;              /* growth of all lines */
	enum th_rss_cause cause;
	bool is_near_limit; /* of the group: nine tenths or more */
};

struct th_rss {
	const struct th_profile *profile;
	struct th_breakdown account;             /* at the time of the view */
	struct th_rss_moment now;                /* the same without parts */
	TH_ARRAY(struct th_rss_point, points);   /* by time */
	TH_ARRAY(struct th_rss_moment, moments); /* at most TH_RSS_MOMENTS, by time */
	/* What the verdict is derived from, besides. */
	size_t judged_points;               /* up to the snapshot of the view */
	const struct th_rss_moment *before; /* a snapshot in the second quarter; NULL: none */
	uint64_t direct_count;              /* direct buffers */
	bool has_leaks;                     /* `leaks` was asked */
	double leaked[TH_HEAPS];            /* live bytes of its findings that leak */
	/* Bytes of its leaks of class loaders and threads, and their growth in a second. */
	double tallied[TH_TALLY_KINDS];
	double tallied_growth[TH_TALLY_KINDS];
	struct th_rss_verdict verdict;
};

#define TH_RSS_MOMENTS 64

/*
 * The profile must outlive it and its recording must have a snapshot. `leaks`: the findings of that
 * profile, with which the verdict must agree; NULL: not known.
 */
void
th_rss_init(struct th_rss *rss, const struct th_profile *profile, const struct th_leaks *leaks);
void th_rss_deinit(struct th_rss *rss);

/*
 * The rows of the profile that make up a line of malloc's blocks, by resident bytes, largest
 * first: writes at most `capacity` indices and returns the number of rows.
 */
size_t th_rss_rows(
	const struct th_rss *rss, enum th_breakdown_kind kind, size_t *rows, size_t capacity);

/* The verdict, of all other fields. */
struct th_rss_verdict th_rss_judge(const struct th_rss *rss);

/* One or two sentences with the numbers. */
const char *th_rss_verdict_text(const struct th_rss *rss);

/* Whether the process fits into the limit of its control group; bytes. */
struct th_rss_fit {
	double heap;    /* that the Java heap may take, -Xmx */
	double outside; /* resident outside of it */
	double growth; /* of that, per second since the earlier snapshot; 0 = none that is notable */
	double left; /* of the limit; negative: it does not fit */
};

/* False: the control group has no limit, or the heap's is not known. */
bool th_rss_fit(const struct th_rss *rss, struct th_rss_fit *ret);

/* One sentence. */
const char *th_rss_fit_text(const struct th_rss *rss, const struct th_rss_fit *fit);

/* "growing", "plateau", ...; "malloc", "retained", ... */
extern const char *const th_rss_course_names[];
extern const char *const th_rss_cause_names[];

#endif
