/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each wrapper passes the call on at once if the ledger is off, or if the library itself calls.
 *
 * The VM's table may be shorter than the one of the headers: it is accessed by its members only.
 */
#include "jvmti/ledger/functions.h"

#include "jvmti/ledger/buffers.h"
#include "jvmti/ledger/takes.h"
#include "unify/base/atomic.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The functions that we have replaced; the others of this table are the VM's, too. */
static struct JNINativeInterface_ real;
static struct th_functions_vm vm;
static uint32_t probes; /* of our DeleteGlobalRef, on the agent thread */

/*
 * In a critical section JNI must not be called, and with an exception pending only few functions.
 */
static __attribute__((noinline, cold)) void
find_class(struct th_take *take, JNIEnv *env, jobject object)
{
	if (!object || th_takes_in_critical(take) || real.ExceptionCheck(env))
		return;
	th_guard_enter();
	take->type = vm.class_of(&real, env, object);
	th_guard_leave();
}

static inline void
begin(struct th_take *take, enum th_ledger_kind kind, JNIEnv *env, jobject object,
	uintptr_t caller)
{
	th_take_begin(take, kind, caller);
	if (UNLIKELY(take->stack))
		find_class(take, env, object);
}

static inline void
end(struct th_take *take, const void *result)
{
	if (result)
		th_take_end(take, (uintptr_t)result);
}

