/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The garbage collector of the VM, as far as it determines how objects can be followed.
 *
 * Following an object must not keep it alive.  A weak global reference does keep it alive where
 * a young collection treats weak references as strong:
 *
 *   G1              a humongous object is reclaimed in a young collection only if nothing
 *                   refers to it, weak references included (G1CollectedHeap, eager reclaim)
 *   generational Z  a young collection marks through all weak references of native storage
 *                   (zRootsIterator.cpp); only a major collection clears those of old objects
 *
 * Serial, Parallel, non-generational Z and Shenandoah in both modes clear weak references in
 * every collection that finds the object dead.
 */
#ifndef TH_JVMTI_HEAP_COLLECTOR_H
#define TH_JVMTI_HEAP_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

enum th_collector {
	TH_COLLECTOR_PAUSES,         /* references are processed in pauses */
	TH_COLLECTOR_G1,             /* as above, and humongous objects need special handling */
	TH_COLLECTOR_CONCURRENT,     /* references are processed concurrently */
	TH_COLLECTOR_GENERATIONAL_Z, /* as above, and references to young objects are strong */
};

/* The collector in use, by the VM's flags. [jvmti] */
enum th_collector th_collector_find(const struct th_hotspot *hotspot);

/* The maximum size of the Java heap in bytes; 0: unknown. [any] */
uint64_t th_collector_heap_max(const struct th_hotspot *hotspot);

/* Size of the smallest object: 16, or 8 with compact headers (JDK 24 and later). [any] */
uint32_t th_collector_object_bytes(const struct th_hotspot *hotspot);

/*
 * Collections begun: of any generation, and of the whole heap.  Both are 0 where the VM does
 * not export them. [any]
 */
struct th_collector_counts {
	uint32_t all;
	uint32_t major;
};
struct th_collector_counts th_collector_counts(const struct th_hotspot *hotspot);

#endif
