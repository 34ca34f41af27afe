/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method.cpp, instanceKlass.cpp, the same in 11 to 28: a class has an array of the IDs of its methods,
 * or none yet; the first word is the number of the others, which are indexed by the number of the
 * method in its class.  The VM replaces the array when the class is redefined.
 *
 * Reads are checked at 110 ns per page, five of them; the results are remembered, because most stacks
 * end with one of a few methods.
 */
#include "jvmti/method_ids.h"

#include "unify/base/atomic.h"
#include "unify/base/safe_read.h"
#include "unify/shared/hash.h"

#define REMEMBERED 256

/*
 * Any thread writes both words, without a lock: with words of two writers the ID is one that no
 * method has.
 */
struct remembered {
	uintptr_t method; /* atomic */
	uintptr_t mixed;  /* atomic: method ^ ID */
};

static struct remembered table[REMEMBERED];

static struct remembered *
entry_of(uintptr_t method)
{
	return &table[th_hash_mix(method) % REMEMBERED];
}

jmethodID
th_method_ids_remembered(uintptr_t method)
{
	struct remembered *entry = entry_of(method);

	if (th_load_relaxed(&entry->method) != method)
		return NULL;
	return (jmethodID)(th_load_relaxed(&entry->mixed) ^ method);
}

static void
remember(uintptr_t method, uintptr_t id)
{
	struct remembered *entry = entry_of(method);

	th_store_relaxed(&entry->method, method);
	th_store_relaxed(&entry->mixed, method ^ id);
}

static bool
read_field(struct th_safe_read *memory, uintptr_t base, int64_t offset, uintptr_t *ret)
{
	return base && th_read_word(memory, base + (uintptr_t)offset, ret);
}

/* The word of the class that points to its array, and the number of the method in its class. */
static bool
read_class(struct th_safe_read *memory, const struct th_hotspot *hotspot, uintptr_t method,
	uintptr_t *ids_ret, uint16_t *number_ret)
{
	uintptr_t fixed, pool, holder;

	return read_field(memory, method, hotspot->method_fixed, &fixed) &&
	       read_field(memory, fixed, hotspot->fixed_pool, &pool) &&
	       th_read_bytes(memory, fixed + (uintptr_t)hotspot->fixed_number, number_ret,
		       sizeof(*number_ret)) &&
	       read_field(memory, pool, hotspot->pool_holder, &holder) &&
	       read_field(memory, holder, hotspot->class_method_ids, ids_ret);
}

bool
th_method_ids_read(const struct th_hotspot *hotspot, uintptr_t method, jmethodID *ret)
{
	struct th_safe_read memory = {0};
	uintptr_t ids, count, id = 0;
	uint16_t number;

	*ret = NULL;
	if (!read_class(&memory, hotspot, method, &ids, &number))
		return false;
	if (!ids)
		return true;
	if (!th_read_word(&memory, ids, &count))
		return false;
	if (number < count &&
		!th_read_word(&memory, ids + (1u + number) * sizeof(uintptr_t), &id))
		return false;
	if (id)
		remember(method, id);
	*ret = (jmethodID)id;
	return true;
}
