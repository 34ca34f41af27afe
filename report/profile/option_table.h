/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of all commands: names, help, and the functions that take their arguments.
 */
#ifndef TH_REPORT_PROFILE_OPTION_TABLE_H
#define TH_REPORT_PROFILE_OPTION_TABLE_H

#include "report/profile/options.h"

#define TH_OPTION_ENTRIES_MAX 127

struct th_option_entry;

/* Applies the argument (NULL for an option without one), which stays valid as long as the options. */
typedef struct th_error *th_option_setter(
	struct th_options *options, const struct th_option_entry *entry, const char *argument);

struct th_option_entry {
	const char *name;
	char letter;          /* 0 = long form only */
	const char *argument; /* NULL = takes none */
	unsigned groups;      /* enum th_option_group */
	th_option_setter *set;
	size_t field; /* offset in struct th_options, for the setters of a plain field; enum th_setting */
	const char *standard; /* its default, behind the help; NULL and "": is in the help */
	const char *help;     /* wrapped at newlines */
};

/* In the order of the help. A name stands twice if its help differs between commands. */
extern const struct th_option_entry th_option_entries[];
extern const size_t th_option_count;

/*
 * Sets the time of live values from end, exit, peak, mark:NAME, or seconds with or without a trailing
 * s. False: the text is none of these.
 */
bool th_option_parse_moment(const char *text, struct th_options *options);

#endif
