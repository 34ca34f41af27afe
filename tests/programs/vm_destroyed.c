/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm_destroyed LIBJVM CLASSPATH SECONDS: creates a Java VM, runs Closes.main("return", "0.5") in
 * it, destroys it, which runs the shutdown hook of Closes, and goes on for so many seconds: it
 * keeps 20 kB every 2 ms.
 */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef jint create_java_vm(JavaVM **vm_ret, void **env_ret, void *arguments);

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

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
run_main(JNIEnv *env)
{
	jclass type = (*env)->FindClass(env, "Closes");
	jclass string = (*env)->FindClass(env, "java/lang/String");
	jmethodID method = (*env)->GetStaticMethodID(
		env, type, "main", "([Ljava/lang/String;)V");
	jobjectArray arguments = (*env)->NewObjectArray(env, 2, string, NULL);

	(*env)->SetObjectArrayElement(env, arguments, 0, (*env)->NewStringUTF(env, "return"));
	(*env)->SetObjectArrayElement(env, arguments, 1, (*env)->NewStringUTF(env, "0.5"));
	(*env)->CallStaticVoidMethod(env, type, method, arguments);
}

static __attribute__((noinline)) void *
keep_block(void)
{
	static void *volatile last;

	last = malloc(20000);
	return last;
}

int
main(int argc, char **argv)
{
	create_java_vm *create = argc > 3 ? find(argv[1]) : NULL;
	char path[4096];
	JavaVMOption option = {.optionString = path};
	JavaVMInitArgs arguments = {
		.version = JNI_VERSION_1_8, .options = &option, .nOptions = 1};
	JavaVM *vm;
	JNIEnv *env;
	void *found;

	if (argc > 3)
		snprintf(path, sizeof(path), "-Djava.class.path=%s", argv[2]);
	if (!create || create(&vm, &found, &arguments) != JNI_OK)
		return 1;
	env = found;
	run_main(env);
	(*vm)->DestroyJavaVM(vm);
	for (double end = now() + atof(argv[3]); now() < end; usleep(2000))
		memset(keep_block(), 1, 20000);
	return 0;
}
