/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger adds to a pair of calls that is not recorded: its wrappers around JNI functions that
 * do nothing, in a process without a VM.
 *
 * usage: ledger_pairs MILLIONS off|on    prints the CPU time of a pair, in nanoseconds
 *
 * bench/ledger counts its instructions.
 */
#include <jvmti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jvmti/ledger/functions.h"
#include "jvmti/ledger/takes.h"

static struct JNINativeInterface_ table;
static JNIEnv environment = &table;
static long object;

static jobject JNICALL
new_reference(JNIEnv *env, jobject of)
{
	(void)env;
	return of;
}

static void JNICALL
delete_reference(JNIEnv *env, jobject reference)
{
	(void)env;
	(void)reference;
}

static jvmtiError JNICALL
get_table(jvmtiEnv *jvmti, jniNativeInterface **ret)
{
	(void)jvmti;
	*ret = malloc(sizeof(**ret));
	memcpy(*ret, &table, sizeof(table));
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL
set_table(jvmtiEnv *jvmti, const jniNativeInterface *new_table)
{
	(void)jvmti;
	table = *new_table;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL
deallocate(jvmtiEnv *jvmti, unsigned char *memory)
{
	(void)jvmti;
	free(memory);
	return JVMTI_ERROR_NONE;
}

static uint32_t
class_of(const struct JNINativeInterface_ *jni, JNIEnv *env, jobject reference)
{
	(void)jni;
	(void)env;
	(void)reference;
	return 0;
}

static bool
switch_on(void)
{
	static const struct jvmtiInterface_1_ interface = {
		.GetJNIFunctionTable = get_table,
		.SetJNIFunctionTable = set_table,
		.Deallocate = deallocate,
	};
	static jvmtiEnv jvmti = &interface;
	const struct th_functions_vm vm = {.jvmti = &jvmti, .class_of = class_of};

	return th_takes_switch(&environment, TH_LEDGER_SAMPLED) &&
	       th_functions_install(&vm, &environment);
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int
main(int count, char **arguments)
{
	JNIEnv *volatile env = &environment;
	long pairs;
	double begun;

	if (count != 3)
		return 2;
	table.NewGlobalRef = new_reference;
	table.DeleteGlobalRef = delete_reference;
	if (!strcmp(arguments[2], "on") && !switch_on())
		return 1;
	pairs = (long)(atof(arguments[1]) * 1e6);
	begun = cpu_ns();
	for (long i = 0; i < pairs; i++)
		(*env)->DeleteGlobalRef(env, (*env)->NewGlobalRef(env, (jobject)&object));
	printf("%.2f\n", pairs ? (cpu_ns() - begun) / (double)pairs : 0);
	return 0;
}
