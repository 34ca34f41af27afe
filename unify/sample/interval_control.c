/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/interval_control.h"

#include "unify/base/atomic.h"
#include "unify/shared/clock.h"

/*
 * Loads between these do not change the interval: every change costs the VM a call and each of
 * its threads a sample of the old interval.
 */
#define LOW 0.8
#define HIGH 1.25
/*
 * All intervals are the first one times a power of STEP, the root of 2: few different ones occur
 * in a recording, and its reader calibrates each by itself.  A raise leads into the middle of
 * the band.
 */
#define STEP 1.4142
#define MIDDLE 1.19
/* Maximum steps of a raise: a seemingly lasting load may end.  A decrease is by half. */
#define UP_MAX 6
/* Time with a low load before the interval is lowered. */
#define CALM_NS (2 * (uint64_t)TH_NS_PER_S)
/* The first interval above 0: smaller ones are no less expensive. */
#define FIRST 1024

static uint64_t
max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void
th_interval_control_init(struct th_interval_control *control, uint64_t value, uint64_t least)
{
	*control = (struct th_interval_control){
		.value = value, .unit = value ? value : FIRST, .least = least};
}

void
th_interval_control_set(struct th_interval_control *control, uint64_t value)
{
	control->least = value;
	control->unit = value ? value : FIRST;
	control->step = 0;
	control->calm_since = 0;
	th_store_relaxed(&control->value, value);
}

uint64_t
th_interval_control_value(const struct th_interval_control *control)
{
	return th_load_relaxed(&control->value);
}

/* Whether the load was low for long enough. */
static bool
is_calm(struct th_interval_control *control, uint64_t now)
{
	if (!control->calm_since)
		control->calm_since = now;
	if (now - control->calm_since < CALM_NS)
		return false;
	control->calm_since = 0;
	return true;
}

/* The interval `step` steps from the first. */
static uint64_t
value_of(const struct th_interval_control *control, int32_t step)
{
	int32_t octave = (step - (step & 1)) / 2;
	uint64_t whole = octave < 0 ? control->unit >> -octave : control->unit << octave;

	return step & 1 ? whole * 181 / 128 : whole;
}

static int32_t
steps_up(double load)
{
	int32_t steps = 0;

	for (; load > MIDDLE && steps < UP_MAX; steps++)
		load /= STEP;
	return steps;
}

/* The interval within the bounds; 0 stays 0 unless it is raised. */
static uint64_t
move(struct th_interval_control *control, int32_t steps, uint64_t floor)
{
	bool was_zero = !control->value;
	uint64_t interval;

	control->step += was_zero ? 0 : steps;
	while (value_of(control, control->step) > (uint64_t)TH_INTERVAL_CONTROL_MAX)
		control->step--;
	while (value_of(control, control->step) < floor)
		control->step++;
	interval = value_of(control, control->step);
	if (interval < FIRST && !control->least)
		control->step = 0;
	return interval < FIRST && !control->least
		       ? 0
		       : min(interval, (uint64_t)TH_INTERVAL_CONTROL_MAX);
}

void
th_interval_control_follow(
	struct th_interval_control *control, double load, uint64_t floor, uint64_t now)
{
	uint64_t interval = control->value;

	floor = min(max(floor, control->least), (uint64_t)TH_INTERVAL_CONTROL_MAX);
	if (load >= LOW)
		control->calm_since = 0;
	if (interval < floor && interval)
		interval = move(control, 0, floor);
	else if (load > HIGH)
		interval = move(control, steps_up(load), floor);
	else if (load < LOW && interval > floor && is_calm(control, now))
		interval = move(control, load < LOW * LOW ? -2 : -1, floor);
	if (interval != control->value)
		th_store_relaxed(&control->value, interval);
}
