/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from a log, and a table that keeps one copy of each string.
 *
 * Names come from foreign processes in arbitrary bytes: every name is converted to printable
 * UTF-8 before it is shown, so that a thread's name cannot move the cursor of a terminal and
 * JSON stays valid.
 */
#ifndef TH_REPORT_BASE_LOG_TEXT_H
#define TH_REPORT_BASE_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"

/* A piece of text without terminator. Does not own the bytes. */
struct th_text {
	const char *bytes;
	uint32_t length;
};

struct th_text th_text_of(const char *string);
bool th_text_equals(struct th_text text, const char *string);
bool th_text_same(struct th_text a, struct th_text b);

bool th_text_ends(struct th_text text, const char *end);

/* Whether it is a number of at most nine digits, which is less than 2^31. */
bool th_text_is_number(const char *string);

/* Whether a string begins with another. */
bool th_text_begins(const char *string, const char *start);

/* Whether it begins with one of an array that ends with NULL. */
bool th_text_begins_any(const char *string, const char *const *starts);

/* The last component of a path, in place. */
const char *th_text_base_name(const char *path);
struct th_text th_text_last_part(struct th_text path);

/*
 * A copy in printable UTF-8: control characters become blanks, invalid UTF-8 (Java's modified
 * form of surrogates included) becomes U+FFFD. The caller frees it.
 */
char *th_text_clean(struct th_text text);

/*
 * Prints a string, for example a path, cleaned in the same way; it may hold any byte but NUL.
 */
void th_text_print(FILE *file, const char *string);

#define TH_NO_STRING UINT32_MAX

/* One copy of each string, by number; number 0 is the empty string. */
struct th_strings {
	struct th_id_map hashes; /* hash of the text, stepped on collision -> number */
	TH_ARRAY(char *, items);
};

void th_strings_init(struct th_strings *strings);
void th_strings_deinit(struct th_strings *strings);

/* The number of a string, which is copied if new. */
uint32_t th_strings_intern(struct th_strings *strings, const char *string);

/* Its number if it exists, else TH_NO_STRING. */
uint32_t th_strings_find(const struct th_strings *strings, const char *string);

/* As th_strings_intern for text from a log, cleaned. */
uint32_t th_strings_intern_text(struct th_strings *strings, struct th_text text);

/* The string with that number. */
const char *th_strings_get(const struct th_strings *strings, uint32_t number);

#endif
