/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is mapped for good, the records in windows (log_window.h).  Pages beyond `limit` are
 * never touched, so they need no file behind them.  Growing is fallocate and one release store of
 * the new limit.
 *
 * Others may write to the file.  What an append depends on is therefore kept here; the header gets
 * a copy, and nothing is read from it but the control page.
 *
 * Everything on the malloc path is a system call itself: the functions of libc that open, close and
 * allocate are points of cancellation.
 */
#include "unify/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unify/atomic.h"
#include "unify/clock.h"
#include "unify/log_window.h"
#include "unify/memory.h"

/* First allocation: a short-lived process should not cost more disk than this. */
#define FIRST_CHUNK (1u << 20)
/* Later allocations: at 72 bytes a sample, 50,000 samples. */
#define CHUNK (4u << 20)
/* What is asked for instead when the disk is nearly full. */
#define LAST_CHUNK (64u << 10)
/* On a full disk every attempt may cost a millisecond, and every sample would make one. */
#define RETRY_NS (TH_NS_PER_S / 10)
/* The agent thread keeps this much ready ahead of the tail. */
#define AHEAD (1u << 20)
/* Kept out of the way of programs that expect small descriptors. */
#define DESCRIPTOR_BASE 512
/* Four texts of a record and its other fields have room in it; names in class files are shorter. */
#define TEXT_MAX 65535
/* A holder may wait for the disk; who waits longer waits for a stopped thread. */
#define LOCK_TURNS (1u << 20)
#define FIELDS_MAX 16
/* Above the fixed part of every event. */
#define RECORD_FIXED_MAX 256

struct field {
	enum th_data_type data;
	enum th_content_type content;
	const char *name;
	const char *label;
};

struct event {
	enum th_event_type type;
	const char *name;
	const char *label;
	const char *description;
	struct field fields[FIELDS_MAX];
};

