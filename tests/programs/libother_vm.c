/* SPDX-License-Identifier: Apache-2.0 */
/* Another library that interposes JNI_CreateJavaVM, and never creates a VM. */
#include <jni.h>

jint JNICALL
JNI_CreateJavaVM(JavaVM **vm_ret, void **env_ret, void *arguments)
{
	(void)vm_ret;
	(void)env_ret;
	(void)arguments;
	return JNI_ERR;
}
