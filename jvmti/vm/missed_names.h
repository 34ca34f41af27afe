/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the VM and its class library that the library uses and that this VM lacks: one note in the
 * log, so that the first recording on a new release lists them (scripts/hotspot-names).
 */
#ifndef TH_JVMTI_VM_MISSED_NAMES_H
#define TH_JVMTI_VM_MISSED_NAMES_H

/* `type` is the type or class that should have it; NULL: none.  Not from the malloc path. */
void th_missed_names_add(const char *type, const char *name);

/* Writes the note, if anything is missed; names added later get a note each. */
void th_missed_names_log(void);

#endif
