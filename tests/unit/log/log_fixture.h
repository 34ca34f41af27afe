/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real log in a directory of its own, for modules that write events, and functions to read it
 * back.  There is one writer per process, so a test opens the log, writes, and detaches again.
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

/* The directory of this program's logs, removed at exit. */
const char *log_fixture_directory(void);

/* An unused name in that directory; the caller frees it. */
char *log_fixture_new_path(void);

/* Creates the log of this process at a new path, with a maximum size of `max_bytes`. */
void log_fixture_open(uint64_t max_bytes);
void log_fixture_open_at(const char *path, uint64_t max_bytes);

/* The result of th_log_create() there; the caller detaches the log. */
enum th_log_status log_fixture_create_at(const char *path, uint64_t max_bytes);

/* Path of the log that was opened last; owned by the fixture. */
const char *log_fixture_path(void);

/* Mounts a small file system in a new mount namespace; NULL: not permitted. */
char *log_fixture_mount_disk(const char *size);

/* The writer's descriptor of that log; -1 if there is none. */
int log_fixture_descriptor(void);

uint64_t log_fixture_file_bytes(const char *path);

/* Makes log_image_open() read a log written by another process. */
void log_fixture_read(const char *path);

/* Drops the log, which stays on disk, so that another can be opened. */
void log_fixture_detach(void);
int log_fixture_teardown(void **state);

/*
 * The content of the log that was opened last, as seen by a reader; to be closed with
 * log_image_close().
 */
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

/* Number of records of a type. */
size_t log_image_count(const struct log_image *image, enum th_event_type type);

/* The n-th record of a type as its struct th_event_NAME; fails the test if there is none. */
const void *log_image_get(const struct log_image *image, enum th_event_type type, size_t n);

/* Asserts that the TEXT at `offset` of a record, the end of its fixed part, equals `text`. */
void log_image_assert_text(const void *event, size_t offset, const char *text);

#endif
