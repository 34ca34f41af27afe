/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a log built by a test, with options as on the command line, and
 * captures what a view prints.
 */
#include "tests/unit/views/view_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGUMENTS_MAX 16

static void
require_none(struct th_error *error)
{
	if (error)
		fail_msg("%s", th_error_message(error));
}

void
show(struct shown *shown, const struct log_builder *log, ...)
{
	char *path = log_save(log);
	char *arguments[ARGUMENTS_MAX] = {"view"};
	int count = 1;
	va_list list;

	va_start(list, log);
	while ((arguments[count] = va_arg(list, char *)))
		count++;
	va_end(list);
	arguments[count++] = path;
	require_none(th_options_parse(&shown->options, TH_OPTIONS_OF_LOGS, count, arguments));
	require_none(th_recording_load(path, &shown->recording));
	th_health_init(&shown->health, shown->recording);
	shown->profile = th_profile_create(shown->recording, &shown->options, NULL, NULL);
	unlink(path);
}

void
show_end(struct shown *shown)
{
	free((char *)(uintptr_t)shown->options.log);
	th_profile_destroy(shown->profile);
	th_health_deinit(&shown->health);
	th_recording_destroy(shown->recording);
	th_options_deinit(&shown->options);
}

char *
show_text(const struct shown *shown, void (*view)(FILE *, const struct th_profile *))
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	view(file, shown->profile);
	fclose(file);
	return text;
}

char *
show_summary(const struct shown *shown, bool brief)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (brief)
		th_view_brief(file, shown->profile, &shown->health, "twinheap");
	else
		th_view_summary(file, shown->profile, &shown->health, "twinheap");
	fclose(file);
	return text;
}

void
expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

json_t *
show_json(const struct shown *shown)
{
	char *text = show_text(shown, th_view_json);
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);

	if (!root)
		fail_msg("%s in %s", error.text, text);
	free(text);
	return root;
}

json_t *
row_with_frame(json_t *root, const char *name)
{
	json_t *row;
	json_t *frame;
	size_t i;
	size_t k;

	json_array_foreach(json_object_get(root, "stacks"), i, row)
	{
		json_array_foreach(json_object_get(row, "frames"), k, frame)
		{
			if (!strcmp(json_string_value(json_object_get(frame, "name")), name))
				return row;
		}
	}
	return NULL;
}

double
estimate_of(json_t *row, const char *key)
{
	return json_number_value(json_object_get(json_object_get(row, key), "estimate"));
}

double
limit_of(json_t *row, const char *key, size_t index)
{
	json_t *limits = json_object_get(json_object_get(row, key), "ci95");

	return json_number_value(json_array_get(limits, index));
}

bool
is_exact(json_t *row, const char *key)
{
	return json_is_true(json_object_get(json_object_get(row, key), "exact"));
}

char *
frame_names(json_t *row)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(row, "frames"), i, frame) fprintf(
		file, "%s%s", i ? " " : "", json_string_value(json_object_get(frame, "name")));
	fclose(file);
	return text;
}
