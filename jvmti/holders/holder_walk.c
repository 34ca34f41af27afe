/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks run inside the VM's safepoint and call no JVMTI or JNI function.  HotSpot visits objects
 * one after the other and reports all references of one in sequence, also those to objects that were
 * visited before; an object is visited if a callback says so for the first reference to it.
 *
 * For each reference HotSpot looks up four tags: of both objects and of their classes.  Lookups that
 * find a tag took a third of the pause, so the tag of most classes is removed when the class is first
 * reported: its node identifies it from then on, and a visited object reports its class.
 */
#include "jvmti/holders/holder_walk.h"

#include <stddef.h>

#include "jvmti/ledger/takes.h"
#include "unify/base/atomic.h"
#include "unify/base/observed.h"
#include "unify/shared/clock.h"

/* More roots are not recorded. */
#define ROOTS_MAX (1u << 22)
/* The clock is read once in so many references: some 100 us. */
#define REFERENCES_PER_CHECK 4096
/*
 * The object is so many words before its tag.  Up to JDK 27 it is an address, and that of the referrer
 * is one word before its tag.  From 28 on both are two words before, pointers to descriptions
 * (jvmtiTagMapTable.hpp), which are on the stack, between this callback and so many bytes above.
 */
#define WORDS_BEFORE_TAG 2
#define DESCRIPTION_BYTES_MAX (64u << 10)
/* Z without generations: lowest bit of the color in an address (zGlobals.hpp), as a heap has at most 4 TiB. */
#define Z_COLOR_SHIFT 42
/* Bits that JNI adds to a reference to mark its kind (jniHandles.hpp). */
#define JNI_KIND_BITS 3

/* Nodes */

struct th_holder_tag *
th_holder_walk_tag(const struct th_holder_walk *walk, uint32_t node)
{
	uint32_t class = walk->graph.nodes[node].class;

	return th_holder_tag(
		&walk->tags, class & TH_HOLDER_TAGGED ? class & ~TH_HOLDER_TAGGED : 0);
}

uint32_t
th_holder_walk_class(const struct th_holder_walk *walk, uint32_t node)
{
	uint32_t class = walk->graph.nodes[node].class;

	return class & TH_HOLDER_TAGGED ? th_holder_walk_tag(walk, node)->class : class;
}

/* Whether a tag and an address always meet. */
static void
verify(struct th_holder_walk *walk, struct th_holder_tag *item, uint32_t node, bool is_new)
{
	if (!item->node && is_new)
		item->node = node;
	if (item->node != node)
		walk->is_wrong = true;
	walk->verified++;
}

/* Of JDK 28 (JvmtiHeapwalkObject). */
struct description {
	uintptr_t object;
	int32_t offset; /* of a value inside of the object; 0: the object itself */
};

static bool
is_description(uintptr_t word)
{
	return word - (uintptr_t)__builtin_frame_address(0) < DESCRIPTION_BYTES_MAX &&
	       word % _Alignof(struct description) == 0;
}

/* 0: it cannot be read. */
static uintptr_t
described(struct th_holder_walk *walk, uintptr_t word)
{
	struct description description;

	if (!th_read_bytes(&walk->readable, word, &description, sizeof(description)))
		return 0;
	return description.object + (uintptr_t)description.offset;
}

/*
 * A word before a tag; 0: it cannot be read.  That a VM has objects there is known only after the
 * first tagged one, and never of the memory.
 */
static uintptr_t
word_before(struct th_holder_walk *walk, const jlong *tag, unsigned words)
{
	uintptr_t word;

	return th_read_word(&walk->readable, (uintptr_t)tag - words * sizeof(word), &word)
		       ? word
		       : 0;
}

static uintptr_t
object_address(struct th_holder_walk *walk, const jlong *tag)
{
	uintptr_t word = word_before(walk, tag, WORDS_BEFORE_TAG);

	return is_description(word) ? described(walk, word) : word;
}

/* `tag`: of the object; the word next to the tag of a referrer may be anything from 28 on. */
static uintptr_t
referrer_address(struct th_holder_walk *walk, const jlong *tag, const jlong *referrer_tag)
{
	uintptr_t word;

	if (!is_description(word_before(walk, tag, WORDS_BEFORE_TAG)))
		return word_before(walk, referrer_tag, 1);
	word = word_before(walk, referrer_tag, WORDS_BEFORE_TAG);
	return is_description(word) ? described(walk, word) : 0;
}

