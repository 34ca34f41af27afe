/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a function on a second thread, if there is a processor for it. The two threads must not
 * modify what the other reads.
 */
#ifndef TH_REPORT_BASE_WORKER_H
#define TH_REPORT_BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct th_worker {
	pthread_t thread;
	bool is_running;
};

/* Starts work(data); if no thread can be created it runs before this function returns. */
void th_worker_begin(struct th_worker *worker, void *(*work)(void *data), void *data);

/* Waits until it is done. */
void th_worker_end(struct th_worker *worker);

#endif
