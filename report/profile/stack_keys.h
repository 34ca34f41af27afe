/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for stacks, by which a stack is recognized in several recordings: equal functions, from
 * the first Java method (where there is one) to the last, have equal numbers. A function is equal
 * to another one of the same name; one without a name, to one at the same offset of a library with
 * the same build id, or without a build id in a library of the same name. Addresses, lines and
 * threads are ignored.
 *
 * Stacks with equal roots share entries, and the recordings are not referred to, so that the
 * memory is that of the different stacks, however many recordings are read.
 */
#ifndef TH_REPORT_PROFILE_STACK_KEYS_H
#define TH_REPORT_PROFILE_STACK_KEYS_H

#include <stdint.h>

#include "report/base/log_text.h"
#include "report/profile/path_prefixes.h"

struct th_stack_key {
	uint32_t parent; /* the stack without its last function; of the empty stack: itself */
	uint32_t name;   /* of the last function, a string */
};

struct th_stack_keys {
	struct th_strings strings; /* identities of functions; the owner may add others */
	struct th_id_map ids;      /* parent << 32 | name */
	TH_ARRAY(struct th_stack_key, items); /* 0: the empty stack */
};

void th_stack_keys_init(struct th_stack_keys *keys);
void th_stack_keys_deinit(struct th_stack_keys *keys);

/* The functions of one recording, looked up once each. */
struct th_stack_names {
	struct th_stack_keys *keys;
	const struct th_path_prefixes *ways;
	TH_ARRAY(uint32_t, strings); /* by function, plus one; 0 = not looked up yet */
	TH_ARRAY(uint32_t, path);    /* of the stack that is being numbered */
};

/* All that is passed must outlive the names. */
void th_stack_names_init(struct th_stack_names *names, struct th_stack_keys *keys,
	const struct th_path_prefixes *ways);
void th_stack_names_deinit(struct th_stack_names *names);

/* The number of a path prefix as a stack. */
uint32_t th_stack_names_find(struct th_stack_names *names, uint32_t way);

/* The number of a single function as a stack. */
uint32_t th_stack_names_find_function(struct th_stack_names *names, uint32_t function);

/* The name of the last function of a stack; "" of the empty one. */
const char *th_stack_keys_name(const struct th_stack_keys *keys, uint32_t key);

#endif
