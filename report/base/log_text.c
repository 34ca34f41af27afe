/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleaning of foreign text (log_text.h), one character at a time, and the table of strings,
 * which finds a string by its hash and verifies it by comparison.
 */
#include "report/base/log_text.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD in UTF-8 */

struct th_text
th_text_of(const char *string)
{
	return (struct th_text){string, (uint32_t)strlen(string)};
}

bool
th_text_equals(struct th_text text, const char *string)
{
	return strlen(string) == text.length &&
	       (!text.length || !memcmp(text.bytes, string, text.length));
}

bool
th_text_same(struct th_text a, struct th_text b)
{
	return a.length == b.length && (!a.length || !memcmp(a.bytes, b.bytes, a.length));
}

bool
th_text_ends(struct th_text text, const char *end)
{
	size_t length = strlen(end);

	return text.length >= length && !memcmp(text.bytes + text.length - length, end, length);
}

bool
th_text_is_number(const char *string)
{
	size_t length = strlen(string);

	return length && length < 10 && strspn(string, "0123456789") == length;
}

bool
th_text_begins(const char *string, const char *start)
{
	return !strncmp(string, start, strlen(start));
}

bool
th_text_begins_any(const char *string, const char *const *starts)
{
	while (*starts && !th_text_begins(string, *starts))
		starts++;
	return *starts != NULL;
}

const char *
th_text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct th_text
th_text_last_part(struct th_text path)
{
	const char *slash = path.length ? memrchr(path.bytes, '/', path.length) : NULL;

	if (slash) {
		path.length -= (uint32_t)(slash + 1 - path.bytes);
		path.bytes = slash + 1;
	}
	return path;
}

/* Length of the well-formed, printable character at `bytes`; 0 if there is none. */
static unsigned
character_length(const unsigned char *bytes, size_t available)
{
	/* The least code points by length; those below the first are control characters. */
	static const uint32_t least[] = {[2] = 0xa0, [3] = 0x800, [4] = 0x10000};
	unsigned length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	uint32_t code = bytes[0] & (0x7fu >> length);

	if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || length > available)
		return 0;
	for (unsigned i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	bool is_surrogate = code >= 0xd800 && code < 0xe000;
	return code < least[length] || code > 0x10ffff || is_surrogate ? 0 : length;
}

/*
 * Appends the cleaned form of the character at `bytes`; returns the number of bytes consumed.
 */
static size_t
clean_character(const unsigned char *bytes, size_t available, char **end)
{
	if (bytes[0] < 0x80) {
		bool is_printable = bytes[0] >= 0x20 && bytes[0] != 0x7f;
		*(*end)++ = is_printable ? (char)bytes[0] : ' ';
		return 1;
	}
	unsigned length = character_length(bytes, available);
	if (length) {
		memcpy(*end, bytes, length);
		*end += length;
		return length;
	}
	memcpy(*end, REPLACEMENT, 3);
	*end += 3;
	size_t used = 1;
	while (used < available && used < 4 && (bytes[used] & 0xc0) == 0x80)
		used++;
	return used;
}

char *
th_text_clean(struct th_text text)
{
	const unsigned char *bytes = (const unsigned char *)text.bytes;
	char *clean = th_allocate((size_t)text.length + 1, 3);
	char *end = clean;

	for (size_t at = 0; at < text.length;)
		at += clean_character(bytes + at, text.length - at, &end);
	*end = '\0';
	return clean;
}

void
th_text_print(FILE *file, const char *string)
{
	char *clean = th_text_clean(th_text_of(string));

	fputs(clean, file);
	free(clean);
}

void
th_strings_init(struct th_strings *strings)
{
	*strings = (struct th_strings){0};
	th_strings_intern(strings, "");
}

void
th_strings_deinit(struct th_strings *strings)
{
	for (size_t i = 0; i < strings->items_count; i++)
		free(strings->items[i]);
	free(strings->items);
	th_id_map_deinit(&strings->hashes);
}

uint32_t
th_strings_intern(struct th_strings *strings, const char *string)
{
	for (uint64_t hash = th_hash_text(string);; hash++) {
		bool added;
		uint32_t number = th_id_map_intern(&strings->hashes, hash, &added);

		if (added) {
			char *copy = th_format_new("%s", string);

			th_array_append(strings, items, copy);
			return number;
		}
		if (!strcmp(strings->items[number], string))
			return number;
	}
}

uint32_t
th_strings_find(const struct th_strings *strings, const char *string)
{
	for (uint64_t hash = th_hash_text(string);; hash++) {
		uint32_t number = th_id_map_find(&strings->hashes, hash);

		if (number == TH_ID_MAP_NONE)
			return TH_NO_STRING;
		if (!strcmp(strings->items[number], string))
			return number;
	}
}

uint32_t
th_strings_intern_text(struct th_strings *strings, struct th_text text)
{
	char *clean = th_text_clean(text);
	uint32_t number = th_strings_intern(strings, clean);

	free(clean);
	return number;
}

const char *
th_strings_get(const struct th_strings *strings, uint32_t number)
{
	return strings->items[number];
}
