/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tag of each object holds all state of the walk.  The tag of a class holds the kind of its
 * instances and the indexes of their relevant fields.  The tag of a Cleaner, and of the object
 * it will run, is an index into a table.  The tag of a buffer holds what it refers to.
 * Callbacks run inside the VM's safepoint and call no JVMTI or JNI function.
 */
#include "jvmti/heap/buffers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvmti/vm/field_index.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/shared/clock.h"

/* Cleaners that have not run: a table of 32 MiB, touched only as far as it is used. */
#define CLEANERS_MAX (4u << 20)
/* Not a valid field index: the class has no such field. */
#define NO_FIELD 0xffffu

/* The kind of the instances of a class. */
enum role {
	ROLE_OTHER,
	ROLE_REFERENCE, /* `first`: index of the referent */
	ROLE_CLEANER,   /* the same; `second`: index of the first field that is not inherited */
	ROLE_BUFFER,    /* `first`, `second`: what a view keeps alive: attachment, segment */
	ROLE_FREEING,   /* `first`: index of the size; and the kind of buffer */
	ROLE_LIST,      /* the list of Cleaners, or one of its nodes */
};

/* Flags in the tag of a buffer, above the values used for Cleaners. */
enum { BUFFER_SEEN = 1 << 24, BUFFER_HAS_CLEANER = 1 << 25, BUFFER_IS_VIEW = 1 << 26 };

/* A Cleaner that has not run. */
struct cleaner {
	uint64_t bytes : 56;     /* that it will free */
	uint64_t kind : 7;       /* enum th_buffers_kind; 0 = not for a buffer */
	uint64_t is_reached : 1; /* the buffer is reachable */
};

struct count {
	JNIEnv *env;
	jvmtiEnv *jvmti; /* used for this count only */
	/*
	 * Up to 25 jdk.internal.ref.Cleaner, each of which refers to the next, and its class to the
	 * first; then java.nio.BufferCleaner has a list of nodes with arrays of PhantomCleaners.
	 */
	jclass cleaner;
	jclass holder; /* of the list */
	jclass buffer; /* java.nio.DirectByteBuffer */
	struct cleaner *cleaners;
	uint32_t cleaner_count;
	bool is_full;
	uint64_t stopped; /* duration of the walks in nanoseconds */
	struct th_event_buffers sums[TH_BUFFERS_KINDS];
};

/* Class tags */

static jlong
make_tag(enum role role, enum th_buffers_kind kind, int first, int second)
{
	return (jlong)((uint64_t)role << 40 | (uint64_t)kind << 32 |
		       (uint64_t)(first & 0xffff) << 16 | (uint64_t)(second & 0xffff));
}

static enum role
tag_role(jlong tag)
{
	return (enum role)((uint64_t)tag >> 40);
}

static unsigned
tag_kind(jlong tag)
{
	return (uint64_t)tag >> 32 & 0xff;
}

static jint
tag_first(jlong tag)
{
	return (uint64_t)tag >> 16 & 0xffff;
}

static jint
tag_second(jlong tag)
{
	return tag & 0xffff;
}

static bool
set_tag(const struct count *count, jclass type, jlong tag)
{
	return !(*count->jvmti)->SetTag(count->jvmti, type, tag);
}

static int
field_index(const struct count *count, jclass type, jclass declaring, const char *name)
{
	return th_field_index(count->jvmti, count->env, type, declaring, name);
}

/* Heap walks */

/* Whether this is a reference to the list of Cleaners, to one of its nodes, or to a node's array. */
static bool
is_in_list(jvmtiHeapReferenceKind kind, jlong class_tag, jlong referrer_class_tag)
{
	if (tag_role(class_tag) == ROLE_LIST)
		return true;
	return kind == JVMTI_HEAP_REFERENCE_FIELD && !class_tag &&
	       tag_role(referrer_class_tag) == ROLE_LIST;
}

/* Whether this is a link of the list of Cleaners, or the class's reference to the first one. */
static bool
is_link(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag)
{
	if (tag_role(class_tag) != ROLE_CLEANER)
		return false;
	return kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD ||
	       kind == JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT ||
	       (kind == JVMTI_HEAP_REFERENCE_FIELD &&
		       tag_role(referrer_class_tag) == ROLE_CLEANER &&
		       info->field.index >= tag_second(referrer_class_tag));
}

