/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `ctl`.  A command is parsed into a request before the log is opened; request.c submits
 * it, running.c finds the recording.
 */
#include "report/commands/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/line.h"
#include "report/base/nearest.h"
#include "report/control/request.h"
#include "report/control/running.h"
#include "report/profile/values.h"
#include "report/views/parts.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"
#include "unify/shared/size.h"

const char th_ctl_details[] =
	"  status            shows its state (the default)\n"
	"  pause             stops sampling; allocations during the pause are not counted\n"
	"  resume            continues sampling\n"
	"  heaps " TH_HEAPS_WORDS "\n"
	"                    samples only these heaps; java,mapped for several\n"
	"  interval BYTES    mean bytes between two samples, in each heap; 0 samples\n"
	"                    every allocation. A limit of the CPU time or of the rate may\n"
	"                    raise it\n"
	"  rate N            maximum samples per second, all heaps together; 0 = no limit\n"
	"                    but that of the CPU time, if there is one\n"
	"  mark NAME         names the current time, for --from mark:NAME\n"
	"  flush             writes to the log what is otherwise written once a second\n"
	"  buffers           counts the unreachable direct and mapped buffers that wait\n"
	"                    for their Cleaner; `rss` shows them. Stops the VM for about\n"
	"                    one second per 10 million live objects\n"
	"  gc                full collection of the Java heap, after which `leaks` knows\n"
	"                    which old objects are alive; the program stands still\n"
	"                    meanwhile, as at System.gc()\n"
	"  ledger on|off|exact\n"
	"                    follows what native code takes from the Java VM and does not\n"
	"                    give back; `ledger` and `leaks` show it. on records the\n"
	"                    first calls of a caller and a part of the others, exact all\n"
	"  holders [OPTIONS] finds what holds the sampled Java objects alive, for\n"
	"                    `holders` and `leaks`: static fields, JNI references, thread\n"
	"                    locals, ... One walk of the Java heap, while the program\n"
	"                    stands still; prints an estimate first\n"
	"  stop              ends the recording, which cannot be resumed; the process\n"
	"                    continues\n"
	"\n"
	"As JSON it prints the state after any command.\n"
	"Any process with write access to the log can submit requests. All requests are\n"
	"recorded in the log.\n"
	"Exit status 4: the process cannot do it, for example because malloc does not\n"
	"reach the library, or because there is no Java VM.\n";

/* Command line */

/* Each function parses the value of a command; false: invalid. */

static bool
read_interval(const char *value, struct th_request *request)
{
	return th_size_parse(value, &request->value) && request->value <= INT32_MAX;
}

static bool
read_rate(const char *value, struct th_request *request)
{
	request->value = strtoull(value, NULL, 10);
	return th_text_is_number(value) && request->value <= 1000000;
}

static bool
read_name(const char *value, struct th_request *request)
{
	request->name = value;
	return value[0] && strlen(value) < TH_CONTROL_NAME_MAX;
}

static bool
read_heaps(const char *value, struct th_request *request)
{
	unsigned heaps = 0;
	bool is_valid = th_heaps_parse(value, &heaps);

	request->value = heaps;
	return is_valid;
}

static bool
read_ledger(const char *value, struct th_request *request)
{
	request->value = !strcmp(value, "exact") ? TH_LEDGER_EXACT
			 : !strcmp(value, "on")  ? TH_LEDGER_SAMPLED
						 : TH_LEDGER_OFF;
	return request->value || !strcmp(value, "off");
}

struct command {
	const char *name;
	enum th_control_verb verb;
	bool (*read)(const char *value, struct th_request *request); /* NULL: takes no value */
	const char *expected;
};

static const struct command commands[] = {
	{"interval", TH_CONTROL_INTERVAL, read_interval, "a size up to 2147483647"},
	{"rate", TH_CONTROL_RATE, read_rate, "a number up to 1000000"},
	{"mark", TH_CONTROL_MARK, read_name, "a name of 1 to 63 bytes"},
	{"flush", TH_CONTROL_FLUSH, NULL, ""},
	{"buffers", TH_CONTROL_BUFFERS, NULL, ""},
	{"gc", TH_CONTROL_COLLECT, NULL, ""},
	{"ledger", TH_CONTROL_LEDGER, read_ledger, "on, off or exact"},
	{"pause", TH_CONTROL_PAUSE, NULL, ""},
	{"resume", TH_CONTROL_RESUME, NULL, ""},
	{"heaps", TH_CONTROL_HEAPS, read_heaps,
		"all, both, java, native, mapped, or several, separated by commas"},
	{"stop", TH_CONTROL_STOP, NULL, ""},
};