/* The node of a referenced object; 0: stop. */
static uint32_t
node_of(struct th_holder_walk *walk, const jlong *tag, jlong class_tag, bool *is_new_ret)
{
	uintptr_t address = object_address(walk, tag);
	struct th_holder_tag *item = th_holder_tag(&walk->tags, *tag);
	uint32_t node;

	walk->is_wrong |= !address;
	node = address ? th_holder_graph_node(&walk->graph, address, is_new_ret) : 0;
	if (!node)
		return 0;
	if (*is_new_ret) {
		walk->graph.nodes[node].class = (uint32_t)class_tag;
		if (*tag) {
			if (class_tag)
				item->class = (uint32_t)class_tag;
			walk->graph.nodes[node].class = TH_HOLDER_TAGGED | (uint32_t)*tag;
		}
	}
	if (*tag)
		verify(walk, item, node, *is_new_ret);
	return walk->is_wrong ? 0 : node;
}

/* It has been referred to before, or it would not be visited. */
static uint32_t
node_of_referrer(struct th_holder_walk *walk, uintptr_t address, const jlong *tag)
{
	if (address != walk->referrer_address || !walk->referrer) {
		walk->referrer = th_holder_graph_find(&walk->graph, address);
		walk->referrer_address = address;
	}
	if (!walk->referrer ||
		(*tag && th_holder_tag(&walk->tags, *tag)->node != walk->referrer))
		walk->is_wrong = true;
	return walk->is_wrong ? 0 : walk->referrer;
}

static void
set_class(struct th_holder_walk *walk, uint32_t node, uint32_t class)
{
	uint32_t *of_node = &walk->graph.nodes[node].class;

	if (*of_node & TH_HOLDER_TAGGED)
		th_holder_walk_tag(walk, node)->class = class;
	else
		*of_node = class;
}

/* Removes the tag of a class that has its node, unless callbacks need it as a class tag. */
static void
forget_tag(const struct th_holder_walk *walk, jlong *tag)
{
	const struct th_holder_tag *item = th_holder_tag(&walk->tags, *tag);

	if (item->flags & TH_HOLDER_TAG_CLASS && !(item->flags & TH_HOLDER_TAG_LEAF) &&
		item->referent == TH_HOLDER_NO_FIELD)
		*tag = 0;
}

/* Objects that can be on no path, unless they are sampled. */
static bool
is_left_out(const struct th_holder_walk *walk, jlong class_tag, jlong size, jlong tag)
{
	return !tag && size < TH_HOLDER_LARGE &&
	       th_holder_tag(&walk->tags, class_tag)->flags & TH_HOLDER_TAG_LEAF;
}

/* The ledger */

static void
take_reference(uintptr_t reference, uint64_t take, void *data)
{
	struct th_holder_walk *walk = data;
	uintptr_t slot = reference & ~(uintptr_t)JNI_KIND_BITS;
	struct th_holder_reference *item = &walk->references[walk->reference_count];

	/* If another agent hides calls from the ledger, the slot may be gone. */
	if (walk->reference_count == TH_LIVE_BLOCKS_MAX ||
		!th_observed_copy(slot, &item->object, sizeof(item->object)))
		return;
	item->take = take;
	walk->reference_count++;
}

/*
 * What is in the table is not deleted: the ledger removes a reference before it calls the VM, which
 * waits until all threads continue.
 */
static void
read_references(struct th_holder_walk *walk)
{
	walk->has_references = true;
	if (th_load_relaxed(&th_takes_generation))
		th_takes_each(TH_LEDGER_GLOBAL, take_reference, walk);
}

/* The VM's callback */

static bool
is_in_time(struct th_holder_walk *walk)
{
	if (++walk->seen % REFERENCES_PER_CHECK == 0 && th_clock_now() > walk->deadline)
		walk->is_late = true;
	return !walk->is_late;
}

static enum th_holder_kind
kind_of(jvmtiHeapReferenceKind kind)
{
	switch (kind) {
	case JVMTI_HEAP_REFERENCE_JNI_GLOBAL:
		return TH_HOLDER_JNI_GLOBAL;
	case JVMTI_HEAP_REFERENCE_STACK_LOCAL:
	case JVMTI_HEAP_REFERENCE_JNI_LOCAL:
		return TH_HOLDER_STACK;
	case JVMTI_HEAP_REFERENCE_THREAD:
		return TH_HOLDER_THREAD;
	default:
		return TH_HOLDER_VM;
	}
}

