/* SPDX-License-Identifier: Apache-2.0 */
/* The log from its creation, or its observation by the tool, to its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/log/log_events.h"
#include "unify/log/log_file.h"
#include "unify/log/log_window.h"
#include "unify/log/ring.h"
#include "unify/shared/clock.h"

/* First allocation: limits the disk space of a short-lived process. */
#define FIRST_CHUNK (1u << 20)
#define NO_RING                                                          \
	"the file system of the log cannot give back space (fallocate, " \
	"FALLOC_FL_PUNCH_HOLE): "                                        \
	"the log is no ring, and ends when it is full"
/* madvise(2), since Linux 4.14; older headers lack it. */
#define WIPE_ON_FORK 18
#define INVALID_ADVICE (-1)

/* Creation */

/* The text at `*text`, which advances to the next one. */
static struct th_log_part
next_text(const char **text)
{
	struct th_log_part part = th_log_text(*text);

	*text += part.length + 1;
	return part;
}

/* Advances `*text` over the texts of the event. */
static void
write_event_metadata(const struct th_log_event_type *event, const char **text)
{
	struct th_event_event_type type = {.type = event->type};
	struct th_log_part texts[3];

	for (unsigned i = 0; i < 3; i++)
		texts[i] = next_text(text);
	th_log_append(TH_EVENT_EVENT_TYPE, &type, texts, 3);
	for (uint32_t i = 0; event->fields[i].data; i++) {
		const struct th_log_field *field = &event->fields[i];
		struct th_event_event_field described = {
			.type = event->type,
			.index = i,
			.data_type = field->data,
			.content_type = field->content,
		};
		struct th_log_part names[2];

		for (unsigned k = 0; k < 2; k++)
			names[k] = next_text(text);
		th_log_append(TH_EVENT_EVENT_FIELD, &described, names, 2);
	}
}

static void
write_metadata(void)
{
	/* Name and description of each, without pointers, as th_log_event_texts. */
	static const char counters[] =
#define X(NAME, name, description) #name "\0" description "\0"
		TH_LOG_COUNTERS(X)
#undef X
		;
	const char *text = th_log_event_texts;

	for (size_t i = 0; i < TH_LOG_EVENT_TYPES; i++)
		write_event_metadata(&th_log_events[th_log_event_order[i]], &text);
	text = counters;
	for (uint32_t i = 0; i < TH_COUNTER_COUNT; i++) {
		struct th_event_counter_name name = {.index = i};
		struct th_log_part texts[2];

		for (unsigned k = 0; k < 2; k++)
			texts[k] = next_text(&text);
		th_log_append(TH_EVENT_COUNTER_NAME, &name, texts, 2);
	}
}

/*
 * Whether the file at `path` is the log of this process before an exec.  The pid and start time
 * are not enough: containers that share a directory start with the same pid, and possibly in
 * the same clock tick.
 */
static bool
is_earlier_image(const char *path, const struct th_log_identity *identity)
{
	struct th_log_header header;
	int descriptor = th_log_file_open(path, O_RDONLY | O_NONBLOCK);
	ssize_t got;

	if (descriptor < 0)
		return false;
	got = th_system_pread(descriptor, &header, sizeof(header), 0);
	th_system_close(descriptor);
	return got == (ssize_t)sizeof(header) &&
	       !memcmp(header.magic, TH_LOG_MAGIC, sizeof(header.magic)) &&
	       header.pid == (uint32_t)getpid() && identity->process_start &&
	       header.process_start == identity->process_start && identity->process_space &&
	       header.process_space == identity->process_space;
}

static int
create_file(const char *path, const struct th_log_identity *identity)
{
	const int flags = O_CREAT | O_EXCL | O_RDWR;
	int descriptor = th_log_file_open(path, flags);

	if (descriptor < 0 && errno == EEXIST) {
		if (identity->keeps_earlier || !is_earlier_image(path, identity)) {
			errno = EEXIST;
			return -1;
		}
		if (unlink(path))
			return -1;
		descriptor = th_log_file_open(path, flags);
	}
	return th_log_file_move_high(descriptor);
}

/* A thread may still count in the header of the last log, so its address remains mapped. */
static struct th_log_header *last_header; /* NULL: none */

