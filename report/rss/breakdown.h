/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breakdown of resident memory at one snapshot: lines that add up to the RSS.
 *
 * The figures of the kernel and of the owners of mappings are exact. How malloc's memory is
 * divided among its users is an estimate from the live sampled blocks: each has its usual
 * weight, and counts with its resident bytes. The rest of malloc's heaps is retained by the
 * allocator. Estimates above the available bytes are scaled down to them, so that the lines
 * always add up.
 */
#ifndef TH_REPORT_RSS_BREAKDOWN_H
#define TH_REPORT_RSS_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

/* In the order of the table. */
enum th_breakdown_kind {
	TH_BREAKDOWN_JAVA_HEAP,
	TH_BREAKDOWN_METASPACE,
	TH_BREAKDOWN_CLASS_SPACE,
	TH_BREAKDOWN_CODE_CACHE,
	TH_BREAKDOWN_CLASS_ARCHIVE,
	TH_BREAKDOWN_VM,
	TH_BREAKDOWN_STACKS,
	TH_BREAKDOWN_MALLOC_VM,          /* live blocks: of the VM itself */
	TH_BREAKDOWN_MALLOC_JDK,         /* of the JDK's libraries */
	TH_BREAKDOWN_MALLOC_DIRECT,      /* direct buffers, Unsafe */
	TH_BREAKDOWN_MALLOC_APPLICATION, /* of all other code */
	TH_BREAKDOWN_MALLOC_OVERHEAD,    /* headers of live blocks, sizes rounded up */
	TH_BREAKDOWN_MALLOC_RETAINED,    /* free, but resident */
	TH_BREAKDOWN_MAPPED,
	TH_BREAKDOWN_FILES,
	TH_BREAKDOWN_SHARED,
	TH_BREAKDOWN_OWN,
	TH_BREAKDOWN_KERNEL,
	TH_BREAKDOWN_UNEXPLAINED,
	TH_BREAKDOWN_KINDS,
};

/* A named part of a line: a file, a thread pool, an owner. */
struct th_breakdown_part {
	char *name;
	double resident;
	double size;
	uint32_t mappings;
};

struct th_breakdown_line {
	enum th_breakdown_kind kind;
	struct th_estimate resident;
	double swapped;
	double size;       /* address space; live bytes for malloc blocks */
	double accessible; /* accessible bytes of it */
	uint32_t mappings;
	/* Figures of the VM; `committed` 0: none available, `used` 0: not available. */
	double used;
	double committed;
	double limit;
	TH_ARRAY(struct th_breakdown_part, parts); /* largest first */
};

struct th_breakdown {
	const struct th_profile *profile;
	const struct th_decoded_account *head;
	const struct th_decoded_allocator *allocator; /* NULL: it gives no figures */
	const struct th_decoded_cgroup *group;        /* NULL: none */
	struct th_breakdown_line lines[TH_BREAKDOWN_KINDS];
	/* By row of the profile: the line of its blocks, and their resident bytes. */
	uint8_t *row_kinds;
	struct th_estimator *row_touched;
	uint8_t *row_buffers;       /* whether they are buffers with a Cleaner */
	struct th_estimate live;    /* bytes of malloc, resident or not */
	struct th_estimate touched; /* resident bytes of them */
	/* Of the direct buffers: those that threads cache for I/O of channels and sockets. */
	struct th_estimate cached;
	/*
	 * Buffers allocated since the start of the last old-generation GC: it is unknown which
	 * of them are reachable and which wait for their Cleaner.
	 */
	struct th_estimate unjudged;
	/*
	 * On-demand counts that are valid for this breakdown, by enum th_buffers_kind; NULL:
	 * none.
	 */
	const struct th_decoded_buffers *counts[TH_BUFFERS_KINDS];
	const struct th_judgement *judgement; /* that GC; NULL: there was none */
	struct th_estimate trimmed; /* of the retained memory, in pages without a block */
};

/*
 * Builds the breakdown of a snapshot. `profile`, which must outlive it, has the blocks and
 * their stacks and should not be filtered. `head` is one of the snapshots of its recording.
 */
void th_breakdown_init(struct th_breakdown *account, const struct th_profile *profile,
	const struct th_decoded_account *head);
void th_breakdown_deinit(struct th_breakdown *account);

extern const struct th_breakdown_kind_names {
	const char *label; /* for people */
	const char *name;  /* in JSON */
	bool is_estimate;
} th_breakdown_kinds[TH_BREAKDOWN_KINDS];

/* The part of the RSS that no line explains. */
double th_breakdown_unexplained(const struct th_breakdown *account);

/* The resident bytes of a row of the profile. */
struct th_estimate th_breakdown_row_touched(const struct th_breakdown *account, size_t row);

/* The line that the blocks of a row of the profile belong to. */
enum th_breakdown_kind
th_breakdown_kind_of(const struct th_profile *profile, const struct th_row *row);

/*
 * Whether the blocks of a row are temporary direct buffers: copies of heap buffers for I/O of a
 * channel or socket, which the thread then caches.
 */
bool th_breakdown_is_cached_buffer(const struct th_profile *profile, const struct th_row *row);

/* Whether the blocks of a row are freed by the Cleaner of a direct buffer. */
bool th_breakdown_is_cleaned_buffer(const struct th_profile *profile, const struct th_row *row);

/*
 * The purpose of a mapping of the VM, by the stack that made it: its line (metaspace, code
 * cache, else TH_BREAKDOWN_VM), and in *name_ret the most specific function, which the caller
 * frees; NULL if there is none. `stack` is an id of the log.
 */
enum th_breakdown_kind
th_breakdown_vm_kind(const struct th_profile *profile, uint32_t stack, char **name_ret);

/* Figures of a pool at a snapshot, NULL if there are none. */
const struct th_decoded_pool *
th_breakdown_pool(const struct th_recording *recording, uint32_t account, const char *name);

/* Counts of buffers that wait for their Cleaner, and the snapshots that they belong to. */

/*
 * The count of a kind that is valid for a snapshot: made at most ten seconds before it, with no
 * GC in between; NULL when there is none.
 */
const struct th_decoded_buffers *th_breakdown_buffers(const struct th_profile *profile,
	const struct th_decoded_account *head, enum th_buffers_kind kind);

/* The last snapshot with a valid count; NULL when there is none. */
const struct th_decoded_account *th_breakdown_of_last_count(const struct th_profile *profile);

/* The name of the buffer pool in java.nio, "foreign" for buffers without a pool. */
extern const char *const th_breakdown_buffers_names[];

/* Between breakdown.c and malloc.c */

/* Malloc's own memory, as recorded in the log. */
struct th_malloc_memory {
	double heaps;  /* resident bytes of its heaps */
	double mapped; /* of sampled blocks with their own mappings */
	double mapped_size;
};

/*
 * Fills the lines of malloc, the part of them that is buffers, what malloc_trim(0) would
 * release, and the resident bytes of each row.
 */
void
th_breakdown_divide_malloc(struct th_breakdown *account, const struct th_malloc_memory *memory);

#endif
