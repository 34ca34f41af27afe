/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors of a Java VM, by their names in hsperfdata (CollectorCounters, JDK 11 to 25). */
#ifndef TH_UNIFY_SHARED_COLLECTOR_NAME_H
#define TH_UNIFY_SHARED_COLLECTOR_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether a collection by the collector of this name leaves old objects unjudged. [any] */
static inline bool
th_collector_is_young(const char *name)
{
	static const char *const words[] = {
		"young", "minor", "incremental", "Copy", "Scavenge", "ParNew"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(name, words[i]))
			return true;
	}
	return false;
}

/*
 * Whether a collection judges an old generation that does not hold all objects yet.  "G1
 * stop-the-world phases" are those of the concurrent cycle in JDK 11.  Z without generations judges
 * all. [any]
 */
static inline bool
th_collector_is_of_old_only(const char *name)
{
	return strstr(name, "Shenandoah") ||
	       (strstr(name, "G1") && (strstr(name, "concurrent") || strstr(name, "phases")));
}

/* Objects are old after so many young collections, at most (MaxTenuringThreshold). */
#define TH_COLLECTOR_YOUNG_PAUSES 15

#endif
