/* SPDX-License-Identifier: Apache-2.0 */
/* The records in a KEPT event, see TH_FIELDS_KEPT. */
#ifndef TH_UNIFY_SHARED_KEPT_H
#define TH_UNIFY_SHARED_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unify/shared/log_format.h"

/* Where the words of records begin: behind their count. */
#define TH_KEPT_WORDS (sizeof(struct th_event_kept) + 8)

struct th_kept_record {
	uint64_t offset; /* where it was first written */
	uint32_t at;     /* where it is in the event */
	uint32_t size;
	uint16_t type;
	double thinned; /* of a sample: probability with which it was kept; 0 = all are */
};

/*
 * The next record of the event in `bytes` bytes at `event`; *word begins with 0.  False: none, or the
 * rest is malformed. [any]
 */
static inline bool
th_kept_next(const void *event, uint32_t bytes, uint32_t *word, struct th_kept_record *ret)
{
	const char *words = (const char *)event + TH_KEPT_WORDS;
	struct th_log_record head;
	uint32_t count = 0, at = *word;

	*ret = (struct th_kept_record){.offset = 0};
	if (bytes >= TH_KEPT_WORDS)
		memcpy(&count, words - 8, sizeof(count));
	if (!count || count > (bytes - TH_KEPT_WORDS) / 8 || at >= count)
		return false;
	memcpy(&ret->offset, words + 8 * (size_t)at++, sizeof(ret->offset));
	if (ret->offset & TH_KEPT_THINNED && at < count)
		memcpy(&ret->thinned, words + 8 * (size_t)at++, sizeof(ret->thinned));
	if (at >= count)
		return false;
	memcpy(&head, words + 8 * (size_t)at, sizeof(head));
	ret->offset &= ~(uint64_t)7;
	ret->at = (uint32_t)TH_KEPT_WORDS + 8 * at;
	ret->size = head.size;
	ret->type = head.type;
	/* A probability from a damaged log counts as none. */
	if (!(ret->thinned > 0 && ret->thinned < 1))
		ret->thinned = 0;
	if (!head.type || head.type == TH_EVENT_KEPT || head.size < sizeof(head) ||
		head.size % 8 || head.size > 8 * (uint64_t)(count - at) ||
		head.check != th_log_check(ret->offset, head.size, head.type))
		return false;
	*word = at + head.size / 8;
	return true;
}

#endif
