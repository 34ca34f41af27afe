/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of what is exported: pairs of a key and a text, in order of their first use. */
#ifndef TH_REPORT_BASE_LABELS_H
#define TH_REPORT_BASE_LABELS_H

#include "report/base/allocate.h"

struct th_label {
	char *key;
	char *value;
};

/* A zeroed struct is empty. */
struct th_labels {
	TH_ARRAY(struct th_label, items);
};

/* Copies both; a value replaces an earlier one of the same key. An empty or NULL value is ignored. */
void th_labels_set(struct th_labels *labels, const char *key, const char *value);

/* NULL if the key has no value. */
const char *th_labels_get(const struct th_labels *labels, const char *key);

/*
 * Sets the pairs of a text such as "a=1,b=x%20y", the form of OTEL_RESOURCE_ATTRIBUTES and
 * OTEL_EXPORTER_OTLP_HEADERS: blanks around keys and values are removed, %XX is decoded, pairs
 * without "=" are ignored. NULL is legal.
 */
void th_labels_parse(struct th_labels *labels, const char *text);

/* Appends all labels of `source`. */
void th_labels_add(struct th_labels *labels, const struct th_labels *source);

void th_labels_deinit(struct th_labels *labels);

#endif
