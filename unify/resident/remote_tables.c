/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data read from another process is not trusted: it may be changing, and may belong to another
 * user.  Each module checks what it copies and bounds what it follows.
 */
#include "unify/resident/remote_tables.h"

#include <errno.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/mapped/mapping.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/thread.h"

#define MAGIC "THTABLES"

static struct th_remote_tables list; /* in the tool: a copy of the observed process's */
static uintptr_t address;            /* of the list in the observed process */

/* Describes this build: the list of a process must match it. */
static void
fill(struct th_remote_tables *ret)
{
	*ret = (struct th_remote_tables){
		.version = TH_VERSION,
		.parts =
			{
				[TH_REMOTE_MEMORY] = th_memory_part(),
				[TH_REMOTE_THREADS] = th_thread_part(),
				[TH_REMOTE_MAPPING] = th_mapping_part(),
				[TH_REMOTE_LIVE] = th_live_blocks_part(),
				[TH_REMOTE_MODULES] = th_module_part(),
				[TH_REMOTE_ACCOUNT] = th_breakdown_part(),
			},
	};
	memcpy(ret->magic, MAGIC, sizeof(ret->magic));
}

static intptr_t
to_thread_pointer(void)
{
	const char *own = (const char *)&th_thread;

	/* Prevents gcc from folding both into an instruction that the linker cannot relax. */
	__asm__("" : "+r"(own));
	return (char *)__builtin_thread_pointer() - own;
}

void
th_remote_tables_publish(void)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	fill(&list);
	list.start_monotonic = header->start_monotonic;
	list.log = (uintptr_t)header;
	list.to_thread_pointer = to_thread_pointer();
	/* Pairs with the acquire in th_remote_tables_begin(): the list is complete. */
	th_store_release(&header->observed, (uintptr_t)&list);
}

const struct th_remote_tables *
th_remote_tables(void)
{
	return &list;
}

/* Whether this build can read the tables. */
static bool
is_known(const struct th_remote_tables *found)
{
	struct th_remote_tables ours;

	fill(&ours);
	if (memcmp(found->version, ours.version, sizeof(ours.version)) != 0)
		return false;
	for (int i = 0; i < TH_REMOTE_TABLES; i++)
		if (found->parts[i].bytes != ours.parts[i].bytes ||
			found->parts[i].entry_bytes != ours.parts[i].entry_bytes)
			return false;
	return true;
}

enum th_observed_status
th_remote_tables_begin(pid_t pid, const struct th_log_header *header)
{
	struct th_remote_tables found;

	if (pid <= 0)
		return TH_OBSERVED_GONE;
	th_observed_set(pid);
	address = th_load_acquire(&header->observed);
	if (!address)
		return TH_OBSERVED_UNKNOWN;
	errno = 0;
	if (!th_observed_copy(address, &found, sizeof(found)))
		return errno == EPERM || errno == ENOSYS || errno == EACCES ? TH_OBSERVED_DENIED
									    : TH_OBSERVED_GONE;
	if (memcmp(found.magic, MAGIC, sizeof(found.magic)) != 0 ||
		found.start_monotonic != header->start_monotonic)
		return TH_OBSERVED_GONE;
	if (!is_known(&found))
		return TH_OBSERVED_UNKNOWN;
	list = found;
	return TH_OBSERVED_OK;
}

bool
th_remote_tables_are_there(void)
{
	struct th_remote_tables now;

	return !th_observed_is_other() || (th_observed_copy(address, &now, sizeof(now)) &&
						  !memcmp(&now, &list, sizeof(list)));
}

bool
th_remote_tables_copy(void)
{
	if (!th_observed_is_other())
		return true;
	return th_thread_observe(list.parts[TH_REMOTE_THREADS].start) &&
	       th_mapping_observe(list.parts[TH_REMOTE_MAPPING].start) &&
	       th_live_blocks_observe(list.parts[TH_REMOTE_LIVE].start) &&
	       th_module_observe(list.parts[TH_REMOTE_MODULES].start) &&
	       th_breakdown_observe(list.parts[TH_REMOTE_ACCOUNT].start) &&
	       /* Last: the others may have mapped memory of their own. */
	       th_memory_observe(list.parts[TH_REMOTE_MEMORY].start);
}
