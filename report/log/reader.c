/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is mapped read-only. Records are read up to the header's tail, or up to the end of
 * the file if the tail is invalid.
 */
#include "report/log/reader.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/log/limits.h"
#include "unify/shared/bisect.h"
#include "unify/shared/kept.h"

/* Ids of samples are offsets / 8 in 32 bits, so no log is larger. */
#define LARGEST_LOG ((uint64_t)32 << 30)
/*
 * A compressed log may expand to LARGEST_EXPANSION times the size of its file plus SMALL_LOG
 * bytes, which bounds the memory for a malicious one. Logs usually expand to 3 to 6 times their
 * size; gzip can reach 1,032 times.
 */
#define LARGEST_EXPANSION 32
#define SMALL_LOG ((uint64_t)16 << 20)
/* Bytes in which the descriptions of events and counters end. */
#define METADATA_MAX (1u << 20)
/* Copies of a ring while its process drops parts of it, which takes it minutes. */
#define RING_TRIES 3
/* Bytes per call of zlib. */
#define READ_AT_ONCE (1u << 20)

struct th_reader {
	unsigned char *map;
	size_t map_bytes;   /* of the file, in the mapping */
	bool is_file;       /* the mapping is that of the file */
	uint64_t ring_from; /* of a ring: where it begins; else 0 */
	/* Of a ring: of what was before, see open_ring(); by offset. */
	TH_ARRAY(struct th_record, kept);
	uint64_t start; /* offset of the first record */
	uint64_t end;   /* offset one past the last */
	bool is_cut;
	struct th_log_header header;
};

/* Records in the mapping */

/* Pairs with the release store of the commit: the body is complete once the header is seen. */
static uint64_t
load_word(const struct th_reader *reader, uint64_t offset)
{
	return __atomic_load_n(
		(const uint64_t *)(const void *)(reader->map + offset), __ATOMIC_ACQUIRE);
}

/*
 * Whether `word` at `offset` is the header of a committed record. A random word passes with
 * probability 2^-31: 16 bits of check, and a size that is small and a multiple of 8.
 */
static bool
is_header(const struct th_reader *reader, uint64_t offset, uint64_t word,
	struct th_record *record_ret)
{
	struct th_log_record header;

	memcpy(&header, &word, sizeof(header));
	if (!header.type || header.size < sizeof(header) || header.size % 8 ||
		header.size > TH_LOG_RECORD_MAX || header.size > reader->end - offset)
		return false;
	if (header.check != th_log_check(offset, header.size, header.type))
		return false;
	*record_ret = (struct th_record){
		.offset = offset,
		.bytes = reader->map + offset,
		.size = header.size,
		.type = header.type,
	};
	return true;
}

bool
th_reader_is_metadata(uint32_t type)
{
	return type == TH_EVENT_EVENT_TYPE || type == TH_EVENT_EVENT_FIELD ||
	       type == TH_EVENT_COUNTER_NAME;
}

static bool
next_raw(struct th_cursor *cursor, struct th_record *record_ret)
{
	const struct th_reader *reader = cursor->reader;
	uint64_t first_word = 0;

	for (uint64_t at = cursor->offset; at < reader->end; at += 8) {
		uint64_t word = load_word(reader, at);

		if (is_header(reader, at, word, record_ret)) {
			if (at != cursor->offset && first_word)
				cursor->damaged++;
			else if (at != cursor->offset)
				cursor->torn++;
			cursor->offset = at + record_ret->size;
			return true;
		}
		if (at == cursor->offset)
			first_word = word;
	}
	if (first_word)
		cursor->damaged++;
	cursor->offset = reader->end;
	return false;
}

/* Opening */

static struct th_error *
unreadable(const char *path, const char *reason)
{
	return th_error_create(TH_ERROR_UNREADABLE, "%s: %s", path, reason);
}

