/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real log in a directory of its own, for units that write events, and reading back what they
 * wrote.  The writer is one per process, so a test opens it, writes, and detaches again.
 */
#ifndef TH_TESTS_LOG_FIXTURE_H
#define TH_TESTS_LOG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/log/reader.h"
#include "unify/log/log.h"

/* The directory of this program's logs, removed when it ends. */
const char *log_fixture_directory(void);

/* A name in that directory that no file has yet; to be freed. */
char *log_fixture_new_path(void);

/* Creates the log at a new path, with room for `max_bytes`, for this process. */
void log_fixture_open(uint64_t max_bytes);
void log_fixture_open_at(const char *path, uint64_t max_bytes);

/* What th_log_create() says there; the log is the caller's to detach. */
enum th_log_status log_fixture_create_at(const char *path, uint64_t max_bytes);

/* Path of the log that was opened last; the fixture's. */
const char *log_fixture_path(void);

/* A small file system of our own, in a mount namespace of our own; NULL: not allowed to. */
char *log_fixture_mount_disk(const char *size);

/* The descriptor through which the writer holds that log; -1 if it holds none. */
int log_fixture_descriptor(void);

uint64_t log_fixture_file_bytes(const char *path);

/* Makes log_image_open() read another log, which another process wrote. */
void log_fixture_read(const char *path);

/* Forgets the log, which stays as it is on disk, so that another can be opened. */
void log_fixture_detach(void);
int log_fixture_teardown(void **state);

/* What a reader finds in the log that was opened last.  log_image_close() afterwards. */
struct log_image {
	struct th_reader *reader;
	const struct th_log_header *header;
	struct th_record *records;
	size_t count;
	uint64_t torn;
	uint64_t damaged;
};

void log_image_open(struct log_image *image);
void log_image_close(struct log_image *image);

/* How many records of a type there are. */
size_t log_image_count(const struct log_image *image, enum th_event_type type);

/* The n-th record of a type as its struct th_event_NAME; fails the test if there is none. */
const void *log_image_get(const struct log_image *image, enum th_event_type type, size_t n);

/* The TEXT at `offset` of a record, which is the end of its fixed part, equals `text`. */
void log_image_assert_text(const void *event, size_t offset, const char *text);

#endif
