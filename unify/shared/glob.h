/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs for thread names, separated by commas.  Each has the syntax of fnmatch(3), on bytes,
 * without character classes: `*`, `?`, `[a-z]`, `[!a-z]`, and a backslash that quotes the next
 * byte, which may be a comma.  fnmatch() itself reads the locale and may call malloc, which the
 * library must not do.
 */
#ifndef TH_UNIFY_SHARED_GLOB_H
#define TH_UNIFY_SHARED_GLOB_H

#include <stdbool.h>

/*
 * Maximum length of the text, with the terminator: the size of the field in the control page.
 */
#define TH_GLOB_TEXT_MAX 64

/* Describes the first error in the text, as a constant; NULL if it is valid. [any] */
const char *th_glob_problem(const char *globs);

/*
 * Whether one of the globs, which must be valid, matches the whole of `name`.  The number of
 * steps is at most the product of both lengths. [in-malloc]
 */
bool th_glob_matches(const char *globs, const char *name);

#endif
