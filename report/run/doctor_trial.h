/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of `doctor`: a command recorded for a moment, and what its log says. */
#ifndef TH_REPORT_RUN_DOCTOR_TRIAL_H
#define TH_REPORT_RUN_DOCTOR_TRIAL_H

#include <stdbool.h>

/* What a finding means. */
enum th_finding {
	TH_FINDING_GOOD,
	TH_FINDING_NOTE, /* for information */
	TH_FINDING_LOSS, /* something is lost */
	TH_FINDING_BAD,  /* nothing is recorded */
};

/* One line on stdout: the mark of the finding, what it is about, and the text. */
void th_doctor_print(enum th_finding finding, const char *topic, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Records `command` into a directory of its own below `directory`, which is removed, and prints
 * what was found.  With `is_silent` the output of the command is not shown.  False: nothing was
 * recorded.
 */
bool th_doctor_try(char *const *command, const char *directory, bool is_silent);

#endif
