/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/worker.h"

#include <stddef.h>
#include <unistd.h>

void
th_worker_begin(struct th_worker *aside, void *(*work)(void *data), void *data)
{
	aside->is_running = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
			    pthread_create(&aside->thread, NULL, work, data) == 0;
	if (!aside->is_running)
		work(data);
}

void
th_worker_end(struct th_worker *aside)
{
	if (aside->is_running)
		pthread_join(aside->thread, NULL);
	aside->is_running = false;
}