/* The file's size, after checks that do not need its contents. */
static struct th_error *
check_file(int descriptor, const char *path, size_t *bytes_ret)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", path);
	if (S_ISDIR(status.st_mode))
		return unreadable(path, "is a directory, not a log");
	if (!S_ISREG(status.st_mode))
		return unreadable(path, "is not a regular file");
	if (!status.st_size)
		return unreadable(path, "is empty; nothing was recorded");
	*bytes_ret = (size_t)status.st_size;
	return NULL;
}

static bool
is_gzip(int descriptor)
{
	unsigned char magic[2];

	return pread(descriptor, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       magic[0] == 0x1f && magic[1] == 0x8b;
}

/* Reads up to `bytes` bytes of `gzip`; returns the number read. */
static size_t
inflate_into(gzFile gzip, unsigned char *to, uint64_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		unsigned part = bytes - done < READ_AT_ONCE ? (unsigned)(bytes - done)
							    : READ_AT_ONCE;
		int count = gzread(gzip, to + done, part);

		if (count <= 0)
			break;
		done += (size_t)count;
	}
	return done;
}

static struct th_error *
map_memory(const char *path, uint64_t bytes, unsigned char **map_ret)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", path);
	*map_ret = map;
	return NULL;
}

/*
 * The log in a compressed file of `file_bytes`: the bytes in use by its header, or less if the
 * file ends before that.
 */
static struct th_error *
inflate_log(gzFile gzip, const char *path, uint64_t file_bytes, unsigned char **map_ret,
	size_t *bytes_ret)
{
	struct th_log_header header = {0};
	size_t have = inflate_into(gzip, (unsigned char *)&header, sizeof(header));
	uint64_t used = have == sizeof(header) ? header.tail : have;
	uint64_t most = file_bytes * LARGEST_EXPANSION + SMALL_LOG;

	if (used < sizeof(header))
		return unreadable(path, "is compressed, and not a twinheap log");
	if (used > LARGEST_LOG)
		return unreadable(path, "has a damaged header");
	uint64_t bytes = used < most ? used : most;
	struct th_error *error = map_memory(path, bytes, map_ret);
	if (error)
		return error;
	memcpy(*map_ret, &header, sizeof(header));
	*bytes_ret = sizeof(header) +
		     inflate_into(gzip, *map_ret + sizeof(header), bytes - sizeof(header));
	if (*bytes_ret < used && *bytes_ret == bytes) {
		munmap(*map_ret, bytes);
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: expands to more than %d times its length; if you trust it, "
			"decompress it first (gunzip)",
			path, LARGEST_EXPANSION);
	}
	/* If the file is truncated, for example by an incomplete download, so is the log. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t kept = (*bytes_ret + page - 1) & ~(page - 1);
	if (kept < bytes)
		munmap(*map_ret + kept, bytes - kept);
	return NULL;
}

/* Reads a compressed log; `descriptor` stays open. */
static struct th_error *
read_compressed(int descriptor, const char *path, uint64_t file_bytes, unsigned char **map_ret,
	size_t *bytes_ret)
{
	gzFile gzip = gzdopen(dup(descriptor), "rb");

	if (!gzip)
		th_out_of_memory();
	struct th_error *error = inflate_log(gzip, path, file_bytes, map_ret, bytes_ret);
	gzclose(gzip);
	return error;
}

static struct th_error *
map_file(struct th_reader *reader, const char *path)
{
	/* Non-blocking, so that opening a named pipe does not wait for a writer. */
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", path);
	struct th_error *error = check_file(descriptor, path, &reader->map_bytes);
	if (!error && is_gzip(descriptor)) {
		error = read_compressed(
			descriptor, path, reader->map_bytes, &reader->map, &reader->map_bytes);
	} else if (!error) {
		void *map = mmap(NULL, reader->map_bytes, PROT_READ, MAP_SHARED, descriptor, 0);

		if (map == MAP_FAILED)
			error = th_error_create_errno(TH_ERROR_UNREADABLE, "%s", path);
		reader->map = map;
		reader->is_file = true;
	}
	close(descriptor);
	return error;
}

