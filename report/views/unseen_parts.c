/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/unseen_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/profile/unseen.h"
#include "report/views/json_parts.h"

/* Objects named in the line. */
#define NAMED 3

/* "libfoo.so 2, libbar.so 1, ...", to be freed. */
static char *
names_of(const struct th_recording *recording)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	for (size_t i = 0; i < recording->slot_copies_count && i <= NAMED; i++) {
		char *path = th_text_clean(recording->slot_copies[i].path);
		const char *slash = strrchr(path, '/');

		if (i == NAMED)
			fputs(", ...", file);
		else
			fprintf(file, "%s%s %s", i ? ", " : "", slash ? slash + 1 : path,
				th_format_count(recording->slot_copies[i].copies).text);
		free(path);
	}
	fclose(file);
	return text;
}

static char *
copies_text(const struct th_recording *recording, const struct th_unseen *unseen)
{
	char *names, *text;

	if (!unseen->searched)
		return th_format_new("the data of objects was not searched for pointers");
	if (!unseen->copies)
		return th_format_new(
			"no pointer to an allocation function in the data of %s objects",
			th_format_count(unseen->searched).text);
	names = names_of(recording);
	text = th_format_new(
		"calls by %s pointers to allocation functions in the data of objects (%s)",
		th_format_count(unseen->copies).text, names);
	free(names);
	return text;
}

static char *
growth_text(const struct th_unseen *unseen)
{
	char *grown, *rest, *text;

	if (!unseen->has_growth)
		return th_format_new("the growth of the C heap was not measured");
	if (unseen->grown <= 0)
		return th_format_new("the C heap has not grown");
	if (unseen->grown < unseen->seen.low)
		return th_format_new(
			"the C heap grew by less than what looks alive of it: blocks from "
			"before were freed, or blocks were freed unseen");
	grown = th_format_new("%s", th_format_number(unseen->grown, TH_UNIT_BYTES).text);
	rest = unseen->at_least > 0
		       ? th_format_new(", at least %s was not",
				 th_format_number(unseen->at_least, TH_UNIT_BYTES).text)
		       : th_format_new("%s", "");
	text = th_format_new("the C heap grew by %s, of which %s (%s) was seen%s", grown,
		th_format_number(unseen->seen.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&unseen->seen, TH_UNIT_BYTES).text, rest);
	free(grown);
	free(rest);
	return text;
}

void
th_unseen_parts_health(struct th_health *health, const struct th_profile *profile)
{
	struct th_unseen unseen;
	char *copies, *growth;

	if (!th_unseen_find(profile, &unseen))
		return;
	copies = copies_text(profile->recording, &unseen);
	growth = growth_text(&unseen);
	th_health_add(health, th_unseen_is_notable(&unseen),
		"not seen by import slots: %s; %s of %s sampled blocks were freed past them; "
		"%s",
		copies, th_format_count(unseen.reused).text,
		th_format_count(unseen.blocks).text, growth);
	free(copies);
	free(growth);
}

static json_t *
copies_json(const struct th_recording *recording)
{
	json_t *list = json_array();

	for (size_t i = 0; i < recording->slot_copies_count; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:I}", "object",
				th_json_log_text(recording->slot_copies[i].path), "pointers",
				(json_int_t)recording->slot_copies[i].copies));
	return list;
}

static json_t *
growth_json(const struct th_unseen *unseen)
{
	if (!unseen->has_growth)
		return json_null();
	return json_pack("{s:f, s:o, s:f}", "bytes", unseen->grown, "seen",
		th_json_estimate(&unseen->seen), "unseen_at_least", unseen->at_least);
}

json_t *
th_unseen_parts_json(const struct th_profile *profile)
{
	struct th_unseen unseen;

	if (!th_unseen_find(profile, &unseen))
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:o}", "slots",
		(json_int_t)unseen.slots, "objects", (json_int_t)unseen.objects,
		"foreign_slots", (json_int_t)unseen.foreign, "searched_objects",
		(json_int_t)unseen.searched, "pointers", copies_json(profile->recording),
		"sampled_blocks", (json_int_t)unseen.blocks, "freed_unseen",
		(json_int_t)unseen.reused, "growth", growth_json(&unseen));
}
