/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses are taken from the list of met ones in batches, sorted, and compared with the
 * functions that the log has already.  What remains is looked up module by module, each by one
 * pass over its symbol table; nothing of the tables is kept.  One thread at a time.
 */
#include "unify/log/function_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/elf_symbols.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/module_bytes.h"
#include "unify/shared/bisect.h"
#include "unify/shared/clock.h"

/*
 * Addresses that were met: a hash set of frame words without locks, and a list of its members.  A slot
 * is claimed by a compare-and-swap of the word itself; the thread that claims it appends the word to the
 * list.  Entries are never removed.
 */

/*
 * The set grows by levels, each twice the size of the previous one, when half of a level is
 * taken: 32 KiB for most programs, 2 MiB at the maximum; the list by equal parts of 32 KiB, up
 * to 512 KiB.
 */
#define FIRST_SLOTS 4096u
#define LEVELS 6
/* Probes before a level counts as full: at the maximum, half the slots are taken. */
#define PROBES 64
#define PART_ITEMS 4096u
#define PARTS (TH_MET_MAX / PART_ITEMS)

static struct level {
	uint64_t *slots; /* atomic; NULL: not allocated yet; 0 = free */
	uint32_t taken;  /* atomic */
} levels[LEVELS];
/* Atomic; NULL: not allocated yet.  Items are 0 until they are stored. */
static uint64_t *list[PARTS];
static uint32_t met_count; /* atomic; may exceed TH_MET_MAX */

enum outcome { KNOWN, ADDED, FULL };

static enum outcome
add_to(struct level *level, uint32_t slots, uint64_t word)
{
	uint64_t *table = th_memory_map_once(&level->slots, slots * sizeof(*table));
	uint64_t first = word * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t probe = 0; table && probe < PROBES; probe++) {
		uint64_t *slot = &table[(first + probe) & (slots - 1)];
		uint64_t found = th_load_relaxed(slot);

		if (!found) {
			if (th_load_relaxed(&level->taken) >= slots / 2)
				return FULL;
			if (th_cas_acq_rel(slot, &found, word)) {
				th_add_relaxed(&level->taken, 1);
				return ADDED;
			}
		}
		if (found == word)
			return KNOWN;
	}
	return FULL;
}

static bool
append(uint64_t word)
{
	uint32_t index;
	uint64_t *part;

	if (th_load_relaxed(&met_count) >= TH_MET_MAX)
		return false;
	index = th_add_relaxed(&met_count, 1);
	if (index >= TH_MET_MAX)
		return false;
	part = th_memory_map_once(&list[index / PART_ITEMS], PART_ITEMS * sizeof(*part));
	if (!part)
		return false;
	/* Pairs with the acquire in th_met_get(): the module is in its table. */
	th_store_release(&part[index % PART_ITEMS], word);
	return true;
}

void
th_met_add(uint64_t word)
{
	enum outcome outcome = FULL;

	for (unsigned i = 0; i < LEVELS && outcome == FULL; i++)
		outcome = add_to(&levels[i], FIRST_SLOTS << i, word);
	if (outcome == FULL || (outcome == ADDED && !append(word)))
		th_log_count(TH_COUNTER_NAMES_FULL, 1);
}

uint32_t
th_met_count(void)
{
	uint32_t known = th_load_relaxed(&met_count);

	return known < TH_MET_MAX ? known : TH_MET_MAX;
}

uint64_t
th_met_get(uint32_t index)
{
	uint64_t *part = th_load_acquire(&list[index / PART_ITEMS]);

	return part ? th_load_acquire(&part[index % PART_ITEMS]) : 0;
}

static void
reset_met(void)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		th_memory_retire(levels[i].slots);
		levels[i] = (struct level){NULL, 0};
	}
	for (unsigned i = 0; i < PARTS; i++)
		th_memory_retire(list[i]);
	memset(list, 0, sizeof(list));
	met_count = 0;
}

/* Naming them */

/* Addresses that are looked up together. */
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
/* Maximum number of functions, and of bytes of their names, in a log. */
#define FUNCTIONS_MAX TH_MET_MAX
#define NAMES_BYTES_MAX (8u << 20)

/* A function that has a record: frame words of its first address and of the one past its end. */
struct function {
	uint64_t start;
	uint64_t end;
};

/* Working memory, allocated for the first address. */
struct work {
	uint64_t batch[BATCH]; /* frame words, sorted */
	struct th_elf_wanted wanted[BATCH];
	uint64_t chunk[CHUNK_BYTES / sizeof(uint64_t)];
	char name[NAME_MAX_BYTES];
};

static struct {
	struct th_spinlock busy;
	struct work *work;
	struct function *functions; /* sorted, FUNCTIONS_MAX */
	uint32_t function_count;
	uint32_t name_bytes;
	uint32_t taken; /* number of met addresses that were put into a batch */
	uint32_t seen;  /* the same of those in modules without a file; not below `taken` */
	uint32_t batch_count;
	uint32_t batch_next; /* first item of the batch that is to be looked up */
	struct reading {
		uint64_t last; /* when tables were read last, and the CPU time of that */
		uint64_t cost;
	} all, without_files;
	uint8_t files[TH_MODULE_MAX + 1]; /* by module: enum file */
} names;

enum file { UNKNOWN_FILE, HAS_FILE, NO_FILE };

static bool
allocate(void)
{
	return th_memory_map_once(&names.work, sizeof(*names.work)) &&
	       th_memory_map_once(&names.functions, FUNCTIONS_MAX * sizeof(struct function));
}

/* Known functions */

