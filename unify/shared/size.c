/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in the constructor of the library as well as in the tool, and therefore uses nothing of
 * libc: strtoull() reads the locale and sets errno, which belong to the host there.
 */
#include "unify/shared/size.h"

#include <limits.h>

/* Lower case of an ASCII letter; other characters unchanged. */
static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT_MAX;
}

bool
th_digits_parse(const char **text, unsigned base, uint64_t *number_ret)
{
	const char *at = *text;
	uint64_t value = 0;

	for (; digit_of(*at) < base; at++) {
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit_of(*at), &value))
			return false;
	}
	if (at == *text)
		return false;
	*text = at;
	*number_ret = value;
	return true;
}

bool
th_number_parse(const char *text, uint64_t *number_ret)
{
	uint64_t value;

	if (!th_digits_parse(&text, 10, &value) || *text)
		return false;
	*number_ret = value;
	return true;
}

/* Advances *text past the unit prefix, if there is one; returns its power of two. */
static unsigned
parse_prefix(const char **text)
{
	static const char prefixes[] = "kmgt";

	for (unsigned i = 0; prefixes[i]; i++) {
		if (lower(**text) == prefixes[i]) {
			++*text;
			return 10 * (i + 1);
		}
	}
	return 0;
}

/*
 * Whether the rest of a unit is valid: nothing, "B" or "iB" after a prefix, else nothing or
 * "B".
 */
static bool
is_unit_end(const char *text, bool has_prefix)
{
	if (has_prefix && lower(text[0]) == 'i' && lower(text[1]) == 'b')
		text += 2;
	else if (lower(text[0]) == 'b')
		text++;
	return *text == '\0';
}

bool
th_size_parse(const char *text, uint64_t *bytes_ret)
{
	uint64_t value;
	unsigned shift;

	if (!th_digits_parse(&text, 10, &value))
		return false;
	shift = parse_prefix(&text);
	if (!is_unit_end(text, shift != 0) || value > UINT64_MAX >> shift)
		return false;
	*bytes_ret = value << shift;
	return true;
}

bool
th_percent_parse(const char *text, uint64_t *millionths_ret)
{
	uint64_t value;
	uint64_t unit = 10000;

	if (!th_digits_parse(&text, 10, &value) || value > 100)
		return false;
	value *= unit;
	if (*text == '.') {
		for (text++; digit_of(*text) < 10 && unit > 1; text++) {
			unit /= 10;
			value += digit_of(*text) * unit;
		}
	}
	while (*text == ' ')
		text++;
	text += *text == '%';
	if (*text || value > 1000000)
		return false;
	*millionths_ret = value;
	return true;
}

bool
th_seconds_parse(const char *text, uint64_t *seconds_ret)
{
	uint64_t unit = 1;
	uint64_t value;

	if (!th_digits_parse(&text, 10, &value))
		return false;
	if (*text == 'm')
		unit = 60;
	else if (*text == 'h')
		unit = 3600;
	text += *text == 's' || unit > 1;
	if (*text || value > UINT64_MAX / unit)
		return false;
	*seconds_ret = value * unit;
	return true;
}
