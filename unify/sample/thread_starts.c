/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/thread_starts.h"

#include <errno.h>

#include "unify/log/log.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/sample.h"
#include "unify/shared/clock.h"

static struct th_tally threads = {.kind = TH_TALLY_THREADS};
/* atomic: when a start writes the figures, in processes without an agent thread */
static uint64_t next_log;
static uint64_t started; /* atomic: of those counted */
static uint64_t ended;   /* likewise */

static bool
is_wanted(void)
{
	return th_admission_wants(TH_HEAP_NATIVE) || th_admission_wants(TH_HEAP_MAPPED);
}

static void
log_when_due(uint64_t now)
{
	if (now < th_load_relaxed(&next_log))
		return;
	th_store_relaxed(&next_log, now + TH_NS_PER_S);
	th_tally_log(&threads);
}

/* Whether the next thread is counted; *weight_ret: the number of threads it stands for. */
static bool
is_counted(uint64_t now, uint32_t *weight_ret)
{
	static uint64_t starts; /* atomic */
	uint32_t level = th_tally_level(&threads, now);

	if (level > th_load_relaxed(&threads.level))
		th_store_relaxed(&threads.level, level);
	*weight_ret = 1u << level;
	return th_live_keeps(th_add_relaxed(&starts, 1), level);
}

/* Within a capture. */
static void
add(const struct th_registers *registers, struct th_tally_item *item)
{
	item->stack = th_sample_stack(registers, TH_HEAP_NATIVE, 0, item->born);
	if (item->stack)
		item->maker = th_tally_maker(&threads, item->stack, 0);
	if (!th_tally_add(&threads, item))
		item->maker = 0;
	if (!item->maker)
		th_log_count(TH_COUNTER_THREADS_UNSEEN, 1);
	log_when_due(item->born);
}

void
th_thread_starts_add(
	const struct th_registers *registers, uint64_t bytes, struct th_tally_item *item_ret)
{
	int saved_errno = errno;

	*item_ret = (struct th_tally_item){.born = th_clock_now(), .bytes = bytes};
	if (th_thread.guard || !is_wanted() || !is_counted(item_ret->born, &item_ret->weight) ||
		!th_in_flight_begin())
		return;
	th_guard_enter();
	add(registers, item_ret);
	th_in_flight_end();
	th_guard_leave();
	errno = saved_errno;
}

void
th_thread_starts_fail(const struct th_tally_item *item)
{
	th_tally_remove(&threads, item, false);
}

void
th_thread_starts_run(const struct th_tally_item *item, uintptr_t handle)
{
	int saved_errno = errno;
	struct th_thread_record *record;

	th_guard_enter();
	record = th_thread_record();
	if (record) {
		record->start = *item;
		if (handle)
			th_thread_set_handle(record, handle);
		th_add_relaxed(&started, 1);
	} else {
		/* Its end would not be seen. */
		th_thread_starts_fail(item);
		th_log_count(TH_COUNTER_THREADS_UNSEEN, 1);
	}
	th_guard_leave();
	errno = saved_errno;
}

void
th_thread_starts_end(struct th_thread_record *record)
{
	struct th_tally_item *start = &record->start;

	if (!start->maker) {
		th_store_relaxed(&record->handle, 0);
		return;
	}
	th_add_relaxed(&ended, 1);
	if (!th_load_relaxed(&record->handle)) {
		th_thread_starts_joined(record);
		return;
	}
	th_tally_grow(&threads, start->maker, 0, start->weight);
	start->parts = 1;
}

void
th_thread_starts_joined(struct th_thread_record *record)
{
	th_tally_remove(&threads, &record->start, true);
	record->start.maker = 0;
	th_store_relaxed(&record->handle, 0);
}

uint64_t
th_thread_starts_ended(void)
{
	return th_load_relaxed(&ended);
}

uint64_t
th_thread_starts_alive(void)
{
	uint64_t all_ended = th_load_relaxed(&ended);
	uint64_t all_started = th_load_relaxed(&started);

	return all_started > all_ended ? all_started - all_ended : 0;
}

void
th_thread_starts_log(void)
{
	th_tally_log(&threads);
}

void
th_thread_starts_restart(void)
{
	th_tally_restart(&threads);
}

void
th_thread_starts_reset(void)
{
	th_tally_reset(&threads);
	next_log = 0;
}
