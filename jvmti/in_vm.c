/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/in_vm.h"

#include <stddef.h>

#include "unify/sample/thread.h"

static struct {
	jvmtiEnv *jvmti;
	jclass type; /* any class; a global reference, NULL = not available */
} vm;

struct visit {
	struct th_guard_visit visit;
	void (*run)(void *data);
	void *data;
	bool was_run;
};

static void
run_visit(struct th_guard_visit *awaited)
{
	struct visit *visit = (struct visit *)(void *)awaited;

	visit->was_run = true;
	visit->run(visit->data);
}

void
th_in_vm_start(JavaVM *java, jvmtiEnv *jvmti)
{
	JNIEnv *env;
	jclass type;

	if ((*java)->GetEnv(java, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
		return;
	type = (*env)->FindClass(env, "java/lang/Object");
	if (!type)
		return;
	vm.jvmti = jvmti;
	vm.type = (*env)->NewGlobalRef(env, type);
	(*env)->DeleteLocalRef(env, type);
}

bool
th_in_vm_run(void (*run)(void *data), void *data)
{
	struct visit visit = {.visit = {run_visit}, .run = run, .data = data};
	char *signature;

	if (!vm.type || !th_thread.record)
		return false;
	th_guard_await(&visit.visit);
	if (!(*vm.jvmti)->GetClassSignature(vm.jvmti, vm.type, &signature, NULL))
		(*vm.jvmti)->Deallocate(vm.jvmti, (unsigned char *)signature);
	th_guard_await(NULL);
	return visit.was_run;
}
