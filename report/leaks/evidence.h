/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples of a place say about whether its memory leaks: figures, and the verdict that
 * follows from them.  docs/leaks.md explains every rule.
 *
 * A block is old when it lived longer than a tenth of the recording; growth is growth of what is
 * old, so that what is merely in use at the moment does not count.
 */
#ifndef TH_REPORT_LEAKS_EVIDENCE_H
#define TH_REPORT_LEAKS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/statistics/estimate.h"
#include "report/leaks/observation_window.h"
#include "report/statistics/sampling_density.h"
#include "report/profile/profile.h"
#include "report/leaks/resident_mappings.h"
#include "report/leaks/trend.h"

/* Worst first: findings are listed in this order. */
enum th_verdict {
	TH_VERDICT_LEAK,    /* grows, to the end, and what grew old is not freed */
	TH_VERDICT_UNCLEAR, /* may be one: what is missing is said */
	TH_VERDICT_PLATEAU, /* holds memory and stopped growing */
	TH_VERDICT_CHURN,   /* frees what it allocates */
};

const char *th_verdict_name(enum th_verdict verdict);

/* Why a verdict is `unclear`, or what made it another. */
enum th_reason {
	TH_REASON_GROWS,       /* leak: growth that goes on */
	TH_REASON_RESIDENT,    /* leak: the same of what is in memory, account by account */
	TH_REASON_OWNERS_GONE, /* leak: the owners were collected, the blocks were not freed */
	TH_REASON_FEW_SAMPLES, /* unclear: nothing significant yet */
	TH_REASON_LATE,        /* unclear: grows only since the last part of the recording */
	TH_REASON_TURNOVER,    /* unclear: grows, but a good part of what was old was freed */
	TH_REASON_UNPROVEN,    /* unclear: no collection has looked at old objects */
	TH_REASON_NO_COLLECTION, /* unclear: none at all, or none for long */
	TH_REASON_INTERNAL,      /* unclear: grows, but is the VM's own business */
	TH_REASON_STOPPED,       /* plateau: no survivor was allocated lately */
	TH_REASON_SLOWED,        /* plateau: ever fewer survivors */
	TH_REASON_STEADY,        /* plateau: as much is freed as is allocated */
	TH_REASON_FREED,         /* churn */
};

struct th_evidence {
	enum th_heap heap;
	const struct th_observation_window *horizon;

	/* Figures; points until they are measured */
	double live; /* bytes alive at the end of the recording */
	uint64_t live_samples;
	struct th_estimate live_bytes; /* at the end of the recording; see is_resident */
	struct th_estimate live_objects;
	struct th_estimate growth; /* bytes per second between warm-up and horizon */
	double survivors;          /* part of the objects allocated up to the horizon */
	double median_age;         /* of survivors, seconds at the horizon */
	uint32_t collections;      /* that the median survivor survived */
	bool is_growing;           /* survivors were allocated up to the end */
	bool is_resident;          /* mapped: live_bytes are those in memory, where known */

	/* Behind them; numbers of samples unless said otherwise */
	uint64_t allocated; /* up to the horizon */
	uint64_t dead;      /* of these */
	uint64_t alive;     /* of these */
	uint64_t alive_old; /* alive, and older than `old` at the horizon */
	uint64_t dead_old;  /* lived longer than `old`, then died */
	uint64_t proven;    /* alive and judged by a collection that looks at old objects */
	uint64_t unproven;  /* Java: allocated after that, and judged as young */
	uint64_t unproven_dead;
	uint64_t born_late;  /* old survivors that were allocated in the later half */
	uint64_t born_since; /* survivors allocated since the warm-up */
	uint64_t born_last_quarter;
	double late_low;      /* growth in the later half, bytes: its lower limit if above 0 */
	double whole_low;     /* if that is not above 0: the same since the warm-up */
	uint64_t first_birth; /* of old survivors, time; UINT64_MAX if there is none */
	uint64_t last_birth;  /* of survivors, time */
	double pause_probability; /* of no survivor since last_birth, if it goes on as before */
	bool is_slowing;
	double kept_bytes;     /* of blocks that were old and are alive */
	double released_bytes; /* of blocks that were old and died */
	struct th_trend trend; /* mapped: of the bytes in memory */
	double least_growth;   /* bytes in the later half that such a trend must come to */

	enum th_verdict verdict;
	enum th_reason reason;
};

/* What the intervals of the figures are computed from: sums over the samples of a place. */
struct th_evidence_sums {
	struct th_estimator live;     /* at the end */
	struct th_estimator gained;   /* old at the horizon, not so at the end of the warm-up */
	struct th_estimator lost;     /* old at the end of the warm-up, dead at the horizon */
	struct th_estimator resident; /* mapped: of `live`, the bytes in memory */
	double samples;               /* that were looked at */
	double followed; /* samples that they represent; more if few objects are followed */
	bool is_trend;   /* growth is the slope of a trend, not an estimate from these sums */
};

/* When a survivor was allocated, and how many samples it represents. */
struct th_birth {
	uint64_t time;
	double weight;
};

/* Who looks at the places of a heap, one after the other: for one thread. */
struct th_judge {
	enum th_heap heap;
	const struct th_profile *profile;
	const struct th_observation_window *horizon;
	const struct th_resident_mappings
		*residency;                 /* of mapped memory alone; NULL: nothing is known */
	struct th_estimate nothing;         /* bytes where there is no sample */
	struct th_sampling_density density; /* since the warm-up */
	/* Of the place at hand */
	double *resident; /* bytes at each account; NULL: nothing is known */
	TH_ARRAY(struct th_birth,
		births); /* of survivors since the warm-up, not judged ones included */
	TH_ARRAY(uint64_t, all_births); /* of judged survivors */
};

/* All that is pointed to must outlive the judge. */
void th_judge_init(struct th_judge *judge, enum th_heap heap, const struct th_profile *profile,
	const struct th_observation_window *horizon,
	const struct th_resident_mappings *residency);
void th_judge_deinit(struct th_judge *judge);

/*
 * Looks at the samples of the judge's heap with these indices, which must ascend.  live_bytes,
 * live_objects and growth are points; `sums_ret`, unless NULL, is what th_evidence_measure()
 * needs.
 */
void th_evidence_init(struct th_evidence *evidence, struct th_judge *judge,
	const uint32_t *samples, size_t count, struct th_evidence_sums *sums_ret);

/* Gives live_bytes, live_objects and growth their intervals, which takes long. */
void th_evidence_measure(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums);

/* What live_bytes would be then. */
struct th_estimate th_evidence_live(const struct th_evidence *evidence,
	const struct th_judge *judge, const struct th_evidence_sums *sums);

/* What there is to know of each of a hundred thousand places. */
struct th_outline {
	double live;
	double live_bytes; /* the estimate */
	double survivors;
	double pause_probability;
	uint64_t live_samples;
	uint64_t allocated;
	uint8_t verdict;
	uint8_t reason;
	bool is_alive; /* judged samples are */
	bool has_births;
};

struct th_outline th_evidence_outline(const struct th_evidence *evidence);

/* Takes back a verdict of leak: it is the VM's own memory. */
void th_evidence_set_internal(struct th_evidence *evidence);

/*
 * Whether a place that seems to have stopped may pause by chance, being one of so many that leak
 * together: each was tested by itself.
 */
bool th_outline_may_pause(const struct th_outline *outline, size_t places);

/* The owners of the blocks were collected. */
void th_evidence_set_owners_gone(struct th_evidence *evidence);

/* One sentence with the numbers behind the verdict; the caller frees it. */
char *th_evidence_explain(const struct th_evidence *evidence);

#endif
