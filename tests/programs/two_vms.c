/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_vms FIRST SECOND [OPTION ...]: looks up the JNI_CreateJavaVM of both libraries, and then
 * calls the first with these VM options and the second without, and prints their results.  In
 * the first, if it is a VM, 4 MiB are allocated.
 */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 8

typedef jint create_java_vm(JavaVM **vm_ret, void **env_ret, void *arguments);

static create_java_vm *
find(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	void *found = handle ? dlsym(handle, "JNI_CreateJavaVM") : NULL;
	create_java_vm *create;

	memcpy(&create, &found, sizeof(create));
	return create;
}

static void
allocate(JNIEnv *env)
{
	for (int i = 0; i < 1024; i++)
		(*env)->DeleteLocalRef(env, (*env)->NewByteArray(env, 4096));
}

int
main(int argc, char **argv)
{
	create_java_vm *first = find(argv[1]);
	create_java_vm *second = find(argv[2]);
	JavaVMOption options[OPTIONS_MAX];
	JavaVMInitArgs arguments = {.version = JNI_VERSION_1_8, .options = options};
	JavaVM *vm = NULL, *other;
	void *env = NULL, *other_env;

	for (int i = 3; i < argc; i++)
		options[arguments.nOptions++] = (JavaVMOption){.optionString = argv[i]};
	if (!first || !second)
		return 1;
	printf("same: %d\n", first == second);
	printf("first: %d\n", first(&vm, &env, &arguments));
	printf("second: %d\n", second(&other, &other_env, &arguments));
	if (env) {
		allocate(env);
		(*vm)->DestroyJavaVM(vm);
	}
	return 0;
}
