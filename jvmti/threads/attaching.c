/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a JavaVM are read through a pointer in it, which may be replaced.  The VM
 * computes its flags anew with each change of any event, so changes are made under the same lock.
 */
#include "jvmti/threads/attaching.h"

#include <pthread.h>

#include "unify/base/atomic.h"

/* Releases with two states for a thread that attaches. */
#define FIRST_AFFECTED 19
#define LAST_AFFECTED 21
/* The flags of JvmtiExport take some 60 bytes. */
#define AROUND 128
#define TRIALS 3

static struct {
	pthread_mutex_t lock;
	/* Under the lock. */
	uint8_t *flag; /* atomic, the VM's; NULL: not needed, or not found */
	uint32_t attaching;
	bool is_enabled; /* the event of sampled objects */
	const struct JNIInvokeInterface_ *real;
	struct JNIInvokeInterface_ functions; /* with ours in place of two */
} vm_wide = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool
set_event(jvmtiEnv *jvmti, jvmtiEvent event, bool on)
{
	return !(*jvmti)->SetEventNotificationMode(
		jvmti, on ? JVMTI_ENABLE : JVMTI_DISABLE, event, NULL);
}

bool
th_attaching_set_event(jvmtiEnv *jvmti, jvmtiEvent event, bool on)
{
	pthread_mutex_lock(&vm_wide.lock);
	bool is_set = set_event(jvmti, event, on);
	if (event == JVMTI_EVENT_SAMPLED_OBJECT_ALLOC)
		vm_wide.is_enabled = on && is_set;
	if (vm_wide.flag && vm_wide.attaching)
		th_store_relaxed(vm_wide.flag, 0);
	pthread_mutex_unlock(&vm_wide.lock);
	return is_set;
}

/* Attaching */

static void
pause_sampling(void)
{
	pthread_mutex_lock(&vm_wide.lock);
	vm_wide.attaching++;
	if (vm_wide.is_enabled)
		th_store_relaxed(vm_wide.flag, 0);
	pthread_mutex_unlock(&vm_wide.lock);
}

static void
resume_sampling(void)
{
	pthread_mutex_lock(&vm_wide.lock);
	if (!--vm_wide.attaching && vm_wide.is_enabled)
		th_store_relaxed(vm_wide.flag, 1);
	pthread_mutex_unlock(&vm_wide.lock);
}

typedef jint JNICALL attach_function(JavaVM *vm, void **env_ret, void *arguments);

static jint
attach(attach_function *function, JavaVM *vm, void **env_ret, void *arguments)
{
	void *env;

	if ((*vm)->GetEnv(vm, &env, JNI_VERSION_1_6) != JNI_EDETACHED)
		return function(vm, env_ret, arguments);
	pause_sampling();
	jint result = function(vm, env_ret, arguments);
	resume_sampling();
	return result;
}

static jint JNICALL
attach_current_thread(JavaVM *vm, void **env_ret, void *arguments)
{
	return attach(vm_wide.real->AttachCurrentThread, vm, env_ret, arguments);
}

static jint JNICALL
attach_as_daemon(JavaVM *vm, void **env_ret, void *arguments)
{
	return attach(vm_wide.real->AttachCurrentThreadAsDaemon, vm, env_ret, arguments);
}

/* The flag */

/* Keeps the candidates whose byte is `value`; returns their number. */
static unsigned
keep(bool *is_candidate, const uint8_t *start, uint8_t value)
{
	unsigned count = 0;

	for (unsigned i = 0; i < 2 * AROUND; i++) {
		is_candidate[i] &= th_load_relaxed(&start[i]) == value;
		count += is_candidate[i];
	}
	return count;
}

/* The only byte that is 1 while the event is enabled and 0 while it is not; NULL: none, several. */
static uint8_t *
find_flag(jvmtiEnv *jvmti, const uint8_t *near)
{
	const uint8_t *start = near - AROUND;
	bool is_candidate[2 * AROUND];
	unsigned count = 0;
	unsigned found = 0;

	for (unsigned i = 0; i < 2 * AROUND; i++)
		is_candidate[i] = true;
	for (unsigned i = 0; i < TRIALS; i++) {
		set_event(jvmti, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, false);
		keep(is_candidate, start, 0);
		set_event(jvmti, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, true);
		count = keep(is_candidate, start, 1);
	}
	while (found < 2 * AROUND - 1 && !is_candidate[found])
		found++;
	return count == 1 ? (uint8_t *)(uintptr_t)&start[found] : NULL;
}

static void
replace_functions(JavaVM *vm)
{
	const struct JNIInvokeInterface_ **functions = (const struct JNIInvokeInterface_ **)vm;

	if (*functions == &vm_wide.functions)
		return;
	vm_wide.real = *functions;
	vm_wide.functions = **functions;
	vm_wide.functions.AttachCurrentThread = attach_current_thread;
	vm_wide.functions.AttachCurrentThreadAsDaemon = attach_as_daemon;
	/* Pairs with the dependency of a call through the pointer. */
	th_store_release(functions, &vm_wide.functions);
}

bool
th_attaching_begin(JavaVM *vm, jvmtiEnv *jvmti, const struct th_hotspot *hotspot)
{
	if (hotspot->release < FIRST_AFFECTED || hotspot->release > LAST_AFFECTED)
		return true;
	pthread_mutex_lock(&vm_wide.lock);
	if (!vm_wide.flag && hotspot->export_flag)
		vm_wide.flag = find_flag(jvmti, (const void *)hotspot->export_flag);
	bool is_found = vm_wide.flag;
	if (is_found)
		replace_functions(vm);
	pthread_mutex_unlock(&vm_wide.lock);
	return is_found;
}

void
th_attaching_end(JavaVM *vm)
{
	const struct JNIInvokeInterface_ **functions = (const struct JNIInvokeInterface_ **)vm;

	if (*functions == &vm_wide.functions)
		th_store_release(functions, vm_wide.real);
}
