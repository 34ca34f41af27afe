/* SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks/leaks_work.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"

/* Threads that start threads, followed towards the first. */
#define STARTERS_MAX 8
/* Bits of key_of() below the function. */
#define METHOD 32
#define NO_LINE UINT64_MAX

struct lines {
	struct th_id_map ids;      /* function << 32 | line: of the application */
	TH_ARRAY(uint32_t, first); /* leak of each line */
};

/* The application's line that leads to a path: outside of the library that allocates, if there is. */
static uint32_t
line_of_path(const struct th_leaks *leaks, uint32_t number)
{
	const struct th_profile *profile = leaks->profile;
	struct th_path path = th_paths_get(profile->paths, number);
	uint32_t length = th_leak_sites_creator_length(profile, &path);

	if (!length)
		return TH_NO_FRAME;
	uint32_t user = th_leak_sites_user_of(profile, &path);
	return user == TH_NO_FRAME ? path.frames[length - 1] : user;
}

/* The stack that started the threads of a stack that starts threads, plus one; 0: not known. */
static uint32_t
starter_of(const struct th_recording *recording, uint32_t stack)
{
	for (size_t i = recording->tallies_count; i-- > 0;) {
		const struct th_decoded_tally *tally = &recording->tallies[i];

		if (tally->stack == stack && tally->starter)
			return tally->starter;
	}
	return 0;
}

/* Sets the line that started a thread, directly or through others; `starter`: a stack plus one. */
static void
find_line_of_starter(
	const struct th_leaks *leaks, uint32_t starter, struct th_leak_cause *cause)
{
	const struct th_recording *recording = leaks->profile->recording;

	for (int i = 0; i < STARTERS_MAX && starter && cause->line == TH_NO_FRAME; i++) {
		if (!recording->stacks[starter - 1].stack)
			return;
		cause->path = th_paths_resolve(
			leaks->profile->paths, starter - 1, TH_HEAP_NATIVE);
		cause->line = cause->starter = line_of_path(leaks, cause->path);
		starter = starter_of(recording, starter - 1);
	}
}

/* The starter, plus one, of most samples of a finding that are alive; 0: not known. */
static uint32_t
starter_of_finding(const struct th_leaks *leaks, const struct th_listed *listed)
{
	const struct th_leaks_work *work = leaks->work;
	const struct th_profile *profile = leaks->profile;
	const struct th_recording *recording = profile->recording;
	const struct th_leak_group *group = &work->groups[listed->group];
	uint32_t found = 0;
	uint32_t votes = 0;

	/* Boyer and Moore: a majority is what is left. */
	for (size_t k = 0; k < group->places_count; k++) {
		uint32_t place = group->places[k];

		for (uint32_t i = work->order.starts[place]; i < work->order.starts[place + 1];
			i++) {
			uint32_t index = work->order.samples[i];

			if (!th_lifetimes_is_live(
				    &profile->lifetimes, group->heap, index, &profile->at))
				continue;
			uint32_t thread = th_recording_thread(
				recording, &recording->samples[group->heap].items[index]);
			uint32_t starter = recording->threads[thread].starter;
			if (!votes)
				found = starter;
			votes += found == starter ? 1 : UINT32_MAX;
		}
	}
	return found;
}

/* Sets the line that leads to a leak, and whether it is in a stack that started its thread. */
static void
find_line(struct th_leaks *leaks, uint32_t number, uint32_t path, uint32_t starter)
{
	struct th_leak_cause *cause = &leaks->causes[number];

	cause->line = line_of_path(leaks, path);
	cause->path = path;
	find_line_of_starter(leaks, starter, cause);
}

static void
find_lines(struct th_leaks *leaks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		leaks->causes[i] = (struct th_leak_cause){
			.leader = i, .line = TH_NO_FRAME, .starter = TH_NO_FRAME};
	for (uint32_t i = 0; i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		find_line(leaks, i, tallied->path, tallied->starter);
	}
	for (size_t i = 0; i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];

		if (listed->verdict == TH_VERDICT_LEAK)
			find_line(leaks, th_causes_number_of(leaks, listed),
				leaks->places.items[listed->place].path,
				starter_of_finding(leaks, listed));
	}
}

static uint32_t
leader_of(const struct th_leaks *leaks, uint32_t number)
{
	while (leaks->causes[number].leader != number)
		number = leaks->causes[number].leader;
	return number;
}

static double
bytes_of(const struct th_leaks *leaks, uint32_t number)
{
	size_t tallies = leaks->tallies.items_count;

	return number < tallies ? th_tallied_bytes(&leaks->tallies.items[number])
				: leaks->findings[number - tallies].live;
}

