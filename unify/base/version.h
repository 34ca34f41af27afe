/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of tables without locks, which are read and written at any time: a version that is odd
 * while its entry is written.  The fields of the entry are atomic.
 *
 *   reading   version = th_version_read(&v); read fields; use them if th_version_is_still(&v, version)
 *   writing   if (th_version_begin(&v, &version)) { write fields; th_version_end(&v, version); }
 */
#ifndef TH_UNIFY_BASE_VERSION_H
#define TH_UNIFY_BASE_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"

/* Odd: the entry is being written. [any] */
static inline uint32_t
th_version_read(const uint32_t *version)
{
	return th_load_acquire(version);
}

/* Whether what was read since th_version_read() belongs together. [any] */
static inline bool
th_version_is_still(const uint32_t *version, uint32_t before)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(before % 2) && th_load_relaxed(version) == before;
}

/* False: another thread is writing.  Never waits. [any] */
static inline bool
th_version_begin(uint32_t *version, uint32_t *version_ret)
{
	*version_ret = th_load_relaxed(version);
	if (*version_ret % 2 || !th_cas_acq_rel(version, version_ret, *version_ret + 1))
		return false;
	/* Who reads a field that is written now sees the odd version. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return true;
}

/* After th_version_begin(), with its version. [any] */
static inline void
th_version_end(uint32_t *version, uint32_t before)
{
	th_store_release(version, before + 2);
}

#endif