static struct th_error *
find_command(const char *name, const struct command **ret)
{
	struct th_nearest nearest;

	th_nearest_init(&nearest, name);
	th_nearest_offer(&nearest, "status");
	th_nearest_offer(&nearest, "holders");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		*ret = &commands[i];
		if (!strcmp(commands[i].name, name))
			return NULL;
		th_nearest_offer(&nearest, commands[i].name);
	}
	return th_error_create(TH_ERROR_USAGE, "ctl: %s: no such command%s", name,
		th_nearest_text(&nearest, "", "ctl"));
}

/* Parses a command into a request; `value` is NULL if there is none. */
static struct th_error *
parse_request(const char *name, const char *value, struct th_request *ret)
{
	const struct command *command;
	struct th_error *error = find_command(name, &command);

	if (error)
		return error;
	*ret = (struct th_request){.verb = command->verb};
	if (!command->read)
		return value ? th_error_create(TH_ERROR_USAGE, "ctl: %s takes no value", name)
			     : NULL;
	if (!value)
		return th_error_create(
			TH_ERROR_USAGE, "ctl: %s: expected %s", name, command->expected);
	return command->read(value, ret)
		       ? NULL
		       : th_error_create(TH_ERROR_USAGE, "ctl: %s %s: expected %s", name, value,
				 command->expected);
}

/* The state of a recording, from the header of its log alone */

static bool
is_over(const struct th_log_header *header)
{
	return header->state == TH_LOG_COMPLETE || !th_running_is_alive(header);
}

