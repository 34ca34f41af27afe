/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the steps of paths: fields, classes, methods, threads. */
#ifndef TH_JVMTI_HOLDERS_HOLDER_NAMES_H
#define TH_JVMTI_HOLDERS_HOLDER_NAMES_H

#include <stddef.h>

#include "jvmti/holders/holder_paths.h"

/* A longer name is cut. */
#define TH_HOLDER_NAME_MAX 512

/* Writes the name of a step, "" if it is not known. [agent-thread] */
void th_holder_name(
	const struct th_holder_walk *walk, const struct th_holder_step *step, char *name);

#endif
