/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk of the Java heap (JVMTI FollowReferences), while every thread of the VM is stopped, that
 * builds the graph of references; then the shortest path from a root to each object.
 *
 * Only objects that are known by name have tags: a tag for each object would cost the VM's C heap
 * about 100 bytes and, from JDK 17 on, give each object an identity hash.  The others are identified
 * by their addresses, which no collector changes while all threads are stopped.  JVMTI does not pass
 * addresses; in HotSpot they precede the tags that are passed, or from 28 on pointers to them do
 * (CallbackWrapper in jvmtiTagMap.cpp, JDK 9 to 28).  Each walk verifies that on every tagged object:
 * the same tag, the same address.  Words are read with checks, and what they contain is only a number
 * until the walk has ended: another layout makes it fail.
 *
 * Not followed: weak, phantom and final references, objects without references to others, and
 * what JVMTI does not report: fields of java.lang.Class itself, stacks of unmounted virtual threads.
 */
#ifndef TH_JVMTI_HOLDERS_HOLDER_WALK_H
#define TH_JVMTI_HOLDERS_HOLDER_WALK_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/holders/holder_graph.h"
#include "unify/base/safe_read.h"
#include "unify/shared/log_format.h"

/*
 * The objects that a walk must know by name: classes, class loaders, threads and sampled objects.
 * Each has a tag, the number of its entry, in a JVMTI environment of the walk.
 */

/* No field: the class is no reference that is cleared. */
#define TH_HOLDER_NO_FIELD UINT16_MAX

enum th_holder_tag_flag {
	TH_HOLDER_TAG_CLASS = 1,
	TH_HOLDER_TAG_THREAD = 2,
	TH_HOLDER_TAG_PERMANENT = 4, /* class or loader that is never unloaded */
	TH_HOLDER_TAG_LEAF = 8,      /* class: its instances refer to nothing */
	TH_HOLDER_TAG_OWN = 16,      /* the agent thread */
};

struct th_holder_tag {
	jobject object;    /* local reference; classes only */
	char *name;        /* of a thread, of JVMTI; NULL = not known */
	uint32_t node;     /* in the graph; 0 = not seen */
	uint32_t class;    /* tag of its class, once seen */
	uint32_t loader;   /* class: tag of its loader; 0 = bootstrap loader */
	uint16_t flags;    /* enum th_holder_tag_flag */
	uint16_t referent; /* class: index of the field that collections clear */
};

/* An object whose path is to be found: a sampled one, or a class loader that is counted. */
struct th_held_object {
	/* sample id; of a loader: the stack at which it defined its first class << 32 | class id */
	uint64_t what;
	uint32_t tag;
	uint32_t step; /* the last one of its path (holder_paths.h) */
	bool is_loader;
};

struct th_holder_tags {
	jvmtiEnv *jvmti;
	JNIEnv *env;
	struct th_holder_tag *items; /* by tag; 0 is empty */
	uint32_t count;              /* with 0 */
	uint32_t max;
	jclass *classes; /* of JVMTI */
	struct th_held_object *objects;
	uint32_t object_count;
	uint32_t object_max;
};

/* The entry of a tag; that of 0 for a number that is none. [any] */
static inline struct th_holder_tag *
th_holder_tag(const struct th_holder_tags *tags, jlong tag)
{
	return &tags->items[tag > 0 && tag < tags->count ? tag : 0];
}

/* A node with this bit in its class is tagged: the other bits are its tag. */
#define TH_HOLDER_TAGGED (1u << 31)
/* References that are not fields have this as high byte, and their JVMTI kind as low one. */
#define TH_HOLDER_NOT_FIELD 0xff00u
/* Objects without references of at least this size are nodes, so that they are found by address. */
#define TH_HOLDER_LARGE (256 << 10)

struct th_holder_root {
	uint32_t node;
	uint32_t kind;    /* enum th_holder_kind */
	uint32_t thread;  /* STACK: its tag */
	uint64_t take;    /* JNI_GLOBAL: LEDGER_TAKE; 0 = not known */
	jmethodID method; /* STACK */
};

/* A JNI global reference that the ledger knows. */
struct th_holder_reference {
	uint64_t take;
	uintptr_t object; /* the word that it refers to, read during the walk */
};

struct th_holder_walk {
	struct th_holder_graph graph;
	struct th_holder_tags tags;
	struct th_holder_root *roots; /* 0: permanent classes */
	uint32_t root_count;
	struct th_holder_reference *references;
	uint32_t reference_count;
	uint64_t paused;   /* ns, duration of the walk */
	uint64_t cpu;      /* ns, CPU time of the process meanwhile */
	uint64_t seen;     /* references reported by the VM */
	uint64_t deadline; /* CLOCK_MONOTONIC, ns */
	uint64_t verified; /* addresses of tagged objects */
	uint32_t referrer; /* node of the last referrer, and its address */
	uintptr_t referrer_address;
	struct th_safe_read readable; /* the stack of the thread that calls back */
	bool is_late;
	bool is_wrong;       /* the addresses contradict the tags */
	bool has_references; /* of the ledger: read */
};

/*
 * Walks the heap for at most `pause_max` nanoseconds.  The graph and the tags are initialized.
 * False: is_late, is_wrong, graph.is_full or is_broken, or the VM refused. [agent-thread]
 */
bool th_holder_walk_run(struct th_holder_walk *walk, uint64_t pause_max);

/* Computes paths: graph.nodes[].parent.  Prefers static fields to other roots, and all to stacks. */
void th_holder_walk_find_paths(struct th_holder_walk *walk);

/* The entry of a node, the empty one if it is not tagged; the tag of its class. */
struct th_holder_tag *th_holder_walk_tag(const struct th_holder_walk *walk, uint32_t node);
uint32_t th_holder_walk_class(const struct th_holder_walk *walk, uint32_t node);

#endif
