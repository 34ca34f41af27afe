/* SPDX-License-Identifier: Apache-2.0 */
/* The command that packs a log and its names into one file. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/commands/commands.h"
#include "report/commands/files.h"
#include "report/profile/values.h"
#include "report/views/view.h"

/* "twinheap.17.thl" becomes "twinheap.17.bundle.thl", to be freed. */
static char *
name_bundle(const char *log)
{
	int length = (int)strlen(log) - (th_text_ends(th_text_of(log), ".thl") ? 4 : 0);

	return th_format_new("%.*s.bundle.thl", length, log);
}

/* Opens the bundle's file; without -o, an existing file is not overwritten. */
static struct th_error *
open_bundle(const struct th_options *options, char **path_ret, FILE **file_ret)
{
	if (options->output || !strcmp(options->log, "-")) {
		*path_ret = th_format_new("%s", options->output ? options->output : "-");
		if (th_options_writes_stdout(options) && isatty(STDOUT_FILENO))
			return th_error_create(
				TH_ERROR_USAGE, "bundle: is a binary format, use -o FILE");
		return th_output_open(options, file_ret);
	}
	*path_ret = name_bundle(options->input);
	*file_ret = th_output_open_private(*path_ret, O_EXCL);
	return *file_ret ? NULL
			 : th_error_create_errno(TH_ERROR_OUTPUT,
				   "%s (use -o to name another file)", *path_ret);
}

static struct th_error *
write_bundle(const struct th_options *options, struct th_recording *recording, void *data)
{
	(void)data;
	struct th_bundle_size size;
	char *path;
	FILE *file;

	if (recording->is_bundle)
		return th_error_create(TH_ERROR_USAGE, "%s: is already a bundle", options->log);
	struct th_error *error = open_bundle(options, &path, &file);
	bool is_stdout = !error && file == stdout;

	if (!error) {
		th_bundle_write(file, recording, th_text_ends(th_text_of(path), ".gz"),
			options->no_command, th_input_warn, NULL, &size);
		error = th_output_close(file, path);
	}
	if (!error && !is_stdout)
		th_print(stdout,
			"{}: {b}, names of {c} native addresses; every command reads it, on "
			"any machine\n",
			th_text_of(path), size.bytes, size.addresses);
	free(path);
	return error ? error : th_output_close(stdout, NULL);
}

struct th_error *
th_command_bundle(const struct th_options *options)
{
	return th_input_use(options, write_bundle, NULL);
}
