/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are summed up by the last step of their path, then steps with the same path are merged:
 * the library keeps apart what only differs by the class that inherits a field.
 */
#include "report/holders/holders.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "report/base/sort.h"
#include "unify/shared/hash.h"

/* Sites of a finding. */
#define PARTS_MAX 4096
/* Steps of a path; the library writes fewer. */
#define STEPS_MAX 256

/* The walk */

static void
index_steps(struct th_held_samples *held)
{
	const struct th_recording *recording = held->leaks->profile->recording;

	for (size_t i = 0; i < recording->holder_steps_count; i++)
		if (recording->holder_steps[i].walk == held->walk->walk &&
			recording->holder_steps[i].number > held->step_max)
			held->step_max = recording->holder_steps[i].number;
	/* Numbers are consecutive; others are damage. */
	if (held->step_max > recording->holder_steps_count)
		held->step_max = (uint32_t)recording->holder_steps_count;
	held->by_number = th_allocate(held->step_max + 1, sizeof(*held->by_number));
	for (size_t i = 0; i < recording->holder_steps_count; i++) {
		const struct th_decoded_holder_step *step = &recording->holder_steps[i];

		if (step->walk == held->walk->walk && step->number <= held->step_max)
			held->by_number[step->number] = (uint32_t)i + 1;
	}
}

static void
index_objects(struct th_held_samples *held, const struct th_decoded_holder_objects *objects)
{
	const struct th_recording *recording = held->leaks->profile->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];

	for (uint32_t i = 0; i < objects->samples.count; i++) {
		uint64_t sample = objects->samples.words[i];
		size_t index = sample % 8 || sample / 8 > UINT32_MAX
				       ? SIZE_MAX
				       : th_samples_find(samples,
						 th_recording_record(recording, sample));

		if (index != SIZE_MAX && objects->step <= held->step_max)
			held->steps[index] = objects->step;
	}
}

/* The library follows a limited number of objects, but there may be millions of samples. */
static void
list_samples(struct th_held_samples *held)
{
	const struct th_profile *profile = held->leaks->profile;
	size_t count = profile->recording->samples[TH_HEAP_JAVA].items_count;

	for (size_t i = 0; i < count; i++)
		if (held->steps[i] || th_lifetimes_is_live(&profile->lifetimes, TH_HEAP_JAVA, i,
					      &held->moment))
			th_array_append(held, samples, i);
}

/* The path of the native stack of a LEDGER_TAKE. */
static uint32_t
path_of_take(const struct th_profile *profile, const struct th_id_map *takes, uint64_t take)
{
	uint32_t index = !take || take % 8 || take / 8 > UINT32_MAX
				 ? TH_ID_MAP_NONE
				 : th_id_map_find(takes, take / 8);

	if (index == TH_ID_MAP_NONE)
		return TH_HOLDERS_NO_PATH;
	return th_paths_resolve(
		profile->paths, profile->recording->ledger_takes[index].stack, TH_HEAP_NATIVE);
}

/* Resolved here, since a view may print while another thread reads the paths. */
static void
resolve_roots(struct th_held_samples *held)
{
	const struct th_profile *profile = held->leaks->profile;
	const struct th_recording *recording = profile->recording;
	struct th_id_map takes = {0};

	for (size_t i = 0; i < recording->ledger_takes_count; i++)
		th_id_map_intern(&takes, recording->take_records[i], NULL);
	held->root_paths = th_allocate(held->step_max + 1, sizeof(*held->root_paths));
	for (uint32_t i = 0; i <= held->step_max; i++) {
		uint32_t index = held->by_number[i];

		held->root_paths[i] = path_of_take(
			profile, &takes, index ? recording->holder_steps[index - 1].take : 0);
	}
	th_id_map_deinit(&takes);
}

void
th_held_samples_init(struct th_held_samples *held, const struct th_leaks *leaks)
{
	const struct th_recording *recording = leaks->profile->recording;

	*held = (struct th_held_samples){.leaks = leaks};
	if (!recording->holder_walks_count)
		return;
	held->walk = &recording->holder_walks[recording->holder_walks_count - 1];
	held->moment = th_lifetimes_moment(&leaks->profile->lifetimes, held->walk->time);
	held->steps = th_allocate(
		recording->samples[TH_HEAP_JAVA].items_count + 1, sizeof(*held->steps));
	index_steps(held);
	for (size_t i = 0; i < recording->holder_objects_count; i++)
		if (recording->holder_objects[i].walk == held->walk->walk)
			index_objects(held, &recording->holder_objects[i]);
	list_samples(held);
	resolve_roots(held);
}

