/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a recording, from the header of its log alone: whether it is under way, what is
 * sampled, its settings, and the load of the last second.
 */
#include "report/control/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/line.h"
#include "report/base/log_text.h"
#include "report/control/running.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"

/* Nanoseconds, for a recording of a year. */
#define REAL_DIGITS 16

json_t *
th_output_json_text(const char *text)
{
	return json_string(th_text_printable(th_text_of(text)));
}

void
th_output_json(json_t *value)
{
	if (!value ||
		json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(REAL_DIGITS)))
		th_out_of_memory();
	putchar('\n');
	json_decref(value);
}

/* The state */

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

static void
print_samples_of(const struct th_log_header *header)
{
	printf("%s %s", is_over(header) ? "sampled" : "samples", heaps_of(header));
	if (header->java_elsewhere)
		fputs("; another agent samples the Java heap", stdout);
	putchar('\n');
}

/* The configured interval before a limit has changed it. */
static uint64_t
interval_of(const struct th_log_header *header)
{
	return header->control.looked ? header->control.interval : header->interval;
}

static void
print_interval(const struct th_log_header *header)
{
	uint64_t interval = interval_of(header);

	if (interval)
		printf("interval one sample per %s",
			th_format_number((double)interval, TH_UNIT_BYTES).text);
	else
		printf("interval every allocation");
	if (interval != header->interval)
		printf(" of the C heap, at the current load");
}

static void
print_limit(const struct th_log_header *header)
{
	if (header->overhead)
		printf("\nlimit %g %% of the CPU time", (double)header->overhead / 1e4);
	if (header->rate)
		printf("%s%s samples per second", header->overhead ? ", " : "\nlimit ",
			th_format_count(header->rate).text);
	if (!header->overhead && !header->rate)
		printf("\nrate unlimited");
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

	printf("pid %d, %s, log ", pid_of(header), state_of(header));
	th_text_print(stdout, target->path);
	printf("\nrecorded %s, %s samples, %s\n",
		th_format_seconds(seconds_recorded(header)).text,
		th_format_count(th_status_samples(header)).text,
		th_format_number((double)header->tail, TH_UNIT_BYTES).text);
	print_samples_of(header);
	print_interval(header);
	print_limit(header);
	if (is_over(header)) {
		fputs("\nnext:  twinheap summary ", stdout);
		th_text_print(stdout, target->path);
		putchar('\n');
		return;
	}
	bool is_fresh = has_load(header);
	printf("; %s samples in the last second\n",
		th_format_count(is_fresh ? header->control.due : 0).text);
}

static json_t *
json_intervals(const struct th_log_header *header)
{
	return json_pack("{s:I, s:I}", "configured", (json_int_t)header->interval, "current",
		(json_int_t)interval_of(header));
}

/* null: no limit. */
static json_t *
json_limits(const struct th_log_header *header)
{
	return json_pack("{s:o, s:o}", "cpu_share",
		header->overhead ? json_real((double)header->overhead / 1e6) : json_null(),
		"samples_per_second",
		header->rate ? json_integer((json_int_t)header->rate) : json_null());
}

static json_t *
json_load(const struct th_log_header *header)
{
	if (!has_load(header))
		return json_null();
	return json_pack("{s:I}", "samples", (json_int_t)header->control.due);
}

json_t *
th_status_json_heaps(unsigned heaps)
{
	json_t *names = json_array();

	for (unsigned heap = 1; heap <= TH_HEAPS_ALL; heap <<= 1) {
		if (heaps & heap & TH_HEAPS_ALL)
			json_array_append_new(names, json_string(th_heaps_text(heap)));
	}
	return names;
}

void
th_status_print_json(const struct th_target *target)
{
	const struct th_log_header *header = &target->header;

	th_output_json(json_pack("{s:i, s:i, s:s, s:o, s:f, s:I, s:I, s:o, s:b, s:o, s:o, s:o}",
		"twinheap", 1, "pid", pid_of(header), "state", state_of(header), "log",
		th_output_json_text(target->path), "recorded_s", seconds_recorded(header),
		"samples", (json_int_t)th_status_samples(header), "log_bytes",
		(json_int_t)header->tail, "heaps", th_status_json_heaps(header->heaps),
		"java_elsewhere", header->java_elsewhere != 0, "interval_bytes",
		json_intervals(header), "limits", json_limits(header), "last_second",
		json_load(header)));
}
