/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module by module, the addresses in it that were met are collected and looked up by one pass over
 * its symbol table; nothing of the tables is kept.  One thread at a time.
 */
#include "unify/log/function_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "unify/base/atomic.h"
#include "unify/base/hash_set.h"
#include "unify/base/memory.h"
#include "unify/base/elf_symbols.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/module_bytes.h"
#include "unify/shared/bisect.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

/* Of an address that was looked up. */
#define DONE TH_HASH_SET_MARK
/* Of a function, whose word is a hash: no kind of frames. */
#define FUNCTION (UINT64_C(3) << 62)

static struct th_hash_set met; /* addresses that were met, and functions that have a record */
static uint32_t met_count;     /* atomic: addresses that are to be looked up, so far */
static uint32_t unnamed;       /* atomic: those that were not looked up yet */

void
th_met_add(uint64_t word)
{
	struct th_module *module = th_module_get(th_frame_module(word));
	bool is_full = th_load_relaxed(&met_count) >= TH_MET_MAX;
	struct th_hash_entry entry = th_hash_set_add(
		&met, word | (is_full || !module ? DONE : 0));

	if (!entry.word || (entry.is_new && is_full)) {
		th_log_count(TH_COUNTER_NAMES_FULL, 1);
	} else if (entry.is_new) {
		th_add_relaxed(&met_count, 1);
		if (module) {
			th_add_relaxed(&module->unnamed, 1);
			th_add_relaxed(&unnamed, 1);
		}
	}
}

/* Naming them */

/* Addresses of a module that are looked up together. */
#define BATCH 2048u
/*
 * Reading symbol tables takes at most 1/SPACING of one processor's time, and those of modules whose
 * files reports will find a fortieth of that.
 */
#define SPACING 100
#define SPACING_WITH_FILES (40 * SPACING)
#define CHUNK_BYTES (64u << 10)
/* Longer names get no record; C++ templates reach a few thousand characters. */
#define NAME_MAX_BYTES 4096u
/* Maximum number of bytes of names in a log. */
#define NAMES_BYTES_MAX (8u << 20)

/* Working memory, allocated for the first address. */
struct work {
	struct th_elf_wanted wanted[BATCH];
	uint64_t chunk[CHUNK_BYTES / sizeof(uint64_t)];
	char name[NAME_MAX_BYTES];
};

static struct {
	struct th_spinlock busy;
	struct work *work;
	uint32_t name_bytes;
	struct reading {
		uint64_t last; /* when tables were read last, and the CPU time of that */
		uint64_t cost;
	} all, without_files;
} names;

/* Records */

/* Whether the function has no record yet. */
static bool
is_new(const struct th_module *module, const struct th_elf_wanted *wanted)
{
	uint64_t end = th_hash_mix(th_frame_native(module->id, wanted->end));
	uint64_t hash = th_hash_mix(th_frame_native(module->id, wanted->start) ^ end);
	struct th_hash_entry entry = th_hash_set_add(&met, hash | FUNCTION);

	return entry.is_new || !entry.word;
}

static void
log_function(const struct th_module *module, const struct th_elf_wanted *wanted, size_t length)
{
	struct th_event_symbol event = {
		.offset = wanted->start,
		.module = module->id,
		.size = (uint32_t)(wanted->end - wanted->start),
	};
	struct th_log_part part = {names.work->name, (uint32_t)length};

	if (length > NAMES_BYTES_MAX - names.name_bytes ||
		!th_log_append(TH_EVENT_SYMBOL, &event, &part, 1))
		th_log_count(TH_COUNTER_NAMES_FULL, 1);
	else
		names.name_bytes += (uint32_t)length;
}

/* The name of a function that was found, in names.work->name; 0: none. */
static size_t
read_name(const struct th_module_bytes *bytes, const struct th_elf_wanted *wanted)
{
	size_t length;

	if (wanted->end - wanted->start > UINT32_MAX)
		return 0;
	length = th_elf_symbols_name(&bytes->elf, wanted, names.work->name, NAME_MAX_BYTES);
	return length && th_module_bytes_are_valid(bytes) ? length : 0;
}

static void
log_found(const struct th_module *module, const struct th_module_bytes *bytes,
	const struct th_elf_wanted *wanted)
{
	size_t length = read_name(bytes, wanted);

	if (!length)
		th_log_count(TH_COUNTER_NAMES_MISSING, 1);
	else if (is_new(module, wanted))
		log_function(module, wanted, length);
}

/* Modules */

