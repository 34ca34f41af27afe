/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any process with write access to the file can write the page, so nothing in it is trusted:
 * numbers are checked, the name is copied and cut before it is used.
 */
#include "unify/recording/control.h"

#include <string.h>
#include <unistd.h>

#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/mapped/mapping.h"
#include "unify/recording/recorder.h"
#include "unify/sample/admission.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"
#include "unify/shared/settings_table.h"

static const struct th_control_java *java; /* atomic; NULL: no Java VM */

static uint32_t seen_heaps; /* set before requests are served */

/* Flushing */

/* Writes what is otherwise written periodically. */
static void
flush_all(void)
{
	const struct th_control_java *vm = th_load_acquire(&java);

	th_thread_log_bytes(false);
	th_mapping_log_use();
	th_recorder_refresh();
	if (vm && vm->flush)
		vm->flush();
}

void
th_control_reset(void)
{
	java = NULL;
}

/* Requests */

static void
log_text_change(uint64_t now, const char *setting, uint64_t value, const char *text)
{
	struct th_event_control event = {.time = now, .value = value};
	struct th_log_part parts[] = {th_log_text(setting), th_log_text(text)};

	th_log_append(TH_EVENT_CONTROL, &event, parts, 2);
}

static void
log_change(uint64_t now, const char *setting, uint64_t value)
{
	log_text_change(now, setting, value, NULL);
}

/* The rate */

static enum th_control_answer
set_interval(uint64_t now, uint64_t interval)
{
	if (interval > TH_INTERVAL_MAX)
		return TH_CONTROL_REFUSED;
	th_throttle_set_interval(interval);
	th_store_relaxed(&th_log_header()->interval, interval);
	log_change(now, "interval", interval);
	return TH_CONTROL_DONE;
}

static enum th_control_answer
set_rate(uint64_t now, uint64_t target)
{
	if (target > TH_CONTROL_RATE_MAX)
		return TH_CONTROL_REFUSED;
	th_throttle_set_rate(target);
	th_store_relaxed(&th_log_header()->rate, target);
	log_change(now, "rate", target);
	return TH_CONTROL_DONE;
}

/* What is sampled */

void
th_control_set_java(const struct th_control_java *provider)
{
	th_store_release(&java, provider);
}

void
th_control_log(const char *setting, uint64_t value)
{
	log_change(th_clock_now(), setting, value);
}

void
th_control_show_java(bool is_elsewhere)
{
	struct th_log_header *header = th_log_header();

	if (header)
		th_store_relaxed(&header->java_elsewhere, is_elsewhere);
}

/* Applies the settings to the Java heap's sampler and all byte counts. */
static enum th_control_answer
follow_settings(void)
{
	const struct th_control_java *vm = th_load_acquire(&java);
	bool is_ours = !vm || !vm->switch_sampling ||
		       vm->switch_sampling(th_admission_wants(TH_HEAP_JAVA));

	th_admission_review();
	return is_ours ? TH_CONTROL_DONE : TH_CONTROL_NO_JAVA;
}

static enum th_control_answer
set_paused(uint64_t now, bool is_paused)
{
	th_admission_set_paused(is_paused);
	enum th_control_answer answer = follow_settings();
	th_store_relaxed(&th_log_header()->paused, is_paused);
	log_change(now, "paused", is_paused);
	return answer;
}

static enum th_control_answer
set_heaps(uint64_t now, uint64_t heaps)
{
	if (!heaps || heaps & ~(uint64_t)TH_HEAPS_ALL)
		return TH_CONTROL_REFUSED;
	if (heaps & ~(uint64_t)seen_heaps)
		return TH_CONTROL_UNSEEN;
	th_admission_set_heaps((uint32_t)heaps);
	enum th_control_answer answer = follow_settings();
	th_store_relaxed(&th_log_header()->heaps, (uint32_t)heaps);
	log_text_change(now, "heaps", heaps, th_heaps_text((unsigned)heaps));
	return answer;
}

/* The name in the page, cut if it has no terminator. */
static void
copy_name(const struct th_log_control *control, char name[TH_CONTROL_NAME_MAX])
{
	memcpy(name, control->name, TH_CONTROL_NAME_MAX);
	name[TH_CONTROL_NAME_MAX - 1] = '\0';
}

void
th_control_open(uint32_t heaps)
{
	struct th_log_header *header = th_log_header();
	struct th_thread_record *record;

	if (!header)
		return;
	/* Closed, the counts of an earlier recording can be set to 0. */
	th_admission_review();
	for (record = th_thread_first(); record; record = th_thread_next(record)) {
		th_admission_restart(record, TH_HEAP_NATIVE);
		th_admission_restart(record, TH_HEAP_JAVA);
	}
	th_admission_set_heaps(heaps);
	th_admission_review();
	th_store_relaxed(&header->heaps, heaps);
}

void
th_control_close(uint32_t heaps)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	seen_heaps &= ~heaps;
	heaps = header->heaps & seen_heaps;
	th_admission_set_heaps(heaps);
	follow_settings();
	th_store_relaxed(&header->heaps, heaps);
	log_text_change(th_clock_now(), "heaps", heaps, th_heaps_text(heaps));
}

void
th_control_begin(uint32_t heaps, uint32_t seen)
{
	struct th_log_header *header = th_log_header();

	seen_heaps = seen;
	if (!header)
		return; /* a signal handler has forked meanwhile: this is the child */
	th_admission_init(heaps);
	header->heaps = heaps;
}

/* The rest */

