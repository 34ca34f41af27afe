/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of what methods are called.  Names are read into one buffer, under a lock that is not
 * waited for long: without it a frame has no name this time, and is not remembered.
 */
#include "jvmti/names/methods.h"

#include <string.h>

#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/hash_set.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/shared/hash.h"

/* Longest line table kept; javac writes one entry per statement. */
#define LINES_MAX 8192
/* Longer names are cut. */
#define TEXT_BYTES 4096
/* Methods below the frames of a virtual thread, with those of the same names. */
#define MOUNTS_MAX 16
/* Methods whose id is known by jmethodID. */
#define REMEMBERED 4096

/* What a method is called; the texts are empty where the VM does not provide one. */
struct names {
	char class_signature[TEXT_BYTES];
	char name[TEXT_BYTES];
	char signature[TEXT_BYTES];
	char source_file[TEXT_BYTES];
	uint32_t line_count;
	uint64_t lines[LINES_MAX];
};

/*
 * Any thread writes both words, without a lock: with words of two writers there is no such entry.
 */
struct remembered {
	uint64_t method; /* atomic: jmethodID */
	uint64_t mixed;  /* atomic: hash of the jmethodID ^ id */
};

static struct {
	struct th_hash_set known;    /* of hashes of names; ids are the numbers */
	uint32_t mounts[MOUNTS_MAX]; /* atomic: id << 2 | enum th_method_mount; 0: no more */
	struct remembered *remembered;
	struct th_spinlock lock;
	struct names *names;
} methods;

bool
th_methods_init(void)
{
	th_memory_retire(methods.names);
	th_memory_retire(methods.remembered);
	th_hash_set_reset(&methods.known);
	memset(&methods, 0, sizeof(methods));
	return th_memory_map_once(&methods.names, sizeof(*methods.names)) &&
	       th_memory_map_once(
		       &methods.remembered, REMEMBERED * sizeof(*methods.remembered));
}

enum th_method_mount
th_methods_mount(uint32_t id)
{
	uint32_t mount;

	for (unsigned i = 0; i < MOUNTS_MAX && (mount = th_load_relaxed(&methods.mounts[i]));
		i++)
		if (mount >> 2 == id)
			return (enum th_method_mount)(mount & 3);
	return TH_MOUNT_NONE;
}

/* Methods of the JDK below the frames of a virtual thread. */
static const struct mount {
	const char *class_signature;
	const char *method;
	const char *signature; /* NULL: any */
	enum th_method_mount mount;
} mounts[] = {
	{"Ljava/lang/Thread;", "runWith", NULL, TH_MOUNT_ABOVE},
	{"Ljava/lang/VirtualThread;", "run", "(Ljava/lang/Runnable;)V", TH_MOUNT_BASE},
	{"Ljava/lang/VirtualThread$VThreadContinuation$1;", "run", "()V", TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enter", NULL, TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enter0", NULL, TH_MOUNT_BASE},
	{"Ljdk/internal/vm/Continuation;", "enterSpecial", NULL, TH_MOUNT_BASE},
};
#define MOUNT_COUNT (sizeof(mounts) / sizeof(mounts[0]))

static enum th_method_mount
find_mount(const struct names *names)
{
	for (const struct mount *mount = mounts; mount < mounts + MOUNT_COUNT; mount++)
		if (!strcmp(names->class_signature, mount->class_signature) &&
			!strcmp(names->name, mount->method) &&
			(!mount->signature || !strcmp(names->signature, mount->signature)))
			return mount->mount;
	return TH_MOUNT_NONE;
}

/* Under the lock. */
static void
mark_mount(uint32_t id, enum th_method_mount mount)
{
	unsigned i = 0;

	while (i < MOUNTS_MAX && methods.mounts[i])
		i++;
	if (mount != TH_MOUNT_NONE && i < MOUNTS_MAX)
		th_store_relaxed(&methods.mounts[i], id << 2 | (uint32_t)mount);
}

/* Ids */

static void
log_method(uint32_t id, const struct names *names)
{
	struct th_event_method event = {.method = id};
	struct th_log_part parts[] = {
		th_log_text(names->class_signature),
		th_log_text(names->name),
		th_log_text(names->signature),
		th_log_text(names->source_file),
		{names->lines, names->line_count},
	};

	th_log_append(TH_EVENT_METHOD, &event, parts, 5);
}

static uint64_t
finish_hash(uint64_t hash)
{
	return th_hash_mix(hash) | 1;
}

/* The id of the method in `methods.names`, under the lock. */
static uint32_t
add_method(uint64_t hash)
{
	struct th_hash_entry entry = th_hash_set_add(&methods.known, hash);

	if (!entry.word)
		th_log_count(TH_COUNTER_METHODS_FULL, 1);
	if (entry.is_new) {
		mark_mount(entry.number, find_mount(methods.names));
		log_method(entry.number, methods.names);
	}
	return entry.number;
}

/* 0: it cannot be read. */
static uint64_t
hash_of(const struct th_hotspot *hotspot, const struct th_vm_method *method)
{
	const uintptr_t symbols[] = {
		method->class_name, method->name, method->signature, method->source_file};
	uint64_t hash = TH_HASH_START ^ method->bytes;

	for (size_t i = 0; hash && i < sizeof(symbols) / sizeof(symbols[0]); i++)
		hash = th_vm_symbol_hash(hotspot, symbols[i], hash);
	return hash ? finish_hash(hash) : 0;
}

