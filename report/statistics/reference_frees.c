/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/reference_frees.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

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
	th_forced_collections_init(&frees->collections, recording);
	frees->is_reference_thread = th_allocate(
		recording->threads_count, sizeof(*frees->is_reference_thread));
	for (size_t i = 0; i < recording->thread_names_count; i++) {
		const struct th_thread_name *name = &recording->thread_names[i];

		frees->is_reference_thread[name->thread] |= name->is_of_java &&
							    runs_cleaners(name->text);
	}
}

void
th_reference_frees_deinit(struct th_reference_frees *frees)
{
	th_forced_collections_deinit(&frees->collections);
	free(frees->is_reference_thread);
}

bool
th_reference_frees_has(const struct th_reference_frees *frees, const struct th_free_info *info)
{
	return frees->is_reference_thread[info->thread] ||
	       th_forced_collections_contain(&frees->collections, info->time);
}
