/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `holders` of ctl: two requests, of which the first one only estimates, so that the user
 * learns of the pause before it begins. With --class and --finding others come between them that select
 * the objects of which the walk finds the holders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/log_text.h"
#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/holders/holders.h"
#include "unify/shared/size.h"

/* Longest pause and largest memory without options. */
#define PAUSE_DEFAULT_MS 2000
#define MEMORY_DEFAULT_MIB 1024
#define PAUSE_MAX_MS 3600000.0

struct plan {
	uint32_t pause_ms;
	uint32_t memory_mib;
	const char *option; /* --class or --finding; NULL = neither */
	const char *value;
};

static struct th_error *
bad_value(const char *option, const char *value, const char *expected)
{
	return th_error_create(
		TH_ERROR_USAGE, "ctl: holders %s %s: expected %s", option, value, expected);
}

/* "1.5", "1.5s" or "300ms" */
static bool
read_time(const char *text, uint32_t *ms_ret)
{
	char *end;
	double value = strtod(text, &end);
	bool is_ms = !strcmp(end, "ms");
	bool is_valid = end != text && (is_ms || !*end || !strcmp(end, "s"));

	value *= is_ms ? 1 : 1000;
	if (!is_valid || !(value >= 1) || value > PAUSE_MAX_MS)
		return false;
	*ms_ret = (uint32_t)value;
	return true;
}

static bool
read_memory(const char *text, uint32_t *mib_ret)
{
	uint64_t bytes;

	if (!th_size_parse(text, &bytes) || bytes < 1 << 20 || bytes >> 20 > UINT32_MAX)
		return false;
	*mib_ret = (uint32_t)(bytes >> 20);
	return true;
}

static struct th_error *
read_selection(struct plan *plan, const char *option, const char *value)
{
	if (plan->option)
		return th_error_create(TH_ERROR_USAGE,
			"ctl: holders: %s and %s exclude each other", plan->option, option);
	if (!strcmp(option, "--finding") &&
		(atoi(value) < 1 || strspn(value, "0123456789") != strlen(value)))
		return bad_value(option, value, "the number of a finding, from 1");
	plan->option = option;
	plan->value = value;
	return NULL;
}

static struct th_error *
read_option(struct plan *plan, const char *option, const char *value)
{
	if (!strcmp(option, "--class") || !strcmp(option, "--finding"))
		return read_selection(plan, option, value);
	if (!strcmp(option, "--max-pause"))
		return read_time(value, &plan->pause_ms)
			       ? NULL
			       : bad_value(option, value, "a time such as 500ms or 2s");
	if (!strcmp(option, "--max-memory"))
		return read_memory(value, &plan->memory_mib)
			       ? NULL
			       : bad_value(option, value, "a size of at least 1M");
	return th_error_create(TH_ERROR_USAGE, "ctl: holders: unknown option %s", option);
}

/* Options are "--name value" or "--name=value". */
static struct th_error *
read_options(struct plan *plan, int count, char **arguments)
{
	struct th_error *error = NULL;

	for (int i = 0; i < count && !error; i++) {
		char *equals = strchr(arguments[i], '=');
		const char *value = equals          ? equals + 1
				    : i + 1 < count ? arguments[i + 1]
						    : NULL;

		if (equals)
			*equals = '\0';
		if (!value)
			error = th_error_create(
				TH_ERROR_USAGE, "ctl: holders: %s needs a value", arguments[i]);
		else
			error = read_option(plan, arguments[i], value);
		i += !equals;
	}
	return error;
}

/* Messages */

static struct th_error *
refuse_pause(const struct th_target *target, const struct plan *plan, const char *verb)
{
	const struct th_log_control *control = &target->header.control;

	return th_error_create(TH_ERROR_REFUSED,
		"%s: holders %s the VM for %s, %s of Java heap are in use; --max-pause is %s",
		target->path, verb,
		th_format_pause((double)control->holders_pause_ns / 1e9).text,
		th_format_number((double)control->holders_heap, TH_UNIT_BYTES).text,
		th_format_pause(plan->pause_ms / 1e3).text);
}

static struct th_error *
refuse_memory(const struct th_target *target, const struct plan *plan)
{
	return th_error_create(TH_ERROR_REFUSED,
		"%s: holders needs about %s; --max-memory is %s, and at most half of the free "
		"memory is used",
		target->path,
		th_format_number((double)target->header.control.holders_bytes, TH_UNIT_BYTES)
			.text,
		th_format_number((double)plan->memory_mib * (1 << 20), TH_UNIT_BYTES).text);
}

