/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing that is read from another process is trusted: it may be changing, and its user may not
 * be the reader's.  Each module checks what it copies and bounds what it follows.
 */
#include "unify/resident/observed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unify/resident/breakdown.h"
#include "unify/base/atomic.h"
#include "unify/sample/live_blocks.h"
#include "unify/log/log.h"
#include "unify/log/log_window.h"
#include "unify/mapped/mapping.h"
#include "unify/base/memory.h"
#include "unify/log/module.h"
#include "unify/sample/thread.h"

#define MAGIC "THTABLES"

static struct th_observed_list list; /* in the tool: a copy of the observed process's */
static pid_t other;                  /* the observed process; 0 = this one */
static uintptr_t address;            /* of its list */

/* Of this build: the list of a process must match it. */
static void
fill(struct th_observed_list *ret)
{
	*ret = (struct th_observed_list){
		.version = TH_VERSION,
		.parts =
			{
				[TH_OBSERVED_MEMORY] = th_memory_part(),
				[TH_OBSERVED_LOG] = th_log_windows_part(),
				[TH_OBSERVED_THREADS] = th_thread_part(),
				[TH_OBSERVED_MAPPING] = th_mapping_part(),
				[TH_OBSERVED_LIVE] = th_live_blocks_part(),
				[TH_OBSERVED_MODULES] = th_module_part(),
				[TH_OBSERVED_ACCOUNT] = th_breakdown_part(),
			},
	};
	memcpy(ret->magic, MAGIC, sizeof(ret->magic));
}

static intptr_t
to_thread_pointer(void)
{
	const char *own = (const char *)&th_thread;

	/* Or gcc folds both into an instruction that the linker cannot relax. */
	__asm__("" : "+r"(own));
	return (char *)__builtin_thread_pointer() - own;
}

void
th_observed_publish(void)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	fill(&list);
	list.start_monotonic = header->start_monotonic;
	list.log = (uintptr_t)header;
	list.to_thread_pointer = to_thread_pointer();
	/* Pairs with the acquire in th_observed_begin(): the list is there. */
	th_store_release(&header->observed, (uintptr_t)&list);
}

const struct th_observed_list *
th_observed_list(void)
{
	return &list;
}

const char *
th_observed_path(const char *name, char path[TH_OBSERVED_PATH_MAX])
{
	if (other)
		snprintf(path, TH_OBSERVED_PATH_MAX, "/proc/%d/%s", (int)other, name);
	else
		snprintf(path, TH_OBSERVED_PATH_MAX, "/proc/self/%s", name);
	return path;
}

bool
th_observed_copy(uintptr_t from, void *ret, uint64_t bytes)
{
	struct iovec local = {ret, bytes};
	struct iovec remote = {(void *)from, bytes};

	/* What is there may be unmapped at any moment: this fails where a plain read would fault. */
	return process_vm_readv(other ? other : getpid(), &local, 1, &remote, 1, 0) ==
	       (ssize_t)bytes;
}

/* Whether the tables are those that this build knows. */
static bool
is_known(const struct th_observed_list *found)
{
	struct th_observed_list ours;

	fill(&ours);
	if (memcmp(found->version, ours.version, sizeof(ours.version)) != 0)
		return false;
	for (int i = 0; i < TH_OBSERVED_TABLES; i++)
		if (found->parts[i].bytes != ours.parts[i].bytes ||
			found->parts[i].entry_bytes != ours.parts[i].entry_bytes)
			return false;
	return true;
}

enum th_observed_status
th_observed_begin(pid_t pid, const struct th_log_header *header)
{
	struct th_observed_list found;

	if (pid <= 0)
		return TH_OBSERVED_GONE;
	other = pid;
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
th_observed_is_there(void)
{
	struct th_observed_list now;

	return !other || (th_observed_copy(address, &now, sizeof(now)) &&
				 !memcmp(&now, &list, sizeof(list)));
}

bool
th_observed_copy_tables(void)
{
	if (!other)
		return true;
	return th_log_windows_observe(list.parts[TH_OBSERVED_LOG].start) &&
	       th_thread_observe(list.parts[TH_OBSERVED_THREADS].start) &&
	       th_mapping_observe(list.parts[TH_OBSERVED_MAPPING].start) &&
	       th_live_blocks_observe(list.parts[TH_OBSERVED_LIVE].start) &&
	       th_module_observe(list.parts[TH_OBSERVED_MODULES].start) &&
	       th_breakdown_observe(list.parts[TH_OBSERVED_ACCOUNT].start) &&
	       /* Last: the others may have mapped memory of their own. */
	       th_memory_observe(list.parts[TH_OBSERVED_MEMORY].start);
}
