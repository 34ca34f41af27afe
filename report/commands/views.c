/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that show one log. */
#include <stdlib.h>
#include <unistd.h>

#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/ledger/ledger.h"
#include "report/profile/profile.h"
#include "report/profile/values.h"
#include "report/views/view.h"

static void
warn_in_health(void *data, const char *text)
{
	th_health_add(data, false, th_printed("{}", text));
}

static struct th_error *
print_summary(const struct th_options *options, struct th_recording *recording)
{
	struct th_options shown = *options;
	struct th_health health;

	shown.wants_peak = !options->brief && !th_options_filter_stacks(options);
	th_health_init(&health, recording);
	struct th_profile *profile = th_profile_create(
		recording, &shown, warn_in_health, &health);
	th_health_add_profile(&health, profile);
	struct th_error *error = th_input_check_selection(profile);
	if (!error) {
		FILE *file = th_output_fit(options);

		(options->brief ? th_view_brief : th_view_summary)(
			file, profile, &health, options->program);
		error = th_output_close(file, NULL);
	}
	th_profile_destroy(profile);
	th_health_deinit(&health);
	return error;
}

struct view {
	th_command_view *print;
	th_command_lack *lack;
};

static struct th_error *
print_view(const struct th_options *options, struct th_recording *recording, void *data)
{
	const struct view *view = data;
	const char *lack = view->lack ? view->lack(recording) : NULL;
	FILE *file;

	if (lack)
		return th_error_create(TH_ERROR_UNREADABLE, "%s: %s", options->log, lack);
	struct th_profile *profile = th_profile_create(recording, options, th_input_warn, NULL);
	struct th_error *error = th_input_check_selection(profile);
	if (!error)
		error = th_output_open(options, &file);
	if (!error) {
		view->print(file, profile);
		error = th_output_close(file, options->output);
	}
	th_profile_destroy(profile);
	return error;
}

struct th_error *
th_command_show(const struct th_options *options, th_command_view *print, th_command_lack *lack)
{
	return th_input_use(options, print_view, &(struct view){print, lack});
}

struct th_error *
th_command_summary(const struct th_options *options)
{
	struct th_recording *recording;

	if (options->format == TH_OUTPUT_JSON)
		return th_command_show(options, th_view_json, NULL);
	/* Damage is among the lines about recording quality. */
	struct th_error *error = th_input_read(options, &recording);
	if (!error) {
		error = print_summary(options, recording);
		th_recording_destroy(recording);
	}
	return error;
}

struct th_error *
th_command_tree(const struct th_options *options)
{
	return th_command_show(
		options, options->format == TH_OUTPUT_JSON ? th_view_json : th_view_tree, NULL);
}

struct th_error *
th_command_export(const struct th_options *options)
{
	static const struct {
		const char *binary; /* the name of a format that a terminal cannot show */
		th_command_view *print;
	} formats[TH_OUTPUT_TEXT + 1] = {
		[TH_OUTPUT_COLLAPSED] = {NULL, th_view_collapsed},
		[TH_OUTPUT_JSON] = {NULL, th_view_json},
		[TH_OUTPUT_PPROF] = {"pprof", th_view_pprof},
		[TH_OUTPUT_OTLP] = {"otlp", th_view_otlp},
		[TH_OUTPUT_JFR] = {"jfr", th_view_jfr},
		[TH_OUTPUT_SPEEDSCOPE] = {NULL, th_view_speedscope},
	};

	if (!formats[options->format].print)
		return th_error_create(TH_ERROR_USAGE,
			"export: requires --format pprof|otlp|jfr|speedscope|collapsed|json");
	if (formats[options->format].binary && th_options_writes_stdout(options) &&
		isatty(STDOUT_FILENO))
		return th_error_create(TH_ERROR_USAGE,
			"export: %s is a binary format, use -o FILE",
			formats[options->format].binary);
	return th_command_show(options, formats[options->format].print, NULL);
}