/* The larger one leads. */
static void
unite(struct th_leaks *leaks, uint32_t a, uint32_t b)
{
	uint32_t left = leader_of(leaks, a);
	uint32_t right = leader_of(leaks, b);

	if (bytes_of(leaks, left) >= bytes_of(leaks, right))
		leaks->causes[right].leader = left;
	else
		leaks->causes[left].leader = right;
}

/* The same line of the source, whatever the bytecode. */
static uint64_t
key_of(const struct th_leaks *leaks, uint32_t line)
{
	const struct th_frame *frame = th_frames_get(leaks->profile->frames, line);

	return (uint64_t)frame->function << METHOD | frame->line;
}

/* Clients of libraries */

/* The code around the line of a leak. */
struct around {
	uint64_t line;    /* key_of(), as for the call */
	uint64_t call;    /* of the method with the line, in the program; NO_LINE: none */
	uint32_t library; /* that is called at the line; 0 = none */
};

/* Collections and threads are not what a client of a library consists of. */
static bool
is_basic(const struct th_frames *frames, uint32_t library)
{
	const char *name = th_frames_string(frames, library);

	return th_text_begins(name, "java.util") || th_text_begins(name, "java.lang");
}

static struct around
look_around(const struct th_leaks *leaks, uint32_t number)
{
	const struct th_leak_cause *cause = &leaks->causes[number];
	struct th_frames *frames = leaks->profile->frames;
	struct around around = {.call = NO_LINE};

	if (cause->line == TH_NO_FRAME)
		return around;
	struct th_path path = th_paths_get(leaks->profile->paths, cause->path);
	uint32_t at = path.count - 1;
	while (path.frames[at] != cause->line)
		at--;
	around.line = key_of(leaks, cause->line);
	if (at + 1 < path.count)
		around.library = th_frames_function_of(frames, path.frames[at + 1])->library;
	if (is_basic(frames, around.library))
		around.library = 0;
	while (at && around.call == NO_LINE)
		if (th_frames_function_of(frames, path.frames[--at])->is_program)
			around.call = key_of(leaks, path.frames[at]);
	return around;
}

/* Whether calls of one library have a line in common, or, with METHOD as `shift`, a method. */
static bool
is_near(const struct around *a, const struct around *b, unsigned shift)
{
	return a->library && a->library == b->library &&
	       (a->line >> shift == b->line >> shift || a->line >> shift == b->call >> shift ||
		       a->call >> shift == b->line >> shift ||
		       (a->call != NO_LINE && a->call >> shift == b->call >> shift));
}

/* The only client of a library that is near to a leak; TH_NO_FRAME: there are none, or several. */
static uint32_t
find_client(const struct th_leaks *leaks, const struct around *around, uint32_t number,
	unsigned shift)
{
	uint32_t found = TH_NO_FRAME;

	for (uint32_t i = 0; i < leaks->tallies.leaks_count; i++) {
		uint32_t leader = leader_of(leaks, i);

		if (!is_near(&around[i], &around[number], shift) || leader == found)
			continue;
		if (found != TH_NO_FRAME)
			return TH_NO_FRAME;
		found = leader;
	}
	return found;
}

/*
 * A client of a library that is never closed leaks its threads or classes where it is made, and
 * buffers and connections where it is used: calls of one library, by one method.  Threads and
 * classes of different lines are those of different clients.
 */
static void
unite_clients(struct th_leaks *leaks, uint32_t count)
{
	uint32_t tallies = (uint32_t)leaks->tallies.items_count;
	struct around *around = th_allocate(count, sizeof(*around));

	for (uint32_t i = 0; i < count; i++)
		around[i] = look_around(leaks, i);
	for (uint32_t i = 0; i < tallies; i++)
		for (uint32_t j = 0; j < i; j++)
			if (is_near(&around[i], &around[j], 0))
				unite(leaks, i, j);
	for (uint32_t i = tallies; i < count; i++) {
		uint32_t client = find_client(leaks, around, i, 0);

		if (client == TH_NO_FRAME)
			client = find_client(leaks, around, i, METHOD);
		if (client != TH_NO_FRAME)
			unite(leaks, client, i);
	}
	free(around);
}

/* Classes */

