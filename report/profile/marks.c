/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the log again for its marks, only if the options name some. */
#include "report/profile/marks.h"

#include "report/log/recording.h"

static struct th_error *
resolve(const struct th_recording *recording, const char *log, const char *name,
	double *seconds_ret)
{
	uint64_t time;

	if (!name)
		return NULL;
	if (!th_recording_find_mark(recording, name, &time))
		return th_error_create(TH_ERROR_USAGE, "%s: has no mark \"%s\"", log, name);
	*seconds_ret = (double)(time - recording->start) / 1e9;
	return NULL;
}

static struct th_error *
resolve_all(const struct th_recording *recording, struct th_options *options)
{
	const char *log = options->log;
	struct th_error *error = resolve(recording, log, options->from_mark, &options->from);

	if (!error)
		error = resolve(recording, log, options->to_mark, &options->to);
	if (!error)
		error = resolve(recording, log, options->at_mark, &options->at_seconds);
	if (!error && options->from >= options->to)
		error = th_error_create(TH_ERROR_USAGE, "--from must be before --to");
	return error;
}

struct th_error *
th_marks_resolve(struct th_options *options)
{
	struct th_recording *recording;

	if (!options->from_mark && !options->to_mark && !options->at_mark)
		return NULL;
	struct th_error *error = th_recording_load(options->input, &recording);
	if (error)
		return error;
	error = resolve_all(recording, options);
	th_recording_destroy(recording);
	return error;
}