/* By number; numbers may have gaps. */
static const struct event events[TH_EVENT_NUMBERS] = {
#define F(data, content, name, label) {TH_DATA_##data, TH_CONTENT_##content, #name, label},
#define E(NUMBER, NAME, name, label, description) \
	[NUMBER] = {NUMBER, #name, label, description, {TH_FIELDS_##NAME(F)}},
	TH_EVENTS(E)
#undef E
#undef F
};

static struct {
	struct th_log_header *header; /* mapped for good; NULL: no log */
	uint64_t tail;                /* atomic: file offset at which the next record starts */
	uint64_t limit;               /* atomic: file offset up to which space is allocated */
	uint64_t max_bytes;           /* the log does not grow beyond */
	uint64_t touched;             /* agent thread: pages below are touched */
	uint32_t is_complete;         /* atomic */
	uint32_t refusal; /* atomic: enum th_log_counter, why the last append failed */
	int descriptor;   /* under `growing` */
	dev_t device;     /* to recognise the descriptor after the program closed it */
	ino_t inode;
	pid_t owner;
	struct th_spinlock growing;
	uint64_t next_try; /* atomic: after growing failed, not before that time */
	/* End of the fixed part of each event, by type number. */
	uint32_t fixed_bytes[TH_EVENT_NUMBERS];
	char path[PATH_MAX];
} log_file = {.descriptor = -1};

static uint32_t
align_up(uint32_t value, uint32_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

static uint32_t
data_bytes(enum th_data_type data)
{
	switch (data) {
	case TH_DATA_U32:
		return 4;
	case TH_DATA_U64:
	case TH_DATA_F64:
		return 8;
	default:
		return 0;
	}
}

static uint32_t
fixed_end(const struct event *event)
{
	uint32_t end = sizeof(struct th_log_record);

	for (const struct field *field = event->fields; field->name; field++) {
		uint32_t bytes = data_bytes(field->data);

		if (bytes)
			end = align_up(end, bytes) + bytes;
	}
	return end;
}

bool
th_log_is_ours(void)
{
	return getpid() == log_file.owner;
}

struct th_log_header *
th_log_header(void)
{
	return th_load_acquire(&log_file.header);
}

struct th_log_part
th_log_text(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (length > TEXT_MAX)
		length = TEXT_MAX;
	return (struct th_log_part){text, (uint32_t)length};
}

/* The file */

static int
open_file(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void
close_file(int descriptor)
{
	syscall(SYS_close, descriptor);
}

/* The descriptor under a number that is out of the way, if one can be had. */
static int
move_high(int descriptor)
{
	int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, DESCRIPTOR_BASE);

	if (high < 0)
		return descriptor;
	close_file(descriptor);
	return high;
}

static bool
is_our_file(int descriptor)
{
	struct stat status;

	return descriptor >= 0 && !fstat(descriptor, &status) &&
	       status.st_dev == log_file.device && status.st_ino == log_file.inode;
}

/*
 * The descriptor, reopened when the program closed ours; -1 when the file is out of reach.  Under
 * `growing`.
 */
static int
log_descriptor(void)
{
	int descriptor = log_file.descriptor;

	if (is_our_file(descriptor))
		return descriptor;
	descriptor = move_high(open_file(log_file.path, O_RDWR));
	if (descriptor >= 0 && !is_our_file(descriptor)) {
		close_file(descriptor);
		descriptor = -1;
	}
	log_file.descriptor = descriptor;
	return descriptor;
}

void
th_log_hold_file(void)
{
	int saved_errno = errno;

	if (!th_log_header() || !th_log_is_ours() ||
		!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return;
	log_descriptor();
	th_unlock(&log_file.growing);
	errno = saved_errno;
}

/* Growing */

/* Growing past RLIMIT_FSIZE would not only fail but raise SIGXFSZ in the host. */
static bool
file_size_allowed(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit))
		return false;
	return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* For file systems without fallocate: writing zeros takes the space as well. */
static bool
write_zeros(int descriptor, uint64_t from, uint64_t to)
{
	static const char zeros[4096];

	while (from < to) {
		uint64_t left = to - from;
		long written = syscall(SYS_pwrite64, descriptor, zeros,
			left < sizeof(zeros) ? left : sizeof(zeros), from);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		from += (uint64_t)written;
	}
	return true;
}

static bool
allocate(int descriptor, uint64_t from, uint64_t to)
{
	long result;

	if (!file_size_allowed(to))
		return false;
	do
		result = syscall(SYS_fallocate, descriptor, 0, from, to - from);
	while (result < 0 && errno == EINTR);
	if (!result)
		return true;
	return (errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(descriptor, from, to);
}

static void
set_limit(uint64_t limit)
{
	/* Pairs with the acquire load in reserve(): the blocks are there. */
	th_store_release(&log_file.limit, limit);
	th_store_relaxed(&log_file.header->limit, limit);
}

/* Moves the limit to `needed` and, within the log's greatest size, `more`. */
static bool
grow_by(int descriptor, uint64_t needed, uint64_t more)
{
	uint64_t target = needed + more;

	if (target > log_file.max_bytes)
		target = log_file.max_bytes;
	if (!allocate(descriptor, th_load_relaxed(&log_file.limit), target))
		return false;
	set_limit(target);
	return true;
}

static bool
refuse(enum th_log_counter reason)
{
	th_store_relaxed(&log_file.refusal, reason);
	return false;
}

/* Under `growing`. */
static bool
grow_file(uint64_t needed)
{
	int descriptor;

	if (th_load_relaxed(&log_file.limit) >= needed)
		return true;
	descriptor = log_descriptor();
	if (descriptor < 0)
		refuse(TH_COUNTER_DROPPED_LOG_UNREACHABLE);
	else if (grow_by(descriptor, needed, CHUNK) || grow_by(descriptor, needed, LAST_CHUNK))
		return true;
	else
		refuse(TH_COUNTER_DROPPED_NO_SPACE);
	th_store_relaxed(&log_file.next_try, th_clock_now() + RETRY_NS);
	return false;
}

/*
 * Moves the limit to at least `needed`.  Several producers may arrive at once: one allocates,
 * the others wait for it, bounded, since it may have been stopped in the middle.
 */
static bool
grow(uint64_t needed)
{
	bool grown;

	if (needed > log_file.max_bytes)
		return refuse(TH_COUNTER_DROPPED_LOG_FULL);
	/* Until then the reason is that of the last time. */
	if (th_clock_now() < th_load_relaxed(&log_file.next_try))
		return false;
	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return refuse(TH_COUNTER_DROPPED_BUSY);
	grown = grow_file(needed);
	th_unlock(&log_file.growing);
	return grown;
}

/* Appending */

/* Where a record goes: reserved space in a window that was entered. */
struct place {
	struct th_log_window *window;
	uint64_t offset;
};

/* False: the window cannot be mapped.  A tail that has moved on meanwhile is read again. */
static bool
open_window(uint64_t *tail)
{
	enum th_log_window_result result = th_log_window_open(*tail, *tail);
	uint64_t now = th_load_acquire(&log_file.tail);
	bool has_moved = now != *tail;

	*tail = now;
	if (result == TH_LOG_WINDOW_OPEN || has_moved)
		return true;
	return refuse(result == TH_LOG_WINDOW_BUSY ? TH_COUNTER_DROPPED_BUSY
						   : TH_COUNTER_DROPPED_LOG_UNREACHABLE);
}

/* The header's tail follows ours; what somebody else wrote there is beyond it. */
static void
show_tail(struct th_log_header *header, uint64_t tail)
{
	uint64_t shown = th_load_relaxed(&header->tail);

	while (shown < tail || shown > th_load_acquire(&log_file.tail))
		if (th_cas_acq_rel(&header->tail, &shown, tail))
			break;
}

static bool
reserve(uint32_t bytes, struct place *place)
{
	uint64_t tail = th_load_acquire(&log_file.tail);

	for (;;) {
		if (tail + bytes > th_load_acquire(&log_file.limit) && !grow(tail + bytes))
			return false;
		/* Entered before the space is ours: a window that we are not in may go. */
		place->window = th_log_window_enter(tail);
		if (!place->window) {
			if (!open_window(&tail))
				return false;
			continue;
		}
		place->offset = tail;
		if (th_cas_acq_rel(&log_file.tail, &tail, tail + bytes))
			return true;
		th_log_window_leave(place->window);
	}
}

static uint32_t
part_end(const struct field *field, const struct th_log_part *part, uint32_t at)
{
	at = align_up(at, 4) + 4;
	if (field->data == TH_DATA_U64_ARRAY)
		return align_up(at, 8) + 8 * part->length;
	return at + part->length;
}

static const struct field *
next_variable_field(const struct field *field)
{
	while (data_bytes(field->data))
		field++;
	return field;
}

static uint32_t
record_bytes(const struct event *event, const struct th_log_part *parts, unsigned part_count)
{
	uint32_t end = log_file.fixed_bytes[event->type];
	const struct field *field = event->fields;

	for (unsigned i = 0; i < part_count; i++, field++) {
		field = next_variable_field(field);
		end = part_end(field, &parts[i], end);
	}
	return align_up(end, 8);
}

/* Fresh pages of the file are zero, so padding need not be written. */
static void
write_parts(char *record, const struct event *event, const struct th_log_part *parts,
	unsigned part_count)
{
	uint32_t at = log_file.fixed_bytes[event->type];
	const struct field *field = event->fields;

	for (unsigned i = 0; i < part_count; i++, field++) {
		uint32_t bytes = parts[i].length;

		field = next_variable_field(field);
		at = align_up(at, 4);
		memcpy(record + at, &parts[i].length, 4);
		at += 4;
		if (field->data == TH_DATA_U64_ARRAY) {
			at = align_up(at, 8);
			bytes *= 8;
		}
		if (bytes)
			memcpy(record + at, parts[i].data, bytes);
		at += bytes;
	}
}

/* The commit: pairs with the acquire load of the header word in a reader. */
static void
commit(char *record, uint64_t offset, uint32_t size, enum th_event_type type)
{
	struct th_log_record header = {size, (uint16_t)type, 0};
	uint64_t word;

	header.check = th_log_check(offset, size, (uint16_t)type);
	memcpy(&word, &header, sizeof(word));
	th_store_release((uint64_t *)(void *)record, word);
}

uint64_t
th_log_append_ours(enum th_event_type type, const void *fixed, const struct th_log_part *parts,
	unsigned part_count)
{
	struct th_log_header *header = th_log_header();
	const struct event *event = &events[type];
	const size_t head = sizeof(struct th_log_record);
	int saved_errno = errno;
	struct place place;

	if (!header)
		return 0;
	uint32_t size = record_bytes(event, parts, part_count);
	if (size > TH_LOG_WINDOW_OVERLAP || !reserve(size, &place)) {
		errno = saved_errno;
		return 0;
	}
	show_tail(header, place.offset + size);
	char *record = th_log_window_at(place.window, place.offset);
	memcpy(record + head, (const char *)fixed + head, log_file.fixed_bytes[type] - head);
	write_parts(record, event, parts, part_count);
	commit(record, place.offset, size, type);
	th_log_window_leave(place.window);
	errno = saved_errno;
	return place.offset;
}

uint64_t
th_log_append(enum th_event_type type, const void *fixed, const struct th_log_part *parts,
	unsigned part_count)
{
	return th_log_is_ours() ? th_log_append_ours(type, fixed, parts, part_count) : 0;
}

enum th_log_counter
th_log_refusal(void)
{
	return (enum th_log_counter)th_load_relaxed(&log_file.refusal);
}

/* Counters freeze on close. */
static bool
takes_counts(const struct th_log_header *header)
{
	return header && !th_load_relaxed(&log_file.is_complete);
}

void
th_log_count(enum th_log_counter counter, uint64_t amount)
{
	struct th_log_header *header = th_log_header();

	if (takes_counts(header))
		th_add_relaxed(&header->counters[counter], amount);
}

void
th_log_set_counter(enum th_log_counter counter, uint64_t value)
{
	struct th_log_header *header = th_log_header();

	if (takes_counts(header))
		th_store_relaxed(&header->counters[counter], value);
}

void
th_log_note(unsigned severity, const char *text)
{
	struct th_event_note note = {.time = th_clock_now(), .severity = severity};
	struct th_log_part part = th_log_text(text);

	th_log_append(TH_EVENT_NOTE, &note, &part, 1);
}

/* An or with 0 makes the page writable without changing what a producer may write. */
static void
touch(uint64_t end)
{
	struct th_log_window *window;

	while (log_file.touched < end && (window = th_log_window_enter(log_file.touched))) {
		th_or_relaxed(
			(uint64_t *)(void *)th_log_window_at(window, log_file.touched), 0);
		log_file.touched += 4096;
		th_log_window_leave(window);
	}
}

void
th_log_prepare(void)
{
	uint64_t tail = th_load_relaxed(&log_file.tail);
	uint64_t end = tail + AHEAD;

	if (!th_log_header())
		return;
	if (th_load_relaxed(&log_file.limit) < end)
		grow(end);
	if (end > th_load_relaxed(&log_file.limit))
		end = th_load_relaxed(&log_file.limit);
	if (log_file.touched < tail)
		log_file.touched = tail & ~(uint64_t)4095;
	if (end > tail)
		th_log_window_open(end - 1, tail);
	touch(end);
}

/* Creation */

static void
write_event_metadata(const struct event *event)
{
	struct th_event_event_type type = {.type = event->type};
	struct th_log_part texts[] = {th_log_text(event->name), th_log_text(event->label),
		th_log_text(event->description)};

	th_log_append(TH_EVENT_EVENT_TYPE, &type, texts, 3);
	for (uint32_t i = 0; event->fields[i].name; i++) {
		const struct field *field = &event->fields[i];
		struct th_event_event_field described = {
			.type = event->type,
			.index = i,
			.data_type = field->data,
			.content_type = field->content,
		};
		struct th_log_part names[] = {
			th_log_text(field->name), th_log_text(field->label)};

		th_log_append(TH_EVENT_EVENT_FIELD, &described, names, 2);
	}
}

static void
write_metadata(void)
{
	static const struct {
		const char *name;
		const char *description;
	} counters[] = {
#define X(NAME, name, description) {#name, description},
		TH_LOG_COUNTERS(X)
#undef X
	};

	for (size_t i = 0; i < TH_EVENT_NUMBERS; i++)
		if (events[i].name)
			write_event_metadata(&events[i]);
	for (uint32_t i = 0; i < TH_COUNTER_COUNT; i++) {
		struct th_event_counter_name name = {.index = i};
		struct th_log_part texts[] = {
			th_log_text(counters[i].name), th_log_text(counters[i].description)};

		th_log_append(TH_EVENT_COUNTER_NAME, &name, texts, 2);
	}
}

/* Whether the file at `path` is the log of this process before an exec. */
static bool
is_earlier_image(const char *path, const struct th_log_identity *identity)
{
	struct th_log_header header;
	int descriptor = open_file(path, O_RDONLY | O_NONBLOCK);
	long got;

	if (descriptor < 0)
		return false;
	got = syscall(SYS_pread64, descriptor, &header, sizeof(header), 0L);
	close_file(descriptor);
	return got == (long)sizeof(header) &&
	       !memcmp(header.magic, TH_LOG_MAGIC, sizeof(header.magic)) &&
	       header.pid == (uint32_t)getpid() &&
	       header.process_start == identity->process_start;
}

static int
create_file(const char *path, const struct th_log_identity *identity)
{
	const int flags = O_CREAT | O_EXCL | O_RDWR;
	int descriptor = open_file(path, flags);

	if (descriptor < 0 && errno == EEXIST) {
		if (!is_earlier_image(path, identity)) {
			errno = EEXIST;
			return -1;
		}
		if (unlink(path))
			return -1;
		descriptor = open_file(path, flags);
	}
	return move_high(descriptor);
}

static struct th_log_header *
map_header(int descriptor)
{
	void *mapping = th_memory_system_map(NULL, TH_LOG_HEADER_BYTES, MAP_SHARED, descriptor);

	return mapping == MAP_FAILED ? NULL : mapping;
}

static void
init_header(struct th_log_header *header, const struct th_log_identity *identity)
{
	header->version = TH_LOG_VERSION;
	header->header_bytes = TH_LOG_HEADER_BYTES;
	header->pid = (uint32_t)getpid();
	header->process_start = identity->process_start;
	header->start_realtime = th_clock_read(CLOCK_REALTIME);
	header->start_monotonic = th_clock_now();
	header->tail = TH_LOG_HEADER_BYTES;
	header->limit = FIRST_CHUNK;
	header->interval = identity->interval;
	header->rate = identity->rate;
	header->counter_count = TH_COUNTER_COUNT;
	memcpy(header->magic, TH_LOG_MAGIC, sizeof(header->magic));
}

static enum th_log_status
abandon(int descriptor, const char *path, enum th_log_status status)
{
	int saved_errno = errno;

	close_file(descriptor);
	unlink(path);
	errno = saved_errno;
	return status;
}

/* The parts of the state that say where the log is; the header is not published yet. */
static void
init_file(const char *path, uint64_t max_bytes, int descriptor, const struct stat *status)
{
	for (size_t i = 0; i < TH_EVENT_NUMBERS; i++)
		log_file.fixed_bytes[i] = fixed_end(&events[i]);
	snprintf(log_file.path, sizeof(log_file.path), "%s", path);
	log_file.tail = TH_LOG_HEADER_BYTES;
	log_file.limit = FIRST_CHUNK;
	log_file.max_bytes = max_bytes < FIRST_CHUNK ? FIRST_CHUNK : max_bytes;
	log_file.touched = 0;
	log_file.is_complete = 0;
	log_file.next_try = 0;
	log_file.descriptor = descriptor;
	log_file.device = status->st_dev;
	log_file.inode = status->st_ino;
	log_file.owner = getpid();
}

enum th_log_status
th_log_create(const char *path, uint64_t max_bytes, const struct th_log_identity *identity)
{
	struct stat status;
	int descriptor = create_file(path, identity);

	if (descriptor < 0)
		return errno == EEXIST ? TH_LOG_EXISTS : TH_LOG_FAILED;
	if (!allocate(descriptor, 0, FIRST_CHUNK))
		return abandon(descriptor, path, TH_LOG_NO_SPACE);
	struct th_log_header *header = map_header(descriptor);
	if (!header || !th_log_windows_init(descriptor) || fstat(descriptor, &status))
		return abandon(descriptor, path, TH_LOG_FAILED);
	init_file(path, max_bytes, descriptor, &status);
	init_header(header, identity);
	th_store_release(&log_file.header, header);
	write_metadata();
	return TH_LOG_OK;
}

/* Reading back */

const void *
th_log_get(uint64_t offset, enum th_event_type type)
{
	static _Alignas(8) char record[RECORD_FIXED_MAX];
	uint32_t bytes = log_file.fixed_bytes[type];
	struct th_log_record head;
	long got = 0;

	if (!th_log_header() || offset < TH_LOG_HEADER_BYTES || bytes > sizeof(record) ||
		!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return NULL;
	int descriptor = log_descriptor();
	if (descriptor >= 0)
		got = syscall(SYS_pread64, descriptor, record, (size_t)bytes, offset);
	th_unlock(&log_file.growing);
	memcpy(&head, record, sizeof(head));
	return got == (long)bytes && head.type == type &&
			       head.check == th_log_check(offset, head.size, head.type)
		       ? record
		       : NULL;
}

void
th_log_each_mapping(void (*visit)(const void *start, size_t bytes, void *data), void *data)
{
	const struct th_log_header *header = th_log_header();

	if (!header)
		return;
	visit(header, TH_LOG_HEADER_BYTES, data);
	th_log_windows_each(visit, data);
}

/* Closing */

/* Cuts off what was allocated ahead; on failure zeros stay at the end, which readers skip. */
static void
cut_file(uint64_t bytes)
{
	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return;
	int descriptor = log_descriptor();
	if (descriptor >= 0) {
		syscall(SYS_ftruncate, descriptor, bytes);
		close_file(descriptor);
		log_file.descriptor = -1;
	}
	th_unlock(&log_file.growing);
}

void
th_log_close(void)
{
	struct th_log_header *header = th_log_header();
	struct th_event_end end = {.time = th_clock_now()};

	if (!header || !th_log_is_ours())
		return;
	th_log_append(TH_EVENT_END, &end, NULL, 0);
	th_store_relaxed(&log_file.is_complete, 1);
	th_store_release(&header->state, TH_LOG_COMPLETE);
	/*
	 * The mappings stay: a capture that was cut off by the end of the process may still hold
	 * a reservation below the tail.  Nothing reserves beyond it once the limit is the tail.
	 */
	log_file.max_bytes = 0;
	uint64_t tail = th_load_acquire(&log_file.tail);
	set_limit(tail);
	cut_file(th_load_acquire(&log_file.tail));
}

/* Code that the fork came upon may still write to the header; in the child it is private. */
static void
detach_header(struct th_log_header *header)
{
	if (th_memory_system_map(header, TH_LOG_HEADER_BYTES,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1) == MAP_FAILED)
		th_memory_system_unmap(header, TH_LOG_HEADER_BYTES);
}

void
th_log_detach(void)
{
	struct th_log_header *header = log_file.header;

	if (!header)
		return;
	th_store_release(&log_file.header, NULL);
	log_file.max_bytes = 0;
	log_file.limit = 0;
	detach_header(header);
	th_log_windows_detach();
	if (is_our_file(log_file.descriptor))
		close_file(log_file.descriptor);
	log_file.descriptor = -1;
	log_file.growing.held = 0;
}
