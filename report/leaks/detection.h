/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest leak that a recording would have shown. */
#ifndef TH_REPORT_LEAKS_DETECTION_H
#define TH_REPORT_LEAKS_DETECTION_H

#include "report/leaks/evidence.h"

/* Probability with which a leak of the detection limit is found. */
#define TH_DETECTION_POWER 0.95

/*
 * The detection limit in bytes per second: a leak of small blocks at one site that grows
 * steadily at this rate, and of which nothing is freed, is found with probability
 * TH_DETECTION_POWER. 0 if every allocation was recorded; infinite if the time after the
 * warm-up is empty. docs/statistics.md derives it.
 */
double th_detection_limit(const struct th_judge *judge);

/*
 * The same of a heap that was not judged, but of which so few samples were taken since the
 * warm-up that even if all of them stayed a leak could not be larger; infinite if there were
 * more.
 */
double th_detection_limit_of_few(const struct th_judge *judge);

#endif