double
th_status_seconds(const struct th_log_header *header)
{
	uint64_t end = is_over(header) ? header->control.looked : th_clock_now();

	return end > header->start_monotonic ? (double)(end - header->start_monotonic) / 1e9
					     : 0;
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

static void
print_status(const struct th_target *target)
{
	const struct th_log_header *header = &target->header;
	bool over = is_over(header);
	struct th_text log = th_text_of(target->path);

	th_print(stdout,
		"pid {}, {}, log {}\nrecorded {s}, {c} samples, {b}\n{} {}{}\ninterval {}\n{}",
		pid_of(header), state_of(header), log, th_status_seconds(header),
		th_running_samples(header), header->tail, over ? "sampled" : "samples",
		heaps_of(header),
		header->java_elsewhere ? "; another agent samples the Java heap" : "",
		interval_text(header), limit_text(header));
	if (over)
		th_print(stdout, "\nnext:  twinheap summary {}\n", log);
	else
		th_print(stdout, "; {c} samples in the last second\n",
			has_load(header) ? header->control.due : 0);
}

static void
print_status_json(const struct th_target *target)
{
	const struct th_log_header *header = &target->header;
	double share = (double)header->overhead / 1e6;

	th_json_print(stdout,
		th_json("twinheap pid state log recorded_s samples log_bytes heaps "
			"java_elsewhere interval_bytes limits last_second",
			1, pid_of(header), state_of(header), th_text_of(target->path),
			th_status_seconds(header), th_running_samples(header), header->tail,
			th_json_heap_names(header->heaps), (bool)header->java_elsewhere,
			th_json("configured current", header->interval, interval_of(header)),
			th_json("cpu_share samples_per_second?",
				share > 0 ? json_real(share) : NULL, header->rate),
			has_load(header) ? th_json("samples", header->control.due) : NULL));
}

/* The command `holders` */

/*
 * Two requests, of which the first one only estimates, so that the user learns of the pause before it
 * begins.
 */

/* Longest pause and largest memory without options. */
#define PAUSE_DEFAULT_MS 2000
#define MEMORY_DEFAULT_MIB 1024

static uint32_t
pause_of(const struct th_options *options)
{
	return options->max_pause_ms ? options->max_pause_ms : PAUSE_DEFAULT_MS;
}

static uint32_t
memory_of(const struct th_options *options)
{
	return options->max_memory_mib ? options->max_memory_mib : MEMORY_DEFAULT_MIB;
}

/* Messages */

static struct th_error *
refuse_pause(const struct th_target *target, const struct th_options *options, const char *verb)
{
	const struct th_log_control *control = &target->header.control;

	return th_error_create(TH_ERROR_REFUSED, "%s: holders %s", target->path,
		th_printed("{} the VM for {p}, {b} of Java heap are in use; --max-pause is {p}",
			verb, (double)control->holders_pause_ns / 1e9, control->holders_heap,
			pause_of(options) / 1e3));
}

static struct th_error *
refuse_memory(const struct th_target *target, const struct th_options *options)
{
	return th_error_create(TH_ERROR_REFUSED, "%s: holders %s", target->path,
		th_printed("needs about {b}; --max-memory is {b}, and at most half of the free "
			   "memory is used",
			target->header.control.holders_bytes,
			(uint64_t)memory_of(options) << 20));
}

/* An estimate, or the walk, which has answers of its own; th_request_ask() explains the others. */
static struct th_error *
ask(struct th_target *target, const struct th_options *options, const char *name)
{
	const struct th_request request = {.verb = TH_CONTROL_HOLDERS,
		.value = th_holder_limits(pause_of(options), memory_of(options)),
		.name = name};
	struct th_error *error = th_request_ask(target, &request);
	uint32_t answer = target->header.control.answer;

	if (!error || (answer != TH_CONTROL_TOO_LONG && answer != TH_CONTROL_TOO_LARGE))
		return error;
	th_error_destroy(error);
	return answer == TH_CONTROL_TOO_LARGE
		       ? refuse_memory(target, options)
		       : refuse_pause(target, options, "without result stopped");
}

static struct th_error *
check_estimate(const struct th_target *target, const struct th_options *options)
{
	const struct th_log_control *control = &target->header.control;

	if (control->holders_pause_ns > pause_of(options) * UINT64_C(1000000))
		return refuse_pause(target, options, "would stop");
	if (control->holders_bytes > (uint64_t)memory_of(options) << 20)
		return refuse_memory(target, options);
	th_notice(
		"%s", th_printed("stops the VM for about {p}: {b} of Java heap are in use",
			      (double)control->holders_pause_ns / 1e9, control->holders_heap));
	return NULL;
}

/* TH_ERROR_REFUSED if it would cost more than allowed. */
static struct th_error *
ask_for_holders(struct th_target *target, const struct th_options *options)
{
	struct th_error *error = th_target_open(options->log, true, target);

	if (!error)
		error = ask(target, options, TH_HOLDERS_ESTIMATE);
	if (!error)
		error = check_estimate(target, options);
	if (!error)
		error = ask(target, options, NULL);
	if (!error && options->format != TH_OUTPUT_JSON)
		th_print(stdout,
			"stopped the VM for {p}; twinheap holders {} shows the result\n",
			(double)target->header.control.holders_pause_ns / 1e9,
			th_text_of(options->log));
	return error;
}

/* The command */

/* The command that shows the result of a request. */
static void
print_next(enum th_control_verb verb, const char *target)
{
	if (verb != TH_CONTROL_BUFFERS && verb != TH_CONTROL_COLLECT)
		return;
	th_print(stdout, "{} {} shows the result\n",
		verb == TH_CONTROL_BUFFERS ? "counted; twinheap rss"
					   : "collected; twinheap leaks",
		th_text_of(target));
}

struct th_error *
th_command_ctl(const struct th_options *options)
{
	const char *command = options->logs_count > 1 ? options->logs[1] : "status";
	const char *value = options->logs_count > 2 ? options->logs[2] : NULL;
	bool is_status = !strcmp(command, "status") && !value;
	bool is_holders = !strcmp(command, "holders");
	struct th_request request;
	struct th_target target = {.descriptor = -1};
	struct th_error *error = NULL;

	if (options->logs_count > (is_holders ? 2 : 3))
		return th_error_create(TH_ERROR_USAGE,
			"ctl: expected PID|LOG, a command and its value, see twinheap ctl "
			"--help");
	if (!is_holders && (options->max_pause_ms || options->max_memory_mib))
		return th_error_create(
			TH_ERROR_USAGE, "ctl: %s takes no options of holders", command);
	if (!is_status && !is_holders)
		error = parse_request(command, value, &request);
	if (is_holders)
		error = ask_for_holders(&target, options);
	else if (!error)
		error = th_target_open(options->log, !is_status, &target);
	if (!error && !is_status && !is_holders)
		error = th_request_ask(&target, &request);
	if (!error && options->format == TH_OUTPUT_JSON)
		print_status_json(&target);
	else if (!error && is_status)
		print_status(&target);
	else if (!error && !is_holders)
		print_next(request.verb, options->log);
	th_target_close(&target);
	return error;
}