/* Names the first `count` wanted addresses by one source; false: it has no symbol table. */
static bool
look_in(const struct th_module *module, enum th_module_source source, size_t count)
{
	struct work *work = names.work;
	struct th_module_bytes bytes;
	bool found;

	if (!th_module_bytes_open(module, source, &bytes))
		return false;
	found = th_elf_symbols_find(
		&bytes.elf, work->wanted, count, work->chunk, sizeof(work->chunk));
	for (size_t i = 0; found && i < count; i++)
		log_found(module, &bytes, &work->wanted[i]);
	th_module_bytes_close(&bytes);
	return found;
}

static void
name_module(const struct th_module *module, size_t count)
{
	unsigned source = 0;

	while (source < TH_SOURCES && !look_in(module, (enum th_module_source)source, count))
		source++;
	if (source == TH_SOURCES)
		th_log_count(TH_COUNTER_NAMES_MISSING, count);
}

/* Addresses */

/* Adds the addresses of a module in a level to `count` sorted ones; returns their new number. */
static size_t
collect_in(unsigned level, struct th_module *module, uint64_t *sorted, size_t count)
{
	uint64_t *table = th_load_acquire(&met.levels[level].slots);

	for (uint32_t i = 0; table && i < th_hash_set_slots(level) && count < BATCH; i++) {
		uint64_t word = th_load_relaxed(&table[i]);

		if (!word || th_frame_kind(word) != TH_FRAME_NATIVE ||
			th_frame_module(word) != module->id)
			continue;
		th_store_relaxed(&table[i], word | DONE);
		th_add_relaxed(&module->unnamed, -1u);
		th_add_relaxed(&unnamed, -1u);
		/* Not by qsort(), which may allocate. */
		size_t at = th_bisect(count, k, sorted[k] < th_frame_offset(word));
		memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof(*sorted));
		sorted[at] = th_frame_offset(word);
		count++;
	}
	return count;
}

/* Names functions at addresses in a module; false: none is left. */
static bool
name_some(struct th_module *module)
{
	uint64_t *sorted = names.work->chunk;
	size_t count = 0;

	_Static_assert(BATCH * sizeof(*sorted) <= CHUNK_BYTES, "a batch fits into a chunk");
	for (unsigned i = 0; i < TH_HASH_SET_LEVELS; i++)
		count = collect_in(i, module, sorted, count);
	for (size_t i = 0; i < count; i++)
		names.work->wanted[i].address = sorted[i];
	if (count)
		name_module(module, count);
	return count == BATCH;
}

/* Whether a report will probably find the file of a module; as of the first call. */
static bool
has_file(struct th_module *module)
{
	struct th_module_bytes file;

	if (module->file == TH_MODULE_FILE_UNKNOWN) {
		module->file = th_module_bytes_open(module, TH_SOURCE_PATH, &file)
				       ? TH_MODULE_HAS_FILE
				       : TH_MODULE_NO_FILE;
		th_module_bytes_close(&file);
	}
	return module->file == TH_MODULE_HAS_FILE;
}

static void
read_tables(struct reading *reading, bool without_files, bool all)
{
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	for (uint32_t id = 1; id <= th_module_count(); id++) {
		struct th_module *module = th_module_get(id);

		if (module && th_load_relaxed(&module->unnamed) &&
			(!without_files || !has_file(module)))
			while (name_some(module) && all)
				continue;
	}
	reading->last = th_clock_now();
	reading->cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static bool
is_due(const struct reading *reading, uint64_t spacing)
{
	return th_clock_now() - reading->last >= spacing * reading->cost;
}

void
th_function_names_log(bool all)
{
	if (!th_load_relaxed(&unnamed) || !th_trylock(&names.busy))
		return;
	if (th_memory_map_once(&names.work, sizeof(*names.work))) {
		if (all || is_due(&names.all, SPACING_WITH_FILES)) {
			read_tables(&names.all, false, all);
			names.without_files = names.all;
		} else if (is_due(&names.without_files, SPACING)) {
			read_tables(&names.without_files, true, false);
		}
	}
	th_unlock(&names.busy);
}

void
th_function_names_reset(void)
{
	th_memory_retire(names.work);
	memset(&names, 0, sizeof(names));
	for (uint32_t id = 1; id <= th_module_count(); id++) {
		struct th_module *module = th_module_get(id);

		if (module)
			th_store_relaxed(&module->unnamed, 0);
	}
	th_hash_set_reset(&met);
	met_count = 0;
	unnamed = 0;
}
