/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two static probes (USDT) for tools that trace user space, such as OpenTelemetry's eBPF profiler:
 *
 *   otel_memory:alloc(block, size, weight)  a sampled block; the weights of all are an unbiased
 *                                           estimate of all bytes
 *   otel_memory:free(block)                 it is about to be freed
 *
 * Each is one nop and a note of the ELF file; a tool replaces the nop by a trap.  A realloc that
 * fails ends its block for the tool, which stays allocated.
 */
#ifndef TH_UNIFY_SAMPLE_PROBES_H
#define TH_UNIFY_SAMPLE_PROBES_H

#include <stdint.h>

/* Without systemtap-sdt-dev there are no probes. */
#if __has_include(<sys/sdt.h>)
#	include <sys/sdt.h>
#else
#	define DTRACE_PROBE1(provider, name, a) ((void)(a))
#	define DTRACE_PROBE3(provider, name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

/* [in-malloc] */
static inline void
th_probe_alloc(uintptr_t block, uint64_t size, uint64_t weight)
{
	DTRACE_PROBE3(otel_memory, alloc, block, size, weight);
}

/* [in-malloc] */
static inline void
th_probe_free(uintptr_t block)
{
	DTRACE_PROBE1(otel_memory, free, block);
}

#endif
