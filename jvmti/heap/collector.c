/* SPDX-License-Identifier: Apache-2.0 */
#include "jvmti/heap/collector.h"

#include <stddef.h>

/* From this release on Z is always generational (JEP 490). */
#define Z_GENERATIONAL_ONLY 24

static bool
has_flag(const struct th_hotspot *hotspot, const char *name)
{
	const bool *value = th_hotspot_flag(hotspot, name);

	return value && *value;
}

static bool
is_generational_z(const struct th_hotspot *hotspot)
{
	return hotspot->release >= Z_GENERATIONAL_ONLY || has_flag(hotspot, "ZGenerational");
}

enum th_collector
th_collector_find(const struct th_hotspot *hotspot)
{
	if (has_flag(hotspot, "UseG1GC"))
		return TH_COLLECTOR_G1;
	if (has_flag(hotspot, "UseZGC"))
		return is_generational_z(hotspot) ? TH_COLLECTOR_GENERATIONAL_Z
						  : TH_COLLECTOR_CONCURRENT;
	return has_flag(hotspot, "UseShenandoahGC") ? TH_COLLECTOR_CONCURRENT
						    : TH_COLLECTOR_PAUSES;
}

uint64_t
th_collector_heap_max(const struct th_hotspot *hotspot)
{
	const size_t *value = th_hotspot_flag(hotspot, "MaxHeapSize");

	return value ? *value : 0;
}

uint32_t
th_collector_object_bytes(const struct th_hotspot *hotspot)
{
	return has_flag(hotspot, "UseCompactObjectHeaders") ? 8 : 16;
}

struct th_collector_counts
th_collector_counts(const struct th_hotspot *hotspot)
{
	struct th_collector_counts counts = {0};

	if (hotspot->collected_heap && *hotspot->collected_heap &&
		hotspot->total_collections >= 0) {
		/* _total_full_collections is the next field (collectedHeap.hpp, 11 to 25). */
		const volatile uint32_t *totals =
			(const volatile uint32_t *)(*hotspot->collected_heap +
						    (uintptr_t)hotspot->total_collections);
		counts.all = totals[0];
		counts.major = totals[1];
	}
	return counts;
}