static jint
add_cleaner(struct count *count, jlong *tag)
{
	if (*tag)
		return 0;
	if (count->cleaner_count == CLEANERS_MAX) {
		count->is_full = true;
		return JVMTI_VISIT_ABORT;
	}
	*tag = ++count->cleaner_count;
	return JVMTI_VISIT_OBJECTS;
}

static jint JNICALL
visit_cleaners(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
	void *data)
{
	struct count *count = data;

	(void)size;
	(void)length;
	if (is_link(kind, info, class_tag, referrer_class_tag))
		return add_cleaner(count, tag);
	if (is_in_list(kind, class_tag, referrer_class_tag))
		return JVMTI_VISIT_OBJECTS;
	if (tag_role(class_tag) != ROLE_FREEING ||
		tag_role(referrer_class_tag) != ROLE_CLEANER || !referrer_tag || !*referrer_tag)
		return 0;
	count->cleaners[*referrer_tag - 1].kind = tag_kind(class_tag) & 0x7f;
	*tag = *referrer_tag;
	return JVMTI_VISIT_OBJECTS;
}

static jint JNICALL
read_size(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong *tag, jvalue value, jvmtiPrimitiveType type, void *data)
{
	struct count *count = data;

	if (kind == JVMTI_HEAP_REFERENCE_FIELD && type == JVMTI_PRIMITIVE_TYPE_LONG &&
		tag_role(class_tag) == ROLE_FREEING &&
		info->field.index == tag_first(class_tag) && *tag)
		count->cleaners[*tag - 1].bytes = (uint64_t)value.j & ((UINT64_C(1) << 56) - 1);
	return 0;
}

static bool
is_referent(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info,
	jlong referrer_class_tag)
{
	enum role role = tag_role(referrer_class_tag);

	return kind == JVMTI_HEAP_REFERENCE_FIELD &&
	       (role == ROLE_REFERENCE || role == ROLE_CLEANER) &&
	       info->field.index == tag_first(referrer_class_tag);
}

/* A reference from a buffer to its Cleaner, or to the object it is a view of. */
static void
note_buffer_field(struct count *count, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag, const jlong *tag, jlong *referrer_tag)
{
	jint index = info->field.index;

	if (tag_role(class_tag) == ROLE_CLEANER) {
		*referrer_tag |= BUFFER_HAS_CLEANER;
		if (*tag)
			count->cleaners[*tag - 1].is_reached = 1;
	} else if (index == tag_first(referrer_class_tag) ||
		   index == tag_second(referrer_class_tag)) {
		*referrer_tag |= BUFFER_IS_VIEW;
	}
}

static jint JNICALL
visit_all(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag,
	jlong referrer_class_tag, jlong size, jlong *tag, jlong *referrer_tag, jint length,
	void *data)
{
	(void)size;
	(void)length;
	if (is_referent(kind, info, referrer_class_tag))
		return 0;
	if (tag_role(class_tag) == ROLE_BUFFER)
		*tag |= BUFFER_SEEN;
	if (kind == JVMTI_HEAP_REFERENCE_FIELD && referrer_tag &&
		tag_role(referrer_class_tag) == ROLE_BUFFER)
		note_buffer_field(data, info, class_tag, referrer_class_tag, tag, referrer_tag);
	return JVMTI_VISIT_OBJECTS;
}

static bool
follow(struct count *count, jobject start, const jvmtiHeapCallbacks *callbacks)
{
	uint64_t begin = th_clock_now();
	jvmtiError error = (*count->jvmti)
				   ->FollowReferences(
					   count->jvmti, 0, NULL, start, callbacks, count);

	count->stopped += th_clock_now() - begin;
	return !error && !count->is_full;
}

static bool
walk(struct count *count)
{
	const jvmtiHeapCallbacks cleaners = {.heap_reference_callback = visit_cleaners,
		.primitive_field_callback = read_size};
	const jvmtiHeapCallbacks all = {.heap_reference_callback = visit_all};

	return follow(count, count->holder, &cleaners) && follow(count, NULL, &all);
}

