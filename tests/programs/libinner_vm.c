/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with its own JNI_CreateJavaVM, whose VM has no JVMTI.  Loaded as an agent it looks
 * up that function and creates such a VM during the start of the outer one, as HotSpot does
 * with libgraal.
 */
#include <dlfcn.h>
#include <jvmti.h>
#include <string.h>

static jint JNICALL
get_env(JavaVM *vm, void **env_ret, jint version)
{
	(void)vm;
	(void)version;
	*env_ret = NULL;
	return JNI_EVERSION;
}

jint JNICALL
JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments)
{
	static struct JNIInvokeInterface_ functions = {.GetEnv = get_env};
	static const struct JNIInvokeInterface_ *vm = &functions;

	(void)arguments;
	*vm_ret = (JavaVM *)(void *)&vm;
	*env_ret = NULL;
	return JNI_OK;
}

jint JNICALL
Agent_OnLoad(JavaVM *outer, char *options, void *reserved)
{
	jint (*create)(JavaVM **, void **, void *);
	void *handle = dlopen(options, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? dlsym(handle, "JNI_CreateJavaVM") : NULL;
	JavaVM *vm;
	void *env;

	(void)outer;
	(void)reserved;
	memcpy(&create, &found, sizeof(create));
	return create ? create(&vm, &env, NULL) : JNI_ERR;
}
