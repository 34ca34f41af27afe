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
#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/holders/holders.h"
#include "report/profile/values.h"

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

static bool
has_selection(const struct th_options *options)
{
	return options->held_class || options->finding;
}

/* The option that selects objects, behind its dashes. */
static const char *
selection_text(const struct th_options *options)
{
	return options->held_class ? th_printed("class {}", options->held_class)
				   : th_printed("finding {}", options->finding);
}

/* Messages */

static struct th_error *
refuse_pause(const struct th_target *target, const struct th_options *options, const char *verb)
{
	const struct th_log_control *control = &target->header.control;

	return th_error_create(TH_ERROR_REFUSED,
		"%s: holders %s the VM for %s, %s of Java heap are in use; --max-pause is %s",
		target->path, verb,
		th_format_pause((double)control->holders_pause_ns / 1e9).text,
		th_format_number((double)control->holders_heap, TH_UNIT_BYTES).text,
		th_format_pause(pause_of(options) / 1e3).text);
}

static struct th_error *
refuse_memory(const struct th_target *target, const struct th_options *options)
{
	return th_error_create(TH_ERROR_REFUSED,
		"%s: holders needs about %s; --max-memory is %s, and at most half of the free "
		"memory is used",
		target->path,
		th_format_number((double)target->header.control.holders_bytes, TH_UNIT_BYTES)
			.text,
		th_format_number((double)memory_of(options) * (1 << 20), TH_UNIT_BYTES).text);
}

/* What the answer means; th_request_ask() has explained the others. */
static struct th_error *
check(const struct th_target *target, const struct th_options *options, bool is_walk,
	struct th_error *error)
{
	uint32_t answer = target->header.control.answer;

	if (!error || (answer != TH_CONTROL_TOO_LONG && answer != TH_CONTROL_TOO_LARGE))
		return error;
	th_error_destroy(error);
	if (answer == TH_CONTROL_TOO_LARGE)
		return refuse_memory(target, options);
	return refuse_pause(target, options, is_walk ? "without result stopped" : "would stop");
}

static struct th_error *
ask(struct th_target *target, const struct th_options *options, const char *name)
{
	const struct th_request request = {.verb = TH_CONTROL_HOLDERS,
		.value = th_holder_limits(pause_of(options), memory_of(options)),
		.name = name};

	return check(target, options, !name || !strcmp(name, TH_HOLDERS_SELECTED),
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
select_held(const struct th_options *options, const struct th_options *whole,
	const struct th_recording *recording, struct th_selection *ret)
{
	struct th_profile *profile = th_profile_create(recording, whole, NULL, NULL);
	struct th_leaks found;

	th_leaks_init(&found, profile);
	if (options->held_class)
		th_selection_of_class(ret, &found, options->held_class);
	else
		th_selection_of_finding(ret, &found, options->finding);
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
}

/* Reads from the log what the walk is limited to, and submits it. */
static struct th_error *
select_objects(struct th_target *target, const struct th_options *options)
{
	struct th_selection selection = {.items = NULL};
	struct th_recording *recording;
	struct th_options whole;

	th_options_set_defaults(&whole);
	struct th_error *error = th_request_current_log(options->log, &whole.input);
	if (!error)
		error = th_input_load(&whole, &recording);
	if (!error) {
		select_held(options, &whole, recording, &selection);
		th_recording_destroy(recording);
	}
	if (!error && !selection.items_count)
		error = th_error_create(TH_ERROR_USAGE,
			"%s: holders: there are no sampled Java objects of %s", target->path,
			selection_text(options));
	if (!error)
		error = send_selection(target, selection.items, selection.items_count);
	free(selection.items);
	th_options_deinit(&whole);
	return error;
}

static struct th_error *
check_estimate(const struct th_target *target, const struct th_options *options)
{
	const struct th_log_control *control = &target->header.control;

	if (control->holders_pause_ns > pause_of(options) * UINT64_C(1000000))
		return refuse_pause(target, options, "would stop");
	if (control->holders_bytes > (uint64_t)memory_of(options) << 20)
		return refuse_memory(target, options);
	th_notice("stops the VM for about %s: %s of Java heap are in use",
		th_format_pause((double)control->holders_pause_ns / 1e9).text,
		th_format_number((double)control->holders_heap, TH_UNIT_BYTES).text);
	return NULL;
}

static void
print_result(const struct th_target *target, const struct th_options *options)
{
	const char *selection = has_selection(options)
					? th_printed(
						  "--{} ", th_text_of(selection_text(options)))
					: "";

	th_print(stdout, "stopped the VM for {p}; twinheap holders {}{} shows the result\n",
		(double)target->header.control.holders_pause_ns / 1e9, selection,
		th_text_of(options->log));
}

struct th_error *
th_ctl_holders(struct th_target *target, const struct th_options *options)
{
	struct th_error *error = NULL;

	if (options->held_class && options->finding)
		return th_error_create(TH_ERROR_USAGE,
			"ctl: holders: --class and --finding exclude each other");
	error = th_target_open(options->log, true, target);
	if (!error)
		error = ask(target, options, TH_HOLDERS_ESTIMATE);
	if (!error)
		error = check_estimate(target, options);
	if (!error && has_selection(options))
		error = select_objects(target, options);
	if (!error)
		error = ask(
			target, options, has_selection(options) ? TH_HOLDERS_SELECTED : NULL);
	if (!error && options->format != TH_OUTPUT_JSON)
		print_result(target, options);
	return error;
}
