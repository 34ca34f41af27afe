/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of the control page (struct th_log_control in the log's header): takes up
 * what somebody asks for while the process runs, and shows what the rate control does.  No
 * socket, no signal: whoever may write the log's file may ask.
 */
#ifndef TH_UNIFY_RECORDING_CONTROL_H
#define TH_UNIFY_RECORDING_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/sample/rate_control.h"

/* SetHeapSamplingInterval takes a jint. */
#define TH_CONTROL_INTERVAL_MAX INT32_MAX
#define TH_CONTROL_RATE_MAX 1000000

/*
 * A recording begins that samples these heaps (bits 1 << enum th_heap) of threads whose name
 * matches; NULL or "": of all.  The log is there. [any]
 */
void th_control_begin(uint32_t heaps, const char *threads);

/* Heaps that this process can sample: a request for others is refused.  All, until said. [any] */
void th_control_set_seen(uint32_t heaps);

/*
 * Does what was asked for since the last call, and writes to the log that it did.  The caller is
 * the rate's one writer.  True: the recording is to end. [in-malloc]
 */
bool th_control_poll(struct th_rate *rate, uint64_t now);

/*
 * How the Java heap's sampler is taken (`is_wanted`) or given back, where requests are served;
 * false: another agent holds it.  NULL: there is none. [any]
 */
void th_control_set_java(bool (*take)(bool is_wanted));

/*
 * How buffers outside the Java heap are counted and written to the log, on the thread that serves
 * requests; NULL: there is nobody to ask. [any]
 */
void th_control_set_buffers(enum th_control_answer (*count)(void));

/* Says in the log's header whether another agent holds it. [any] */
void th_control_show_java(bool is_elsewhere);

/*
 * Has `hook` called when somebody asks for a flush, and before the recording ends: it writes to
 * the log what is otherwise written now and then.  It runs where requests are served: on the
 * agent thread where there is one, else inside malloc, under the guard.  Twice is once; false:
 * there are TH_CONTROL_HOOKS_MAX already. [any]
 */
#define TH_CONTROL_HOOKS_MAX 8
bool th_control_on_flush(void (*hook)(void));

/* In a forked child: forgets the hooks. */
void th_control_reset(void);

#endif