void
th_held_samples_deinit(struct th_held_samples *held)
{
	free(held->steps);
	free(held->samples);
	free(held->by_number);
	free(held->root_paths);
}

/* Paths */

static const struct {
	const char *name;
	const char *words;
} kinds[TH_HOLDER_KINDS] = {
	[TH_HOLDER_STATIC] = {"static", "static "},
	[TH_HOLDER_JNI_GLOBAL] = {"jni-global", "JNI global of "},
	[TH_HOLDER_THREAD] = {"thread", "thread "},
	[TH_HOLDER_STACK] = {"stack", "local variable of "},
	[TH_HOLDER_LOADER] = {"loader", "class loader "},
	[TH_HOLDER_FIELD] = {"field", ""},
	[TH_HOLDER_ELEMENT] = {"element", ""},
	[TH_HOLDER_VM] = {"vm", "the VM "},
};

struct chain {
	const struct th_decoded_holder_step *steps[STEPS_MAX]; /* root first */
	uint32_t count;
};

static const struct th_decoded_holder_step *
step_at(const struct th_held_samples *held, uint32_t number)
{
	uint32_t index = number && number <= held->step_max ? held->by_number[number] : 0;

	return index ? &held->leaks->profile->recording->holder_steps[index - 1] : NULL;
}

static void
find_chain(const struct th_held_samples *held, uint32_t number, struct chain *chain)
{
	const struct th_decoded_holder_step *step;
	uint32_t count = 0;

	chain->count = 0;
	for (; count < STEPS_MAX && (step = step_at(held, number)) && step->parent < number;
		number = step->parent)
		chain->steps[count++] = step;
	for (uint32_t i = 0; i < count / 2; i++) {
		step = chain->steps[i];
		chain->steps[i] = chain->steps[count - 1 - i];
		chain->steps[count - 1 - i] = step;
	}
	chain->count = count;
}

/* Whether the step at `i` is of that kind and name; NULL: any name. */
static bool
is_step(const struct chain *chain, uint32_t i, enum th_holder_kind kind, const char *name)
{
	return i < chain->count && chain->steps[i]->kind == kind &&
	       (!name || th_text_equals(chain->steps[i]->name, name));
}

/* Thread, threadLocals, table, element, value. */
static bool
is_thread_local(const struct chain *chain)
{
	return is_step(chain, 0, TH_HOLDER_THREAD, NULL) &&
	       (is_step(chain, 1, TH_HOLDER_FIELD, "java.lang.Thread.threadLocals") ||
		       is_step(chain, 1, TH_HOLDER_FIELD,
			       "java.lang.Thread.inheritableThreadLocals")) &&
	       is_step(chain, 2, TH_HOLDER_FIELD,
		       "java.lang.ThreadLocal$ThreadLocalMap.table") &&
	       is_step(chain, 3, TH_HOLDER_ELEMENT, NULL) &&
	       is_step(chain, 4, TH_HOLDER_FIELD,
		       "java.lang.ThreadLocal$ThreadLocalMap$Entry.value");
}

/* The library separates thread and method by a tab. */
static char *
clean_name(struct th_text name)
{
	const char *tab = memchr(name.bytes, '\t', name.length);
	struct th_text thread = name;
	struct th_text method = name;

	if (!tab)
		return th_text_clean(name);
	thread.length = (uint32_t)(tab - name.bytes);
	method.bytes = tab + 1;
	method.length = name.length - thread.length - 1;
	char *first = th_text_clean(thread);
	char *second = th_text_clean(method);
	char *text = th_format_new("%s: %s", first, second);
	free(first);
	free(second);
	return text;
}

/*
 * The path that ends with a step, and the native stack of its root.  The element of a thread local
 * variable stands for the fields of java.lang.Thread that lead to it.
 */
static void
holder_init(const struct th_held_samples *held, uint32_t step, struct th_holder *ret)
{
	struct chain chain;

	*ret = (struct th_holder){.root_path = TH_HOLDERS_NO_PATH};
	find_chain(held, step, &chain);
	uint32_t skipped = is_thread_local(&chain) ? 4 : 0;
	for (uint32_t i = 0; i < chain.count; i += i ? 1 : 1 + skipped) {
		bool is_local = !i && skipped;
		uint32_t kind = chain.steps[i]->kind;
		struct th_holder_element element = {
			.kind = is_local ? "thread-local" : kinds[kind].name,
			.words = is_local ? "thread local of " : kinds[kind].words,
			.name = clean_name(chain.steps[i]->name),
		};

		th_array_append(ret, path, element);
	}
	if (chain.count)
		ret->root_path = held->root_paths[chain.steps[0]->number];
}

