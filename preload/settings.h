/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the library, from its environment variables (settings_table.h). */
#ifndef TH_PRELOAD_SETTINGS_H
#define TH_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/settings_table.h"

enum th_follow { TH_FOLLOW_JAVA, TH_FOLLOW_ALL, TH_FOLLOW_NONE };

/*
 * The longest word of a setting.  Tables of words are arrays, not pointers, which the loader would
 * have to relocate in every process.
 */
#define TH_SETTING_WORD_BYTES 32

/* Space for the values given: a path and a few words. */
#define TH_SETTINGS_BYTES 8192

struct th_settings {
	const char *text[TH_SETTING_COUNT]; /* as given, else the default */
	uint64_t number[TH_SETTING_COUNT];  /* sizes, numbers, flags; choices by position */
	bool is_given[TH_SETTING_COUNT];
	bool is_option[TH_SETTING_COUNT]; /* given by an agent's options, not by a variable */
	size_t given_bytes;
	/* Copies, because programs that set their title overwrite their environment. */
	char given[TH_SETTINGS_BYTES];
};

/*
 * Reads every variable.  `options`, which may be NULL, are those of an agent: "NAME=VALUE,...", by
 * the names of the launcher's options or of the variables; they take precedence.  A word without
 * such a name belongs to the value before it.  False: a value or a name is invalid; `problem_ret`
 * names it, in one line.  In the constructor, or when the agent is loaded.
 */
bool th_settings_read(struct th_settings *settings, const char *options, char *problem_ret,
	size_t problem_bytes);

#endif
