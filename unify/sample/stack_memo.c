/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/stack_memo.h"

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/version.h"
#include "unify/log/log.h"
#include "unify/log/stack_log.h"

#define ENTRIES 8192
/* An entry goes to another key that was met so often since its own was captured. */
#define OTHERS_MAX 4
/* Of a key that gave two stacks. */
#define AMBIGUOUS UINT32_MAX
/* Failed checks that are no reason to stop. */
#define FAILURES_LEAST 4

/* All fields atomic. */
struct entry {
	uint32_t version;
	uint32_t agreed; /* captures in a row, or AMBIGUOUS */
	uint64_t key;
	uint32_t *use; /* of the stack in the log (stack_log.h) */
	uint32_t id;
	uint32_t detail;
	uint32_t others; /* captures with other keys since the last one with this */
};

static struct {
	struct entry *entries; /* atomic; NULL: not allocated yet */
	uint32_t checks;       /* atomic */
	uint32_t failures;     /* atomic */
} memo;

static bool
is_unreliable(void)
{
	uint32_t failures = th_load_relaxed(&memo.failures);

	return failures > FAILURES_LEAST &&
	       failures > th_load_relaxed(&memo.checks) / TH_STACK_MEMO_RIGHT;
}

static struct entry *
entry_of(struct entry *entries, uint64_t key)
{
	return &entries[key % ENTRIES];
}

/* Captures in a row that gave this stack; 0: unknown. */
static uint32_t
read_entry(const struct entry *entry, uint64_t key, struct th_remembered *ret)
{
	uint32_t version = th_version_read(&entry->version);
	uint32_t agreed = th_load_relaxed(&entry->agreed);

	if (th_load_relaxed(&entry->key) != key || agreed == AMBIGUOUS)
		return 0;
	ret->stack.id = th_load_relaxed(&entry->id);
	ret->stack.use = th_load_relaxed(&entry->use);
	ret->stack.is_whole = true;
	ret->detail = th_load_relaxed(&entry->detail);
	return th_version_is_still(&entry->version, version) ? agreed : 0;
}

static bool
is_checked(uint32_t agreed, uint64_t random)
{
	return random % TH_STACK_MEMO_CHECKED == 0 ||
	       random / TH_STACK_MEMO_CHECKED % agreed < TH_STACK_MEMO_TRUSTED / 2;
}

/* Captures that agreed, if they are enough; else 0. */
static uint32_t
find_trusted(uint64_t key, struct th_remembered *ret)
{
	struct entry *entries = th_load_acquire(&memo.entries);

	if (!key || !entries || is_unreliable())
		return 0;
	uint32_t agreed = read_entry(entry_of(entries, key), key, ret);
	return agreed < TH_STACK_MEMO_TRUSTED ? 0 : agreed;
}

bool
th_stack_memo_find(uint64_t key, uint64_t random, struct th_remembered *ret)
{
	uint32_t agreed = find_trusted(key, ret);

	if (!agreed || is_checked(agreed, random) || !th_stack_log_use(ret->stack.use))
		return false;
	th_log_count(TH_COUNTER_STACKS_REMEMBERED, 1);
	return true;
}

/* The captures of a key of which this is one more; AMBIGUOUS: they differ. */
static uint32_t
agreed_with(const struct entry *entry, const struct th_remembered *captured)
{
	uint32_t agreed = th_load_relaxed(&entry->agreed);
	bool is_same = th_load_relaxed(&entry->id) == captured->stack.id &&
		       th_load_relaxed(&entry->detail) == captured->detail;

	if (agreed == AMBIGUOUS)
		return AMBIGUOUS;
	if (agreed >= TH_STACK_MEMO_TRUSTED) {
		th_add_relaxed(&memo.checks, 1);
		if (!is_same) {
			th_add_relaxed(&memo.failures, 1);
			th_log_count(TH_COUNTER_STACKS_WRONG, 1);
			return AMBIGUOUS;
		}
	}
	if (!is_same)
		return 1;
	return agreed < AMBIGUOUS - 1 ? agreed + 1 : agreed;
}

/* Under an odd version. */
static void
write_entry(struct entry *entry, uint64_t key, const struct th_remembered *captured)
{
	uint32_t agreed = 1;

	if (th_load_relaxed(&entry->key) == key) {
		agreed = agreed_with(entry, captured);
	} else if (th_load_relaxed(&entry->key) &&
		   th_load_relaxed(&entry->others) < OTHERS_MAX) {
		th_store_relaxed(&entry->others, th_load_relaxed(&entry->others) + 1);
		return;
	}
	th_store_relaxed(&entry->key, key);
	th_store_relaxed(&entry->agreed, agreed);
	th_store_relaxed(&entry->use, captured->stack.use);
	th_store_relaxed(&entry->id, captured->stack.id);
	th_store_relaxed(&entry->detail, captured->detail);
	th_store_relaxed(&entry->others, 0);
}

void
th_stack_memo_learn(uint64_t key, const struct th_remembered *captured)
{
	struct entry *entries;

	if (!key || !captured->stack.id || !captured->stack.is_whole || is_unreliable())
		return;
	entries = th_memory_map_once(&memo.entries, ENTRIES * sizeof(struct entry));
	if (!entries)
		return;
	struct entry *entry = entry_of(entries, key);
	uint32_t version;
	if (!th_version_begin(&entry->version, &version))
		return;
	write_entry(entry, key, captured);
	th_version_end(&entry->version, version);
}

void
th_stack_memo_reset(void)
{
	th_memory_retire(memo.entries);
	memo.entries = NULL;
	memo.checks = 0;
	memo.failures = 0;
}