/* Number of known functions that start at or before `word`. */
static size_t
count_starts(uint64_t word)
{
	return th_bisect(names.function_count, i, names.functions[i].start <= word);
}

static bool
is_known(uint64_t word)
{
	size_t begun = count_starts(word);

	return begun && word < names.functions[begun - 1].end;
}

/* Whether exactly this function is known; others may lie inside it. */
static bool
has_record(uint64_t start, uint64_t end)
{
	size_t i = count_starts(start);

	while (i-- > 0 && names.functions[i].start == start)
		if (names.functions[i].end == end)
			return true;
	return false;
}

static void
add_function(uint64_t start, uint64_t end)
{
	size_t at = count_starts(start);

	memmove(&names.functions[at + 1], &names.functions[at],
		(names.function_count - at) * sizeof(*names.functions));
	names.functions[at] = (struct function){start, end};
	names.function_count++;
}

/* Records */

static void
log_function(const struct th_module *module, const struct th_elf_wanted *wanted, size_t length)
{
	struct th_event_symbol event = {
		.offset = wanted->start,
		.module = module->id,
		.size = (uint32_t)(wanted->end - wanted->start),
	};
	struct th_log_part part = {names.work->name, (uint32_t)length};

	if (names.function_count == FUNCTIONS_MAX ||
		length > NAMES_BYTES_MAX - names.name_bytes ||
		!th_log_append(TH_EVENT_SYMBOL, &event, &part, 1)) {
		th_log_count(TH_COUNTER_NAMES_FULL, 1);
		return;
	}
	names.name_bytes += (uint32_t)length;
	add_function(th_frame_native(module->id, wanted->start),
		th_frame_native(module->id, wanted->end));
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
	size_t length;

	if (has_record(th_frame_native(module->id, wanted->start),
		    th_frame_native(module->id, wanted->end)))
		return;
	length = read_name(bytes, wanted);
	if (length)
		log_function(module, wanted, length);
	else
		th_log_count(TH_COUNTER_NAMES_MISSING, 1);
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

	while (module && source < TH_SOURCES &&
		!look_in(module, (enum th_module_source)source, count))
		source++;
	if (!module || source == TH_SOURCES)
		th_log_count(TH_COUNTER_NAMES_MISSING, count);
}

/* Batches */

static void
put(uint64_t word)
{
	uint64_t *batch = names.work->batch;
	size_t at = th_bisect(names.batch_count, i, batch[i] < word);

	memmove(&batch[at + 1], &batch[at], (names.batch_count - at) * sizeof(*batch));
	batch[at] = word;
	names.batch_count++;
}

/* Whether a report will probably find the file of a module; as of the first call. */
static bool
has_file(uint32_t id)
{
	const struct th_module *module = th_module_get(id);

	if (names.files[id] == UNKNOWN_FILE && module)
		names.files[id] = th_module_has_file(module) ? HAS_FILE : NO_FILE;
	return names.files[id] == HAS_FILE;
}

/* Fills the batch, sorted, with addresses in modules without files, or all that are left. */
static void
take_batch(bool without_files)
{
	uint32_t *next = without_files ? &names.seen : &names.taken;
	uint32_t count = th_met_count();

	names.batch_count = names.batch_next = 0;
	for (; *next < count && names.batch_count < BATCH; ++*next) {
		uint64_t word = th_met_get(*next);

		if (!word)
			break; /* the thread that met it is about to store it */
		/* What was seen without a file has been looked up. */
		bool wants_file = !without_files && *next >= names.seen;
		if (!is_known(word) &&
			(wants_file || has_file(th_frame_module(word)) != without_files))
			put(word);
	}
	if (names.seen < names.taken)
		names.seen = names.taken;
}

/* Names the functions of the first module in the batch, which is removed from it. */
static void
name_first_module(void)
{
	const uint64_t *batch = names.work->batch;
	uint32_t module = th_frame_module(batch[names.batch_next]);
	size_t count = 0;

	for (; names.batch_next < names.batch_count &&
		th_frame_module(batch[names.batch_next]) == module;
		names.batch_next++)
		names.work->wanted[count++].address = th_frame_offset(batch[names.batch_next]);
	name_module(th_module_get(module), count);
}

/* Names the functions at the next addresses; false: there are none. */
static bool
name_batch(bool without_files)
{
	take_batch(without_files);
	if (!names.batch_count)
		return false;
	while (names.batch_next < names.batch_count)
		name_first_module();
	return true;
}

static bool
is_idle(void)
{
	return names.taken == th_met_count();
}

static bool
is_due(const struct reading *reading, uint64_t spacing)
{
	return th_clock_now() - reading->last >= spacing * reading->cost;
}

static void
read_tables(struct reading *reading, bool without_files, bool all)
{
	uint64_t begin = th_clock_read(CLOCK_THREAD_CPUTIME_ID);

	while (name_batch(without_files) && all)
		continue;
	reading->last = th_clock_now();
	reading->cost = th_clock_read(CLOCK_THREAD_CPUTIME_ID) - begin;
}

void
th_function_names_log(bool all)
{
	if (is_idle() || !th_trylock(&names.busy))
		return;
	if ((all || is_due(&names.all, SPACING_WITH_FILES)) && allocate()) {
		read_tables(&names.all, false, all);
		names.without_files = names.all;
	} else if (names.seen < th_met_count() && is_due(&names.without_files, SPACING) &&
		   allocate()) {
		read_tables(&names.without_files, true, false);
	}
	th_unlock(&names.busy);
}

void
th_function_names_reset(void)
{
	th_memory_retire(names.work);
	th_memory_retire(names.functions);
	memset(&names, 0, sizeof(names));
	reset_met();
}
