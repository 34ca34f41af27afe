/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a recording can be trusted: what it says about itself and what its reading showed.
 */
#ifndef TH_REPORT_VIEWS_HEALTH_H
#define TH_REPORT_VIEWS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "report/log/recording.h"

struct th_health_line {
	bool is_warning; /* the numbers or stacks are worse than they should be */
	char *text;      /* without newline */
};

struct th_health {
	TH_ARRAY(struct th_health_line, lines);
};

/* Looks the recording over. */
void th_health_init(struct th_health *health, const struct th_recording *recording);
void th_health_deinit(struct th_health *health);

/* Adds a line. */
void th_health_add(struct th_health *health, bool is_warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