static struct th_log_header *
map_header(int descriptor)
{
	void *mapping;

	if (last_header)
		mapping = (void *)syscall(SYS_mmap, last_header, TH_LOG_HEADER_BYTES,
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0L);
	else
		mapping = th_memory_system_map(
			NULL, TH_LOG_HEADER_BYTES, MAP_SHARED, descriptor);
	return mapping == MAP_FAILED ? NULL : mapping;
}

static void
init_header(struct th_log_header *header, uint64_t max_bytes,
	const struct th_log_identity *identity)
{
	header->version = TH_LOG_VERSION;
	header->header_bytes = TH_LOG_HEADER_BYTES;
	header->pid = (uint32_t)getpid();
	header->process_start = identity->process_start;
	header->process_space = identity->process_space;
	header->start_realtime = th_clock_read(CLOCK_REALTIME);
	header->start_monotonic = th_clock_now();
	header->tail = TH_LOG_HEADER_BYTES;
	header->limit = FIRST_CHUNK;
	header->most_bytes = max_bytes;
	header->interval = identity->interval;
	header->rate = identity->rate;
	header->overhead = identity->overhead;
	header->counter_count = TH_COUNTER_COUNT;
	memcpy(header->magic, TH_LOG_MAGIC, sizeof(header->magic));
}

static enum th_log_status
abandon(int descriptor, const char *path, enum th_log_status status)
{
	int saved_errno = errno;

	th_system_close(descriptor);
	unlink(path);
	errno = saved_errno;
	return status;
}

/*
 * A page that is zero in every copy of this memory.  Emulators that accept any advice, also an
 * invalid one, ignore it.  NULL: there is none.
 */
static const uint32_t *
mark_memory(void)
{
	static uint32_t *mark;

	if (!mark)
		mark = th_memory_map(TH_PAGE_BYTES);
	if (!mark || !syscall(SYS_madvise, mark, TH_PAGE_BYTES, INVALID_ADVICE) ||
		syscall(SYS_madvise, mark, TH_PAGE_BYTES, WIPE_ON_FORK))
		return NULL;
	th_store_relaxed(mark, 1);
	return mark;
}

/* Initializes the location of the log; the header is not published yet. */
static bool
init_file(const char *path, uint64_t max_bytes, int descriptor)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return false;
	for (size_t i = 0; i < TH_EVENT_NUMBERS; i++)
		th_log_file.fixed_bytes[i] = th_log_event_fixed_end(&th_log_events[i]);
	snprintf(th_log_file.path, PATH_MAX, "%s", path);
	th_log_file.is_observed = false;
	th_log_file.seen = TH_LOG_HEADER_BYTES;
	th_log_file.limit = FIRST_CHUNK;
	th_log_file.max_bytes = max_bytes;
	th_log_file.touched = 0;
	th_log_file.is_complete = 0;
	th_log_file.next_try = 0;
	th_log_file.descriptor = descriptor;
	th_log_file.device = status.st_dev;
	th_log_file.inode = status.st_ino;
	th_log_file.owner = getpid();
	th_log_file.mark = mark_memory();
	return true;
}

enum th_log_status
th_log_create(const char *path, uint64_t max_bytes, const struct th_log_identity *identity)
{
	int descriptor = create_file(path, identity);

	if (descriptor < 0)
		return errno == EEXIST ? TH_LOG_EXISTS : TH_LOG_FAILED;
	if (max_bytes < FIRST_CHUNK)
		max_bytes = FIRST_CHUNK;
	if (!th_log_file_allocate(descriptor, 0, FIRST_CHUNK))
		return abandon(descriptor, path, TH_LOG_NO_SPACE);
	struct th_log_header *header = map_header(descriptor);
	if (!header || !th_log_windows_init(descriptor, TH_LOG_HEADER_BYTES) ||
		!init_file(path, max_bytes, descriptor))
		return abandon(descriptor, path, TH_LOG_FAILED);
	init_header(header, max_bytes, identity);
	th_store_release(&th_log_file.header, header);
	write_metadata();
	if (identity->ring && !th_ring_init(identity->ring, header->tail))
		th_log_note(1, NO_RING);
	return TH_LOG_OK;
}

bool
th_log_retire(void)
{
	struct th_log_header *header = th_log_header();

	if (header) {
		th_ring_deinit();
		last_header = header;
		th_store_release(&th_log_file.header, NULL);
	}
	return th_log_windows_retire();
}

/* The log of another process */

