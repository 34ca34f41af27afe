/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_REPORT_BASE_CHUNK_H
#define TH_REPORT_BASE_CHUNK_H

#include <stdint.h>

/* glibc: a chunk has a header of one word, a granularity of two and a minimum size of four. */
#define TH_CHUNK_HEAD 8u
#define TH_CHUNK_GRAIN 16u
#define TH_CHUNK_LEAST 32u

/* Bytes of glibc's heap that a block of `size` bytes takes. */
static inline double
th_chunk_bytes(uint64_t size)
{
	uint64_t bytes = (size + TH_CHUNK_HEAD + TH_CHUNK_GRAIN - 1) &
			 ~(uint64_t)(TH_CHUNK_GRAIN - 1);

	return (double)(bytes < TH_CHUNK_LEAST ? TH_CHUNK_LEAST : bytes);
}

#endif
