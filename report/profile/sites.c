/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps rows to sites (sites.h) by allocating function, caller and class, and adds up the sums
 * of their rows.
 */
#include "report/profile/sites.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/base/sort.h"
#include "report/profile/values.h"

/* Whether the function at `length` passes on what one further down, below `client`, asks for. */
static bool
passes_on(const struct th_frames *frames, const struct th_path *path, uint32_t length,
	uint32_t client)
{
	const struct th_function *function = th_frames_function_of(
		frames, path->frames[length - 1]);

	/* The library's code may be compiled into another module. */
	if (client == length)
		return function->is_plumbing || function->is_runtime;
	return function->is_plumbing &&
	       function->library ==
		       th_frames_function_of(frames, path->frames[length])->library;
}

/* Functions without names are passed if they are between such as pass on. */
uint32_t
th_sites_client_length(const struct th_frames *frames, const struct th_path *path)
{
	uint32_t client = path->count;

	for (uint32_t length = path->count; length; length--) {
		if (passes_on(frames, path, length, client))
			client = length - 1;
		else if (!th_frames_is_nameless(frames,
				 th_frames_function_at(frames, path->frames[length - 1])))
			break;
	}
	return client < path->count ? client : 0;
}

uint32_t
th_sites_find_caller(const struct th_frames *frames, const struct th_path *path)
{
	uint32_t runtime = TH_SITE_NO_FUNCTION;

	for (uint32_t i = path->count; i-- > 0;) {
		const struct th_function *function = th_frames_function_of(
			frames, path->frames[i]);

		if (function->is_application || function->kind == TH_KIND_JAVA)
			runtime = th_frames_function_at(frames, path->frames[i]);
		if (function->is_application)
			return runtime;
	}
	return runtime;
}

static uint32_t
find_client(const struct th_frames *frames, const struct th_path *path)
{
	uint32_t length = th_sites_client_length(frames, path);

	return length ? th_frames_function_at(frames, path->frames[length - 1])
		      : TH_SITE_NO_FUNCTION;
}

struct th_site_place
th_sites_place(const struct th_frames *frames, const struct th_path *path)
{
	struct th_site_place place = {
		.function = th_frames_function_at(frames, path->frames[path->count - 1]),
		.caller = TH_SITE_NO_FUNCTION,
	};

	if (!th_frames_function(frames, place.function)->is_application)
		place.caller = th_sites_find_caller(frames, path);
	if (place.caller == TH_SITE_NO_FUNCTION)
		place.caller = find_client(frames, path);
	if (place.caller == place.function)
		place.caller = TH_SITE_NO_FUNCTION;
	return place;
}

const char *
th_sites_text(const struct th_frames *frames, uint32_t class_name, struct th_site_place place)
{
	const char *function = th_function_text(frames, place.function);
	bool has_caller = place.caller != TH_SITE_NO_FUNCTION;

	return th_printed("{}{}{}{}{}", th_frames_string(frames, class_name),
		class_name ? " in " : "", function, has_caller ? " < " : "",
		has_caller ? th_function_text(frames, place.caller) : "");
}

/* A group is at the root. */
static struct th_site
site_of(const struct th_profile *profile, const struct th_row *row)
{
	struct th_path path = th_paths_get(profile->paths, row->path);
	struct th_site site = {
		.class_name = row->class_name, .place = {profile->internal_group, row->thread}};

	if (profile->options->group_by)
		return (struct th_site){
			.place = {th_frames_function_at(profile->frames, path.frames[0]),
				TH_SITE_NO_FUNCTION}};
	if (!row->is_internal)
		site.place = th_sites_place(profile->frames, &path);
	return site;
}

const char *
th_sites_row_text(const struct th_profile *profile, const struct th_row *row)
{
	struct th_site site = site_of(profile, row);

	return th_sites_text(profile->frames, 0, site.place);
}

struct site_maps {
	struct th_id_map places; /* function << 32 | caller */
	struct th_id_map sites;  /* place << 32 | class */
};

static struct th_site *
find_site(struct th_sites *sites, struct site_maps *maps, const struct th_site *site)
{
	uint32_t place = th_id_map_intern(
		&maps->places, (uint64_t)site->place.function << 32 | site->place.caller, NULL);
	uint32_t number = th_id_map_enter(
		&maps->sites, (uint64_t)place << 32 | site->class_name, sites, items, *site);

	return &sites->items[number];
}

TH_COMPARE_WITH(compare, struct th_site, const struct th_profile, profile,
	th_order(th_profile_point(profile, &right->sum), th_profile_point(profile, &left->sum))
		?: th_order(left->place.function, right->place.function))

void
th_sites_init(struct th_sites *sites, const struct th_profile *profile, enum th_heap heap)
{
	struct site_maps maps = {0};

	*sites = (struct th_sites){0};
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];
		const struct th_estimator *sum = th_profile_sum(profile, row);

		if (row->heap != heap || !sum->samples)
			continue;
		struct th_site site = site_of(profile, row);
		th_estimator_merge(&find_site(sites, &maps, &site)->sum, sum);
	}
	th_sort_with(sites->items, sites->items_count, compare, profile);
	th_id_map_deinit(&maps.places);
	th_id_map_deinit(&maps.sites);
}

void
th_sites_deinit(struct th_sites *sites)
{
	free(sites->items);
}
