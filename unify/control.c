/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page may be written by any process that may write the file, so nothing in it is trusted:
 * numbers are checked, the name is copied and cut before it is used.
 */
#include "unify/control.h"

#include <string.h>

#include "unify/atomic.h"
#include "unify/log.h"
#include "unify/thread.h"

static struct {
	struct th_spinlock lock; /* of adding */
	uint32_t count;          /* atomic */
	void (*hooks[TH_CONTROL_HOOKS_MAX])(void);
} flushing;

/* Flushing */

static bool
has_hook(void (*hook)(void))
{
	for (uint32_t i = 0; i < flushing.count; i++) {
		if (flushing.hooks[i] == hook)
			return true;
	}
	return false;
}

bool
th_control_on_flush(void (*hook)(void))
{
	bool has_room = false;

	if (!th_lock_bounded(&flushing.lock, 1u << 20))
		return false;
	if (has_hook(hook)) {
		has_room = true;
	} else if (flushing.count < TH_CONTROL_HOOKS_MAX) {
		flushing.hooks[flushing.count] = hook;
		/* Pairs with the acquire in th_control_flush(): the hook is there. */
		th_store_release(&flushing.count, flushing.count + 1);
		has_room = true;
	}
	th_unlock(&flushing.lock);
	return has_room;
}

void
th_control_flush(void)
{
	uint32_t count = th_load_acquire(&flushing.count);

	th_thread_log_bytes(false);
	for (uint32_t i = 0; i < count; i++)
		flushing.hooks[i]();
}

void
th_control_reset(void)
{
	flushing.count = 0;
	flushing.lock.held = 0;
}

/* Requests */

static void
log_change(uint64_t now, const char *setting, uint64_t value)
{
	struct th_event_control event = {.time = now, .value = value};
	struct th_log_part part = th_log_text(setting);

	th_log_append(TH_EVENT_CONTROL, &event, &part, 1);
}

static enum th_control_answer
set_interval(struct th_rate *rate, uint64_t now, uint64_t interval)
{
	if (interval > TH_CONTROL_INTERVAL_MAX)
		return TH_CONTROL_REFUSED;
	th_rate_set_interval(rate, interval);
	th_store_relaxed(&th_log_header()->interval, interval);
	log_change(now, "interval", interval);
	return TH_CONTROL_DONE;
}

static enum th_control_answer
set_rate(struct th_rate *rate, uint64_t now, uint64_t target)
{
	if (target > TH_CONTROL_RATE_MAX)
		return TH_CONTROL_REFUSED;
	th_rate_set_target(rate, target);
	th_store_relaxed(&th_log_header()->rate, target);
	log_change(now, "rate", target);
	return TH_CONTROL_DONE;
}

static enum th_control_answer
set_mark(uint64_t now, const struct th_log_control *control)
{
	struct th_event_mark event = {.time = now};
	char name[TH_CONTROL_NAME_MAX];

	memcpy(name, control->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	struct th_log_part part = th_log_text(name);
	return name[0] && th_log_append(TH_EVENT_MARK, &event, &part, 1) ? TH_CONTROL_DONE
									 : TH_CONTROL_REFUSED;
}

static enum th_control_answer
flush(uint64_t now)
{
	th_control_flush();
	log_change(now, "flush", 0);
	return TH_CONTROL_DONE;
}

static enum th_control_answer
serve(struct th_rate *rate, uint64_t now, const struct th_log_control *control)
{
	switch (th_load_relaxed(&control->verb)) {
	case TH_CONTROL_INTERVAL:
		return set_interval(rate, now, th_load_relaxed(&control->value));
	case TH_CONTROL_RATE:
		return set_rate(rate, now, th_load_relaxed(&control->value));
	case TH_CONTROL_MARK:
		return set_mark(now, control);
	case TH_CONTROL_FLUSH:
		return flush(now);
	default:
		return TH_CONTROL_UNKNOWN;
	}
}

static void
show(const struct th_rate *rate, uint64_t now, struct th_log_control *control)
{
	th_store_relaxed(&control->interval, th_rate_interval(rate));
	th_store_relaxed(&control->due, th_load_relaxed(&rate->second_population));
	th_store_relaxed(&control->kept, th_load_relaxed(&rate->second_kept));
	th_store_relaxed(&control->looked, now);
}

void
th_control_poll(struct th_rate *rate, uint64_t now)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	struct th_log_control *control = &header->control;
	/* Pairs with the order in which the request is written: what it says comes first. */
	uint32_t asked = th_load_acquire(&control->asked);
	if (asked != th_load_relaxed(&control->served)) {
		th_store_relaxed(&control->answer, serve(rate, now, control));
		/* Orders the answer before it; pairs with the reads of who asks. */
		th_store_release(&control->served, asked);
	}
	show(rate, now, control);
}
