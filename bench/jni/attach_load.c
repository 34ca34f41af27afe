/* SPDX-License-Identifier: Apache-2.0 */
/* The C half of AttachLoad.java. */
#include <stdlib.h>

#include "AttachLoad.h"

#define BLOCK_BYTES 64

JNIEXPORT void JNICALL
Java_AttachLoad_pairs(JNIEnv *env, jclass type, jint count)
{
	(void)env;
	(void)type;
	for (jint i = 0; i < count; i++) {
		/* The compiler may not leave out a pair whose pointer is volatile. */
		void *volatile block = malloc(BLOCK_BYTES);

		free(block);
	}
}
