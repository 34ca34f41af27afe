/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -agentpath:libgc_between.so: whenever an agent has got a list of classes from the VM, all objects
 * are collected before it can do anything with the list, as if another thread had run out of
 * memory for classes just then.
 */
#include <jvmti.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved);

static jvmtiEnv *own;
/* As in the VM's table of functions, which all agents share. */
static struct jvmtiInterface_1_ original;

static jvmtiError JNICALL
get_loaded(jvmtiEnv *jvmti, jint *count_ret, jclass **types_ret)
{
	jvmtiError error = original.GetLoadedClasses(jvmti, count_ret, types_ret);

	(*own)->ForceGarbageCollection(own);
	return error;
}

static jvmtiError JNICALL
get_of_loader(jvmtiEnv *jvmti, jobject loader, jint *count_ret, jclass **types_ret)
{
	jvmtiError error = original.GetClassLoaderClasses(jvmti, loader, count_ret, types_ret);

	(*own)->ForceGarbageCollection(own);
	return error;
}

static int
replace(struct jvmtiInterface_1_ *table)
{
	uintptr_t page = (uintptr_t)table & -(uintptr_t)sysconf(_SC_PAGESIZE);

	if (mprotect((void *)page, (uintptr_t)(table + 1) - page, PROT_READ | PROT_WRITE))
		return JNI_ERR;
	original = *table;
	table->GetLoadedClasses = get_loaded;
	table->GetClassLoaderClasses = get_of_loader;
	return JNI_OK;
}

jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&own, JVMTI_VERSION_11) != JNI_OK)
		return JNI_ERR;
	return replace((struct jvmtiInterface_1_ *)*own);
}
