/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the counters: perfMemory.hpp, version 2.0 since JDK 5. */
#include "jvmti/vm/vm_exports.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "unify/log/log.h"

#define MAGIC_LITTLE_ENDIAN 0xc0c0feca
/* More entries than any VM has; a region with more is not valid. */
#define ENTRIES_MAX 4096
/* Reads of the heap's size while it changes. */
#define TRIES 16

struct prologue {
	uint32_t magic;
	uint8_t byte_order;
	uint8_t major;
	uint8_t minor;
	uint8_t accessible;
	int32_t used; /* bytes */
	int32_t overflow;
	int64_t modified;
	int32_t entry_offset; /* of the first entry */
	int32_t entry_count;
};

struct entry {
	int32_t length; /* to the next entry */
	int32_t name_offset;
	int32_t vector_length; /* 0 = a scalar */
	uint8_t data_type;     /* as in a field descriptor: J, or B for text */
	uint8_t flags;
	uint8_t units;
	uint8_t variability;
	int32_t data_offset;
};

struct th_vm_functions th_vm_functions;

static const char *counters; /* PerfMemory::_start; NULL: there are none */

/* Functions */

void
th_vm_functions_find(const struct th_hotspot_source *source)
{
	void *found;

#define FIND(field, found_by) \
	found = found_by;     \
	memcpy(&th_vm_functions.field, &found, sizeof(found));
	FIND(total_memory, th_hotspot_symbol(source, "JVM_TotalMemory"))
	FIND(free_memory, th_hotspot_symbol(source, "JVM_FreeMemory"))
	FIND(max_memory, th_hotspot_symbol(source, "JVM_MaxMemory"))
	FIND(find_loaded_class, th_hotspot_symbol(source, "JVM_FindLoadedClass"))
	FIND(constant_pool_entries, th_hotspot_symbol(source, "JVM_GetClassCPEntriesCount"))
	FIND(is_hidden, source->find_symbol(source->libjvm, "JVM_IsHiddenClass"))
	FIND(domain_of, source->find_symbol(source->libjvm, "JVM_GetProtectionDomain"))
#undef FIND
}

jclass
th_loaded_class_find(JNIEnv *env, const char *name)
{
	jstring text = th_vm_functions.find_loaded_class ? (*env)->NewStringUTF(env, name)
							 : NULL;
	jclass found = text ? th_vm_functions.find_loaded_class(env, NULL, text) : NULL;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, text);
	return found;
}

jfieldID
th_vm_field(JNIEnv *env, const char *type, const char *name, const char *signature)
{
	jclass found = (*env)->FindClass(env, type);
	jfieldID field = found ? (*env)->GetFieldID(env, found, name, signature) : NULL;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, found);
	return field;
}

bool
th_vm_thread_info(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jvmtiThreadInfo *ret)
{
	if ((*jvmti)->GetThreadInfo(jvmti, thread, ret))
		return false;
	(*env)->DeleteLocalRef(env, ret->thread_group);
	(*env)->DeleteLocalRef(env, ret->context_class_loader);
	return true;
}

bool
th_vm_heap_use(uint64_t *committed_ret, uint64_t *used_ret)
{
	if (!th_vm_functions.total_memory || !th_vm_functions.free_memory)
		return false;
	for (int i = 0; i < TRIES; i++) {
		jlong committed = th_vm_functions.total_memory();
		jlong unused = th_vm_functions.free_memory();

		/* The heap may grow meanwhile: then more seems to be free than there is. */
		if (unused < 0 || unused > committed ||
			committed != th_vm_functions.total_memory())
			continue;
		*committed_ret = (uint64_t)committed;
		*used_ret = (uint64_t)(committed - unused);
		return true;
	}
	return false;
}

/* Counters */

void
th_perf_data_find(const struct th_hotspot *hotspot)
{
	counters = hotspot->perf_data ? (const char *)*hotspot->perf_data : NULL;
}

bool
th_perf_data_exists(void)
{
	return counters != NULL;
}

static const void *
find(const char *name, uint8_t data_type)
{
	const char *start = counters;
	const struct prologue *prologue = (const void *)start;

	if (!start || prologue->magic != MAGIC_LITTLE_ENDIAN || prologue->major != 2)
		return NULL;
	int32_t offset = prologue->entry_offset;
	for (int i = 0; i < prologue->entry_count && i < ENTRIES_MAX; i++) {
		const struct entry *entry = (const void *)(start + offset);

		if (offset < 0 || offset >= prologue->used || entry->length <= 0)
			return NULL;
		if (entry->data_type == data_type &&
			!strcmp(start + offset + entry->name_offset, name))
			return start + offset + entry->data_offset;
		offset += entry->length;
	}
	return NULL;
}

const int64_t *
th_perf_data_long(const char *name)
{
	return find(name, 'J');
}

const char *
th_perf_data_text(const char *name)
{
	return find(name, 'B');
}

/* What is missing */

#define START "this Java VM lacks names that the library uses:"
/* Of some 60 names; what does not fit is left out. */
#define TEXT_BYTES 2048

/* By the threads that start the agent and the VM, one after the other. */
static struct {
	char text[TEXT_BYTES]; /* " TYPE::NAME NAME" */
	size_t length;
	bool is_logged;
} missed;

static void
note(const char *names)
{
	char text[sizeof(START) + TEXT_BYTES];

	snprintf(text, sizeof(text), START "%s", names);
	th_log_note(0, text);
}

void
th_missed_names_add(const char *type, const char *name)
{
	char word[128];
	int length = snprintf(
		word, sizeof(word), " %s%s%s", type ? type : "", type ? "::" : "", name);

	if (length < 0 || (size_t)length >= sizeof(word) ||
		missed.length + (size_t)length >= sizeof(missed.text) ||
		strstr(missed.text, word))
		return;
	memcpy(missed.text + missed.length, word, (size_t)length + 1);
	missed.length += (size_t)length;
	if (missed.is_logged)
		note(word);
}

void
th_missed_names_log(void)
{
	if (missed.length)
		note(missed.text);
	missed.is_logged = true;
}
