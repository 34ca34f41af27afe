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
#include "unify/sample/live_blocks.h"
#include "unify/sample/thread.h"

#define MAGIC "THTABLES"

struct th_remote_tables th_remote_tables;

/* In the order in which they are copied: memory last, since the others may map some of their own. */
static const struct th_observed_tables *const tables[TH_REMOTE_TABLES] = {&th_thread_tables,
	&th_mapping_tables, &th_live_blocks_tables, &th_module_tables, &th_memory_tables};

static uintptr_t address; /* of the list in the observed process */

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
	memcpy(th_remote_tables.magic, MAGIC, sizeof(th_remote_tables.magic));
	strncpy(th_remote_tables.version, TH_VERSION, sizeof(th_remote_tables.version) - 1);
	th_remote_tables.start_monotonic = header->start_monotonic;
	th_remote_tables.log = (uintptr_t)header;
	th_remote_tables.to_thread_pointer = to_thread_pointer();
	for (int i = 0; i < TH_REMOTE_TABLES; i++)
		th_remote_tables.tables[i] = *tables[i];
	/* Pairs with the acquire in th_remote_tables_begin(): the list is complete. */
	th_store_release(&header->observed, (uintptr_t)&th_remote_tables);
}

/* Whether this build can read the tables. */
static bool
is_known(const struct th_remote_tables *found)
{
	if (strncmp(found->version, TH_VERSION, sizeof(found->version)) != 0)
		return false;
	for (int i = 0; i < TH_REMOTE_TABLES; i++)
		if (found->tables[i].bytes != tables[i]->bytes)
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
	th_remote_tables = found;
	th_remote_tables.allocator[NAME_MAX] = '\0';
	return TH_OBSERVED_OK;
}

bool
th_remote_tables_are_there(void)
{
	struct th_remote_tables now;

	return !th_observed_is_other() ||
	       (th_observed_copy(address, &now, sizeof(now)) &&
		       !memcmp(&now, &th_remote_tables, sizeof(now)));
}

bool
th_remote_tables_copy(void)
{
	for (int i = 0; th_observed_is_other() && i < TH_REMOTE_TABLES; i++)
		if (!tables[i]->observe(th_remote_tables.tables[i].start))
			return false;
	return true;
}
