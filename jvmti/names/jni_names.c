/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/names/jni_names.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/unwind/fde.h"

/* In the order of the table. */
/* clang-format off */
#define PRIMITIVES(before, after)                                                              \
	before "Boolean" after before "Byte" after before "Char" after before "Short" after    \
	before "Int" after before "Long" after before "Float" after before "Double" after
#define CALL(name) name "Method " name "MethodV " name "MethodA "
#define CALLS(name)                                                                            \
	CALL(name "Object") CALL(name "Boolean") CALL(name "Byte") CALL(name "Char")           \
	CALL(name "Short") CALL(name "Int") CALL(name "Long") CALL(name "Float")               \
	CALL(name "Double") CALL(name "Void")

/*
 * The functions of JNI from RESERVED on in the order of their table (JNI specification, "Interface
 * Function Table"), each followed by a blank.  Later releases append.
 */
static const char functions[] =
	"GetVersion DefineClass FindClass FromReflectedMethod FromReflectedField ToReflectedMethod "
	"GetSuperclass IsAssignableFrom ToReflectedField Throw ThrowNew ExceptionOccurred "
	"ExceptionDescribe ExceptionClear FatalError PushLocalFrame PopLocalFrame NewGlobalRef "
	"DeleteGlobalRef DeleteLocalRef IsSameObject NewLocalRef EnsureLocalCapacity AllocObject "
	"NewObject NewObjectV NewObjectA GetObjectClass IsInstanceOf GetMethodID "
	CALLS("Call") CALLS("CallNonvirtual")
	"GetFieldID GetObjectField " PRIMITIVES("Get", "Field ")
	"SetObjectField " PRIMITIVES("Set", "Field ")
	"GetStaticMethodID " CALLS("CallStatic")
	"GetStaticFieldID GetStaticObjectField " PRIMITIVES("GetStatic", "Field ")
	"SetStaticObjectField " PRIMITIVES("SetStatic", "Field ")
	"NewString GetStringLength GetStringChars ReleaseStringChars NewStringUTF "
	"GetStringUTFLength GetStringUTFChars ReleaseStringUTFChars GetArrayLength NewObjectArray "
	"GetObjectArrayElement SetObjectArrayElement "
	PRIMITIVES("New", "Array ") PRIMITIVES("Get", "ArrayElements ")
	PRIMITIVES("Release", "ArrayElements ") PRIMITIVES("Get", "ArrayRegion ")
	PRIMITIVES("Set", "ArrayRegion ")
	"RegisterNatives UnregisterNatives MonitorEnter MonitorExit GetJavaVM GetStringRegion "
	"GetStringUTFRegion GetPrimitiveArrayCritical ReleasePrimitiveArrayCritical "
	"GetStringCritical ReleaseStringCritical NewWeakGlobalRef DeleteWeakGlobalRef "
	"ExceptionCheck NewDirectByteBuffer GetDirectBufferAddress GetDirectBufferCapacity "
	"GetObjectRefType GetModule IsVirtualThread GetStringUTFLengthAsLong ";
/* clang-format on */
#define RESERVED 4

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
	return version < JNI_24 ? ENTRIES_BEFORE_24 : SIZE_MAX;
}

/* Its size is that of the code that its unwind information describes. */
static void
log_function(uintptr_t address, const char *function, size_t length)
{
	const struct th_module *module = th_module_find(address);
	struct th_event_symbol event = {0};
	struct th_fde fde;
	char name[64];

	if (!module || !th_fde_find(module, address, &fde) || fde.start != address)
		return;
	event.module = module->id;
	event.offset = address - module->bias;
	event.size = (uint32_t)(fde.end - fde.start);
	snprintf(name, sizeof(name), "jni_%.*s", (int)length, function);
	struct th_log_part part = th_log_text(name);
	th_log_append(TH_EVENT_SYMBOL, &event, &part, 1);
}

void
th_jni_names_log(JNIEnv *env)
{
	const uintptr_t *table = (const uintptr_t *)(const void *)*env;
	size_t count = entry_count((*env)->GetVersion(env));
	const char *function = functions;

	for (size_t i = RESERVED; i < count && *function; i++) {
		size_t length = strcspn(function, " ");

		if (table[i])
			log_function(table[i], function, length);
		function += length + 1;
	}
}
