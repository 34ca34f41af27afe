/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java objects that own native blocks: a path to the blocks has the constructor of the objects' class,
 * and its caller allocated the objects. For other methods that would be coincidence: it is true of any
 * object that they are called on.
 */
#include "report/leaks/leaks_work.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/profile/values.h"

/*
 * Minimum number of sampled owners for a statement about them, and the fraction that must be
 * collected.
 */
#define ENOUGH_OWNERS 3
#define OWNERS_GONE 0.8
/*
 * Owners that may be alive although no sample is, at 95 %: the rule of three, for few samples.
 */
#define UNSEEN_OWNERS 3

/* Sites of a finding whose owner is searched; the others are allocated in the same way. */
#define SITES_MAX 16

/* The class in "pkg.Class.method". */
static struct th_text
class_in(const char *name)
{
	const char *dot = strrchr(name, '.');

	return (struct th_text){name, (uint32_t)(dot ? (size_t)(dot - name) : strlen(name))};
}

/* The string number of the class of a method; TH_NO_STRING if no such string exists. */
static uint32_t
class_of_method(const struct th_frames *frames, const char *name)
{
	struct th_text class = class_in(name);
	char *class_name = th_format_new("%.*s", (int)class.length, class.bytes);
	uint32_t found = th_frames_find_string(frames, class_name);

	free(class_name);
	return found;
}

/* `sampled`: the classes of sampled objects, strings. */
static void
find_constructor(struct th_leaks_work *work, uint32_t number, const struct th_id_map *sampled)
{
	const struct th_frames *frames = work->leaks->profile->frames;
	struct th_leaks_function *function = &work->functions[number];
	const char *name = th_frames_function_name(frames, number);
	const char *dot = strrchr(name, '.');

	function->owner = TH_NO_STRING;
	function->is_constructor = dot && !strcmp(dot, ".<init>");
	if (!function->is_constructor ||
		th_frames_function(frames, number)->kind != TH_KIND_JAVA)
		return;
	uint32_t class_name = class_of_method(frames, name);
	if (class_name != TH_NO_STRING && th_id_map_find(sampled, class_name) != TH_ID_MAP_NONE)
		function->owner = class_name;
}

void
th_owners_find_constructors(struct th_leaks_work *work)
{
	const struct th_leak_sites *places = &work->leaks->places;
	uint32_t functions = th_frames_function_count(work->leaks->profile->frames);
	struct th_id_map sampled = {0};

	for (size_t i = 0; i < places->items_count; i++)
		if (places->items[i].heap == TH_HEAP_JAVA)
			th_id_map_intern(&sampled, places->items[i].class_name, NULL);
	work->functions = th_allocate(functions, sizeof(*work->functions));
	for (uint32_t i = 0; i < functions; i++)
		find_constructor(work, i, &sampled);
	th_id_map_deinit(&sampled);
}

/* Whether more blocks survive than owners can, of which some may be alive without a sample. */
static bool
outlive_owners(double survivors, const struct th_owner *owner)
{
	double alive = (double)(owner->samples - owner->collected + UNSEEN_OWNERS) /
		       (double)(owner->samples + UNSEEN_OWNERS);

	return survivors > alive;
}

/* State of the Java objects of one class and path, as far as GCs determined it. */
static struct th_owner
evaluate_owners(struct th_leaks_work *work, uint32_t place)
{
	const struct th_leak_site *places = work->leaks->places.items;
	struct th_leak_group group = {.heap = TH_HEAP_JAVA};
	struct th_evidence evidence;

	for (uint32_t i = place; i != TH_NO_PLACE; i = places[i].next)
		th_array_append(&group, places, i);
	th_leaks_evaluate(work, TH_HEAP_JAVA, group.places, group.places_count,
		TH_SITE_SHARE * TH_ERROR_RATE, &evidence);
	free(group.places);
	return (struct th_owner){
		.place = place,
		.samples = evidence.allocated,
		.collected = evidence.dead,
		.is_collected = evidence.allocated >= ENOUGH_OWNERS &&
				(double)evidence.dead >=
					OWNERS_GONE * (double)evidence.allocated,
	};
}

/* The same, evaluated once. */
static struct th_owner
look_at_owners(struct th_leaks_work *work, uint32_t place)
{
	uint32_t index = th_id_map_enter(
		&work->owner_ids, place, work, owners, evaluate_owners(work, place));

	return work->owners[index];
}

static bool
is_native(const struct th_leak_site *place)
{
	return !place->internal && place->heap != TH_HEAP_JAVA;
}

/* The owner of the blocks of a site. */
static struct th_owner
find_owner(struct th_leaks_work *work, const struct th_leak_site *place)
{
	struct th_leak_sites *places = &work->leaks->places;
	struct th_path_prefix_cursor step = th_path_prefixes_last(&places->ways, place->way);
	uint32_t function;

	while (th_path_prefixes_step(&step, &function)) {
		uint32_t class_name = work->functions[function].owner;
		/* The number of the caller takes much longer to find. */
		uint32_t caller = class_name != TH_NO_STRING ? th_path_prefixes_left(&step)
							     : TH_NO_WAY;
		uint32_t owner = caller == TH_NO_WAY ? TH_NO_PLACE
						     : th_leak_sites_find(places, TH_HEAP_JAVA,
							       caller, class_name);
		if (owner != TH_NO_PLACE)
			return look_at_owners(work, owner);
	}
	return (struct th_owner){.place = TH_NO_PLACE};
}

struct th_owner
th_owners_find(
	struct th_leaks_work *work, const uint32_t *places, size_t count, double survivors)
{
	struct th_owner owner = {.place = TH_NO_PLACE};

	for (size_t i = 0; i < count && i < SITES_MAX && owner.place == TH_NO_PLACE; i++) {
		const struct th_leak_site *place = &work->leaks->places.items[places[i]];

		if (is_native(place))
			owner = find_owner(work, place);
	}
	if (owner.place == TH_NO_PLACE || !outlive_owners(survivors, &owner))
		owner.is_collected = false;
	return owner;
}

bool
th_owners_await_finalizer(const struct th_leaks *leaks, uint32_t number)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[number];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	bool found = false;

	for (uint32_t i = 0;
		leaks->finalizers.class_name && is_native(place) && !found && i < path.count;
		i++) {
		uint32_t function = th_frames_function_at(frames, path.frames[i]);

		found = leaks->work->functions[function].is_constructor &&
			th_text_equals(class_in(th_frames_function_name(frames, function)),
				leaks->finalizers.class_name);
	}
	return found;
}

const char *
th_owners_wrapper(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t from = place->creator ? leaks->places.ways.items[place->creator].length : 1;
	const char *found = NULL;

	if (th_owners_await_finalizer(leaks, finding->place))
		return leaks->finalizers.class_name;
	if (finding->owner.collected)
		return th_frames_string(
			frames, leaks->places.items[finding->owner.place].class_name);
	for (uint32_t i = from - 1; i < path.count; i++) {
		uint32_t function = th_frames_function_at(frames, path.frames[i]);

		if (th_frames_function(frames, function)->kind != TH_KIND_JAVA)
			continue;
		found = th_frames_function_name(frames, function);
		if (leaks->work->functions[function].is_constructor)
			break;
	}
	return found ? th_printed("{}", class_in(found)) : NULL;
}