static struct th_holder_root
make_root(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, uint32_t node)
{
	struct th_holder_root root = {.node = node, .kind = kind_of(kind)};

	if (kind == JVMTI_HEAP_REFERENCE_STACK_LOCAL) {
		root.thread = (uint32_t)info->stack_local.thread_tag;
		root.method = info->stack_local.method;
	} else if (kind == JVMTI_HEAP_REFERENCE_JNI_LOCAL) {
		root.thread = (uint32_t)info->jni_local.thread_tag;
		root.method = info->jni_local.method;
	}
	return root;
}

/* Several global references to one object are one root. */
static void
add_root(struct th_holder_walk *walk, const struct th_holder_root *root)
{
	struct th_holder_node *node = &walk->graph.nodes[root->node];

	if (root->kind == TH_HOLDER_JNI_GLOBAL && node->flags & TH_HOLDER_NODE_GLOBAL)
		return;
	if (root->kind == TH_HOLDER_JNI_GLOBAL)
		node->flags |= TH_HOLDER_NODE_GLOBAL;
	if (walk->root_count < ROOTS_MAX)
		walk->roots[walk->root_count++] = *root;
}

/* The references of the agent thread itself are no holders. */
static bool
is_own(const struct th_holder_walk *walk, const struct th_holder_root *root)
{
	return root->kind == TH_HOLDER_STACK &&
	       th_holder_tag(&walk->tags, root->thread)->flags & TH_HOLDER_TAG_OWN;
}

static jint
visit_root(struct th_holder_walk *walk, jvmtiHeapReferenceKind kind,
	const jvmtiHeapReferenceInfo *info, jlong class_tag, jlong *tag)
{
	struct th_holder_root root = make_root(kind, info, 0);
	bool is_new;

	if (is_own(walk, &root))
		return 0;
	root.node = node_of(walk, tag, class_tag, &is_new);
	if (!root.node)
		return JVMTI_VISIT_ABORT;
	/* Permanent classes are the first roots, whatever refers to them. */
	if (!(th_holder_walk_tag(walk, root.node)->flags & TH_HOLDER_TAG_PERMANENT))
		add_root(walk, &root);
	forget_tag(walk, tag);
	return is_new ? JVMTI_VISIT_OBJECTS : 0;
}

static uint16_t
how_of(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info)
{
	if (kind != JVMTI_HEAP_REFERENCE_FIELD && kind != JVMTI_HEAP_REFERENCE_STATIC_FIELD)
		return (uint16_t)(TH_HOLDER_NOT_FIELD + (unsigned)kind);
	return info->field.index < (jint)TH_HOLDER_NOT_FIELD ? (uint16_t)info->field.index
							     : TH_HOLDER_NOT_FIELD;
}

static bool
is_referent(const struct th_holder_walk *walk, jvmtiHeapReferenceKind kind,
	const jvmtiHeapReferenceInfo *info, jlong referrer_class_tag)
{
	const struct th_holder_tag *class = th_holder_tag(&walk->tags, referrer_class_tag);

	return kind == JVMTI_HEAP_REFERENCE_FIELD && class->flags & TH_HOLDER_TAG_CLASS &&
	       info->field.index == class->referent;
}

/* Classes that are roots anyway need no references to them. */
static bool
is_root_class(const struct th_holder_tag *item)
{
	return item->flags & TH_HOLDER_TAG_CLASS && item->flags & TH_HOLDER_TAG_PERMANENT;
}

static bool
add_reference(struct th_holder_walk *walk, uint32_t referrer, uint32_t node, uint16_t how)
{
	const struct th_holder_tag *item = th_holder_walk_tag(walk, node);

	if (how == TH_HOLDER_NOT_FIELD + JVMTI_HEAP_REFERENCE_CLASS &&
		item->flags & TH_HOLDER_TAG_CLASS)
		set_class(walk, referrer, (uint32_t)(item - walk->tags.items));
	return is_root_class(item) || th_holder_graph_add(&walk->graph, referrer, node, how);
}

static jint
visit_reference(struct th_holder_walk *walk, uint16_t how, jlong class_tag, jlong *tag,
	const jlong *referrer_tag)
{
	bool is_new;
	uint32_t node = node_of(walk, tag, class_tag, &is_new);
	uint32_t referrer;

	if (!node)
		return JVMTI_VISIT_ABORT;
	if (referrer_tag != tag) {
		referrer = node_of_referrer(
			walk, referrer_address(walk, tag, referrer_tag), referrer_tag);
		if (!referrer || !add_reference(walk, referrer, node, how))
			return JVMTI_VISIT_ABORT;
	}
	forget_tag(walk, tag);
	return is_new ? JVMTI_VISIT_OBJECTS : 0;
}

