/* SPDX-License-Identifier: Apache-2.0 */
/* Recording quality: what the recording reports about itself and what reading it found. */
#ifndef TH_REPORT_VIEWS_HEALTH_H
#define TH_REPORT_VIEWS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "report/log/recording.h"

struct th_health_line {
	bool is_warning; /* the figures or stacks are incomplete or imprecise */
	char *text;      /* without newline */
};

struct th_health {
	TH_ARRAY(struct th_health_line, lines);
};

/* Checks the recording and fills the lines. */
void th_health_init(struct th_health *health, const struct th_recording *recording);
void th_health_deinit(struct th_health *health);

/* Adds a line. */
void th_health_add(struct th_health *health, bool is_warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * One line about what of the log could not be read, NULL if nothing; the caller frees it. Records
 * that a killed process did not finish are no damage.
 */
char *th_health_damage(const struct th_recording *recording);

#endif