static struct th_error *
print_leaks(const struct th_options *options, struct th_recording *recording, void *status_ret)
{
	struct th_profile *profile = th_profile_create(recording, options, th_input_warn, NULL);
	struct th_error *error = th_input_check_selection(profile);
	struct th_leaks found;

	th_leaks_prepare(&found, profile);
	/* The sites have what findings need of them. */
	th_profile_forget_sums(profile);
	th_leaks_find(&found);
	/* What is counted instead of sampled is selected, too. */
	if (error && found.tallies.items_count) {
		th_error_destroy(error);
		error = NULL;
	}
	if (!error) {
		FILE *file = th_output_fit(options);

		(options->format == TH_OUTPUT_JSON ? th_view_leaks_json : th_view_leaks)(
			file, &found);
		*(int *)status_ret = th_leaks_status(&found);
		error = th_output_close(file, NULL);
	}
	th_leaks_deinit(&found);
	th_profile_destroy(profile);
	return error;
}

struct th_error *
th_command_leaks(const struct th_options *options, int *status_ret)
{
	return th_many_is(options, 1) ? th_many_leaks(options, status_ret)
				      : th_input_use(options, print_leaks, status_ret);
}

static const char *
lack_of_ledger(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->changes_count; i++)
		if (th_text_equals(recording->changes[i].name, "ledger") &&
			recording->changes[i].value)
			return NULL;
	return "the ledger was not on: twinheap run --ledger, or twinheap ctl PID ledger on";
}

static void
print_ledger(FILE *file, const struct th_profile *profile)
{
	bool is_json = profile->options->format == TH_OUTPUT_JSON;
	struct th_ledger found;

	th_ledger_init(&found, profile);
	(is_json ? th_view_ledger_json : th_view_ledger)(file, &found);
	th_ledger_deinit(&found);
}

struct th_error *
th_command_ledger(const struct th_options *options)
{
	return th_command_show(options, print_ledger,
		options->format == TH_OUTPUT_JSON ? NULL : lack_of_ledger);
}

static const char *
lack_of_holders(const struct th_recording *recording)
{
	return recording->holder_walks_count
		       ? NULL
		       : "the Java heap was not walked: twinheap ctl PID holders does it while "
			 "the process runs";
}

static void
print_holders(FILE *file, const struct th_profile *profile)
{
	bool is_json = profile->options->format == TH_OUTPUT_JSON;
	struct th_leaks found;

	th_leaks_init(&found, profile);
	(is_json ? th_view_holders_json : th_view_holders)(file, &found);
	th_leaks_deinit(&found);
}

struct th_error *
th_command_holders(const struct th_options *options)
{
	return th_command_show(options, print_holders, lack_of_holders);
}

static const char *
lack_of_breakdown(const struct th_recording *recording)
{
	return recording->accounts_count ? NULL
					 : "contains no breakdown of resident memory: without "
					   "a Java VM, a process "
					   "takes one only at normal exit; while it runs, "
					   "twinheap run and twinheap "
					   "rss PID take them";
}

static void
print_rss(FILE *file, const struct th_profile *profile)
{
	const struct th_options *options = profile->options;
	/* Verdicts apply to the end of a recording. */
	bool is_end = options->at == TH_AT_LAST || options->at == TH_AT_END;
	struct th_leaks leaks;

	if (is_end)
		th_leaks_init(&leaks, profile);
	(options->format == TH_OUTPUT_JSON ? th_view_rss_json : th_view_rss)(
		file, profile, is_end ? &leaks : NULL);
	if (is_end)
		th_leaks_deinit(&leaks);
}

struct th_error *
th_command_rss(const struct th_options *options)
{
	return th_command_show(options, print_rss, lack_of_breakdown);
}

struct th_error *
th_command_dump(const struct th_options *options)
{
	struct th_reader *reader;
	struct th_error *error = th_reader_open(options->input, &reader);

	if (!error) {
		th_view_dump(stdout, reader, options->no_command);
		th_reader_close(reader);
		error = th_output_close(stdout, NULL);
	}
	return error;
}
