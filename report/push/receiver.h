/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery of windows to a receiver that may be down, slow or overloaded. */
#ifndef TH_REPORT_PUSH_RECEIVER_H
#define TH_REPORT_PUSH_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/push/source.h"

struct th_receiver {
	struct th_destination destination;
	uint64_t timeout;   /* of a request, ns */
	char *state;        /* directory of the files of state; NULL: none */
	uint64_t blocked;   /* no request before this time, CLOCK_MONOTONIC ns */
	uint64_t delay;     /* of the last failure, ns; 0 = it accepts */
	uint64_t failing;   /* time of the first failure of this outage */
	char reason[256];   /* of the last failure */
	bool takes_no_logs; /* it refused a finding */
};

/*
 * Sends the requests of a window; false: it was not accepted, and `blocked` is set. A window that
 * the receiver rejects for good is dropped, which is printed.
 */
bool th_receiver_send(struct th_receiver *receiver, struct th_source *source);

#endif
