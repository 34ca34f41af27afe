/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a log, as printed by `twinheap dump`, for facts that no report shows. */
#ifndef TESTS_E2E_DUMP_H
#define TESTS_E2E_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct th_dump {
	char *text;
	char *line; /* the event that th_dump_next() found */
	char *rest;
};

/* Runs `dump` on a log; fails the test if it fails. th_dump_deinit() afterwards. */
void th_dump_init(struct th_dump *dump, const char *log);
void th_dump_deinit(struct th_dump *dump);

/* Advances to the next event of that name; false at the end. th_dump_rewind() starts again. */
bool th_dump_next(struct th_dump *dump, const char *event);
void th_dump_rewind(struct th_dump *dump);

/* A numeric field of the current event; fails the test if there is none of that name. */
uint64_t th_dump_number(const struct th_dump *dump, const char *field);

/* Whether a field of the current event equals that text. */
bool th_dump_has_text(const struct th_dump *dump, const char *field, const char *text);

/* Number of events of that name.  Rewinds. */
size_t th_dump_count(struct th_dump *dump, const char *event);

/* The value of a counter of the header.  Rewinds. */
uint64_t th_dump_counter(struct th_dump *dump, const char *name);

/* Number of unfinished and damaged records. */
size_t th_dump_torn(const struct th_dump *dump);
size_t th_dump_damaged(const struct th_dump *dump);

/* Whether the log is complete. */
bool th_dump_is_complete(const struct th_dump *dump);

#endif
