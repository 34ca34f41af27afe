/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of a view as command line options, printed with the figures they apply to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/profile/options.h"
#include "report/views/view.h"
#include "unify/shared/heaps.h"

static void
each_pattern(const struct th_options *options, th_options_each *each, void *data)
{
	const struct {
		const char *name;
		const struct th_pattern *pattern;
	} patterns[] = {
		{"thread", &options->thread},
		{"class", &options->class_name},
		{"include", &options->include},
		{"exclude", &options->exclude},
		{"focus", &options->focus},
		{"hide", &options->hide},
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (patterns[i].pattern->is_given)
			each(data, patterns[i].name, patterns[i].pattern->text);
	}
}

static void
each_time(const struct th_options *options, th_options_each *each, void *data)
{
	if (options->from > 0)
		each(data, "from", th_format_time(options->from).text);
	if (isfinite(options->to))
		each(data, "to", th_format_time(options->to).text);
}

void
th_options_each_filter(const struct th_options *options, th_options_each *each, void *data)
{
	if (options->heaps != TH_HEAPS_ALL)
		each(data, "heaps", th_heaps_text(options->heaps));
	each_time(options, each, data);
	each_pattern(options, each, data);
	if (options->group_by)
		each(data, "group-by", th_group_by_name(options->group_by));
	if (options->all_vm_frames)
		each(data, "vm-frames", "all");
}

/* Whether the shell takes a word as it is. */
static bool
is_plain(const char *word)
{
	return word[0] &&
	       !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-./,:=+@%")];
}

/* Prints a word quoted for the shell; unprintable characters are replaced. */
void
th_view_quoted(FILE *file, const char *text)
{
	char *clean = th_text_clean(th_text_of(text));
	const char *word = clean;

	if (is_plain(word)) {
		fputs(word, file);
		free(clean);
		return;
	}
	fputc('\'', file);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", file);
		else
			fputc(*word, file);
	}
	fputc('\'', file);
	free(clean);
}

/* Values are quoted if the shell requires it. */
static void
add_to_text(void *data, const char *name, const char *value)
{
	char **text = data;
	const char *quote = is_plain(value) ? "" : "'";
	const char *blank = (*text)[0] ? " " : "";
	char *longer = strcmp(name, "vm-frames")
			       ? th_format_new("%s%s--%s %s%s%s", *text, blank, name, quote,
					 value, quote)
			       : th_format_new("%s%s--%s", *text, blank, name);

	free(*text);
	*text = longer;
}

char *
th_options_filters_text(const struct th_options *options)
{
	char *given = th_format_new("%s", "");

	th_options_each_filter(options, add_to_text, &given);
	char *text = th_text_clean(th_text_of(given));
	free(given);
	return text;
}

void
th_view_filters(FILE *file, const struct th_options *options)
{
	char *text = th_options_filters_text(options);

	if (text[0])
		fprintf(file, "only %s\n", text);
	free(text);
}
