/* SPDX-License-Identifier: Apache-2.0 */
#include "report/holders/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"
#include "unify/shared/hash.h"

/* Steps of a path; the library writes fewer. */
#define STEPS_MAX 256

static const char *const kinds[TH_HOLDER_KINDS] = {
	[TH_HOLDER_STATIC] = "static",
	[TH_HOLDER_JNI_GLOBAL] = "jni-global",
	[TH_HOLDER_THREAD] = "thread",
	[TH_HOLDER_STACK] = "stack",
	[TH_HOLDER_LOADER] = "loader",
	[TH_HOLDER_FIELD] = "field",
	[TH_HOLDER_ELEMENT] = "element",
	[TH_HOLDER_VM] = "vm",
};

struct chain {
	const struct th_decoded_holder_step *steps[STEPS_MAX]; /* root first */
	uint32_t count;
};

static const struct th_decoded_holder_step *
step_at(const struct th_held_samples *held, uint32_t number)
{
	uint32_t index = number && number <= held->step_max ? held->by_number[number] : 0;

	return index ? &held->leaks->profile->recording->holder_steps[index - 1] : NULL;
}

static void
find_chain(const struct th_held_samples *held, uint32_t number, struct chain *chain)
{
	const struct th_decoded_holder_step *step;
	uint32_t count = 0;

	chain->count = 0;
	for (; count < STEPS_MAX && (step = step_at(held, number)) && step->parent < number;
		number = step->parent)
		chain->steps[count++] = step;
	for (uint32_t i = 0; i < count / 2; i++) {
		step = chain->steps[i];
		chain->steps[i] = chain->steps[count - 1 - i];
		chain->steps[count - 1 - i] = step;
	}
	chain->count = count;
}

/* Whether the step at `i` is of that kind and name; NULL: any name. */
static bool
is_step(const struct chain *chain, uint32_t i, enum th_holder_kind kind, const char *name)
{
	return i < chain->count && chain->steps[i]->kind == kind &&
	       (!name || th_text_equals(chain->steps[i]->name, name));
}

/* Thread, threadLocals, table, element, value. */
static bool
is_thread_local(const struct chain *chain)
{
	return is_step(chain, 0, TH_HOLDER_THREAD, NULL) &&
	       (is_step(chain, 1, TH_HOLDER_FIELD, "java.lang.Thread.threadLocals") ||
		       is_step(chain, 1, TH_HOLDER_FIELD,
			       "java.lang.Thread.inheritableThreadLocals")) &&
	       is_step(chain, 2, TH_HOLDER_FIELD,
		       "java.lang.ThreadLocal$ThreadLocalMap.table") &&
	       is_step(chain, 3, TH_HOLDER_ELEMENT, NULL) &&
	       is_step(chain, 4, TH_HOLDER_FIELD,
		       "java.lang.ThreadLocal$ThreadLocalMap$Entry.value");
}

/* The library separates thread and method by a tab. */
static char *
clean_name(struct th_text name)
{
	const char *tab = memchr(name.bytes, '\t', name.length);
	struct th_text thread = name;
	struct th_text method = name;

	if (!tab)
		return th_text_clean(name);
	thread.length = (uint32_t)(tab - name.bytes);
	method.bytes = tab + 1;
	method.length = name.length - thread.length - 1;
	char *first = th_text_clean(thread);
	char *second = th_text_clean(method);
	char *text = th_format_new("%s: %s", first, second);
	free(first);
	free(second);
	return text;
}

void
th_holder_path_init(const struct th_held_samples *held, uint32_t step, struct th_holder *ret)
{
	struct chain chain;

	*ret = (struct th_holder){.root_path = TH_HOLDERS_NO_PATH};
	find_chain(held, step, &chain);
	uint32_t skipped = is_thread_local(&chain) ? 4 : 0;
	for (uint32_t i = 0; i < chain.count; i += i ? 1 : 1 + skipped) {
		struct th_holder_element element = {
			.kind = !i && skipped ? "thread-local" : kinds[chain.steps[i]->kind],
			.name = clean_name(chain.steps[i]->name),
		};

		th_array_append(ret, path, element);
	}
	if (chain.count)
		ret->root_path = held->root_paths[chain.steps[0]->number];
}

void
th_holder_path_deinit(struct th_holder *holder)
{
	for (size_t i = 0; i < holder->path_count; i++)
		free(holder->path[i].name);
	free(holder->path);
}

/* Merging */

static bool
is_of_thread(const struct th_holder_element *element)
{
	return !strcmp(element->kind, "thread-local") || !strcmp(element->kind, "thread") ||
	       !strcmp(element->kind, "stack");
}

/* Without numbers. */
static uint64_t
hash_thread(uint64_t hash, const char *name)
{
	for (; *name; name++)
		if (!isdigit((unsigned char)*name) && *name != '*')
			hash = th_hash_bytes(hash, name, 1);
	return hash;
}

uint64_t
th_holder_path_hash(const struct th_holder *holder)
{
	uint64_t hash = th_hash_bytes(
		TH_HASH_START, &holder->root_path, sizeof(holder->root_path));

	for (size_t i = 0; i < holder->path_count; i++) {
		const struct th_holder_element *element = &holder->path[i];

		hash = th_hash_bytes(hash, element->kind, strlen(element->kind) + 1);
		hash = is_of_thread(element)
			       ? hash_thread(hash, element->name)
			       : th_hash_bytes(hash, element->name, strlen(element->name) + 1);
	}
	return th_hash_mix(hash);
}

/* The end of the number that `text` begins with; '*' is one. */
static const char *
end_of_number(const char *text)
{
	if (*text == '*')
		return text + 1;
	while (isdigit((unsigned char)*text))
		text++;
	return text;
}

/* "worker-12" becomes "worker-*" if the other name has another number; both are equal otherwise. */
static char *
merge_names(const char *name, const char *other)
{
	char *result = th_allocate(strlen(name) + strlen(other) + 2, 1);
	char *to = result;

	while (*name) {
		const char *end = end_of_number(name);
		const char *other_end = end_of_number(other);
		size_t length = (size_t)(end - name);

		if (length != (size_t)(other_end - other) || memcmp(name, other, length) != 0) {
			*to++ = '*';
		} else if (length) {
			memcpy(to, name, length);
			to += length;
		} else {
			*to++ = *end++;
			other_end += *other_end != '\0';
		}
		name = end;
		other = other_end;
	}
	return result;
}

void
th_holder_path_merge(struct th_holder *holder, const struct th_holder *other)
{
	for (size_t i = 0; i < holder->path_count && i < other->path_count; i++) {
		struct th_holder_element *element = &holder->path[i];

		if (!is_of_thread(element) || !strcmp(element->name, other->path[i].name))
			continue;
		char *name = merge_names(element->name, other->path[i].name);
		free(element->name);
		element->name = name;
	}
}
