/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that compare two logs, or two times of one. */
#include <stdlib.h>
#include <unistd.h>

#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/control/running.h"
#include "report/profile/diff.h"
#include "report/profile/leak_sites.h"
#include "report/profile/profile.h"
#include "report/views/view.h"

/* A side of a diff: its own options; the recording may be shared with the other side. */
struct side {
	struct th_options options;
	char *log; /* as given, without the time */
	struct th_recording *recording;
	struct th_profile *profile;
	struct th_leak_sites places;
};

static struct th_error *
side_load(struct side *side, const struct th_options *options, const char *operand,
	const struct side *other)
{
	side->options = *options;
	if (!options->has_value)
		side->options.value = TH_VALUE_LIVE_BYTES;
	side->log = th_options_split_moment(operand, &side->options);
	side->options.log = side->log;
	struct th_error *error = th_input_find(side->log, &side->options.input);
	if (!error)
		error = th_options_resolve_marks(&side->options);
	if (error)
		return error;
	if (other && th_running_is_same_file(side->options.input, other->options.input)) {
		side->recording = other->recording;
		return NULL;
	}
	return th_input_load(&side->options, &side->recording);
}

static void
side_look(struct side *side)
{
	side->profile = th_profile_create(side->recording, &side->options, th_input_warn, NULL);
	th_leak_sites_init(&side->places, side->profile);
}

static void
side_deinit(struct side *side)
{
	if (side->profile)
		th_leak_sites_deinit(&side->places);
	th_profile_destroy(side->profile);
	free(side->log);
	free(side->options.input);
}

static struct th_error *
print_diff(const struct side *old_side, const struct side *new_side)
{
	FILE *file = th_output_fit(&new_side->options);
	struct th_diff found;

	th_diff_init(&found, &old_side->places, &new_side->places);
	(new_side->options.format == TH_OUTPUT_JSON ? th_view_diff_json : th_view_diff)(
		file, &found);
	th_diff_deinit(&found);
	return th_output_close(file, NULL);
}

static struct th_error *
sides_load(struct side sides[2], const struct th_options *options)
{
	struct th_error *error = side_load(&sides[0], options, options->log, NULL);

	if (!error)
		error = side_load(&sides[1], options, options->logs[1], &sides[0]);
	if (error)
		return error;
	side_look(&sides[0]);
	side_look(&sides[1]);
	/* What is on one side only is a change. */
	error = th_input_check_selection(sides[0].profile);
	if (error && sides[1].profile->rows_count) {
		th_error_destroy(error);
		error = NULL;
	}
	return error;
}

static void
sides_deinit(struct side sides[2])
{
	side_deinit(&sides[0]);
	side_deinit(&sides[1]);
	if (sides[1].recording != sides[0].recording)
		th_recording_destroy(sides[1].recording);
	th_recording_destroy(sides[0].recording);
}

struct th_error *
th_command_diff(const struct th_options *options, int *status_ret)
{
	struct side sides[2] = {0};
	struct th_error *error;

	if (options->value == TH_VALUE_TOUCHED_BYTES)
		return th_error_create(TH_ERROR_USAGE,
			"diff: touched-bytes exist only in breakdowns of "
			"resident memory, see rss");
	if (th_many_is(options, 2))
		return th_many_diff(options, status_ret);
	if (options->logs_count < 2)
		return th_error_create(
			TH_ERROR_USAGE, "diff: requires two logs, or one log at two times");
	error = sides_load(sides, options);
	if (!error)
		error = print_diff(&sides[0], &sides[1]);
	sides_deinit(sides);
	return error;
}

/* The page of the newer snapshot, with the changes since the older one. */
static struct th_error *
flamegraph_diff(const struct th_options *options)
{
	struct side sides[2] = {0};
	struct th_error *error = sides_load(sides, options);
	FILE *file;

	if (!error && options->output && th_running_is_same_file(options->output, sides[0].log))
		error = th_error_create(
			TH_ERROR_OUTPUT, "%s: would overwrite the log", options->output);
	if (!error)
		error = th_output_open(&sides[1].options, &file);
	if (!error) {
		th_view_flamegraph_diff(file, sides[0].profile, sides[1].profile);
		error = th_output_close(file, options->output);
	}
	sides_deinit(sides);
	return error;
}

struct th_error *
th_command_flamegraph(const struct th_options *options)
{
	if (th_options_writes_stdout(options) && isatty(STDOUT_FILENO))
		return th_error_create(
			TH_ERROR_USAGE, "flamegraph: no output file, use -o FILE.html");
	if (options->logs_count > 1)
		return flamegraph_diff(options);
	struct th_options shown = *options;

	shown.wants_peak = true;
	return th_command_show(&shown, th_view_flamegraph, NULL);
}