/* The leak of classes; TH_NO_FRAME: there are none, or several. */
static uint32_t
find_classes(const struct th_leaks *leaks)
{
	uint32_t found = TH_NO_FRAME;

	for (uint32_t i = 0; i < leaks->tallies.leaks_count; i++) {
		if (leaks->tallies.items[i].kind != TH_TALLY_LOADERS)
			continue;
		if (found != TH_NO_FRAME && leader_of(leaks, i) != leader_of(leaks, found))
			return TH_NO_FRAME;
		found = i;
	}
	return found;
}

static bool
is_generated(const struct th_leaks *leaks, uint32_t frame)
{
	const struct th_frames *frames = leaks->profile->frames;

	return th_frames_is_generated(frames, th_frames_function_at(frames, frame));
}

/* Whether one of many classes that the program generates allocates, or calls the library that does. */
static bool
is_by_generated(const struct th_leaks *leaks, const struct th_leak_cause *cause)
{
	if (cause->line == TH_NO_FRAME)
		return false;
	struct th_path path = th_paths_get(leaks->profile->paths, cause->path);
	uint32_t length = th_leak_sites_creator_length(leaks->profile, &path);
	return is_generated(leaks, cause->line) ||
	       (length && is_generated(leaks, path.frames[length - 1]));
}

/*
 * What generated classes allocate, as they begin or run, lives as long as they do, so the leak of the
 * classes leads.
 */
static void
unite_classes(struct th_leaks *leaks, uint32_t count)
{
	uint32_t classes = find_classes(leaks);

	for (uint32_t i = (uint32_t)leaks->tallies.items_count;
		classes != TH_NO_FRAME && i < count; i++) {
		if (!is_by_generated(leaks, &leaks->causes[i]))
			continue;
		unite(leaks, classes, i);
		leaks->causes[leader_of(leaks, classes)].leader = classes;
		leaks->causes[classes].leader = classes;
	}
}

/* Lines */

/* The first leak, but `except`, whose line is in a function; `count`: there is none. */
static uint32_t
find_in_function(
	const struct th_leaks *leaks, uint32_t count, uint32_t function, uint32_t except)
{
	const struct th_leak_cause *causes = leaks->causes;
	struct th_frames *frames = leaks->profile->frames;
	uint32_t i = 0;

	while (i < count && (i == except || causes[i].line == TH_NO_FRAME ||
				    th_frames_function_at(frames, causes[i].line) != function))
		i++;
	return i;
}

/*
 * A thread may be made in one line and started in another of the same method, so what is known by the
 * start of a thread belongs to the method.
 */
static void
unite_lines(struct th_leaks *leaks, uint32_t count)
{
	const struct th_leak_cause *causes = leaks->causes;
	struct lines lines = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (causes[i].line == TH_NO_FRAME || causes[i].starter != TH_NO_FRAME)
			continue;
		uint32_t line = th_id_map_enter(
			&lines.ids, key_of(leaks, causes[i].line), &lines, first, i);
		unite(leaks, lines.first[line], i);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (causes[i].starter == TH_NO_FRAME)
			continue;
		uint32_t other = find_in_function(leaks, count,
			th_frames_function_at(leaks->profile->frames, causes[i].starter), i);
		if (other < count)
			unite(leaks, other, i);
	}
	th_id_map_deinit(&lines.ids);
	free(lines.first);
}

void
th_causes_find(struct th_leaks *leaks)
{
	uint32_t count = (uint32_t)(leaks->tallies.items_count + leaks->findings_count);

	leaks->causes = th_allocate(count, sizeof(*leaks->causes));
	find_lines(leaks, count);
	if (!leaks->profile->options->group_by) {
		unite_lines(leaks, count);
		unite_clients(leaks, count);
		unite_classes(leaks, count);
	}
	for (uint32_t i = 0; i < count; i++)
		leaks->causes[i].leader = leader_of(leaks, i);
}

uint32_t
th_causes_number_of_tallied(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	return (uint32_t)(tallied - leaks->tallies.items);
}

uint32_t
th_causes_number_of(const struct th_leaks *leaks, const struct th_listed *listed)
{
	return (uint32_t)(leaks->tallies.items_count + (size_t)(listed - leaks->findings));
}

bool
th_causes_is_part(const struct th_leaks *leaks, uint32_t number)
{
	return leaks->causes[number].leader != number;
}

uint32_t
th_causes_next(const struct th_leaks *leaks, uint32_t leader, uint32_t number)
{
	size_t count = leaks->tallies.items_count + leaks->findings_count;

	/* Both lists begin with the largest. */
	for (uint32_t i = number == leader ? 0 : number + 1; i < count; i++)
		if (i != leader && leaks->causes[i].leader == leader)
			return i;
	return UINT32_MAX;
}