/* What the answer means; th_request_ask() has explained the others. */
static struct th_error *
check(const struct th_target *target, const struct plan *plan, bool is_walk,
	struct th_error *error)
{
	uint32_t answer = target->header.control.answer;

	if (!error || (answer != TH_CONTROL_TOO_LONG && answer != TH_CONTROL_TOO_LARGE))
		return error;
	th_error_destroy(error);
	if (answer == TH_CONTROL_TOO_LARGE)
		return refuse_memory(target, plan);
	return refuse_pause(target, plan, is_walk ? "without result stopped" : "would stop");
}

static struct th_error *
ask(struct th_target *target, const struct plan *plan, const char *name)
{
	const struct th_request request = {.verb = TH_CONTROL_HOLDERS,
		.value = th_holder_limits(plan->pause_ms, plan->memory_mib),
		.name = name};

	return check(target, plan, !name || !strcmp(name, TH_HOLDERS_SELECTED),
		th_request_ask(target, &request));
}

/* Submits what the walk is limited to. */
static struct th_error *
send_selection(struct th_target *target, const uint64_t *items, size_t count)
{
	struct th_error *error = NULL;

	for (size_t i = 0; i < count && !error; i++) {
		const struct th_request request = {.verb = TH_CONTROL_HOLDERS_OF,
			.value = items[i],
			.name = i ? "" : TH_HOLDERS_FIRST};

		error = th_request_ask(target, &request);
	}
	return error;
}

static void
select_held(const struct th_options *options, const struct th_recording *recording,
	const struct plan *plan, struct th_selection *ret)
{
	struct th_profile *profile = th_profile_create(recording, options, NULL, NULL);
	struct th_leaks found;

	th_leaks_init(&found, profile);
	if (!strcmp(plan->option, "--class"))
		th_selection_of_class(ret, &found, plan->value);
	else
		th_selection_of_finding(ret, &found, strtoull(plan->value, NULL, 10));
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
}

/* Reads from the log what the walk is limited to, and submits it. */
static struct th_error *
select_objects(struct th_target *target, const char *target_text, const struct plan *plan)
{
	struct th_selection selection = {.items = NULL};
	struct th_recording *recording;
	struct th_options options;

	th_options_set_defaults(&options);
	struct th_error *error = th_request_current_log(target_text, &options.input);
	if (!error)
		error = th_input_load(&options, &recording);
	if (!error) {
		select_held(&options, recording, plan, &selection);
		th_recording_destroy(recording);
	}
	if (!error && !selection.items_count)
		error = th_error_create(TH_ERROR_USAGE,
			"%s: holders: there are no sampled Java objects of %s %s", target->path,
			plan->option + 2, plan->value);
	if (!error)
		error = send_selection(target, selection.items, selection.items_count);
	free(selection.items);
	th_options_deinit(&options);
	return error;
}

static struct th_error *
check_estimate(const struct th_target *target, const struct plan *plan)
{
	const struct th_log_control *control = &target->header.control;

	if (control->holders_pause_ns > plan->pause_ms * UINT64_C(1000000))
		return refuse_pause(target, plan, "would stop");
	if (control->holders_bytes > (uint64_t)plan->memory_mib << 20)
		return refuse_memory(target, plan);
	th_notice("stops the VM for about %s: %s of Java heap are in use",
		th_format_pause((double)control->holders_pause_ns / 1e9).text,
		th_format_number((double)control->holders_heap, TH_UNIT_BYTES).text);
	return NULL;
}

static void
print_result(const struct th_target *target, const char *target_text, const struct plan *plan)
{
	printf("stopped the VM for %s; twinheap holders ",
		th_format_pause((double)target->header.control.holders_pause_ns / 1e9).text);
	if (plan->option)
		printf("%s ", plan->option);
	if (plan->option) {
		th_text_print(stdout, plan->value);
		putchar(' ');
	}
	th_text_print(stdout, target_text);
	puts(" shows the result");
}

struct th_error *
th_ctl_holders(struct th_target *target, const char *target_text, int count, char **arguments,
	bool is_json)
{
	struct plan plan = {.pause_ms = PAUSE_DEFAULT_MS, .memory_mib = MEMORY_DEFAULT_MIB};
	struct th_error *error = read_options(&plan, count, arguments);

	if (!error)
		error = th_target_open(target_text, true, target);
	if (!error)
		error = ask(target, &plan, TH_HOLDERS_ESTIMATE);
	if (!error)
		error = check_estimate(target, &plan);
	if (!error && plan.option)
		error = select_objects(target, target_text, &plan);
	if (!error)
		error = ask(target, &plan, plan.option ? TH_HOLDERS_SELECTED : NULL);
	if (!error && !is_json)
		print_result(target, target_text, &plan);
	return error;
}