static void
holder_deinit(struct th_holder *holder)
{
	for (size_t i = 0; i < holder->path_count; i++)
		free(holder->path[i].name);
	free(holder->path);
}

/* Merging */

static bool
is_of_thread(const struct th_holder_element *element)
{
	return !strcmp(element->kind, "thread-local") || !strcmp(element->kind, "thread") ||
	       !strcmp(element->kind, "stack");
}

/* Without numbers. */
static uint64_t
hash_thread(uint64_t hash, const char *name)
{
	for (; *name; name++)
		if (!isdigit((unsigned char)*name) && *name != '*')
			hash = th_hash_bytes(hash, name, 1);
	return hash;
}

/* Numbers in names of threads do not count. */
static uint64_t
hash_path(const struct th_holder *holder)
{
	uint64_t hash = th_hash_bytes(
		TH_HASH_START, &holder->root_path, sizeof(holder->root_path));

	for (size_t i = 0; i < holder->path_count; i++) {
		const struct th_holder_element *element = &holder->path[i];

		hash = th_hash_bytes(hash, element->kind, strlen(element->kind) + 1);
		hash = is_of_thread(element)
			       ? hash_thread(hash, element->name)
			       : th_hash_bytes(hash, element->name, strlen(element->name) + 1);
	}
	return th_hash_mix(hash);
}

/* The end of the number that `text` begins with; '*' is one. */
static const char *
end_of_number(const char *text)
{
	if (*text == '*')
		return text + 1;
	while (isdigit((unsigned char)*text))
		text++;
	return text;
}

/* "worker-12" becomes "worker-*" if the other name has another number; both are equal otherwise. */
static char *
merge_names(const char *name, const char *other)
{
	char *result = th_allocate(strlen(name) + strlen(other) + 2, 1);
	char *to = result;

	while (*name) {
		const char *end = end_of_number(name);
		const char *other_end = end_of_number(other);
		size_t length = (size_t)(end - name);

		if (length != (size_t)(other_end - other) || memcmp(name, other, length) != 0) {
			*to++ = '*';
		} else if (length) {
			memcpy(to, name, length);
			to += length;
		} else {
			*to++ = *end++;
			other_end += *other_end != '\0';
		}
		name = end;
		other = other_end;
	}
	return result;
}

/* Replaces the numbers in names of threads by '*' where those of the other path differ. */
static void
merge_paths(struct th_holder *holder, const struct th_holder *other)
{
	for (size_t i = 0; i < holder->path_count && i < other->path_count; i++) {
		struct th_holder_element *element = &holder->path[i];

		if (!is_of_thread(element) || !strcmp(element->name, other->path[i].name))
			continue;
		char *name = merge_names(element->name, other->path[i].name);
		free(element->name);
		element->name = name;
	}
}

/* Sums */

/* Whether a Java sample is in a selection. */
static bool
is_selected(const struct th_leaks *leaks, const struct th_holders_of *of, size_t index)
{
	const struct th_profile *profile = leaks->profile;
	uint32_t place = th_leak_sites_of(&leaks->places, TH_HEAP_JAVA, index);
	const struct th_sample *sample =
		&profile->recording->samples[TH_HEAP_JAVA].items[index];

	if (place == TH_NO_PLACE || (of->places && !of->places[place]))
		return false;
	return !of->class_name ||
	       th_profile_class_name(profile, sample->class) == of->class_name;
}

static void
add_sample(const struct th_held_samples *held, size_t index, struct th_estimator *sum)
{
	const struct th_profile *profile = held->leaks->profile;

	th_lifetimes_add(&profile->lifetimes, &profile->heaps[TH_HEAP_JAVA], TH_HEAP_JAVA,
		index, &held->moment, sum);
}

/* By the step of their path; 0: objects alive that were not found at the walk. */
static struct th_estimator *
sum_by_step(const struct th_held_samples *held, const struct th_holders_of *of)
{
	struct th_estimator *sums = th_allocate(held->step_max + 1, sizeof(*sums));

	for (size_t i = 0; i < held->samples_count; i++) {
		size_t index = held->samples[i];

		if (is_selected(held->leaks, of, index))
			add_sample(held, index, &sums[held->steps[index]]);
	}
	return sums;
}

/* The holder with the path that ends with a step. */
static struct th_holder *
holder_at(const struct th_held_samples *held, struct th_id_map *ids, uint32_t step,
	struct th_holders *holders)
{
	struct th_holder holder;
	bool added;

