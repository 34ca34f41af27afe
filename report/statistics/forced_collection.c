/* SPDX-License-Identifier: Apache-2.0 */
/* Each is logged at its end, with its duration as the value. */
#include "report/statistics/forced_collection.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

#define AT_EXIT "gc at exit"
#define RUNNING "gc forced"

/*
 * Threads that free what belongs to unreachable objects, by the start of their names:
 * java.lang.ref (Finalizer.java, Reference.java, CleanerFactory.java, CleanerImpl.java),
 * java.nio.BufferCleaner (26), JNA's Cleaner.java, JavaCPP's Pointer.java.
 */
static const char *const reference_threads[] = {
	"Finalizer",
	"Secondary finalizer",
	"Reference Handler",
	"Common-Cleaner",
	"Cleaner-",
	"BufferCleaner",
	"JNA Cleaner",
	"JavaCPP Deallocator",
};

static struct th_forced_collection
decode(const struct th_decoded_control *change)
{
	uint64_t duration = change->value < change->time ? change->value : change->time;

	return (struct th_forced_collection){change->time - duration, change->time};
}

bool
th_forced_collection_at_exit(
	const struct th_recording *recording, struct th_forced_collection *ret)
{
	for (size_t i = recording->changes_count; i-- > 0;) {
		if (!th_text_equals(recording->changes[i].name, AT_EXIT))
			continue;
		*ret = decode(&recording->changes[i]);
		return true;
	}
	return false;
}

/* Frees */

static bool
runs_cleaners(struct th_text name)
{
	for (size_t i = 0; i < sizeof(reference_threads) / sizeof(reference_threads[0]); i++) {
		size_t length = strlen(reference_threads[i]);

		if (name.length >= length && !memcmp(name.bytes, reference_threads[i], length))
			return true;
	}
	return false;
}

void
th_reference_frees_init(struct th_reference_frees *frees, const struct th_recording *recording)
{
	*frees = (struct th_reference_frees){
		.is_reference_thread = th_allocate(
			recording->threads_count, sizeof(*frees->is_reference_thread))};
	for (size_t i = 0; i < recording->changes_count; i++) {
		const struct th_decoded_control *change = &recording->changes[i];

		if (th_text_equals(change->name, AT_EXIT) ||
			th_text_equals(change->name, RUNNING))
			th_array_append(frees, collections, decode(change));
	}
	for (size_t i = 0; i < recording->thread_names_count; i++) {
		const struct th_thread_name *name = &recording->thread_names[i];

		frees->is_reference_thread[name->thread] |= name->is_of_java &&
							    runs_cleaners(name->text);
	}
}

void
th_reference_frees_deinit(struct th_reference_frees *frees)
{
	free(frees->collections);
	free(frees->is_reference_thread);
}

bool
th_reference_frees_has(const struct th_reference_frees *frees, const struct th_free_info *info)
{
	const struct th_forced_collection *items = frees->collections;
	size_t next = th_bisect(frees->collections_count, i, items[i].end < info->time);

	return frees->is_reference_thread[info->thread] ||
	       (next < frees->collections_count && items[next].start <= info->time);
}
