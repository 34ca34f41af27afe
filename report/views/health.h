/* SPDX-License-Identifier: Apache-2.0 */
/* Recording quality: what the recording reports about itself and what reading it found. */
#ifndef TH_REPORT_VIEWS_HEALTH_H
#define TH_REPORT_VIEWS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "report/profile/profile.h"

struct th_health_line {
	bool is_warning;  /* the figures or stacks are incomplete or imprecise */
	const char *text; /* without newline */
};

struct th_health {
	TH_ARRAY(struct th_health_line, lines);
};

/* Checks the recording and fills the lines. */
void th_health_init(struct th_health *health, const struct th_recording *recording);
void th_health_deinit(struct th_health *health);

/* Adds lines about what figures of a profile leave out, if anything. */
void th_health_add_profile(struct th_health *health, const struct th_profile *profile);

/* Adds a line, a text of the output. */
void th_health_add(struct th_health *health, bool is_warning, const char *text);

/*
 * One line each, NULL if there is nothing to say. Of a log that was not closed:
 * what is missing. Of records that could not be read: how many; those that a killed process did not
 * finish are not among them.
 */
const char *th_health_end(const struct th_recording *recording);
const char *th_health_damage(const struct th_recording *recording);

#endif