static jint JNICALL
visit(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
	void *data)
{
	struct th_holder_walk *walk = data;

	(void)length;
	if (!walk->has_references)
		read_references(walk);
	if (!is_in_time(walk))
		return JVMTI_VISIT_ABORT;
	if (is_left_out(walk, class_tag, size, *tag))
		return 0;
	if (kind >= JVMTI_HEAP_REFERENCE_JNI_GLOBAL)
		return visit_root(walk, kind, info, class_tag, tag);
	if (is_referent(walk, kind, info, referrer_class_tag))
		return 0;
	return visit_reference(walk, how_of(kind, info), class_tag, tag, referrer_tag);
}

bool
th_holder_walk_run(struct th_holder_walk *walk, uint64_t pause_max)
{
	const jvmtiHeapCallbacks callbacks = {.heap_reference_callback = visit};
	jvmtiEnv *jvmti = walk->tags.jvmti;
	uint64_t begin;
	jvmtiError error;

	walk->roots = th_holder_graph_reserve(&walk->graph, ROOTS_MAX * sizeof(*walk->roots));
	walk->references = th_holder_graph_reserve(
		&walk->graph, TH_LIVE_BLOCKS_MAX * sizeof(*walk->references));
	if (!walk->roots || !walk->references)
		return false;
	walk->root_count = 1; /* 0: permanent classes */
	walk->roots[0].kind = TH_HOLDER_STATIC;
	walk->cpu = th_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	begin = th_clock_now();
	walk->deadline = begin + pause_max;
	error = (*jvmti)->FollowReferences(jvmti, 0, NULL, NULL, &callbacks, walk);
	walk->paused = th_clock_now() - begin;
	walk->cpu = th_clock_read(CLOCK_PROCESS_CPUTIME_ID) - walk->cpu;
	th_holder_graph_end(&walk->graph);
	return !error && !walk->is_late && !walk->is_wrong && !walk->graph.is_full &&
	       !walk->graph.is_broken && walk->verified;
}

/* Paths */

static void
seed_classes(struct th_holder_walk *walk)
{
	for (uint32_t i = 1; i < walk->tags.count; i++) {
		const struct th_holder_tag *item = &walk->tags.items[i];

		if (item->node && is_root_class(item))
			th_holder_graph_seed(&walk->graph, item->node, TH_HOLDER_ROOT);
	}
}

static void
seed_roots(struct th_holder_walk *walk, enum th_holder_kind kind)
{
	for (uint32_t i = 1; i < walk->root_count; i++)
		if (walk->roots[i].kind == kind)
			th_holder_graph_seed(
				&walk->graph, walk->roots[i].node, TH_HOLDER_ROOT | i);
}

/*
 * The root that a word in the slot of a JNI reference leads to; 0 = none.  Z stores colored
 * addresses: without generations, bits above bit 41 may differ from those of the present phase,
 * which all addresses of the walk have; with generations, they are shifted by 13 to 16 bits.
 */
static uint32_t
root_of(const struct th_holder_walk *walk, uintptr_t word)
{
	const uintptr_t color = walk->referrer_address >> Z_COLOR_SHIFT << Z_COLOR_SHIFT;
	const uintptr_t offset = word & ((UINT64_C(1) << Z_COLOR_SHIFT) - 1);
	const uintptr_t candidates[] = {
		word, color | offset, word >> 13, word >> 14, word >> 15, word >> 16};

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		uint32_t node = th_holder_graph_find(&walk->graph, candidates[i]);
		uint32_t parent = node ? walk->graph.nodes[node].parent : 0;

		if (parent & TH_HOLDER_ROOT &&
			walk->roots[parent & ~TH_HOLDER_ROOT].kind == TH_HOLDER_JNI_GLOBAL)
			return parent & ~TH_HOLDER_ROOT;
	}
	return 0;
}

static void
find_takes(struct th_holder_walk *walk)
{
	for (uint32_t i = 0; i < walk->reference_count; i++) {
		uint32_t root = root_of(walk, walk->references[i].object);

		if (root)
			walk->roots[root].take = walk->references[i].take;
	}
}

void
th_holder_walk_find_paths(struct th_holder_walk *walk)
{
	seed_classes(walk);
	th_holder_graph_spread_once(&walk->graph);
	seed_roots(walk, TH_HOLDER_JNI_GLOBAL);
	seed_roots(walk, TH_HOLDER_THREAD);
	seed_roots(walk, TH_HOLDER_VM);
	th_holder_graph_spread(&walk->graph);
	/* Only for what nothing else holds: a frame ends, and its variables with it. */
	seed_roots(walk, TH_HOLDER_STACK);
	th_holder_graph_spread(&walk->graph);
	find_takes(walk);
}
