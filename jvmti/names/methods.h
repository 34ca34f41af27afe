/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java methods: small ids for stacks, and their names for the log.
 *
 * A method is known by what it is called: class, name, signature, source file and number of bytecodes.
 * Methods that differ in none of these, in classes of several loaders or of the same file loaded again
 * and again, have one id.  The names are copied when a method is met first, while it is on a stack,
 * because its class may be unloaded later.
 */
#ifndef TH_JVMTI_NAMES_METHODS_H
#define TH_JVMTI_NAMES_METHODS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/vm_method.h"

/* Maps the tables, for each recording; false: out of memory.  No capture is in flight. */
bool th_methods_init(void);

/*
 * The id (1..) of a method that is on the caller's stack; appends its METHOD record if it is new.  0:
 * its names cannot be read, another thread is about to read some, or the table is full (counted).  Takes
 * 2 us. [in-malloc]
 */
uint32_t th_methods_id(const struct th_hotspot *hotspot, const struct th_vm_method *method);

/* The same of a jmethodID, which the VM is asked about when it is met first. [jvmti] */
uint32_t th_methods_id_of(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method);

/* The role of a method in the stack of a virtual thread. */
enum th_method_mount {
	TH_MOUNT_NONE,
	TH_MOUNT_BASE, /* below the thread's own frames (Continuation.enter and similar) */
	/* between those and the thread's own frames; also on platform threads */
	TH_MOUNT_ABOVE,
};

/* The role of the method with that id. [in-malloc] */
enum th_method_mount th_methods_mount(uint32_t id);

#endif
