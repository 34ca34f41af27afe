/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of pointers to allocation functions in the data of a loaded object: from dlsym(), or made
 * before the import slots were redirected.  Calls by them are not seen.
 */
#ifndef TH_PRELOAD_SLOT_COPIES_H
#define TH_PRELOAD_SLOT_COPIES_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/slots.h"

/* Of one object; data beyond is not searched. */
#define TH_SLOT_COPIES_BYTES ((size_t)4 << 20)

/*
 * Counts the words in the writable segments of an object that hold the original of an allocation
 * function.  The object must stay loaded meanwhile; pages that cannot be read are skipped.  Adds the
 * bytes read to *bytes. [agent-thread]
 */
uint32_t th_slot_copies_count(const struct dl_phdr_info *info,
	const struct th_slot_function *functions, size_t count, size_t *bytes);

#endif
