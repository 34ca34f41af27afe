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

#endif