	holder_init(held, step, &holder);
	uint32_t number = th_id_map_intern(ids, hash_path(&holder), &added);
	if (added) {
		th_array_append(holders, items, holder);
	} else {
		merge_paths(&holders->items[number], &holder);
		holder_deinit(&holder);
	}
	return &holders->items[number];
}

/* One holder for each path. */
static void
merge(const struct th_held_samples *held, const struct th_estimator *sums,
	struct th_holders *holders)
{
	struct th_id_map ids = {0};

	holders->unknown = sums[0];
	for (uint32_t step = 1; step <= held->step_max; step++) {
		if (!sums[step].samples)
			continue;
		holders->samples += sums[step].samples;
		th_estimator_merge(&holder_at(held, &ids, step, holders)->sum, &sums[step]);
	}
	th_id_map_deinit(&ids);
}

TH_COMPARE(compare_holders, struct th_holder,
	th_order(right->share, left->share) ?: th_order(right->sum.samples, left->sum.samples))

static void
sort(struct th_holders *holders)
{
	th_sort(holders->items, holders->items_count, compare_holders);
}

static void
measure(const struct th_held_samples *held, struct th_holders *holders)
{
	const struct th_profile *profile = held->leaks->profile;

	for (size_t i = 0; i < holders->items_count; i++) {
		struct th_holder *holder = &holders->items[i];

		holder->bytes = th_profile_bytes(
			profile, TH_HEAP_JAVA, TH_MEASURE_LIVE, &holder->sum);
		holder->objects = th_profile_objects(
			profile, TH_HEAP_JAVA, TH_MEASURE_LIVE, &holder->sum);
		holder->share = holder->bytes.estimate;
	}
	sort(holders);
}

void
th_holders_find(const struct th_held_samples *held, const struct th_holders_of *of,
	struct th_holders *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!held->walk)
		return;
	struct th_estimator *sums = sum_by_step(held, of);
	merge(held, sums, ret);
	measure(held, ret);
	free(sums);
}

void
th_holders_deinit(struct th_holders *holders)
{
	for (size_t i = 0; i < holders->items_count; i++)
		holder_deinit(&holders->items[i]);
	free(holders->items);
}

/* Findings */

/* Marks the Java sites of a finding; false: it has none. */
static bool
mark_parts(const struct th_leaks *leaks, const struct th_listed *listed, bool *places)
{
	struct th_leak_part *parts = th_allocate(PARTS_MAX, sizeof(*parts));
	double live;
	size_t count = th_leaks_parts(leaks, listed, parts, PARTS_MAX, &live);
	bool has_java = false;

	for (size_t i = 0; i < count && i < PARTS_MAX; i++)
		if (leaks->places.items[parts[i].place].heap == TH_HEAP_JAVA)
			has_java = places[parts[i].place] = true;
	free(parts);
	return has_java;
}

bool
th_holders_of_finding(const struct th_held_samples *held, const struct th_listed *listed,
	const struct th_finding *finding, struct th_holders *ret)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_owner *owner = &finding->owner;
	bool *places = th_allocate(leaks->places.items_count + 1, sizeof(*places));
	const struct th_holders_of of = {.places = places};
	bool has_java = mark_parts(leaks, listed, places);

	for (uint32_t i = owner->place; !has_java && i != TH_NO_PLACE;
		i = leaks->places.items[i].next)
		places[i] = true;
	th_holders_find(held, &of, ret);
	free(places);
	return has_java || (owner->place != TH_NO_PLACE && !owner->is_collected);
}

/* Class loaders */

void
th_holders_of_tallied(const struct th_held_samples *held, const struct th_tallied *tallied,
	struct th_holders *ret)
{
	const struct th_recording *recording = held->leaks->profile->recording;
	struct th_id_map ids = {0};

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; held->walk && i < recording->holder_loaders_count; i++) {
		const struct th_decoded_holder_loaders *loaders = &recording->holder_loaders[i];

		if (loaders->walk == held->walk->walk && loaders->step <= held->step_max &&
			th_tallied_has_loaders(
				&held->leaks->tallies, tallied, loaders->stack, loaders->type))
			holder_at(held, &ids, loaders->step, ret)->share +=
				(double)loaders->count *
				(double)(UINT64_C(1) << tallied->level);
	}
	for (size_t i = 0; i < ret->items_count; i++) {
		double count = ret->items[i].share;

		ret->items[i].objects = (struct th_estimate){.estimate = count,
			.low = count,
			.high = count,
			.exact = !tallied->level};
	}
	sort(ret);
	th_id_map_deinit(&ids);
}
