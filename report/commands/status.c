/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a recording, from the header of its log alone: whether it is under way, what is
 * sampled, its settings, and the load of the last second.
 */
#include "report/base/line.h"
#include "report/commands/commands.h"
#include "report/control/running.h"
#include "report/profile/values.h"
#include "report/views/parts.h"
#include "unify/shared/clock.h"

static bool
is_over(const struct th_log_header *header)
{
	return header->state == TH_LOG_COMPLETE || !th_running_is_alive(header);
}

/* For a recording that is over: until the library last updated its log. */
static double
seconds_recorded(const struct th_log_header *header)
{
	uint64_t end = is_over(header) ? header->control.looked : th_clock_now();

	return end > header->start_monotonic ? (double)(end - header->start_monotonic) / 1e9
					     : 0;
}

uint64_t
th_status_samples(const struct th_log_header *header)
{
	return header->counters[TH_COUNTER_NATIVE_SAMPLES] +
	       header->counters[TH_COUNTER_JAVA_SAMPLES] +
	       header->counters[TH_COUNTER_MAPPED_SAMPLES];
}

static const char *
state_of(const struct th_log_header *header)
{
	if (header->state == TH_LOG_COMPLETE)
		return "complete";
	if (!th_running_is_alive(header))
		return "ended";
	return header->paused ? "paused" : "recording";
}

static const char *
heaps_of(const struct th_log_header *header)
{
	/* By the bits of java, native and mapped. */
	static const char *const texts[] = {"no heap", "the Java heap", "the C heap",
		"the Java and the C heap", "mapped memory", "the Java heap and mapped memory",
		"the C heap and mapped memory", "all heaps"};

	return texts[header->heaps >> TH_HEAP_JAVA & 7];
}

/* The configured interval before a limit has changed it. */
static uint64_t
interval_of(const struct th_log_header *header)
{
	return header->control.looked ? header->control.interval : header->interval;
}

static const char *
interval_text(const struct th_log_header *header)
{
	uint64_t interval = interval_of(header);
	const char *text = interval ? th_printed("one sample per {b}", interval)
				    : "every allocation";

	return interval == header->interval
		       ? text
		       : th_printed("{} of the C heap, at the current load", text);
}

static const char *
limit_text(const struct th_log_header *header)
{
	const char *overhead = th_text_format(
		"%g %% of the CPU time", (double)header->overhead / 1e4);
	const char *rate = th_printed("{c} samples per second", header->rate);

	if (header->overhead && header->rate)
		return th_printed("limit {}, {}", overhead, rate);
	return header->overhead ? th_printed("limit {}", overhead)
	       : header->rate   ? th_printed("limit {}", rate)
				: "rate unlimited";
}

static int
pid_of(const struct th_log_header *header)
{
	pid_t pid = th_running_writer(header);

	return pid ? (int)pid : (int)header->pid;
}

/* Older values do not describe the present. */
static bool
has_load(const struct th_log_header *header)
{
	return !is_over(header) && header->control.looked + TH_NS_PER_S > th_clock_now();
}

void
th_status_print(const struct th_target *target)
{
	const struct th_log_header *header = &target->header;
	bool over = is_over(header);
	struct th_text log = th_text_of(target->path);

	th_print(stdout,
		"pid {}, {}, log {}\nrecorded {s}, {c} samples, {b}\n{} {}{}\ninterval {}\n{}",
		pid_of(header), state_of(header), log, seconds_recorded(header),
		th_status_samples(header), header->tail, over ? "sampled" : "samples",
		heaps_of(header),
		header->java_elsewhere ? "; another agent samples the Java heap" : "",
		interval_text(header), limit_text(header));
	if (over)
		th_print(stdout, "\nnext:  twinheap summary {}\n", log);
	else
		th_print(stdout, "; {c} samples in the last second\n",
			has_load(header) ? header->control.due : 0);
}

void
th_status_print_json(const struct th_target *target)
{
	const struct th_log_header *header = &target->header;
	double share = (double)header->overhead / 1e6;

	th_json_print(stdout,
		th_json("twinheap pid state log recorded_s samples log_bytes heaps "
			"java_elsewhere interval_bytes limits last_second",
			1, pid_of(header), state_of(header), th_text_of(target->path),
			seconds_recorded(header), th_status_samples(header), header->tail,
			th_json_heap_names(header->heaps), (bool)header->java_elsewhere,
			th_json("configured current", header->interval, interval_of(header)),
			th_json("cpu_share samples_per_second?",
				share > 0 ? json_real(share) : NULL, header->rate),
			has_load(header) ? th_json("samples", header->control.due) : NULL));
}
