/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/e2e/allocators.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#if defined(__x86_64__)
#	define DIRECTORY "/usr/lib/x86_64-linux-gnu/"
#else
#	define DIRECTORY "/usr/lib/aarch64-linux-gnu/"
#endif

const struct th_allocator th_allocators[TH_ALLOCATORS] = {
	{"jemalloc", "libjemalloc.so.2", true},
	{"tcmalloc", "libtcmalloc_minimal.so.4", false},
	{"mimalloc", "libmimalloc.so.2", false},
};

char *
th_allocator_path(const struct th_allocator *allocator)
{
	char *path = th_format(DIRECTORY "%s", allocator->file);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

double
th_allocators_truth(const struct th_recording *recording, const char *key)
{
	return json_number_value(json_object_get(json_array_get(recording->truth, 0), key));
}

double
th_allocators_native(const struct th_recording *recording, const char *value)
{
	return th_recording_total(recording, "native", value).estimate;
}

double
th_allocators_count(const struct th_recording *recording, const char *event)
{
	struct th_dump dump;
	double found;

	th_dump_init(&dump, recording->log);
	found = (double)th_dump_count(&dump, event);
	th_dump_deinit(&dump);
	return found;
}

bool
th_allocators_says(const struct th_recording *recording, const char *text)
{
	char *summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording->log));
	bool found = strstr(summary, text) != NULL;

	free(summary);
	return found;
}

void
th_allocators_check_exact(const struct th_recording *all, const struct th_recording *none)
{
	assert_true(th_allocators_truth(all, "bytes") > 0);
	assert_true(th_allocators_native(all, "alloc_bytes") -
			    th_allocators_native(none, "alloc_bytes") ==
		    th_allocators_truth(all, "bytes"));
	assert_true(th_allocators_native(all, "alloc_objects") -
			    th_allocators_native(none, "alloc_objects") ==
		    th_allocators_truth(all, "objects"));
}
