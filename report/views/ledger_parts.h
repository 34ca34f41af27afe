/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What native code holds of the Java VM, in several outputs: counts of references, threads that ended
 * while attached, and entries of the ledger (view_ledger.c).
 */
#ifndef TH_REPORT_VIEWS_LEDGER_PARTS_H
#define TH_REPORT_VIEWS_LEDGER_PARTS_H

#include <jansson.h>
#include <stdio.h>

#include "report/leaks/leaks.h"

/* One line of the summary; nothing if the recording contains no counts. */
void th_ledger_parts_summary(FILE *file, const struct th_profile *profile);

/* The findings of `leaks`: references that grow, undetached threads, entries of the ledger. */
void th_ledger_parts_findings(FILE *file, const struct th_leaks *leaks);

/* An empty line and one entry as text: figures, verdict, call stack. */
void th_ledger_parts_entry(
	FILE *file, const struct th_ledger *ledger, const struct th_ledger_entry *entry);

/* The objects of the JSON output; new references.  The first `count` entries. */
json_t *th_ledger_parts_counts_json(const struct th_references *references);
json_t *th_ledger_parts_json(const struct th_ledger *ledger, size_t count);

/*
 * What is missing in a program whose memory was allocated below a JNI function of the VM: "...
 * without Release...", to be freed; NULL: the stack of the site contains none that is known.
 */
char *th_ledger_parts_advice(const struct th_leaks *leaks, const struct th_leak_site *site);

#endif