/* Tagging, before the walks */

/* Reference types that do not keep their referent alive are not followed. */
static bool
tag_reference(jclass type, jint i, int referent, void *data)
{
	(void)i;
	return set_tag(data, type, make_tag(ROLE_REFERENCE, 0, referent, NO_FIELD));
}

static bool
tag_references(struct count *count)
{
	jvmtiEnv *jvmti = count->jvmti;
	JNIEnv *env = count->env;
	jclass *types;
	jint type_count = 0;

	if ((*jvmti)->GetLoadedClasses(jvmti, &type_count, &types))
		return false;
	bool are_tagged = th_referents_each(
		jvmti, env, types, type_count, tag_reference, count);
	for (jint i = 0; i < type_count; i++)
		(*env)->DeleteLocalRef(env, types[i]);
	th_vm_free(jvmti, types);
	return are_tagged;
}

static bool
tag_cleaners(const struct count *count)
{
	jclass reference = th_loaded_class_find(count->env, "java.lang.ref.Reference");
	int referent = field_index(count, count->cleaner, reference, "referent");
	int own = field_index(count, count->cleaner, count->cleaner, NULL);

	return referent >= 0 && own >= 0 &&
	       set_tag(count, count->cleaner, make_tag(ROLE_CLEANER, 0, referent, own));
}

#define BUFFER "java.nio.DirectByteBuffer"
#define UNMAPPER "sun.nio.ch.FileChannelImpl$Unmapper"

/* Which of them exist, and are loaded, depends on the JDK; other objects free no buffer. */
static const struct known {
	const char *name;
	enum role role;
	enum th_buffers_kind kind;
	const char *declaring; /* the class that declares `first` */
	const char *first;     /* NULL: no field is looked at */
} known[] = {
	{"java.nio.BufferCleaner$CleanerList", .role = ROLE_LIST},
	{"java.nio.BufferCleaner$CleanerList$Node", .role = ROLE_LIST},
	{BUFFER, ROLE_BUFFER, 0, BUFFER, "att"},
	{BUFFER "R", ROLE_BUFFER, 0, BUFFER, "att"},
	{BUFFER "$Deallocator", ROLE_FREEING, TH_BUFFERS_DIRECT, BUFFER "$Deallocator", "size"},
	{UNMAPPER, ROLE_FREEING, TH_BUFFERS_MAPPED, UNMAPPER, "size"},
	{"sun.nio.ch.FileChannelImpl$DefaultUnmapper", ROLE_FREEING, TH_BUFFERS_MAPPED,
		UNMAPPER, "size"},
	{"sun.nio.ch.FileChannelImpl$SyncUnmapper", ROLE_FREEING, TH_BUFFERS_MAPPED, UNMAPPER,
		"size"},
};

/* Not every JDK has it. */
static int
segment_index(const struct count *count, jclass type)
{
	jclass base = th_loaded_class_find(count->env, "java.nio.Buffer");
	int index = field_index(count, type, base, "segment");

	return index < 0 ? (int)NO_FIELD : index;
}

static bool
tag_known(const struct count *count, const struct known *class)
{
	jclass type = th_loaded_class_find(count->env, class->name);
	jclass declaring = class->first ? th_loaded_class_find(count->env, class->declaring)
					: NULL;
	int first = NO_FIELD, second = NO_FIELD;

	if (!type || (class->first && !declaring))
		return true;
	if (class->first)
		first = field_index(count, type, declaring, class->first);
	if (class->role == ROLE_BUFFER)
		second = segment_index(count, type);
	return first >= 0 &&
	       set_tag(count, type, make_tag(class->role, class->kind, first, second));
}

/* Cleaners after references, because Cleaner is itself a subclass of Reference. */
static bool
tag_classes(struct count *count)
{
	bool are_tagged = tag_references(count) && tag_cleaners(count);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		are_tagged = are_tagged && tag_known(count, &known[i]);
	return are_tagged;
}

/* Sums, after the walks */

