/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that a walk of the Java heap must know by name: classes, class loaders, threads and
 * sampled objects.  Each has a tag, the number of its entry, in a JVMTI environment of the walk.
 */
#ifndef TH_JVMTI_HOLDERS_HOLDER_TAGS_H
#define TH_JVMTI_HOLDERS_HOLDER_TAGS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* No field: the class is no reference that is cleared. */
#define TH_HOLDER_NO_FIELD UINT16_MAX

enum th_holder_tag_flag {
	TH_HOLDER_TAG_CLASS = 1,
	TH_HOLDER_TAG_LOADER = 2,
	TH_HOLDER_TAG_THREAD = 4,
	TH_HOLDER_TAG_PERMANENT = 8, /* class or loader that is never unloaded */
	TH_HOLDER_TAG_LEAF = 16,     /* class: its instances refer to nothing */
	TH_HOLDER_TAG_OWN = 32,      /* the agent thread */
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

/*
 * Tags classes, their loaders and threads.  `room`: objects that will be added.  Creates local
 * references, which must remain until deinit, in a frame of the caller.  False: the VM does not
 * allow it, or there is no memory. [agent-thread]
 */
bool
th_holder_tags_init(struct th_holder_tags *tags, jvmtiEnv *jvmti, JNIEnv *env, uint32_t room);

/* The environment is disposed of by the caller, which removes the tags. [agent-thread] */
void th_holder_tags_deinit(struct th_holder_tags *tags);

/* Adds an object whose path is to be found; false: it is dead, or there is no room. [agent-thread] */
bool
th_holder_tags_add(struct th_holder_tags *tags, jobject object, uint64_t what, bool is_loader);

/* The entry of a tag; that of 0 for a number that is none. [any] */
static inline struct th_holder_tag *
th_holder_tag(const struct th_holder_tags *tags, jlong tag)
{
	return &tags->items[tag > 0 && tag < tags->count ? tag : 0];
}

#endif
