/* SPDX-License-Identifier: Apache-2.0 */
#include "report/symbols/recorded_names.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/symbols/address_index.h"
#include "report/symbols/function_starts.h"
#include "unify/shared/bisect.h"

/* Where the functions of a module start, read on demand. */
struct starts {
	struct th_function_starts *table;
	bool is_known; /* reading was attempted */
};

struct th_recorded_names {
	const struct th_recording *recording;
	struct th_address_index functions; /* by frame word; value: index in the recording */
	TH_ARRAY(struct starts, starts);   /* by module index */
};

struct th_recorded_names *
th_recorded_names_create(const struct th_recording *recording)
{
	struct th_recorded_names *names = th_allocate(1, sizeof(*names));

	names->recording = recording;
	th_address_index_init(&names->functions);
	return names;
}

void
th_recorded_names_destroy(struct th_recorded_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->starts_count; i++)
		th_function_starts_close(names->starts[i].table);
	free(names->starts);
	th_address_index_deinit(&names->functions);
	free(names);
}

/* Adds what the recording has got since the last call. */
static const struct th_address_index *
update(struct th_recorded_names *names)
{
	const struct th_recording *recording = names->recording;
	size_t known = names->functions.ranges_count;

	if (known == recording->functions_count)
		return &names->functions;
	for (size_t i = known; i < recording->functions_count; i++) {
		const struct th_named_function *function = &recording->functions[i];

		th_address_index_add(
			&names->functions, function->start, function->end, (uint32_t)i, 0);
	}
	th_address_index_sort(&names->functions);
	return &names->functions;
}

/* The name of a function without a size, by the start of the function around `word`. */
static const struct th_text *
find_by_start(
	struct th_recorded_names *names, uint64_t word, const char *path, const char *build_id)
{
	const struct th_recording *recording = names->recording;
	uint32_t module = th_id_map_find(&recording->modules_ids, th_frame_module(word));

	if (module == TH_ID_MAP_NONE || !recording->symbols_count)
		return NULL;
	while (names->starts_count <= module)
		th_array_append(names, starts, (struct starts){0});
	struct starts *starts = &names->starts[module];
	if (!starts->is_known)
		starts->table = th_function_starts_open(path, build_id);
	starts->is_known = true;
	uint64_t start = th_function_starts_find(starts->table, th_frame_offset(word));
	uint32_t symbol = th_id_map_find(
		&recording->symbols_ids, th_frame_native(th_frame_module(word), start));
	return start == UINT64_MAX || symbol == TH_ID_MAP_NONE ? NULL
							       : &recording->symbols[symbol];
}

const struct th_text *
th_recorded_names_find(
	struct th_recorded_names *names, uint64_t word, const char *path, const char *build_id)
{
	const struct th_address_index *functions = update(names);
	const struct th_address_range *range = th_address_index_find(functions, word);

	return range ? &names->recording->functions[range->value].name
		     : find_by_start(names, word, path, build_id);
}

bool
th_recorded_names_has_module(struct th_recorded_names *names, uint32_t module)
{
	const struct th_address_index *functions = update(names);
	uint64_t first = th_frame_native(module, 0);
	size_t at = th_bisect(functions->ranges_count, i, functions->ranges[i].start < first);

	return at < functions->ranges_count &&
	       th_frame_module(functions->ranges[at].start) == module;
}