static void
add_up(struct count *count)
{
	for (uint32_t i = 0; i < count->cleaner_count; i++) {
		const struct cleaner *cleaner = &count->cleaners[i];
		struct th_event_buffers *sum;

		if (!cleaner->kind || cleaner->kind >= TH_BUFFERS_KINDS)
			continue;
		sum = &count->sums[cleaner->kind];
		if (cleaner->is_reached) {
			sum->reached++;
			sum->reached_bytes += cleaner->bytes;
		} else {
			sum->waiting++;
			sum->waiting_bytes += cleaner->bytes;
		}
	}
}

/* Buffers over memory allocated by others: JNI, Unsafe. */
static void
add_up_foreign(struct count *count)
{
	const jlong tag = BUFFER_SEEN;
	struct th_event_buffers *sum = &count->sums[TH_BUFFERS_FOREIGN];
	jfieldID capacity =
		(*count->env)->GetFieldID(count->env, count->buffer, "capacity", "I");
	jobject *buffers;
	jint found = 0;

	(*count->env)->ExceptionClear(count->env);
	if (!capacity ||
		(*count->jvmti)
			->GetObjectsWithTags(count->jvmti, 1, &tag, &found, &buffers, NULL))
		return;
	for (jint i = 0; i < found; i++) {
		sum->reached++;
		sum->reached_bytes +=
			(uint64_t)(*count->env)->GetIntField(count->env, buffers[i], capacity);
		(*count->env)->DeleteLocalRef(count->env, buffers[i]);
	}
	th_vm_free(count->jvmti, buffers);
}

static void
log_sums(struct count *count, uint64_t time)
{
	for (uint32_t kind = 1; kind < TH_BUFFERS_KINDS; kind++) {
		count->sums[kind].time = time;
		count->sums[kind].stopped = count->stopped;
		count->sums[kind].kind = kind;
		th_log_append(TH_EVENT_BUFFERS, &count->sums[kind], NULL, 0);
	}
}

/* Complete count */

static bool
count_with_tags(struct count *count)
{
	const jvmtiCapabilities tags = {.can_tag_objects = 1};

	if ((*count->jvmti)->AddCapabilities(count->jvmti, &tags) || !tag_classes(count) ||
		!walk(count))
		return false;
	add_up(count);
	add_up_foreign(count);
	return true;
}

static void
find_cleaners(struct count *count)
{
	count->cleaner = th_loaded_class_find(count->env, "jdk.internal.ref.Cleaner");
	count->holder = count->cleaner;
	if (count->cleaner)
		return;
	count->cleaner = th_loaded_class_find(
		count->env, "java.nio.BufferCleaner$PhantomCleaner");
	count->holder = th_loaded_class_find(count->env, "java.nio.BufferCleaner");
}

/* In a JVMTI environment of its own; disposing it removes all tags. */
static bool
count_buffers(struct count *count, JavaVM *vm)
{
	const size_t bytes = CLEANERS_MAX * sizeof(*count->cleaners);
	bool is_counted;

	count->buffer = th_loaded_class_find(count->env, "java.nio.DirectByteBuffer");
	if (!count->buffer)
		return true; /* There never was a buffer. */
	find_cleaners(count);
	if (!count->cleaner || !count->holder ||
		(*vm)->GetEnv(vm, (void **)&count->jvmti, JVMTI_VERSION_11) != JNI_OK)
		return false;
	count->cleaners = th_memory_reserve(bytes);
	is_counted = count->cleaners && count_with_tags(count);
	th_memory_release(count->cleaners, bytes);
	(*count->jvmti)->DisposeEnvironment(count->jvmti);
	return is_counted;
}

enum th_control_answer
th_buffers_count(JavaVM *vm, JNIEnv *env)
{
	struct count count = {.env = env};
	uint64_t time = th_clock_now();
	bool is_counted;

	if ((*env)->PushLocalFrame(env, 64)) {
		(*env)->ExceptionClear(env);
		return TH_CONTROL_FAILED;
	}
	is_counted = count_buffers(&count, vm);
	(*env)->PopLocalFrame(env, NULL);
	if (is_counted)
		log_sums(&count, time);
	else
		th_log_note(1,
			count.is_full ? "buffers could not be counted: there are more Cleaners "
					"than fit into the table"
				      : "buffers could not be counted: this VM does not allow "
					"heap walks, or frees buffers in another way");
	return is_counted ? TH_CONTROL_DONE : TH_CONTROL_FAILED;
}
