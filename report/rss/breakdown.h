/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of resident memory at one moment: lines that add up to the RSS.
 *
 * What the kernel and the owners of mappings say is exact.  How much of malloc's memory is in use,
 * and by whom, is an estimate from the sampled blocks that are alive: each stands for as many
 * blocks as ever, and counts with those of its bytes that are in memory.  The rest of malloc's
 * heaps is what the allocator keeps.  Estimates that come out higher than what is there are cut
 * to it, so that the lines add up whatever the samples say.
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
	TH_BREAKDOWN_MALLOC_APPLICATION, /* of everybody else */
	TH_BREAKDOWN_MALLOC_OVERHEAD,    /* heads of live blocks, sizes rounded up */
	TH_BREAKDOWN_MALLOC_RETAINED,    /* free, but in memory */
	TH_BREAKDOWN_MAPPED,
	TH_BREAKDOWN_FILES,
	TH_BREAKDOWN_SHARED,
	TH_BREAKDOWN_OWN,
	TH_BREAKDOWN_KERNEL,
	TH_BREAKDOWN_UNEXPLAINED,
	TH_BREAKDOWN_KINDS,
};

/* A part of a line that has a name: a file, a thread pool, an owner. */
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
	double size;       /* address space; live bytes for blocks of malloc */
	double accessible; /* of it */
	uint32_t mappings;
	/* By the VM's own figures; `committed` 0: it gives none, `used` 0: not that one. */
	double used;
	double committed;
	double limit;
	TH_ARRAY(struct th_breakdown_part, parts); /* largest first */
};

struct th_breakdown {
	const struct th_profile *profile;
	const struct th_decoded_account *head;
	const struct th_decoded_allocator *allocator; /* NULL: it says nothing */
	const struct th_decoded_cgroup *group;        /* NULL: none */
	struct th_breakdown_line lines[TH_BREAKDOWN_KINDS];
	/* By row of the profile: the line of its blocks, and how much of them is in memory. */
	uint8_t *row_kinds;
	struct th_estimator *row_touched;
	uint8_t *row_buffers;       /* whether they are buffers with a Cleaner */
	struct th_estimate live;    /* bytes of malloc, in memory or not */
	struct th_estimate touched; /* of them in memory */
	/* Of the direct buffers: those that threads keep for I/O of channels and sockets. */
	struct th_estimate cached;
	/*
	 * Buffers allocated since a collection last judged old objects began: nobody knows which
	 * of them are still reached and which wait for their Cleaner.
	 */
	struct th_estimate unjudged;
	/* Counts on demand that hold for it, by enum th_buffers_kind; NULL: none. */
	const struct th_decoded_buffers *counts[TH_BUFFERS_KINDS];
	const struct th_judgement *judgement; /* that collection; NULL: there was none */
	struct th_estimate trimmed; /* of what is retained, in pages without a block */
};

/*
 * Builds an account.  `profile`, which must outlive it, gives the blocks and their stacks; it
 * should leave out none.  `head` is one of its recording's accounts.
 */
void th_breakdown_init(struct th_breakdown *account, const struct th_profile *profile,
	const struct th_decoded_account *head);
void th_breakdown_deinit(struct th_breakdown *account);

/* What a line is called, for people and in JSON. */
const char *th_breakdown_label(enum th_breakdown_kind kind);
const char *th_breakdown_name(enum th_breakdown_kind kind);

/* The part of the RSS that no line explains. */
double th_breakdown_unexplained(const struct th_breakdown *account);

/* The bytes of a row of the profile that are in memory. */
struct th_estimate th_breakdown_row_touched(const struct th_breakdown *account, size_t row);

/* Which line the blocks of a row of the profile belong to. */
enum th_breakdown_kind
th_breakdown_kind_of(const struct th_profile *profile, const struct th_row *row);

/*
 * Whether the blocks of a row are temporary direct buffers: what a channel or socket copies a
 * buffer of the Java heap to, and then keeps for the thread.
 */
bool th_breakdown_is_cached_buffer(const struct th_profile *profile, const struct th_row *row);

/* Whether the blocks of a row are freed by the Cleaner of a direct buffer. */
bool th_breakdown_is_cleaned_buffer(const struct th_profile *profile, const struct th_row *row);

/*
 * What the VM mapped memory for, by the stack that did it: its line (metaspace, code cache, else
 * TH_BREAKDOWN_VM), and in *name_ret the function that says most, to be freed; NULL if none does.
 * `stack` is an id of the log.
 */
enum th_breakdown_kind
th_breakdown_vm_kind(const struct th_profile *profile, uint32_t stack, char **name_ret);

/* Figures of a pool at an account, NULL if there are none. */
const struct th_decoded_pool *
th_breakdown_pool(const struct th_recording *recording, uint32_t account, const char *name);

#endif
