/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is done aside: by a second thread, where there is a processor for it.  The two must
 * not change what the other looks at.
 */
#ifndef TH_REPORT_BASE_WORKER_H
#define TH_REPORT_BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct th_worker {
	pthread_t thread;
	bool is_running;
};

/* Begins work(data); without a thread for it, it is done when this returns. */
void th_worker_begin(struct th_worker *aside, void *(*work)(void *data), void *data);

/* Waits until it is done. */
void th_worker_end(struct th_worker *aside);

#endif
