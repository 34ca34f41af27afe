/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class OopStorage of HotSpot has a field _allocation_count, whose offset is not exported: word 7
 * in JDK 11, word 8 in later ones.  It is found by its behaviour: the only word that grows by the
 * number of references created.  Other threads may create some at the same time, hence several
 * attempts, and two of different numbers must agree.
 */
#include "jvmti/vm/references.h"

#include "unify/base/atomic.h"
#include "unify/base/safe_read.h"
#include "unify/log/log.h"
#include "unify/shared/clock.h"

/* The words of an OopStorage that are looked at; the first is its name or its vtable. */
#define WORDS 16
#define ATTEMPTS 16
/* More references than a VM creates by itself between two reads. */
#define FIRST_COUNT 37
#define SECOND_COUNT 23
#define NO_WORD WORDS

uint64_t th_references_own;

static struct {
	const struct th_hotspot *hotspot;
	unsigned word; /* of an OopStorage; 0 = not known */
	struct th_event_jni_references last;
} references;

static bool
read_words(const uintptr_t *storage, uintptr_t words[WORDS])
{
	struct th_safe_read readable;

	th_safe_read_init(&readable, NULL);
	return th_read_bytes(&readable, *storage, words, WORDS * sizeof(*words));
}

/* The only word that is larger by `count`. */
static unsigned
find_grown(const uintptr_t before[WORDS], const uintptr_t after[WORDS], unsigned count)
{
	unsigned found = NO_WORD;

	for (unsigned i = 0; i < WORDS; i++) {
		if (after[i] - before[i] != count)
			continue;
		if (found != NO_WORD)
			return NO_WORD;
		found = i;
	}
	return found;
}

/* Creates `count` references to an object and deletes them. */
static unsigned
find_word(const uintptr_t *storage, JNIEnv *env, jobject object, unsigned count)
{
	uintptr_t before[WORDS];
	uintptr_t after[WORDS];
	jobject created[FIRST_COUNT];
	bool is_read = read_words(storage, before);

	for (unsigned i = 0; i < count; i++)
		created[i] = (*env)->NewGlobalRef(env, object);
	is_read = is_read && read_words(storage, after);
	for (unsigned i = 0; i < count; i++)
		(*env)->DeleteGlobalRef(env, created[i]);
	return is_read ? find_grown(before, after, count) : NO_WORD;
}

static unsigned
learn_word(const uintptr_t *storage, JNIEnv *env, jobject object)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		unsigned word = find_word(storage, env, object, FIRST_COUNT);

		if (word && word != NO_WORD &&
			find_word(storage, env, object, SECOND_COUNT) == word)
			return word;
	}
	return 0;
}

bool
th_references_start(const struct th_hotspot *hotspot, JNIEnv *env)
{
	const uintptr_t *globals = hotspot->global_references;
	const uintptr_t *weaks = hotspot->weak_references;
	jclass object;

	references.word = 0;
	references.last = (struct th_event_jni_references){0};
	if (!globals || !weaks || !*globals || !*weaks)
		return false;
	object = (*env)->FindClass(env, "java/lang/Object");
	references.hotspot = hotspot;
	if (object)
		references.word = learn_word(globals, env, object);
	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, object);
	th_references_log();
	return references.word;
}

static bool
read_count(const uintptr_t *storage, uint64_t *count_ret)
{
	struct th_safe_read readable;
	uintptr_t count;

	th_safe_read_init(&readable, NULL);
	if (!th_read_word(&readable, *storage + references.word * sizeof(uintptr_t), &count))
		return false;
	*count_ret = count;
	return true;
}

void
th_references_log(void)
{
	struct th_event_jni_references event = {
		.time = th_clock_now(), .own = th_load_relaxed(&th_references_own)};

	if (!references.word ||
		!read_count(references.hotspot->global_references, &event.globals) ||
		!read_count(references.hotspot->weak_references, &event.weaks))
		return;
	if (event.globals == references.last.globals &&
		event.weaks - event.own == references.last.weaks - references.last.own)
		return;
	if (th_log_append(TH_EVENT_JNI_REFERENCES, &event, NULL, 0))
		references.last = event;
}
