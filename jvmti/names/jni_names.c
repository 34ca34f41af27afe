/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/jni_names.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "jvmti/vm/jni_functions.h"
#include "unify/log/log.h"
#include "unify/log/module.h"

/* Entries of the table by the version of JNI that the VM implements. */
#define ENTRIES_BEFORE_19 234
#define ENTRIES_BEFORE_24 235
#define JNI_19 0x00130000
#define JNI_24 0x00180000

static size_t
entry_count(jint version)
{
	if (version < JNI_19)
		return ENTRIES_BEFORE_19;
	if (version < JNI_24)
		return ENTRIES_BEFORE_24;
	return sizeof(th_jni_functions) / sizeof(th_jni_functions[0]);
}

static void
log_function(uintptr_t address, const char *function)
{
	const struct th_module *module = th_module_find(address);
	struct th_event_symbol event = {0};
	char name[64];

	if (!module)
		return;
	event.module = module->id;
	event.offset = address - module->bias;
	snprintf(name, sizeof(name), "jni_%.*s", TH_JNI_NAME_BYTES, function);
	struct th_log_part part = th_log_text(name);
	th_log_append(TH_EVENT_SYMBOL, &event, &part, 1);
}

void
th_jni_names_log(JNIEnv *env)
{
	const uintptr_t *table = (const uintptr_t *)(const void *)*env;
	size_t count = entry_count((*env)->GetVersion(env));

	for (size_t i = 0; i < count; i++)
		if (*th_jni_functions[i] && table[i])
			log_function(table[i], th_jni_functions[i]);
}
