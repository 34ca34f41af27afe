/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the records of a log in sequence, whatever state the file is in: the writer was killed,
 * is still writing, the file was truncated or partly overwritten. Every length in the file is
 * checked before it is used, and memory does not depend on the contents.
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
 * Maps the log at `path` for reading; a gzip-compressed one is read into memory instead. There
 * are separate errors for: no such file, not a regular file, an empty file, not a log, a
 * truncated header, a log of a newer version. Their text names the file. A log that is being
 * written is read up to its current end.  One that is a ring (unify/log/ring.h) is copied to memory,
 * since its process drops old parts; the cursor passes the records that it has kept, in the order in
 * which they were first written, before those of its last part, as if the others had not been.
 */
struct th_error *th_reader_open(const char *path, struct th_reader **reader_ret);

/* Of a ring: records before this offset are only read as far as it has kept them; else 0. */
uint64_t th_reader_ring_from(const struct th_reader *reader);

/* NULL is legal. Invalidates every record and text handed out. */
void th_reader_close(struct th_reader *reader);

/* The header as of the opening. */
const struct th_log_header *th_reader_header(const struct th_reader *reader);

/* Whether the file ends before the last record that was reserved in it. */
bool th_reader_is_cut(const struct th_reader *reader);

/* Bytes of the log up to its end, header included; those that a ring has given back count too. */
uint64_t th_reader_bytes(const struct th_reader *reader);

/*
 * The contents of the log from its start, th_reader_bytes() bytes; of a ring the space that it has
 * given back is zero.
 */
const void *th_reader_contents(const struct th_reader *reader);

/*
 * A committed record: `size` bytes at `bytes`, header included, 8-byte aligned, in the mapping.
 */
struct th_record {
	uint64_t offset; /* in the file; the id of a sample */
	const unsigned char *bytes;
	uint32_t size;
	uint32_t type;
	double thinned; /* of a ring: probability with which this old sample was kept; 0 = all are */
};

/* Whether records of this type describe the others, and precede them. */
bool th_reader_is_metadata(uint32_t type);

struct th_cursor {
	const struct th_reader *reader;
	size_t kept;      /* of a ring: records read of those from before its start */
	uint64_t offset;  /* then: of the next record */
	uint64_t torn;    /* holes passed that were reserved and never committed */
	uint64_t damaged; /* holes passed with other contents */
};

/*
 * Releases the memory of the pages before the cursor. They are pages of the file, so later
 * accesses load them again.
 */
void th_reader_release(const struct th_cursor *cursor);

struct th_cursor th_reader_start(const struct th_reader *reader);

/*
 * A cursor before the record at this offset, which was read before, also if it is one of the past
 * of a ring. If that is gone, before the next one.
 */
struct th_cursor th_reader_at(const struct th_reader *reader, uint64_t offset);

/*
 * The next committed record; false at the end. After a hole, reading continues at the next word
 * that is a valid header of its own offset by the check field. Zeros up to the end are not a
 * hole but unused space.
 */
bool th_reader_next(struct th_cursor *cursor, struct th_record *record_ret);

#endif
