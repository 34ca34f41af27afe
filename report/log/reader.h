/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the records of a log, one after the other, whatever happened to the file: the writer
 * was killed, is still writing, the file was cut or overwritten in places.  No length in the
 * file is believed before it was checked, and memory does not depend on the contents.
 *
 *	struct th_cursor cursor = th_reader_start(reader);
 *	struct th_record record;
 *	while (th_reader_next(&cursor, &record))
 *		...
 */
#ifndef TH_REPORT_LOG_READER_H
#define TH_REPORT_LOG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "unify/shared/log_format.h"

struct th_reader;

/*
 * Maps the log at `path` for reading; one compressed by gzip is read into memory instead.  The errors tell apart: no such file, a directory or
 * another thing that is not a file, an empty file, not a log, a header that is cut off, a log
 * of a newer version.  Their text names the file.  A log that is being written is read as far
 * as it got at this moment.
 */
struct th_error *th_reader_open(const char *path, struct th_reader **reader_ret);

/*
 * As th_reader_open, for a log that grows: th_reader_refresh() takes in what was written since.
 * Everything handed out stays where it is.
 */
struct th_error *th_reader_follow(const char *path, struct th_reader **reader_ret);

/* Looks at header and size again; what was cut off meanwhile is not read any more. */
void th_reader_refresh(struct th_reader *reader);

/* NULL is legal.  Every record and text handed out becomes invalid. */
void th_reader_close(struct th_reader *reader);

/* The header as it was when the log was opened or last refreshed. */
const struct th_log_header *th_reader_header(const struct th_reader *reader);

/* Whether the file ends before the last record that was reserved in it. */
bool th_reader_is_cut(const struct th_reader *reader);

/* Bytes of the log that are in use, header included. */
uint64_t th_reader_bytes(const struct th_reader *reader);

/* The bytes of the log from its start, as many as are in use. */
const void *th_reader_contents(const struct th_reader *reader);

/* A committed record: `size` bytes at `bytes`, header included, 8-byte aligned, in the mapping. */
struct th_record {
	uint64_t offset; /* in the file; the id of a sample */
	const unsigned char *bytes;
	uint32_t size;
	uint32_t type;
};

struct th_cursor {
	const struct th_reader *reader;
	uint64_t offset;  /* of the next record */
	uint64_t torn;    /* holes passed that were reserved and never committed */
	uint64_t damaged; /* holes passed that hold something else */
};

/*
 * Gives back the memory of the pages in front of the cursor: they are the file's, and whoever
 * looks at something there has them again.
 */
void th_reader_release(const struct th_cursor *cursor);

struct th_cursor th_reader_start(const struct th_reader *reader);

/*
 * The next committed record; false at the end.  Behind a hole, reading goes on at the next
 * word that is a header of that very offset by its check field.  Zeros up to the end are no
 * hole but space that nobody has used yet.
 */
bool th_reader_next(struct th_cursor *cursor, struct th_record *record_ret);

/*
 * The record right at the cursor; false where there is none, or not yet: the cursor stays. For a
 * log that is being written, in which a hole may be filled the next moment.
 */
bool th_reader_next_here(struct th_cursor *cursor, struct th_record *record_ret);

#endif
