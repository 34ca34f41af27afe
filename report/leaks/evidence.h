/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates the samples of a site: figures, and the leak verdict that follows from them.
 * docs/leaks.md explains every rule.
 *
 * A block is old when it lived longer than a tenth of the recording. Growth is growth of old
 * blocks, so that memory in short-term use does not count.
 */
#ifndef TH_REPORT_LEAKS_EVIDENCE_H
#define TH_REPORT_LEAKS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/observation_window.h"
#include "report/leaks/trend.h"
#include "report/profile/profile.h"
#include "report/profile/resident_blocks.h"
#include "report/statistics/estimate.h"
#include "report/statistics/load.h"
#include "report/statistics/sampling_density.h"

/* Worst first: findings are listed in this order. */
enum th_verdict {
	TH_VERDICT_LEAK,    /* still growing, and old blocks are not freed */
	TH_VERDICT_UNCLEAR, /* possible leak; the reason says what is missing */
	TH_VERDICT_PLATEAU, /* holds memory and has stopped growing */
	TH_VERDICT_CHURN,   /* frees what it allocates */
};

extern const char *const th_verdict_names[];

/* Reason for a verdict. */
enum th_reason {
	TH_REASON_GROWS,       /* leak: sustained growth */
	TH_REASON_RESIDENT,    /* leak: sustained growth of resident memory */
	TH_REASON_OWNERS_GONE, /* leak: the owners were collected, the blocks were not freed */
	TH_REASON_UNCLOSED,    /* leak: only collections free them, see docs/leaks.md */
	TH_REASON_FEW_SAMPLES, /* unclear: nothing significant yet */
	TH_REASON_LATE,        /* unclear: grows only in the last part of the recording */
	TH_REASON_TURNOVER,    /* unclear: grows, but many of the old blocks were freed */
	TH_REASON_UNPROVEN,    /* unclear: no old-generation GC */
	TH_REASON_DROPPED,     /* unclear: grew, and all of it was garbage at exit */
	TH_REASON_NO_COLLECTION, /* unclear: no GC at all, or no recent one */
	TH_REASON_INTERNAL,      /* unclear: grows, but is allocated by the VM for itself */
	TH_REASON_ENLARGED,      /* unclear: one block, replaced by ever larger ones */
	TH_REASON_IDLE,          /* unclear: grew until the whole heap became idle */
	TH_REASON_STOPPED,       /* plateau: no recent survivors */
	TH_REASON_STEP,          /* plateau: grew for a part of the time only */
	TH_REASON_SLOWED,        /* plateau: ever fewer survivors */
	TH_REASON_STEADY,        /* plateau: as much is freed as is allocated */
	TH_REASON_FREED,         /* churn */
	TH_REASON_UNUSED,        /* plateau: mappings grow, their resident memory does not */
};

/* The same with what a leak is called by its reason: "unclosed". */
const char *th_verdict_name_by(enum th_verdict verdict, enum th_reason reason);

/* Sums over the samples of a site from which the intervals of the figures are computed. */
struct th_evidence_sums {
	struct th_estimator live;   /* at the profile's `at` */
	struct th_estimator gained; /* old at the horizon, not yet at the end of the warm-up */
	struct th_estimator lost;   /* old at the end of the warm-up, dead at the horizon */
	struct th_estimator gained_late; /* the same since the middle */
	struct th_estimator lost_late;
	struct th_estimator resident; /* mapped: resident bytes of `live` */
	double samples;               /* number evaluated */
	double followed; /* samples represented; more if only some objects are followed */
	struct th_mean_interval gaps; /* of all these samples */
};

struct th_evidence {
	enum th_heap heap;
	const struct th_observation_window *horizon;

	/* Figures; point estimates until th_evidence_measure() adds the intervals */
	double live;        /* bytes alive at the profile's `at` */
	double freed_after; /* of these, freed between then and the end of the recording */
	uint64_t live_samples;
	struct th_estimate live_bytes; /* at the profile's `at`; see is_resident */
	struct th_estimate live_objects;
	struct th_estimate growth; /* bytes per second between warm-up and horizon */
	double survivors;          /* fraction of the objects allocated up to the horizon */
	double median_age;         /* of survivors, seconds at the horizon */
	uint32_t collections;      /* GCs that the median survivor survived */
	bool is_growing;           /* survivors were allocated up to the end */
	bool is_resident;          /* mapped: live_bytes are resident bytes, where known */

