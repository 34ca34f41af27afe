/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching without recursion: on a mismatch only the last star needs to take one more byte,
 * since it can take all that an earlier star could.
 */
#include "unify/shared/glob.h"

#include <stddef.h>
#include <string.h>

static bool
is_end(char c)
{
	return c == '\0' || c == ',';
}

/* The byte at *at, or after a backslash there; '\0' at the end of the text. */
static unsigned char
take_byte(const char **at)
{
	*at += **at == '\\';
	return **at ? (unsigned char)*(*at)++ : '\0';
}

/* Matches the bracket expression whose inside starts at `at`; returns as match_one(). */
static const char *
match_bracket(const char *at, unsigned char byte, bool *ret)
{
	bool is_negated = *at == '!' || *at == '^';
	const char *first = at += is_negated;
	bool holds = false;

	while (*at != ']' || at == first) {
		unsigned char low = take_byte(&at);
		unsigned char high = low;

		if (at[0] == '-' && at[1] && at[1] != ']') {
			at++;
			high = take_byte(&at);
		}
		if (!low || !high)
			return NULL;
		holds |= low <= byte && byte <= high;
	}
	*ret = holds != is_negated;
	return at + 1;
}

/*
 * Whether the part of a glob at `at`, which is not a star, matches a byte.  Returns the
 * position after the part; NULL: the part has no end.
 */
static const char *
match_one(const char *at, unsigned char byte, bool *ret)
{
	if (*at == '[')
		return match_bracket(at + 1, byte, ret);
	bool is_any = *at == '?';
	unsigned char wanted = take_byte(&at);
	*ret = is_any || wanted == byte;
	return wanted ? at : NULL;
}

/* The end of the glob at `at`; NULL: one of its parts has no end. */
static const char *
find_end(const char *at)
{
	bool matches;

	while (at && !is_end(*at))
		at = *at == '*' ? at + 1 : match_one(at, 0, &matches);
	return at;
}

const char *
th_glob_problem(const char *globs)
{
	if (strlen(globs) >= TH_GLOB_TEXT_MAX)
		return "longer than 63 bytes";
	while ((globs = find_end(globs)) && *globs)
		globs++;
	return globs ? NULL : "[ without ], or \\ at the end";
}

static bool
matches_glob(const char *glob, const char *name)
{
	const char *star = NULL; /* after the last star */
	const char *rest = NULL; /* of the name, after the bytes that the star takes */

	while (*name || *glob == '*') {
		const char *next = NULL;
		bool matches = false;

		if (*glob == '*') {
			star = ++glob;
			rest = name;
			continue;
		}
		if (!is_end(*glob))
			next = match_one(glob, (unsigned char)*name, &matches);
		if (!matches && !star)
			return false;
		glob = matches ? next : star;
		name = matches ? name + 1 : ++rest;
	}
	return is_end(*glob);
}

bool
th_glob_matches(const char *globs, const char *name)
{
	while (!matches_glob(globs, name)) {
		globs = find_end(globs);
		if (!globs || !*globs++)
			return false;
	}
	return true;
}