/* A function that takes `object` in some form. */
#define WRAP_TAKE(KIND, type, Name, own_name, object, parameters, arguments) \
	static type JNICALL own_name parameters                              \
	{                                                                    \
		struct th_take take;                                         \
		type result;                                                 \
                                                                             \
		if (!th_takes_follow())                                      \
			return real.Name arguments;                          \
		begin(&take, TH_LEDGER_##KIND, env, object, CALLER);         \
		result = real.Name arguments;                                \
		end(&take, result);                                          \
		return result;                                               \
	}

/* One that gives `address` back: before the call, after which another thread may get it. */
#define WRAP_GIVE(KIND, Name, own_name, address, parameters, arguments)       \
	static void JNICALL own_name parameters                               \
	{                                                                     \
		if (th_takes_follow() && (address))                           \
			th_take_give(TH_LEDGER_##KIND, (uintptr_t)(address)); \
		real.Name arguments;                                          \
	}

/* References */

WRAP_TAKE(GLOBAL, jobject, NewGlobalRef, new_global, object, (JNIEnv * env, jobject object),
	(env, object))
WRAP_TAKE(WEAK, jweak, NewWeakGlobalRef, new_weak, object, (JNIEnv * env, jobject object),
	(env, object))
WRAP_GIVE(WEAK, DeleteWeakGlobalRef, delete_weak, reference, (JNIEnv * env, jweak reference),
	(env, reference))
WRAP_TAKE(LOCAL, jobject, NewLocalRef, new_local, object, (JNIEnv * env, jobject object),
	(env, object))
WRAP_GIVE(LOCAL, DeleteLocalRef, delete_local, reference, (JNIEnv * env, jobject reference),
	(env, reference))

static void JNICALL
delete_global(JNIEnv *env, jobject reference)
{
	if (th_takes_follow() && reference)
		th_take_give(TH_LEDGER_GLOBAL, (uintptr_t)reference);
	if (UNLIKELY(!reference))
		th_add_relaxed(&probes, 1);
	real.DeleteGlobalRef(env, reference);
}

/* Arrays */

/* A(type, Type) */
#define TYPES(A)             \
	A(jboolean, Boolean) \
	A(jbyte, Byte)       \
	A(jchar, Char)       \
	A(jshort, Short)     \
	A(jint, Int)         \
	A(jlong, Long)       \
	A(jfloat, Float)     \
	A(jdouble, Double)

#define A(type, Type)                                                                         \
	WRAP_TAKE(ELEMENTS, type *, Get##Type##ArrayElements, get_##type##_elements, array,   \
		(JNIEnv * env, type##Array array, jboolean * is_copy), (env, array, is_copy)) \
	static void JNICALL release_##type##_elements(                                        \
		JNIEnv *env, type##Array array, type *elements, jint mode)                    \
	{                                                                                     \
		if (th_takes_follow() && elements && mode == JNI_COMMIT)                      \
			th_take_commit((uintptr_t)elements);                                  \
		else if (th_takes_follow() && elements)                                       \
			th_take_give(TH_LEDGER_ELEMENTS, (uintptr_t)elements);                \
		real.Release##Type##ArrayElements(env, array, elements, mode);                \
	}
TYPES(A)
#undef A

WRAP_TAKE(CRITICAL, void *, GetPrimitiveArrayCritical, get_critical, array,
	(JNIEnv * env, jarray array, jboolean *is_copy), (env, array, is_copy))

/* The section ends when the VM's function has returned. */
static void JNICALL
release_critical(JNIEnv *env, jarray array, void *elements, jint mode)
{
	real.ReleasePrimitiveArrayCritical(env, array, elements, mode);
	if (th_takes_follow() && elements && mode != JNI_COMMIT)
		th_take_give(TH_LEDGER_CRITICAL, (uintptr_t)elements);
}

/* Strings */

WRAP_TAKE(CHARS, const jchar *, GetStringChars, get_chars, text,
	(JNIEnv * env, jstring text, jboolean *is_copy), (env, text, is_copy))
WRAP_GIVE(CHARS, ReleaseStringChars, release_chars, chars,
	(JNIEnv * env, jstring text, const jchar *chars), (env, text, chars))
WRAP_TAKE(UTF, const char *, GetStringUTFChars, get_utf, text,
	(JNIEnv * env, jstring text, jboolean *is_copy), (env, text, is_copy))
WRAP_GIVE(UTF, ReleaseStringUTFChars, release_utf, chars,
	(JNIEnv * env, jstring text, const char *chars), (env, text, chars))
WRAP_TAKE(STRING_CRITICAL, const jchar *, GetStringCritical, get_string_critical, text,
	(JNIEnv * env, jstring text, jboolean *is_copy), (env, text, is_copy))

static void JNICALL
release_string_critical(JNIEnv *env, jstring text, const jchar *chars)
{
	real.ReleaseStringCritical(env, text, chars);
	if (th_takes_follow() && chars)
		th_take_give(TH_LEDGER_STRING_CRITICAL, (uintptr_t)chars);
}

/* The rest */

static jobject JNICALL
new_direct_buffer(JNIEnv *env, void *address, jlong capacity)
{
	struct th_take take;
	jobject result;
	uint64_t sample;

	if (!th_takes_follow())
		return real.NewDirectByteBuffer(env, address, capacity);
	begin(&take, TH_LEDGER_DIRECT_BUFFER, env, NULL, CALLER);
	result = real.NewDirectByteBuffer(env, address, capacity);
	if (!result)
		return NULL;
	sample = th_take_end(&take, (uintptr_t)address);
	if (UNLIKELY(sample))
		th_ledger_buffers_follow(&real, env, result, sample);
	return result;
}

static jint JNICALL
enter_monitor(JNIEnv *env, jobject object)
{
	struct th_take take;
	jint result;

	if (!th_takes_follow())
		return real.MonitorEnter(env, object);
	begin(&take, TH_LEDGER_MONITOR, env, object, CALLER);
	result = real.MonitorEnter(env, object);
	if (result == JNI_OK)
		th_take_end(&take, 1);
	return result;
}

static jint JNICALL
exit_monitor(JNIEnv *env, jobject object)
{
	jint result = real.MonitorExit(env, object);

	if (th_takes_follow() && result == JNI_OK)
		th_take_give(TH_LEDGER_MONITOR, 1);
	return result;
}

/* W(Name, own name) */
#define E(type, Type)                                      \
	W(Get##Type##ArrayElements, get_##type##_elements) \
	W(Release##Type##ArrayElements, release_##type##_elements)
#define WRAPPERS                                           \
	W(NewGlobalRef, new_global)                        \
	W(DeleteGlobalRef, delete_global)                  \
	W(NewWeakGlobalRef, new_weak)                      \
	W(DeleteWeakGlobalRef, delete_weak)                \
	W(NewLocalRef, new_local)                          \
	W(DeleteLocalRef, delete_local)                    \
	TYPES(E)                                           \
	W(GetPrimitiveArrayCritical, get_critical)         \
	W(ReleasePrimitiveArrayCritical, release_critical) \
	W(GetStringChars, get_chars)                       \
	W(ReleaseStringChars, release_chars)               \
	W(GetStringUTFChars, get_utf)                      \
	W(ReleaseStringUTFChars, release_utf)              \
	W(GetStringCritical, get_string_critical)          \
	W(ReleaseStringCritical, release_string_critical)  \
	W(NewDirectByteBuffer, new_direct_buffer)          \
	W(MonitorEnter, enter_monitor)                     \
	W(MonitorExit, exit_monitor)

/*
 * The functions that the wrappers and their helpers call.  Once: later they are in use, and another
 * agent's wrappers in the table may call ours.
 */
static void
keep_real(const struct JNINativeInterface_ *table)
{
#define W(Name, own_name) real.Name = table->Name;
	WRAPPERS
#undef W
	real.ExceptionCheck = table->ExceptionCheck;
	real.GetObjectClass = table->GetObjectClass;
	real.IsSameObject = table->IsSameObject;
}

/* Only what is original is replaced: a function of another agent may call ours. */
static void
replace(struct JNINativeInterface_ *table)
{
#define W(Name, own_name)             \
	if (table->Name == real.Name) \
		table->Name = own_name;
	WRAPPERS
#undef W
}

/* Whether calls by the table reach us. */
static bool
is_reached(JNIEnv *env)
{
	uint32_t before = th_load_relaxed(&probes);

	/* Does nothing in the VM. */
	(*env)->DeleteGlobalRef(env, NULL);
	return th_load_relaxed(&probes) != before;
}

bool
th_functions_install(const struct th_functions_vm *own, JNIEnv *env)
{
	struct JNINativeInterface_ *table;

	vm = *own;
	if (real.NewGlobalRef && is_reached(env))
		return true;
	if ((*vm.jvmti)->GetJNIFunctionTable(vm.jvmti, &table))
		return false;
	if (!real.NewGlobalRef)
		keep_real(table);
	replace(table);
	bool is_set = !(*vm.jvmti)->SetJNIFunctionTable(vm.jvmti, table);
	(*vm.jvmti)->Deallocate(vm.jvmti, (unsigned char *)table);
	return is_set && is_reached(env);
}
