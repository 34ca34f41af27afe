/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in the constructor of the library as well as in the tool, and therefore uses nothing of
 * libc: strtoull() reads the locale and sets errno, which belong to the host there.
 */
#include "unify/shared/size.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Lower case of an ASCII letter; other characters unchanged. */
static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Advances *text past the digits; false if there are none or the number is too large. */
static bool
parse_digits(const char **text, uint64_t *value_ret)
{
	uint64_t value = 0;

	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); ++*text) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(**text - '0'), &value))
			return false;
	}
	*value_ret = value;
	return true;
}

bool
th_number_parse(const char *text, uint64_t *number_ret)
{
	uint64_t value;

	if (!parse_digits(&text, &value) || *text)
		return false;
	*number_ret = value;
	return true;
}

/* Advances *text past the unit prefix, if there is one; returns its power of two. */
static unsigned
parse_prefix(const char **text)
{
	unsigned shift;

	switch (lower(**text)) {
	case 'k':
		shift = 10;
		break;
	case 'm':
		shift = 20;
		break;
	case 'g':
		shift = 30;
		break;
	case 't':
		shift = 40;
		break;
	default:
		return 0;
	}
	++*text;
	return shift;
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

	if (!parse_digits(&text, &value))
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

	if (!parse_digits(&text, &value) || value > 100)
		return false;
	value *= unit;
	if (*text == '.') {
		for (text++; is_digit(*text) && unit > 1; text++) {
			unit /= 10;
			value += (uint64_t)(*text - '0') * unit;
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

	if (!parse_digits(&text, &value))
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