static struct th_error *
read_header(struct th_reader *reader, const char *path)
{
	struct th_log_header *header = &reader->header;

	/* As far as there are bytes. */
	if (memcmp(reader->map, TH_LOG_MAGIC,
		    reader->map_bytes < sizeof(header->magic) ? reader->map_bytes
							      : sizeof(header->magic)))
		return unreadable(path, "is not a twinheap log");
	if (reader->map_bytes < TH_LOG_HEADER_BYTES)
		return unreadable(path, "is truncated: not even its header is whole");
	memcpy(header, reader->map, sizeof(*header));
	if (header->version > TH_LOG_VERSION)
		return th_error_create(TH_ERROR_UNREADABLE,
			"%s: is a log of version %u, written by a newer twinheap; this one "
			"reads "
			"up to version %u",
			path, header->version, TH_LOG_VERSION);
	if (!header->version || header->header_bytes < sizeof(*header) ||
		header->header_bytes % 8 || header->header_bytes > reader->map_bytes ||
		header->start_monotonic > TH_TIME_MAX || header->start_realtime > TH_TIME_MAX ||
		header->interval > TH_SIZE_MAX)
		return unreadable(path, "has a damaged header");
	return NULL;
}

/*
 * Producers never move the tail past allocated space, so a tail beyond the file means that the
 * file was truncated, and one before the first record that the header is damaged.
 */
static void
find_bounds(struct th_reader *reader)
{
	const uint64_t file_end = reader->map_bytes & ~(uint64_t)7;
	uint64_t tail = reader->header.tail;

	reader->start = reader->header.header_bytes;
	reader->is_cut = tail > reader->map_bytes;
	bool is_plausible = tail >= reader->start && tail <= file_end && tail % 8 == 0;
	reader->end = is_plausible ? tail : file_end;
}

/* Rings */

static bool
is_ring(const struct th_log_header *header, uint64_t file_bytes)
{
	return header->ring_bytes && header->ring_from % 8 == 0 &&
	       header->ring_from >= header->header_bytes && header->ring_from <= header->tail &&
	       header->ring_from <= file_bytes && header->tail % 8 == 0 &&
	       header->tail - header->ring_from <= LARGEST_LOG;
}

/*
 * Replaces the mapping of the file by a copy of the parts that are in use; the zeros between them need
 * no memory.  The process may drop a part meanwhile: then they are copied again.
 */
static struct th_error *
load_ring(struct th_reader *reader, const char *path)
{
	struct th_log_header *header = &reader->header;
	const size_t bytes = reader->map_bytes;
	unsigned char *copy = NULL;
	struct th_error *error = map_memory(path, bytes, &copy);

	for (int i = 0; !error && i < RING_TRIES; i++) {
		uint64_t from = header->ring_from;
		uint64_t end = header->tail < bytes ? header->tail : bytes;
		struct th_log_header now;

		memcpy(copy, reader->map, from < METADATA_MAX ? from : METADATA_MAX);
		memcpy(copy + from, reader->map + from, end - from);
		memcpy(&now, reader->map, sizeof(now));
		if (now.ring_from == from || !is_ring(&now, bytes) || now.tail > bytes)
			break;
		*header = now;
	}
	if (error)
		return error;
	memcpy(copy, header, sizeof(*header));
	munmap(reader->map, bytes);
	reader->map = copy;
	reader->is_file = false;
	return NULL;
}

/*
 * Adds the records in a KEPT event, unless they do not count yet, because the ring begins later.
 * What is malformed ends the event.
 */
static void
add_kept(struct th_reader *reader, const struct th_record *carrier)
{
	struct th_event_kept event;
	struct th_kept_record record;
	uint32_t word = 0;

	if (carrier->size < sizeof(event))
		return;
	memcpy(&event, carrier->bytes, sizeof(event));
	while (event.from <= reader->ring_from &&
		th_kept_next(carrier->bytes, carrier->size, &word, &record)) {
		const struct th_record added = {
			.offset = record.offset,
			.bytes = carrier->bytes + record.at,
			.size = record.size,
			.type = record.type,
			.thinned = record.thinned,
		};

		th_array_append(reader, kept, added);
	}
}

