/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/worker.h"

#include <stddef.h>
#include <unistd.h>

void
th_worker_begin(struct th_worker *worker, void *(*work)(void *data), void *data)
{
	worker->is_running = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
			     pthread_create(&worker->thread, NULL, work, data) == 0;
	if (!worker->is_running)
		work(data);
}

void
th_worker_end(struct th_worker *worker)
{
	if (worker->is_running)
		pthread_join(worker->thread, NULL);
	worker->is_running = false;
}
