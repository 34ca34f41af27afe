/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: the sites of a recording that hold memory, each with a verdict and the numbers
 * behind it, worst first.
 *
 * Every site is judged separately. Growth that no site of a line shows is tested for the line,
 * then for each method of the application above it; the error rate is shared among these levels. A finding is at the lowest level that shows the growth, and
 * its sites are its parts. Related sites (one path to one line of the application) with the same
 * verdict are one finding, in all heaps: a leak of several blocks, and a Java object with the
 * native memory that it owns, are listed once. With --group-by, the sites of a group are
 * related.
 *
 * Verdicts are based on whole stacks: --focus and --hide change what is shown of a stack, but
 * no verdict.
 */
#ifndef TH_REPORT_LEAKS_LEAKS_H
#define TH_REPORT_LEAKS_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/evidence.h"
#include "report/leaks/tallied.h"
#include "report/ledger/ledger.h"
#include "report/profile/leak_sites.h"
#include "report/profile/profile.h"

/* The Java objects that own native blocks: their constructor allocated the blocks. */
struct th_owner {
	uint32_t place; /* site of the objects; TH_NO_PLACE = none were sampled */
	uint64_t samples;
	uint64_t collected; /* of these */
	bool is_collected;  /* nearly all of them were */
};

/* What shows the growth of a finding. */
enum th_leak_level {
	TH_LEVEL_LINE, /* sites of one line of the application, or its sites together */
	TH_LEVEL_PATH, /* all below a method of the application */
};

/* An entry of the list of findings. */
struct th_listed {
	uint32_t group; /* of sites; others may belong to it */
	uint32_t place; /* site with most live bytes */
	enum th_verdict verdict;
	enum th_reason reason;
	double live;   /* bytes, point estimate */
	double growth; /* bytes per second, the same */
	/* Of a leak, in all heaps. */
	double leaked;  /* live bytes, the lower ends of the intervals */
	double leaking; /* bytes per second, point estimate */
};

struct th_finding {
	uint32_t place; /* site with most live bytes */
	uint32_t place_count;
	struct th_evidence evidence; /* of all its sites */
	struct th_owner owner;
	enum th_leak_level level;
	uint32_t key;   /* path prefix of TH_LEVEL_PATH */
	uint32_t lines; /* number of lines of the application below which its sites are */
	uint32_t next;  /* th_leaks_next(): the next heap of this finding; UINT32_MAX: none */
};

/* Unreachable objects that wait for finalize(), at the last snapshot. */
struct th_finalizers {
	uint64_t waiting;       /* 0: few or none */
	const char *class_name; /* of most of them; NULL: of none */
};

/*
 * What leads to a leak. Leaks with one cause: one line of the application leads to all of them, in their
 * own stacks or in those that started their threads.  The largest leads; the others are its parts.
 */
struct th_leak_cause {
	uint32_t leader; /* number of the leak that this is a part of, or its own */
	uint32_t line;   /* frame of the application; TH_NO_FRAME: none is known */
	uint32_t path;   /* the stack with the line */
	/*
	 * The same, if only the stack that started its thread has it; TH_NO_FRAME: its own has, or none
	 * is known.
	 */
	uint32_t starter;
};

/* A site of a finding, in any heap. */
struct th_leak_part {
	uint32_t place;
	double live; /* bytes, point estimate */
	uint64_t samples;
};

enum th_outcome_verdict {
	TH_OUTCOME_FOUND,
	TH_OUTCOME_NONE,         /* no leak above the detection limits */
	TH_OUTCOME_INCONCLUSIVE, /* a heap was not judged, or growth is not clear yet */
};

extern const char *const th_outcome_names[];

/* The answer as a whole: found, none above a detection limit, or inconclusive. */
struct th_outcome {
	enum th_outcome_verdict verdict;
	uint64_t leaks;          /* findings, parts of others aside */
	uint64_t unclosed;       /* of these, of reason TH_REASON_UNCLOSED */
	uint64_t of_vm;          /* more of them: th_leaks_of_vm() */
	double bytes;            /* of all leaks, live, at the lower ends of their intervals */
	double growth;           /* of all leaks, bytes per second, point estimates */
	bool is_asked[TH_HEAPS]; /* it is about this heap */
	bool is_judged[TH_HEAPS];
	bool is_complete; /* all of these heaps were judged */
	const struct th_tallied
		*unclear; /* threads or loaders that were not judged; NULL: none */
	/*
	 * Bytes per second, th_detection_limit(); 0: every allocation was recorded. Of judged
	 * heaps only.
	 */
	double limits[TH_HEAPS];
	/* The limit asked for (--limit), and whether all judged and unjudged heaps reach it. */
	double asked;
	bool is_reached;
};

