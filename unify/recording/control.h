/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of the control page (struct th_log_control in the log's header): serves
 * requests to the running process, and shows the state of the rate control.  No socket, no
 * signal: any process with write access to the log file can submit a request.
 */
#ifndef TH_UNIFY_RECORDING_CONTROL_H
#define TH_UNIFY_RECORDING_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

#define TH_CONTROL_RATE_MAX 1000000

/*
 * Notifies that a recording begins that samples these heaps (bits 1 << enum th_heap), and can sample
 * those in `seen`: requests for others are refused.  The log must exist. [any]
 */
void th_control_begin(uint32_t heaps, uint32_t seen);

/*
 * Opens heaps that were closed when the recording began, because the process was not ready for
 * them.  Before requests are served. [any]
 */
void th_control_open(uint32_t heaps);

/* The process can no longer sample these heaps.  The caller must be the throttle's writer. [any] */
void th_control_close(uint32_t heaps);

/*
 * Serves the requests since the last call and logs them.  The caller must be the throttle's
 * writer.  True: the recording is to end. [in-malloc]
 */
bool th_control_poll(uint64_t now);

/* What a walk of the Java heap may cost. */
struct th_holders_request {
	uint64_t pause_max;  /* ns */
	uint64_t memory_max; /* bytes */
	bool is_estimate;    /* only estimates the cost */
};

/* Estimated before the walk; pause and memory are the measured ones after it. */
struct th_holders_cost {
	uint64_t pause; /* ns */
	uint64_t memory;
	uint64_t heap; /* Java heap in use, bytes */
};

/* What only the Java VM can do, on the thread that serves requests. */
struct th_control_java {
	/*
	 * At flush requests: logs what is otherwise logged periodically.  NULL: nothing is to be done.
	 */
	void (*flush)(void);
	/*
	 * Takes the Java heap's sampler, or gives it back; false: another agent holds it.  NULL: nothing
	 * is to be done.
	 */
	bool (*switch_sampling)(bool is_wanted);
	/* A full collection of the Java heap, which may take seconds. */
	enum th_control_answer (*collect)(void);
	/* Counts buffers outside the Java heap and logs them. */
	enum th_control_answer (*count_buffers)(void);
	/* Switches the ledger of what native code holds; `interval` as in TH_CONTROL_LEDGER. */
	enum th_control_answer (*switch_ledger)(uint64_t interval);
	/* Finds and logs what holds the sampled Java objects. */
	enum th_control_answer (*find_holders)(
		const struct th_holders_request *request, struct th_holders_cost *cost_ret);
};

/* `java` remains the caller's and must stay valid; NULL: there is no Java VM. [any] */
void th_control_set_java(const struct th_control_java *java);

/*
 * Logs a change that was not requested: "ledger", switched on at the start of the recording; "gc
 * forced" and, because the VM ends, "gc at exit": it has collected all of its heap, in `value` ns. [any]
 */
void th_control_log(const char *setting, uint64_t value);

/* Sets in the log's header whether another agent holds the Java heap's sampler. [any] */
void th_control_show_java(bool is_elsewhere);

/* In a forked child: there is no Java VM, and no request. */
void th_control_reset(void);

#endif
