/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each wrapper passes the call on at once if the ledger is off, or if the library itself calls.
 *
 * The VM's table may be shorter than the one of the headers: it is accessed by its members only.
 */
#include "jvmti/ledger/functions.h"

#include "jvmti/ledger/takes.h"
#include "jvmti/names/classes.h"
#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define APART __attribute__((noinline))
#define RARE __attribute__((noinline, cold))

/* The functions that we have replaced; the others of this table are the VM's, too. */
static struct JNINativeInterface_ real;
static jvmtiEnv *jvmti;
static uint32_t probes; /* of our DeleteGlobalRef, on the agent thread */

/*
 * In a critical section JNI must not be called, and with an exception pending only few functions.
 */
static void
find_class(struct th_take *take, JNIEnv *env, jobject object)
{
	jclass type;

	if (!object || take->thread->criticals || real.ExceptionCheck(env))
		return;
	th_guard_enter();
	type = real.GetObjectClass(env, object);
	take->type = th_classes_id(jvmti, type);
	real.DeleteLocalRef(env, type);
	th_guard_leave();
}

/* NULL: it has no stack, and is not recorded. */
static struct th_take *
sample(struct th_take *take, JNIEnv *env, jobject object)
{
	if (!th_take_sample(take))
		return NULL;
	find_class(take, env, object);
	return take;
}

/*
 * A call that takes something is passed on by one of three functions: the wrapper itself, which without
 * the ledger is a jump; follow_, which counts; and rare_, which does what is left: a thread's first
 * call, and a take that is recorded.  So the frequent one saves no registers for the others.
 *
 * `pc`: the caller of JNI.  `skip`: with which the take was drawn; valid if `thread` is not NULL.
 */
struct call {
	struct th_takes_thread *thread; /* NULL: not followed */
	struct th_take *sampled;        /* NULL: not recorded */
	struct th_take take;
};

static void
begin(struct call *call, enum th_ledger_kind kind, struct th_caller *caller, uint64_t skip,
	JNIEnv *env, jobject object)
{
	bool is_drawn = call->thread != NULL;

	call->sampled = NULL;
	if (!is_drawn) {
		call->thread = th_takes_own();
		skip = th_load_relaxed(&caller->skip);
		is_drawn = call->thread && th_takes_draw(call->thread, skip);
	}
	if (call->thread)
		th_takes_begin_critical(call->thread, kind, caller);
	call->take = (struct th_take){
		.thread = call->thread,
		.caller = caller,
		.kind = kind,
		.level = th_callers_level(skip),
	};
	if (is_drawn)
		call->sampled = sample(&call->take, env, object);
}

static uint64_t
end(const struct call *call, uintptr_t address)
{
	return call->thread ? th_take_end(call->thread, call->take.kind, address, call->sampled)
			    : 0;
}

#define WITH_CALLER(...) (__VA_ARGS__, uintptr_t pc)
#define AND_CALLER(...) (__VA_ARGS__, CALLER)
#define WITH_DRAW(...) \
	(__VA_ARGS__, struct th_caller * caller, struct th_takes_thread * thread, uint64_t skip)
#define AND_DRAW(...) (__VA_ARGS__, caller, thread, skip)

/*
 * A function that takes `address` if `is_taken`, both of which may depend on its `result`.  `object`: what
 * it takes something of; NULL = no object.  `followed` is done after a call that was recorded.
 */