	/* Basis of the figures; numbers of samples unless stated otherwise */
	uint64_t allocated;    /* up to the horizon */
	uint64_t dead;         /* of these */
	uint64_t alive;        /* of these */
	uint64_t alive_old;    /* alive, and older than `old` at the horizon */
	uint64_t dead_old;     /* lived longer than `old`, then died */
	uint64_t dead_at_exit; /* of these, found dead by the full GC at exit only */
	uint64_t collected;  /* native, lived longer than `old`: freed by a collection, ever */
	uint64_t closed;     /* the same: freed by the program, up to the profile's `at` */
	uint64_t left;       /* never freed, and older than the youngest of `collected` */
	uint64_t ascending;  /* samples, if each is larger than the one before; else 0 */
	uint64_t enough_old; /* old survivors required for significant growth */
	uint64_t born_late;  /* old survivors that were allocated in the later half */
	uint64_t born_since; /* survivors allocated since the warm-up */
	uint64_t born_last_quarter;
	uint64_t kept_since;  /* old survivors allocated since the warm-up */
	double chance;        /* p of so many gains in the later half by chance */
	double chance_limit;  /* of growth */
	uint64_t first_birth; /* of old survivors but the first tenth, time; UINT64_MAX: none */
	uint64_t first_since; /* of survivors since the warm-up, time */
	uint64_t last_birth;  /* of survivors, time */
	double pause_probability; /* of no survivor since last_birth, if growth continues */
	bool is_slowing;
	bool is_steady;         /* old survivors came throughout the time since the warm-up */
	bool is_late;           /* growth began well after the warm-up */
	bool is_step;           /* and ended before the end */
	bool is_idle;           /* growth ended as the rest of the heap became idle */
	bool omits_collected;   /* figures are of what collections leave; see docs/leaks.md */
	double kept_bytes;      /* of blocks that were old and are alive */
	double released_bytes;  /* of blocks that were old and died */
	double collected_bytes; /* of `collected`; TH_REASON_DROPPED: garbage at exit */
	struct th_trend trend;  /* mapped: of the resident bytes */
	double least_growth;    /* minimum growth of such a trend in the later half, bytes */

	bool is_trend; /* growth is measured, not an estimate from the sums */
	struct th_evidence_sums sums;

	enum th_verdict verdict;
	enum th_reason reason;
};

/* Allocation time of a survivor, and the number of samples that it represents. */
struct th_birth {
	uint64_t time; /* first: they are sorted by it */
	double weight;
};

/* Evaluates the sites of one heap in turn. For one thread. */
struct th_judge {
	enum th_heap heap;
	const struct th_profile *profile;
	const struct th_observation_window *horizon;
	struct th_observation_window
		older; /* the same with a higher minimum age of old blocks */
	const struct th_resident_mappings *residency; /* mapped heap only; NULL: no data */
	struct th_estimate nothing;                   /* interval of 0 samples, bytes */
	double thinning; /* factor by which unknown ends make samples sparser, at least 1 */
	/*
	 * Error rate: a growth is significant if gains and losses of samples, equally probable
	 * without growth, are so uneven with at most this probability.
	 */
	double chance_limit;
	/*
	 * Java: start of the full GC at exit; 0: none, or it ran because of a signal.  Otherwise the
	 * program may have dropped what it kept before, as main returned.
	 */
	uint64_t exit_start;
	bool ignores_exit;        /* what died in it counts as alive */
	bool ignores_collections; /* native: what a collection freed counts as alive */
	bool omits_collected;     /* native: it does not count at all */
	bool collects_at_exit;    /* a full GC at exit found all owners that were garbage */
	double seconds; /* between warm-up and horizon in which the heap was sampled */
	struct th_sampling_density density; /* since the warm-up */
	struct th_load load;                /* of the heap */
	struct th_load program;             /* of the program, maybe by another heap */
	/* State of the current site */
	const uint32_t *samples; /* indices */
	size_t samples_count;
	double *resident; /* bytes at each snapshot; NULL: no data */
	TH_ARRAY(
		struct th_birth, survivors); /* by time: old ones, judged ones, unjudged ones */
	const struct th_birth *births;       /* of these, since the warm-up */
	size_t births_count;
};

