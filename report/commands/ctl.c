/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command line of `ctl`.  A command is parsed into a request before the log is opened; request.c
 * submits it, running.c finds the recording, status.c prints its state.
 */
#include "report/commands/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/nearest.h"
#include "report/control/request.h"
#include "report/profile/values.h"
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

static struct th_error *
bad_value(const char *command, const char *value, const char *expected)
{
	return th_error_create(
		TH_ERROR_USAGE, "ctl: %s %s: expected %s", command, value, expected);
}

/* Each function parses the value of a command; false: invalid. */

static bool
read_interval(const char *value, struct th_request *request)
{
	return th_size_parse(value, &request->value) && request->value <= INT32_MAX;
}

/* At most this many digits, so the number cannot overflow. */
static bool
is_number(const char *text)
{
	return text[0] && strlen(text) < 10 && text[strspn(text, "0123456789")] == '\0';
}

static bool
read_rate(const char *value, struct th_request *request)
{
	request->value = strtoull(value, NULL, 10);
	return is_number(value) && request->value <= 1000000;
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
	unsigned heaps;

	if (!th_heaps_parse(value, &heaps))
		return false;
	request->value = heaps;
	return true;
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

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static struct th_error *
unknown_command(const char *name)
{
	struct th_nearest nearest;

	th_nearest_init(&nearest, name);
	th_nearest_offer(&nearest, "status");
	th_nearest_offer(&nearest, "holders");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		th_nearest_offer(&nearest, commands[i].name);
	return th_error_create(TH_ERROR_USAGE, "ctl: %s: no such command%s", name,
		th_nearest_text(&nearest, "", "ctl"));
}

/* Parses a command into a request; `value` is NULL if there is none. */
static struct th_error *
parse_request(const char *name, const char *value, struct th_request *ret)
{
	const struct command *command = find_command(name);

	if (!command)
		return unknown_command(name);
	*ret = (struct th_request){.verb = command->verb};
	if (!command->read)
		return value ? th_error_create(TH_ERROR_USAGE, "ctl: %s takes no value", name)
			     : NULL;
	if (!value)
		return th_error_create(
			TH_ERROR_USAGE, "ctl: %s: expected %s", name, command->expected);
	return command->read(value, ret) ? NULL : bad_value(name, value, command->expected);
}

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

/* Whether an option of the command `holders` is given. */
static bool
limits_holders(const struct th_options *options)
{
	return options->held_class || options->finding || options->max_pause_ms ||
	       options->max_memory_mib;
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
	if (!is_holders && limits_holders(options))
		return th_error_create(
			TH_ERROR_USAGE, "ctl: %s takes no options of holders", command);
	if (!is_status && !is_holders)
		error = parse_request(command, value, &request);
	if (is_holders)
		error = th_ctl_holders(&target, options);
	else if (!error)
		error = th_target_open(options->log, !is_status, &target);
	if (!error && !is_status && !is_holders)
		error = th_request_ask(&target, &request);
	if (!error && options->format == TH_OUTPUT_JSON)
		th_status_print_json(&target);
	else if (!error && is_status)
		th_status_print(&target);
	else if (!error && !is_holders)
		print_next(request.verb, options->log);
	th_target_close(&target);
	return error;
}