static enum th_control_answer
set_mark(uint64_t now, const struct th_log_control *control)
{
	struct th_event_mark event = {.time = now};
	char name[TH_CONTROL_NAME_MAX];

	copy_name(control, name);
	struct th_log_part part = th_log_text(name);
	return name[0] && th_log_append(TH_EVENT_MARK, &event, &part, 1) ? TH_CONTROL_DONE
									 : TH_CONTROL_REFUSED;
}

/* Before a stop, too: everything known is written while the library still works. */
static enum th_control_answer
flush(uint64_t now, const char *verb)
{
	flush_all();
	log_change(now, verb, 0);
	return TH_CONTROL_DONE;
}

/* The breakdown of the following flush has about the same time. */
static enum th_control_answer
count_buffers(uint64_t now)
{
	const struct th_control_java *vm = th_load_acquire(&java);
	enum th_control_answer answer = vm ? vm->count_buffers() : TH_CONTROL_NO_VM;

	if (answer == TH_CONTROL_DONE)
		flush_all();
	log_change(now, "buffers", answer == TH_CONTROL_DONE);
	return answer;
}

static enum th_control_answer
set_ledger(uint64_t now, uint64_t interval)
{
	const struct th_control_java *vm = th_load_acquire(&java);
	enum th_control_answer answer;

	if (interval != TH_LEDGER_OFF && interval != TH_LEDGER_EXACT &&
		interval != TH_LEDGER_SAMPLED)
		return TH_CONTROL_REFUSED;
	answer = vm ? vm->switch_ledger(interval) : TH_CONTROL_NO_VM;
	if (answer == TH_CONTROL_DONE)
		log_change(now, "ledger", interval);
	return answer;
}

static void
show_cost(const struct th_holders_cost *cost)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	th_store_relaxed(&header->control.holders_pause_ns, cost->pause);
	th_store_relaxed(&header->control.holders_bytes, cost->memory);
	th_store_relaxed(&header->control.holders_heap, cost->heap);
}

static enum th_control_answer
find_holders(uint64_t now, const struct th_log_control *control)
{
	const struct th_control_java *vm = th_load_acquire(&java);
	uint64_t limits = th_load_relaxed(&control->value);
	struct th_holders_request request = {
		.pause_max = (limits & UINT32_MAX) * 1000000,
		.memory_max = (limits >> 32) << 20,
	};
	struct th_holders_cost cost = {.heap = 0};
	char name[TH_CONTROL_NAME_MAX];

	copy_name(control, name);
	request.is_estimate = !strcmp(name, TH_HOLDERS_ESTIMATE);
	enum th_control_answer answer = vm ? vm->find_holders(&request, &cost)
					   : TH_CONTROL_NO_VM;
	show_cost(&cost);
	if (!request.is_estimate)
		log_change(now, "holders", answer == TH_CONTROL_DONE);
	return answer;
}

static enum th_control_answer
collect(void)
{
	const struct th_control_java *vm = th_load_acquire(&java);
	enum th_control_answer answer = vm ? vm->collect() : TH_CONTROL_NO_VM;
	uint64_t now = th_clock_now();

	if (!vm)
		return answer;
	flush_all();
	log_change(now, "gc", answer == TH_CONTROL_DONE);
	return answer;
}

static enum th_control_answer
serve(uint64_t now, uint32_t verb, const struct th_log_control *control)
{
	switch (verb) {
	case TH_CONTROL_INTERVAL:
		return set_interval(now, th_load_relaxed(&control->value));
	case TH_CONTROL_RATE:
		return set_rate(now, th_load_relaxed(&control->value));
	case TH_CONTROL_MARK:
		return set_mark(now, control);
	case TH_CONTROL_FLUSH:
		return flush(now, "flush");
	case TH_CONTROL_PAUSE:
		return set_paused(now, true);
	case TH_CONTROL_RESUME:
		return set_paused(now, false);
	case TH_CONTROL_HEAPS:
		return set_heaps(now, th_load_relaxed(&control->value));
	case TH_CONTROL_STOP:
		return flush(now, "stop");
	case TH_CONTROL_BUFFERS:
		return count_buffers(now);
	case TH_CONTROL_COLLECT:
		return collect();
	case TH_CONTROL_LEDGER:
		return set_ledger(now, th_load_relaxed(&control->value));
	case TH_CONTROL_HOLDERS:
		return find_holders(now, control);
	default:
		return TH_CONTROL_UNKNOWN;
	}
}

/* True: the recording is to end. */
static bool
serve_request(uint64_t now, struct th_log_control *control, uint32_t asked)
{
	uint32_t verb = th_load_relaxed(&control->verb);

	th_store_relaxed(&control->answer, serve(now, verb, control));
	/* Orders the answer before it; pairs with the reads of the requester. */
	th_store_release(&control->served, asked);
	return verb == TH_CONTROL_STOP;
}

bool
th_control_poll(uint64_t now)
{
	struct th_log_header *header = th_log_header();
	bool ends = false;

	if (!header)
		return false;
	struct th_log_control *control = &header->control;
	/* Pairs with the order in which a request is written: its data first. */
	uint32_t asked = th_load_acquire(&control->asked);
	/*
	 * A child of vfork() shares this memory and may allocate; its parent has not returned
	 * from vfork() yet.
	 */
	if (asked != th_load_relaxed(&control->served) && th_log_is_owner()) {
		/* Lets the requester continue to wait. */
		th_store_relaxed(&control->begun, asked);
		ends = serve_request(now, control, asked);
	}
	th_throttle_show(control);
	th_store_relaxed(&control->looked, now);
	return ends;
}