/* One-sided error rate of all tests along one path, from the site to the root. */
#define TH_ERROR_RATE 0.025
/* The part of it that a site may use; report/leaks/levels.h divides the rest. */
#define TH_SITE_SHARE 0.5

/* All objects that are passed by pointer must outlive the judge. */
void th_judge_init(struct th_judge *judge, enum th_heap heap, const struct th_profile *profile,
	const struct th_observation_window *horizon,
	const struct th_resident_mappings *residency);
void th_judge_deinit(struct th_judge *judge);

/*
 * Evaluates the samples of the judge's heap with these indices, which must ascend. live_bytes,
 * live_objects and growth are point estimates.
 */
void th_evidence_init(struct th_evidence *evidence, struct th_judge *judge,
	const uint32_t *samples, size_t count);

/* Computes the intervals of live_bytes, live_objects and growth, which is slow. */
void th_evidence_measure(struct th_evidence *evidence, const struct th_judge *judge);

/* Summary of a site, kept for each of up to a hundred thousand sites. */
struct th_outline {
	double live;
	double live_bytes; /* the estimate */
	double live_low;   /* of a leak: the lower end of its interval; else 0 */
	double growth;     /* bytes per second, the estimate */
	double survivors;
	double pause_probability;
	uint64_t live_samples;
	uint64_t allocated;
	uint32_t gained_late; /* samples, as in struct th_evidence_sums */
	uint32_t lost_late;
	uint32_t kept_since;
	uint32_t dead_old;
	uint8_t verdict;
	uint8_t reason;
	bool is_alive;   /* some judged samples are alive */
	bool has_births; /* survivors since the warm-up */
	bool is_kept;    /* old blocks are not freed */
};

struct th_outline
th_evidence_outline(const struct th_evidence *evidence, const struct th_judge *judge);

/*
 * P(X >= more) of a binomial distribution with p = 1/2 of more + less trials: the sign test of
 * gained and lost samples.
 */
double th_chance_of_more(uint64_t more, uint64_t less);

/* Replaces a leak verdict: the memory belongs to the VM itself. */
void th_evidence_set_internal(struct th_evidence *evidence);

/*
 * Whether the end of growth at a site may be a chance pause, given that it is one of `places`
 * sites that leak together and that each was tested separately.
 */
bool th_outline_may_pause(const struct th_outline *outline, size_t places);

/*
 * Whether a site beside a leak of its line may be part of it: it has survivors, and too few to
 * tell that it does not grow.
 */
bool th_outline_may_belong(const struct th_outline *outline);

/* Sets the verdict. */
void th_evidence_decide(
	struct th_evidence *evidence, enum th_verdict verdict, enum th_reason reason);

/*
 * Sets the verdict for blocks whose owners were collected, if there are significantly more of them
 * than after the warm-up: else they are kept for another reason, once.
 */
void th_evidence_set_owners_gone(struct th_evidence *evidence, const struct th_judge *judge);

/* The part of a finding's live bytes that was freed later in the recording, 0 to 1. */
double th_released_part(const struct th_evidence *evidence);

/* Whether the finding was released only because the process ended: most of it, in teardown. */
bool
th_released_only_at_exit(const struct th_profile *profile, const struct th_evidence *evidence);

/* The smallest leak that a recording would have shown (detection.c). */

/* Probability with which a leak of the detection limit is found. */
#define TH_DETECTION_POWER 0.95

/*
 * The detection limit in bytes per second: a leak of small blocks at one site that grows
 * steadily at this rate, and of which nothing is freed, is found with probability
 * TH_DETECTION_POWER. 0 if every allocation was recorded; infinite if the time after the
 * warm-up is empty, or of a heap that was not judged, unless so few samples were taken of it since the
 * warm-up that even if all of them stayed a leak could not be larger. docs/statistics.md derives it.
 */
double th_detection_limit(const struct th_judge *judge);

#endif
