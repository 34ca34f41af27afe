/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File.createTempFile of Java inserts a random number of up to 20 digits, of which all but one
 * in ten million have more than 12; it may follow a digit of the name immediately.  A date in a
 * version has 8.
 */
#include "report/symbols/module_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "report/base/allocate.h"

#define RANDOM_DIGITS 9
#define RANDOM_HEXADECIMALS 16

#define DELETED " (deleted)"

static bool
is_word(char c)
{
	return isalnum((unsigned char)c);
}

static bool
is_hexadecimal(char c)
{
	return isxdigit((unsigned char)c);
}

/* Length of the UUID at the start of `text`; 0: there is none. */
static size_t
uuid_length(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i = 0;

	while (form[i] && (form[i] == 'x' ? is_hexadecimal(text[i]) : text[i] == form[i]))
		i++;
	return form[i] ? 0 : i;
}

static size_t
digits_length(const char *text)
{
	size_t length = strspn(text, "0123456789");

	return length >= RANDOM_DIGITS ? length : 0;
}

static size_t
hexadecimals_length(const char *text)
{
	size_t length = strspn(text, "0123456789abcdefABCDEF");

	return length >= RANDOM_HEXADECIMALS && !is_word(text[length]) &&
			       strcspn(text, "0123456789") < length
		       ? length
		       : 0;
}

/* Length of the random part at `text`, which follows the character `before`. */
static size_t
random_length(const char *text, char before)
{
	size_t length = 0;

	if (!is_word(before)) {
		length = uuid_length(text);
		length = length ? length : hexadecimals_length(text);
	}
	return length ? length : digits_length(text);
}

char *
th_module_stable_path(const char *path)
{
	char *stable = th_format_new("%s", path);
	size_t length = strlen(stable);
	char *to = stable;
	char before = '\0';

	if (length >= strlen(DELETED) && !strcmp(stable + length - strlen(DELETED), DELETED))
		stable[length - strlen(DELETED)] = '\0';
	for (const char *from = stable; *from;) {
		size_t random = random_length(from, before);

		before = from[random ? random - 1 : 0];
		*to++ = random ? '*' : *from;
		from += random ? random : 1;
	}
	*to = '\0';
	return stable;
}