static bool
read_names(
	const struct th_hotspot *hotspot, const struct th_vm_method *method, struct names *ret)
{
	ret->line_count = th_vm_method_lines(hotspot, method, ret->lines, LINES_MAX);
	th_vm_symbol_read(hotspot, method->source_file, ret->source_file, TEXT_BYTES);
	return th_vm_class_signature_read(
		       hotspot, method->class_name, ret->class_signature, TEXT_BYTES) &&
	       th_vm_symbol_read(hotspot, method->name, ret->name, TEXT_BYTES) &&
	       th_vm_symbol_read(hotspot, method->signature, ret->signature, TEXT_BYTES);
}

uint32_t
th_methods_id(const struct th_hotspot *hotspot, const struct th_vm_method *method)
{
	uint64_t hash = hash_of(hotspot, method);
	uint32_t id = hash ? th_hash_set_find(&methods.known, hash) : 0;

	if (id || !hash || !th_lock_bounded(&methods.lock))
		return id;
	if (read_names(hotspot, method, methods.names))
		id = add_method(hash);
	th_unlock(&methods.lock);
	return id;
}

/* jmethodIDs */

/* The texts of a method; NULL where the VM does not provide one. */
struct answer {
	char *class_signature;
	char *source_file;
	char *name;
	char *signature;
	jvmtiLineNumberEntry *lines;
	jint line_count;
	jlong last; /* bytecode index; -1: none */
};

/* False: the class was unloaded in between. */
static bool
ask(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method, struct answer *ret)
{
	jclass type;
	jlong first;

	memset(ret, 0, sizeof(*ret));
	if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &type))
		return false;
	(*jvmti)->GetClassSignature(jvmti, type, &ret->class_signature, NULL);
	(*jvmti)->GetSourceFileName(jvmti, type, &ret->source_file);
	(*jvmti)->GetMethodName(jvmti, method, &ret->name, &ret->signature, NULL);
	if ((*jvmti)->GetMethodLocation(jvmti, method, &first, &ret->last))
		ret->last = -1;
	if ((*jvmti)->GetLineNumberTable(jvmti, method, &ret->line_count, &ret->lines))
		ret->line_count = 0;
	(*env)->DeleteLocalRef(env, type);
	return true;
}

static void
free_answer(jvmtiEnv *jvmti, struct answer *answer)
{
	th_vm_free(jvmti, answer->class_signature);
	th_vm_free(jvmti, answer->source_file);
	th_vm_free(jvmti, answer->name);
	th_vm_free(jvmti, answer->signature);
	th_vm_free(jvmti, answer->lines);
}

static void
copy_text(char *to, const char *from)
{
	size_t length = from ? strnlen(from, TEXT_BYTES - 1) : 0;

	memcpy(to, from, length);
	to[length] = '\0';
}

/*
 * The name of the class in the VM: "a/B" of "La/B;", "a/B+0x1" of the hidden class "La/B.0x1;", and "a/B" of
 * the VM-anonymous class "La/B/1;" (before 15).
 */
static char *
name_of(char *signature)
{
	size_t length = strlen(signature);
	char *text = length ? signature + 1 : signature;

	if (length >= 2)
		signature[length - 1] = '\0';
	char *mark = strrchr(text, '.');
	if (mark)
		*mark = '+';
	char *slash = strrchr(text, '/');
	if (slash && slash[1] >= '0' && slash[1] <= '9')
		*slash = '\0';
	return text;
}

static void
copy_answer(const struct answer *answer, struct names *names)
{
	copy_text(names->class_signature, answer->class_signature);
	copy_text(names->name, answer->name);
	copy_text(names->signature, answer->signature);
	copy_text(names->source_file, answer->source_file);
	names->line_count = 0;
	while (names->line_count < LINES_MAX && (jint)names->line_count < answer->line_count) {
		const jvmtiLineNumberEntry *line = &answer->lines[names->line_count];

		names->lines[names->line_count++] = (uint64_t)line->start_location << 32 |
						    (uint32_t)line->line_number;
	}
}

/* As hash_of(); changes the answer. */
static uint64_t
hash_answer(const struct answer *answer)
{
	const char *const texts[] = {name_of(answer->class_signature), answer->name,
		answer->signature, answer->source_file ? answer->source_file : ""};
	uint64_t hash = TH_HASH_START ^ (uint16_t)(answer->last + 1);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = th_hash_bytes(hash, texts[i], strlen(texts[i]) + 1);
	return finish_hash(hash);
}

/* The lock is not held while the VM, which may block its threads, is called. */
static uint32_t
intern_answer(const struct answer *answer)
{
	uint32_t id;

	if (!th_lock_bounded(&methods.lock))
		return 0;
	copy_answer(answer, methods.names);
	id = add_method(hash_answer(answer));
	th_unlock(&methods.lock);
	return id;
}

static uint32_t
ask_for_id(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method)
{
	struct answer answer;
	uint32_t id = 0;

	if (!ask(jvmti, env, method, &answer))
		return 0;
	if (answer.class_signature && answer.name && answer.signature)
		id = intern_answer(&answer);
	free_answer(jvmti, &answer);
	return id;
}

uint32_t
th_methods_id_of(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method)
{
	uint64_t key = (uintptr_t)method;
	uint64_t hash = th_hash_mix(key);
	struct remembered *entry = &methods.remembered[hash % REMEMBERED];
	uint64_t id = th_load_relaxed(&entry->mixed) ^ hash;

	if (th_load_relaxed(&entry->method) == key && id && id <= TH_HASH_SET_NUMBERS)
		return (uint32_t)id;
	id = ask_for_id(jvmti, env, method);
	if (id) {
		th_store_relaxed(&entry->method, key);
		th_store_relaxed(&entry->mixed, hash ^ id);
	}
	return (uint32_t)id;
}