/* Whether the sizes in the header lie within the file. */
static bool
is_sound(const struct th_log_header *header, const struct stat *status)
{
	return !memcmp(header->magic, TH_LOG_MAGIC, sizeof(header->magic)) &&
	       header->version == TH_LOG_VERSION && header->state == TH_LOG_RECORDING &&
	       header->tail >= TH_LOG_HEADER_BYTES && header->tail % 8 == 0 &&
	       header->limit <= (uint64_t)status->st_size &&
	       header->limit <= header->most_bytes && header->tail <= header->limit;
}

bool
th_log_observe(int descriptor)
{
	struct th_log_header header;
	struct stat status;

	if (th_system_pread(descriptor, &header, sizeof(header), 0) != sizeof(header) ||
		fstat(descriptor, &status) || !is_sound(&header, &status) ||
		!init_file("", header.most_bytes, descriptor))
		return false;
	void *mapping = th_memory_system_map(NULL, TH_LOG_HEADER_BYTES, MAP_SHARED, descriptor);
	if (mapping == MAP_FAILED)
		return false;
	if (!th_log_windows_init(descriptor, header.tail)) {
		th_memory_system_unmap(mapping, TH_LOG_HEADER_BYTES);
		return false;
	}
	th_log_file.is_observed = true;
	th_log_file.seen = header.tail;
	th_log_file.limit = header.limit;
	th_store_release(&th_log_file.header, mapping);
	return true;
}

void
th_log_observe_end(void)
{
	th_memory_system_unmap(th_log_file.header, TH_LOG_HEADER_BYTES);
	th_log_file.header = NULL;
	th_log_windows_retire();
	th_log_file.descriptor = -1;
}

/* Closing */

/* Releases space allocated ahead; on failure zeros remain at the end, which readers skip. */
static void
cut_file(uint64_t bytes)
{
	if (!th_lock_bounded(&th_log_file.growing))
		return;
	int descriptor = th_log_file_descriptor();
	if (descriptor >= 0) {
		int result = ftruncate(descriptor, (off_t)bytes);

		(void)result;
		th_system_close(descriptor);
		th_log_file.descriptor = -1;
	}
	th_unlock(&th_log_file.growing);
}

void
th_log_close(void)
{
	struct th_log_header *header = th_log_header();
	struct th_event_end end = {.time = th_clock_now()};

	if (!header || !th_log_is_owner())
		return;
	th_log_append(TH_EVENT_END, &end, NULL, 0);
	th_store_relaxed(&th_log_file.is_complete, 1);
	th_store_release(&header->state, TH_LOG_COMPLETE);
	/*
	 * The mappings stay: a capture interrupted by the end of the process may still hold a
	 * reservation below the tail.  Nothing is reserved beyond the tail once the limit
	 * equals it.
	 */
	uint64_t tail = th_log_file_tail(header);
	if (!tail)
		return;
	/* Not while another thread raises it: grow_by() sees that the log is complete. */
	bool is_held = th_lock_bounded(&th_log_file.growing);
	__atomic_store_n(&th_log_file.limit, tail, __ATOMIC_SEQ_CST);
	if (is_held)
		th_unlock(&th_log_file.growing);
	/*
	 * Pairs with is_ours_to_fill(): a process that does not see this store moved the tail
	 * before.
	 */
	__atomic_store_n(&header->limit, tail, __ATOMIC_SEQ_CST);
	tail = th_log_file_tail(header);
	if (tail)
		cut_file(tail);
}

/*
 * Code that the fork interrupted may still write to the header: makes it private in the child.
 * It stays shared if the child cannot map memory.
 */
static void
detach_header(struct th_log_header *header)
{
	th_memory_system_map(
		header, TH_LOG_HEADER_BYTES, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
}

void
th_log_detach(void)
{
	struct th_log_header *header = th_log_file.header;

	if (!header)
		return;
	th_store_release(&th_log_file.header, NULL);
	th_store_relaxed(&th_log_file.max_bytes, 0);
	th_store_relaxed(&th_log_file.limit, 0);
	th_ring_deinit();
	detach_header(header);
	th_log_windows_detach();
	if (th_log_file_is_ours(th_log_file.descriptor))
		th_system_close(th_log_file.descriptor);
	th_log_file.descriptor = -1;
	th_log_file.growing.held = 0;
}
