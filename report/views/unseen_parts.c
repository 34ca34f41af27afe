/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/unseen_parts.h"

#include <stdlib.h>

#include "report/base/line.h"
#include "report/profile/unseen.h"
#include "report/views/values.h"

/* Objects named in the line. */
#define NAMED 3

/* "libfoo.so 2, libbar.so 1, ...", to be freed. */
static char *
names_of(const struct th_recording *recording)
{
	struct th_line line;

	th_line_begin(&line);
	for (size_t i = 0; i < recording->slot_copies_count && i < NAMED; i++) {
		char *path = th_text_clean(recording->slot_copies[i].path);

		th_print(line.stream, "{}{} {c}", i ? ", " : "", th_text_base_name(path),
			recording->slot_copies[i].copies);
		free(path);
	}
	if (recording->slot_copies_count > NAMED)
		fputs(", ...", line.stream);
	return th_line_end(&line);
}

static char *
copies_text(const struct th_recording *recording, const struct th_unseen *unseen)
{
	if (!unseen->searched)
		return th_printed("{}", "the data of objects was not searched for pointers");
	if (!unseen->copies)
		return th_printed(
			"no pointer to an allocation function in the data of {c} objects",
			unseen->searched);
	char *names = names_of(recording);
	char *text = th_printed(
		"calls by {c} pointers to allocation functions in the data of objects ({})",
		unseen->copies, names);
	free(names);
	return text;
}

static char *
growth_text(const struct th_unseen *unseen)
{
	if (!unseen->has_growth)
		return th_printed("{}", "the growth of the C heap was not measured");
	if (unseen->grown <= 0)
		return th_printed("{}", "the C heap has not grown");
	if (unseen->grown < unseen->seen.low)
		return th_printed("{}",
			"the C heap grew by less than what looks alive of it: blocks from "
			"before were freed, or blocks were freed unseen");
	if (unseen->at_least <= 0)
		return th_printed("the C heap grew by {b}, of which {e} was seen",
			unseen->grown, &unseen->seen);
	return th_printed("the C heap grew by {b}, of which {e} was seen, at least {b} was not",
		unseen->grown, &unseen->seen, unseen->at_least);
}

void
th_unseen_parts_health(struct th_health *health, const struct th_profile *profile)
{
	struct th_unseen unseen;

	if (!th_unseen_find(profile, &unseen))
		return;
	char *copies = copies_text(profile->recording, &unseen);
	char *growth = growth_text(&unseen);
	char *line = th_printed(
		"not seen by import slots: {}; {c} of {c} sampled blocks were freed past them; "
		"{}",
		copies, unseen.reused, unseen.blocks, growth);
	th_health_add(health, th_unseen_is_notable(&unseen), "%s", line);
	free(line);
	free(copies);
	free(growth);
}

json_t *
th_unseen_parts_json(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	struct th_unseen unseen;

	if (!th_unseen_find(profile, &unseen))
		return json_null();
	return th_json("slots objects foreign_slots searched_objects pointers sampled_blocks "
		       "freed_unseen growth",
		unseen.slots, unseen.objects, unseen.foreign, unseen.searched,
		th_json_map(copy, recording->slot_copies, recording->slot_copies_count,
			th_json("object pointers", copy->path, copy->copies)),
		unseen.blocks, unseen.reused,
		unseen.has_growth ? th_json("bytes seen unseen_at_least", unseen.grown,
					    &unseen.seen, unseen.at_least)
				  : NULL);
}
