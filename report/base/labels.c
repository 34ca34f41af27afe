/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/labels.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void
th_labels_set(struct th_labels *labels, const char *key, const char *value)
{
	struct th_label label;

	if (!key[0] || !value || !value[0])
		return;
	label.value = th_format_new("%s", value);
	for (size_t i = 0; i < labels->items_count; i++) {
		if (strcmp(labels->items[i].key, key) != 0)
			continue;
		free(labels->items[i].value);
		labels->items[i].value = label.value;
		return;
	}
	label.key = th_format_new("%s", key);
	th_array_append(labels, items, label);
}

const char *
th_labels_get(const struct th_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->items_count; i++) {
		if (!strcmp(labels->items[i].key, key))
			return labels->items[i].value;
	}
	return NULL;
}

/* Removes blanks at both ends and decodes %XX, in place. */
static char *
decode(char *text)
{
	char *to;

	while (isspace((unsigned char)*text))
		text++;
	for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
		text[--length] = '\0';
	to = text;
	for (const char *from = text; *from; to++) {
		char digits[3] = {0};

		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
			isxdigit((unsigned char)from[2])) {
			memcpy(digits, from + 1, 2);
			*to = (char)strtoul(digits, NULL, 16);
			from += 3;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return text;
}

void
th_labels_parse(struct th_labels *labels, const char *text)
{
	char *copy = th_format_new("%s", text ? text : "");
	char *rest = NULL;

	for (char *pair = strtok_r(copy, ",", &rest); pair; pair = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(pair, '=');

		if (!value)
			continue;
		*value++ = '\0';
		th_labels_set(labels, decode(pair), decode(value));
	}
	free(copy);
}

void
th_labels_add(struct th_labels *labels, const struct th_labels *source)
{
	for (size_t i = 0; i < source->items_count; i++)
		th_labels_set(labels, source->items[i].key, source->items[i].value);
}

void
th_labels_deinit(struct th_labels *labels)
{
	for (size_t i = 0; i < labels->items_count; i++) {
		free(labels->items[i].key);
		free(labels->items[i].value);
	}
	free(labels->items);
	*labels = (struct th_labels){0};
}