struct th_leaks {
	const struct th_profile *profile; /* with whole stacks */
	struct th_profile *whole;         /* the same, if owned by this struct; else NULL */
	struct th_leak_sites places;
	struct th_observation_window horizons[TH_HEAPS];
	TH_ARRAY(struct th_listed, findings); /* worst first */
	struct th_tallies tallies;            /* leaks of threads and class loaders */
	struct th_references references;      /* of JNI, as the VM counts them */
	struct th_finalizers finalizers;
	struct th_ledger ledger;           /* what native code holds of the VM */
	double growth_limit[TH_HEAPS];     /* detection limit; infinite: not judged */
	double row_limit[TH_HEAPS];        /* of rows that are no leaks: outcome.c */
	const struct th_listed *unsettled; /* the same; NULL: none */
	struct th_leak_cause *causes;      /* of all tallies, then of all findings */
	struct th_outcome outcome;
	struct th_leaks_work *work; /* input for computing findings */
};

/* The profile must be of the end of its recording, and outlive the leaks. */
void th_leaks_init(struct th_leaks *leaks, const struct th_profile *profile);

/* The same in two steps; th_leaks_find() needs no sums of the profile. */
void th_leaks_prepare(struct th_leaks *leaks, const struct th_profile *profile);
void th_leaks_find(struct th_leaks *leaks);
void th_leaks_deinit(struct th_leaks *leaks);

/*
 * A finding with all its figures in one heap, by its `group`, then by the `next` of the previous one.
 * Computed on demand: intervals are slow, and a heap may have tens of thousands of findings that are
 * never shown.
 */
struct th_finding th_leaks_next(const struct th_leaks *leaks, uint32_t next);

/*
 * Writes the sites of a finding in all heaps, those with most live bytes first, at most
 * `capacity`; returns their number and the live bytes of all of them.
 */
size_t th_leaks_parts(const struct th_leaks *leaks, const struct th_listed *listed,
	struct th_leak_part *parts, size_t capacity, double *live_ret);

/*
 * The class of the Java objects that blocks of reason TH_REASON_UNCLOSED belong to: that of the owner
 * if objects were sampled, else of the outermost constructor below the creator, else of the youngest
 * Java method.  NULL: not known.
 */
const char *th_owners_wrapper(const struct th_leaks *leaks, const struct th_finding *finding);

/* Whether the native blocks of a site belong to objects of the class that waits for finalize(). */
bool th_owners_await_finalizer(const struct th_leaks *leaks, uint32_t place);

/* The path of a site as the options show it. */
struct th_path th_leaks_path(const struct th_leaks *leaks, const struct th_leak_site *place);

/* The function number of a site's group; 0 without --group-by. */
uint32_t th_leaks_group(const struct th_leaks *leaks, const struct th_leak_site *place);

/*
 * Number of leaks in what native code holds of the Java VM: entries of the ledger that grow, or
 * without it references whose number grows, and threads that ended while attached, as one.
 */
uint64_t th_leaks_of_vm(const struct th_leaks *leaks);

/*
 * Exit status of `leaks` with --fail-on: 0 none, 1 leaks as asked for, TH_STATUS_LIMIT no leak,
 * but the limit was not reached, TH_STATUS_INCONCLUSIVE. 0 without --fail-on.
 */
#define TH_STATUS_LIMIT 5
#define TH_STATUS_INCONCLUSIVE 6
int th_leaks_status(const struct th_leaks *leaks);

/*
 * Whether a finding is listed by default: a leak, or unclear with a growth that is above the detection
 * limit or that no limit was computed for.
 */
bool th_leaks_is_listed(const struct th_leaks *leaks, const struct th_listed *listed);

/* The number of a finding: tallies first, then findings, leaks or not. */
uint32_t
th_causes_number_of_tallied(const struct th_leaks *leaks, const struct th_tallied *tallied);
uint32_t th_causes_number_of(const struct th_leaks *leaks, const struct th_listed *listed);

/* Whether it is a part of another leak, in whose report it is shown. */
bool th_causes_is_part(const struct th_leaks *leaks, uint32_t number);

/* The next part after `number` of the leak `leader`; start with `leader`.  UINT32_MAX: no more. */
uint32_t th_causes_next(const struct th_leaks *leaks, uint32_t leader, uint32_t number);

/*
 * The sites of a heap with one path to one line of the application (leak_sites.h), leaking or not:
 * in a comparison of many recordings a line that does not leak counts too.
 */
struct th_leak_line {
	enum th_heap heap;
	enum th_verdict
		verdict; /* the worst of its sites; LEAK also as part of a finding above */
	uint32_t prefix; /* their path prefix, of the sites' `ways` */
	uint32_t group;  /* with --group-by: function number, instead; else 0 */
	uint32_t place;  /* site with most live bytes */
	double live;     /* bytes, point estimate */
	double growth;   /* bytes per second, point estimate */
	double low; /* limits of the growth of its leaks, bytes per second; 0: it has none */
	double high;
};

struct th_leak_lines {
	struct th_id_map ids; /* heap << 32 | prefix */
	TH_ARRAY(struct th_leak_line, items);
};

/* After th_leaks_find(). */
void th_leak_lines_init(struct th_leak_lines *lines, const struct th_leaks *leaks);
void th_leak_lines_deinit(struct th_leak_lines *lines);

#endif
