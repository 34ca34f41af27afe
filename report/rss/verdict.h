/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cause of the resident memory, in one sentence. Pure functions of the facts, so that tests
 * can construct these.
 */
#ifndef TH_REPORT_RSS_VERDICT_H
#define TH_REPORT_RSS_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "report/rss/breakdown.h"

/* A point of the RSS over time. */
struct th_rss_point {
	double seconds;
	double bytes;
};

/* Input of a verdict; bytes. */
struct th_rss_facts {
	const struct th_rss_point *points; /* by time */
	size_t point_count;
	double before[TH_BREAKDOWN_KINDS]; /* lines of a snapshot in the second quarter */
	double now[TH_BREAKDOWN_KINDS];
	double before_seconds;
	double now_seconds;
	bool has_before;
	double resident;
	double java_used; /* 0 = not known */
	double java_committed;
	double java_limit;
	double direct_count;   /* number of buffers */
	double direct_cached;  /* bytes of them that threads cache for I/O */
	double direct_all;     /* bytes of all, counted on demand; 0 = not known */
	double direct_waiting; /* bytes of them that wait for their Cleaner */
	double direct_waiting_count;
	double trimmed;        /* estimate of what malloc_trim(0) would release, */
	double trimmed_most;   /* and its upper limit */
	double arenas;         /* heaps of glibc's malloc other than the main one */
	const char *allocator; /* allocator that retains the memory; NULL: glibc's malloc */
	double threads;
	bool has_leaks;         /* `leaks` was asked */
	double leaks[TH_HEAPS]; /* live bytes of its findings that leak */
	/* Bytes of its leaks of class loaders and threads, and their growth in a second. */
	double tallied[TH_TALLY_KINDS];
	double tallied_growth[TH_TALLY_KINDS];
	double group_limit; /* 0 = none */
	double group_current;
	double group_file;
};

enum th_rss_course {
	TH_RSS_SHORT,   /* too short for a verdict */
	TH_RSS_GROWING, /* still growing */
	TH_RSS_PLATEAU,
	TH_RSS_FELL, /* below its peak again */
};

enum th_rss_cause {
	TH_RSS_LEAK_OF_MALLOC,
	TH_RSS_RETAINED,
	TH_RSS_JAVA_HEAP,
	TH_RSS_DIRECT_BUFFERS,
	TH_RSS_STACKS,
	TH_RSS_MAPPED,
	TH_RSS_FILES,
	TH_RSS_METASPACE,
	TH_RSS_LOADERS,    /* class loaders that are never unloaded, with all that they hold */
	TH_RSS_THREADS,    /* threads that never end */
	TH_RSS_PAGE_CACHE, /* of the control group, not in the RSS */
	TH_RSS_NOTHING_STANDS_OUT,
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

struct th_rss_verdict th_rss_judge(const struct th_rss_facts *facts);

/* One or two sentences with the numbers; the caller frees it. */
char *
th_rss_verdict_text(const struct th_rss_verdict *verdict, const struct th_rss_facts *facts);

/* Whether the process fits into the limit of its control group; bytes. */
struct th_rss_fit {
	double heap;    /* that the Java heap may take, -Xmx */
	double outside; /* resident outside of it */
	double growth; /* of that, per second since the earlier snapshot; 0 = none that is notable */
	double left; /* of the limit; negative: it does not fit */
};

/* False: the control group has no limit, or the heap's is not known. */
bool th_rss_fit(const struct th_rss_facts *facts, struct th_rss_fit *ret);

/* One sentence; the caller frees it. */
char *th_rss_fit_text(const struct th_rss_facts *facts, const struct th_rss_fit *fit);

/* "growing", "plateau", ...; "malloc", "retained", ... */
const char *th_rss_course_name(enum th_rss_course course);
const char *th_rss_cause_name(enum th_rss_cause cause);

#endif
