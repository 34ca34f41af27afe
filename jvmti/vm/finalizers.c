/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads private fields, and calls no Java method.  The Finalizer thread may take an object out of
 * the queue meanwhile: its reference then refers to itself, as the last one does.
 */
#include "jvmti/vm/finalizers.h"

#include <stdbool.h>
#include <stddef.h>

#include "jvmti/vm/loaded_class.h"
#include "unify/log/log.h"
#include "unify/shared/log_format.h"

/* Fewer are no backlog. */
#define LEAST 16
/* Objects whose class is read, from the youngest on. */
#define READ_MAX 64
/* Local references at a time: those of the fields, and of two objects. */
#define LOCAL_REFERENCES 16

/* A class, and by how many objects it is ahead of all others: the majority vote of Boyer and Moore. */
struct vote {
	jclass type;
	unsigned lead;
};

static jobject
queue_of(JNIEnv *env, jclass finalizer)
{
	/* Up to 17 or so, and later. */
	static const char *const types[] = {
		"Ljava/lang/ref/ReferenceQueue;", "Ljava/lang/ref/NativeReferenceQueue;"};
	static size_t known; /* a wrong one costs an exception */

	for (; known < sizeof(types) / sizeof(types[0]); known++) {
		jfieldID field = (*env)->GetStaticFieldID(
			env, finalizer, "queue", types[known]);

		if (field)
			return (*env)->GetStaticObjectField(env, finalizer, field);
		(*env)->ExceptionClear(env);
	}
	return NULL;
}

static void
count(JNIEnv *env, struct vote *vote, jobject object)
{
	jclass type = object ? (*env)->GetObjectClass(env, object) : NULL;

	if (vote->lead && (*env)->IsSameObject(env, type, vote->type)) {
		vote->lead++;
	} else if (vote->lead) {
		vote->lead--;
	} else {
		(*env)->DeleteLocalRef(env, vote->type);
		*vote = (struct vote){type, 1};
		return;
	}
	(*env)->DeleteLocalRef(env, type);
}

/* The class of most of the youngest objects; NULL: not known. */
static jclass
most_common(JNIEnv *env, jobject first, jclass reference)
{
	jfieldID next = (*env)->GetFieldID(env, reference, "next", "Ljava/lang/ref/Reference;");
	jfieldID referent = next ? (*env)->GetFieldID(
					   env, reference, "referent", "Ljava/lang/Object;")
				 : NULL;
	struct vote vote = {0};

	bool is_last = false;

	for (int i = 0; referent && first && !is_last && i < READ_MAX; i++) {
		jobject object = (*env)->GetObjectField(env, first, referent);
		jobject after = (*env)->GetObjectField(env, first, next);

		count(env, &vote, object);
		is_last = (*env)->IsSameObject(env, after, first);
		(*env)->DeleteLocalRef(env, object);
		(*env)->DeleteLocalRef(env, first);
		first = after;
	}
	return vote.type;
}

static void
log_class(jvmtiEnv *jvmti, jclass type, struct th_event_pool *event)
{
	char *signature = NULL;

	if (!type || (*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return;
	struct th_log_part part = th_log_text(signature);
	th_log_append(TH_EVENT_POOL, event, &part, 1);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void
log_queue(jvmtiEnv *jvmti, JNIEnv *env, jobject queue, struct th_event_pool *event)
{
	jclass type = th_loaded_class_find(env, "java.lang.ref.ReferenceQueue");
	jclass reference = th_loaded_class_find(env, "java.lang.ref.Reference");
	jfieldID length = type ? (*env)->GetFieldID(env, type, "queueLength", "J") : NULL;
	jfieldID head = length ? (*env)->GetFieldID(
					 env, type, "head", "Ljava/lang/ref/Reference;")
			       : NULL;

	if (!head || !reference)
		return;
	event->count = (uint64_t)(*env)->GetLongField(env, queue, length);
	if (event->count >= LEAST)
		log_class(jvmti,
			most_common(env, (*env)->GetObjectField(env, queue, head), reference),
			event);
}

void
th_finalizers_log(jvmtiEnv *jvmti, JNIEnv *env, uint32_t account)
{
	struct th_event_pool event = {.account = account, .kind = TH_POOL_FINALIZERS};

	if ((*env)->PushLocalFrame(env, LOCAL_REFERENCES)) {
		(*env)->ExceptionClear(env);
		return;
	}
	jclass finalizer = th_loaded_class_find(env, "java.lang.ref.Finalizer");
	jobject queue = finalizer ? queue_of(env, finalizer) : NULL;
	if (queue)
		log_queue(jvmti, env, queue, &event);
	(*env)->ExceptionClear(env);
	(*env)->PopLocalFrame(env, NULL);
}
