/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/vm/loaded_class.h"

#include <stddef.h>

static th_find_loaded_class *find_in_vm;

void
th_loaded_class_init(th_find_loaded_class *find)
{
	find_in_vm = find;
}

jclass
th_loaded_class_find(JNIEnv *env, const char *name)
{
	jstring text = find_in_vm ? (*env)->NewStringUTF(env, name) : NULL;
	jclass found = text ? find_in_vm(env, NULL, text) : NULL;

	(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, text);
	return found;
}
