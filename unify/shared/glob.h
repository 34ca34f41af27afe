/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globs for the names of threads, several of them separated by commas.  Each is as fnmatch(3) has
 * it, on bytes, without classes: `*`, `?`, `[a-z]`, `[!a-z]`, and a backslash that takes away the
 * meaning of what follows, a comma's too.  fnmatch() itself reads the locale and may call malloc,
 * which the library may not.
 */
#ifndef TH_UNIFY_SHARED_GLOB_H
#define TH_UNIFY_SHARED_GLOB_H

#include <stdbool.h>

/* Longest text with globs, with the terminator: what fits into the control page. */
#define TH_GLOB_TEXT_MAX 64

/* What is wrong with a text, a constant; NULL: nothing. [any] */
const char *th_glob_problem(const char *globs);

/*
 * Whether one of the globs, which have no problem, matches the whole of `name`.  Takes at most as
 * many steps as the product of both lengths. [in-malloc]
 */
bool th_glob_matches(const char *globs, const char *name);

#endif