TH_COMPARE(compare_offsets, struct th_record, th_order(left->offset, right->offset))

/* Sorts them by offset, and drops repeated ones. */
static void
sort_kept(struct th_reader *reader)
{
	size_t count = 0;

	th_sort(reader->kept, reader->kept_count, compare_offsets);
	for (size_t i = 0; i < reader->kept_count; i++)
		if (!count || reader->kept[i].offset != reader->kept[count - 1].offset)
			reader->kept[count++] = reader->kept[i];
	reader->kept_count = count;
}

/*
 * Of the records before the start of a ring there are the metadata, which end with the first record of
 * another type, and what it has kept.  Of a compressed ring all is in memory already.
 */
static struct th_error *
open_ring(struct th_reader *reader, const char *path)
{
	struct th_cursor cursor = {.reader = reader};
	struct th_record record;
	struct th_error *error = reader->is_file ? load_ring(reader, path) : NULL;

	if (error)
		return error;
	reader->ring_from = reader->header.ring_from;
	find_bounds(reader);
	for (uint64_t at = reader->start;
		at < reader->ring_from &&
		is_header(reader, at, load_word(reader, at), &record) &&
		th_reader_is_metadata(record.type);
		at += record.size)
		th_array_append(reader, kept, record);
	cursor.offset = reader->ring_from;
	while (next_raw(&cursor, &record))
		if (record.type == TH_EVENT_KEPT)
			add_kept(reader, &record);
	sort_kept(reader);
	return NULL;
}

uint64_t
th_reader_ring_from(const struct th_reader *reader)
{
	return reader->ring_from;
}

struct th_error *
th_reader_open(const char *path, struct th_reader **reader_ret)
{
	struct th_reader *reader = th_allocate(1, sizeof(*reader));
	struct th_error *error = map_file(reader, path);

	if (error) {
		free(reader);
		return error;
	}
	error = read_header(reader, path);
	if (!error)
		find_bounds(reader);
	if (!error && is_ring(&reader->header, reader->map_bytes))
		error = open_ring(reader, path);
	if (error) {
		th_reader_close(reader);
		return error;
	}
	*reader_ret = reader;
	return NULL;
}

void
th_reader_close(struct th_reader *reader)
{
	if (!reader)
		return;
	munmap(reader->map, reader->map_bytes);
	free(reader->kept);
	free(reader);
}

const struct th_log_header *
th_reader_header(const struct th_reader *reader)
{
	return &reader->header;
}

bool
th_reader_is_cut(const struct th_reader *reader)
{
	return reader->is_cut;
}

uint64_t
th_reader_bytes(const struct th_reader *reader)
{
	return reader->end;
}

const void *
th_reader_contents(const struct th_reader *reader)
{
	return reader->map;
}

/* Records */

struct th_cursor
th_reader_start(const struct th_reader *reader)
{
	return (struct th_cursor){.reader = reader,
		.offset = reader->ring_from ? reader->ring_from : reader->start};
}

struct th_cursor
th_reader_at(const struct th_reader *reader, uint64_t offset)
{
	struct th_cursor cursor = th_reader_start(reader);

	cursor.kept = th_bisect(reader->kept_count, i, reader->kept[i].offset < offset);
	if (offset > cursor.offset)
		cursor.offset = offset;
	return cursor;
}

void
th_reader_release(const struct th_cursor *cursor)
{
	const struct th_reader *reader = cursor->reader;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (reader->is_file)
		madvise(reader->map, cursor->offset & ~(page - 1), MADV_DONTNEED);
}

bool
th_reader_next(struct th_cursor *cursor, struct th_record *record_ret)
{
	const struct th_reader *reader = cursor->reader;

	if (cursor->kept < reader->kept_count) {
		*record_ret = reader->kept[cursor->kept++];
		return true;
	}
	while (next_raw(cursor, record_ret))
		if (!reader->ring_from || record_ret->type != TH_EVENT_KEPT)
			return true;
	return false;
}
