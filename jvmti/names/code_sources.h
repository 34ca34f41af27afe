/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the classes of a Java package come from: the location of the code source (a jar, a
 * directory) of the first class of the package.  Packages of the boot loader are not asked for:
 * what the log does not name is of the Java runtime.
 */
#ifndef TH_JVMTI_NAMES_CODE_SOURCES_H
#define TH_JVMTI_NAMES_CODE_SOURCES_H

#include <jvmti.h>

/* Begins with the packages of the classes that are loaded. In the live phase. [jvmti] */
void th_code_sources_start(jvmtiEnv *jvmti, JNIEnv *env);

/* A class was defined by that loader: logs its package unless it is known.  Takes 0.3 us. [jvmti] */
void th_code_sources_defined(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jobject loader);

/* The recording ends. [any] */
void th_code_sources_stop(void);

#endif
