/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A two-way set-associative table of versioned entries (version.h).  A process that forks while
 * another thread writes leaves one unusable entry in the child.
 */
#include "unify/unwind/cache.h"

#include "unify/base/version.h"

#include <string.h>

/*
 * 4096 entries, 256 KiB, touched as needed: a JVM process under load had about 2,000 distinct
 * return addresses below its allocations.
 */
#define SET_BITS 11
#define WAYS 2
#define RULE_WORDS (sizeof(struct th_rule) / sizeof(uint64_t))

struct entry {
	uint32_t version;
	uint64_t key;
	uint64_t words[RULE_WORDS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct th_rule) == 32 && sizeof(struct entry) == 64, "one cache line");
_Static_assert(TH_PRESERVED_COUNT <= TH_RULE_SAVED_MAX, "room for each register");

static struct entry cache[1 << SET_BITS][WAYS];

/* Fibonacci hashing: the high bits of the product depend on all bits of the key. */
static struct entry *
set_of(uint64_t key)
{
	return cache[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SET_BITS)];
}

static inline bool
read_entry(const struct entry *entry, uint64_t key, struct th_rule *ret)
{
	uint32_t version = th_version_read(&entry->version);
	uint64_t a, b, c, d;

	if (th_load_relaxed(&entry->key) != key)
		return false;
	a = th_load_relaxed(&entry->words[0]);
	b = th_load_relaxed(&entry->words[1]);
	c = th_load_relaxed(&entry->words[2]);
	d = th_load_relaxed(&entry->words[3]);
	memcpy(ret, (const uint64_t[RULE_WORDS]){a, b, c, d}, sizeof(*ret));
	return th_version_is_still(&entry->version, version);
}

static void
write_entry(struct entry *entry, uint64_t key, const struct th_rule *rule)
{
	uint64_t words[RULE_WORDS];
	uint32_t version;

	if (!th_version_begin(&entry->version, &version))
		return;
	memcpy(words, rule, sizeof(words));
	th_store_relaxed(&entry->key, key);
	for (unsigned i = 0; i < RULE_WORDS; i++)
		th_store_relaxed(&entry->words[i], words[i]);
	th_version_end(&entry->version, version);
}

bool
th_rule_find(uint64_t key, struct th_rule *ret)
{
	const struct entry *set = set_of(key);

	return read_entry(&set[0], key, ret) || read_entry(&set[1], key, ret);
}

void
th_rule_store(uint64_t key, const struct th_rule *rule)
{
	struct entry *set = set_of(key);
	/* The way that was written less often is the older one. */
	bool second = th_load_relaxed(&set[1].version) < th_load_relaxed(&set[0].version);

	write_entry(&set[second], key, rule);
}

/* The offset in words, if it fits into 16 bits. */
static bool
to_slot(int64_t offset, int16_t *ret)
{
	int64_t slot = offset / (int64_t)sizeof(uintptr_t);

	*ret = (int16_t)slot;
	return offset % (int64_t)sizeof(uintptr_t) == 0 && *ret == slot;
}

/*
 * Only preserved registers matter: others are unknown in a caller.  Rules for sp are left to
 * the full form.
 */
static bool
compact(const struct th_cfi_row *row, struct th_rule *ret)
{
	if (row->is_signal || row->cfa_is_expression || row->cfa_register >= TH_DWARF_COUNT ||
		row->cfa_offset != (int32_t)row->cfa_offset ||
		row->kind[TH_DWARF_SP] != TH_CFI_SAME)
		return false;
	if (TH_DWARF_RETURN == TH_DWARF_PC && row->kind[TH_DWARF_RETURN] == TH_CFI_SAME)
		return false;
	ret->cfa_register = (uint8_t)row->cfa_register;
	ret->cfa_offset = (int32_t)row->cfa_offset;
	ret->is_signed = row->is_signed;
	for (unsigned i = 0, k = 0; i < TH_PRESERVED_COUNT; i++) {
		unsigned column = th_preserved_dwarf[i];

		if (row->kind[column] == TH_CFI_SAME)
			continue;
		if (row->kind[column] != TH_CFI_AT_OFFSET ||
			!to_slot(row->value[column], &ret->slot[k++]))
			return false;
		ret->saved |= (uint16_t)(1u << i);
	}
	return true;
}

void
th_rule_from_row(const struct th_cfi_row *row, struct th_rule *ret)
{
	*ret = (struct th_rule){.kind = TH_RULE_FRAME};
	if (row->kind[TH_DWARF_RETURN] == TH_CFI_UNDEFINED)
		*ret = (struct th_rule){.kind = TH_RULE_BASE};
	else if (!compact(row, ret))
		*ret = (struct th_rule){.kind = TH_RULE_ROW};
}