#define WRAP(KIND, type, Name, own_name, object, is_taken, address, followed, parameters,  \
	arguments)                                                                         \
	static RARE type rare_##own_name WITH_DRAW parameters                              \
	{                                                                                  \
		struct call call = {.thread = thread};                                     \
		uint64_t sample_id;                                                        \
		type result;                                                               \
                                                                                           \
		begin(&call, TH_LEDGER_##KIND, caller, skip, env, object);                 \
		result = real.Name arguments;                                              \
		sample_id = (is_taken) ? end(&call, (uintptr_t)(address)) : 0;             \
		if (sample_id)                                                             \
			followed;                                                          \
		return result;                                                             \
	}                                                                                  \
	static APART type follow_##own_name WITH_CALLER parameters                         \
	{                                                                                  \
		struct th_takes_thread *thread = th_takes_joined();                        \
		struct th_caller *caller = th_callers_find(TH_LEDGER_##KIND, pc);          \
		uint64_t skip = th_load_relaxed(&caller->skip);                            \
		type result;                                                               \
                                                                                           \
		if (UNLIKELY(!thread || th_takes_draw(thread, skip)))                      \
			return rare_##own_name AND_DRAW arguments;                         \
		th_takes_begin_critical(thread, TH_LEDGER_##KIND, caller);                 \
		result = real.Name arguments;                                              \
		if (is_taken)                                                              \
			th_take_end(thread, TH_LEDGER_##KIND, (uintptr_t)(address), NULL); \
		return result;                                                             \
	}                                                                                  \
	static type JNICALL own_name parameters                                            \
	{                                                                                  \
		if (!th_takes_follow())                                                    \
			return real.Name arguments;                                        \
		return follow_##own_name AND_CALLER arguments;                             \
	}

#define WRAP_TAKE(KIND, type, Name, own_name, object, parameters, arguments) \
	WRAP(KIND, type, Name, own_name, object, result, result, (void)0, parameters, arguments)

/* One that gives `address` back: before the call, after which another thread may get it. */
#define WRAP_GIVE(KIND, Name, own_name, address, parameters, arguments)                   \
	static RARE void rare_##own_name parameters                                       \
	{                                                                                 \
		th_take_give(TH_LEDGER_##KIND, (uintptr_t)(address));                     \
		real.Name arguments;                                                      \
	}                                                                                 \
	static void JNICALL own_name parameters                                           \
	{                                                                                 \
		if (th_takes_follow() && (address) &&                                     \
			UNLIKELY(!th_take_gives(TH_LEDGER_##KIND, (uintptr_t)(address)))) \
			rare_##own_name arguments;                                        \
		else                                                                      \
			real.Name arguments;                                              \
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

/* Without a reference it does nothing in the VM: is_reached(). */
static RARE void
rare_delete_global(JNIEnv *env, jobject reference)
{
	if (reference)
		th_take_give(TH_LEDGER_GLOBAL, (uintptr_t)reference);
	else
		th_add_relaxed(&probes, 1);
	real.DeleteGlobalRef(env, reference);
}

static void JNICALL
delete_global(JNIEnv *env, jobject reference)
{
	if (UNLIKELY(!reference || (th_takes_follow() && !th_take_gives(TH_LEDGER_GLOBAL,
								 (uintptr_t)reference))))
		rare_delete_global(env, reference);
	else
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
	static RARE void rare_release_##type##_elements(                                      \
		JNIEnv *env, type##Array array, type *elements, jint mode)                    \
	{                                                                                     \
		if (mode == JNI_COMMIT)                                                       \
			th_take_commit((uintptr_t)elements);                                  \
		else                                                                          \
			th_take_give(TH_LEDGER_ELEMENTS, (uintptr_t)elements);                \
		real.Release##Type##ArrayElements(env, array, elements, mode);                \
	}                                                                                     \
	static void JNICALL release_##type##_elements(                                        \
		JNIEnv *env, type##Array array, type *elements, jint mode)                    \
	{                                                                                     \
		if (th_takes_follow() && elements &&                                          \
			(mode == JNI_COMMIT ||                                                \
				!th_take_gives(TH_LEDGER_ELEMENTS, (uintptr_t)elements)))     \
			rare_release_##type##_elements(env, array, elements, mode);           \
		else                                                                          \
			real.Release##Type##ArrayElements(env, array, elements, mode);        \
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

WRAP(DIRECT_BUFFER, jobject, NewDirectByteBuffer, new_direct_buffer, NULL, result, memory,
	th_takes_follow_buffer(&real, env, result, sample_id),
	(JNIEnv * env, void *memory, jlong capacity), (env, memory, capacity))
WRAP(MONITOR, jint, MonitorEnter, enter_monitor, object, result == JNI_OK, 1, (void)0,
	(JNIEnv * env, jobject object), (env, object))

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
th_functions_install(jvmtiEnv *environment, JNIEnv *env)
{
	struct JNINativeInterface_ *table;

	jvmti = environment;
	if (real.NewGlobalRef && is_reached(env))
		return true;
	if ((*jvmti)->GetJNIFunctionTable(jvmti, &table))
		return false;
	if (!real.NewGlobalRef)
		keep_real(table);
	replace(table);
	bool is_set = !(*jvmti)->SetJNIFunctionTable(jvmti, table);
	th_vm_free(jvmti, table);
	return is_set && is_reached(env);
}
