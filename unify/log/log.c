/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header stays mapped, the records are mapped in windows (log_window.h).  Pages beyond
 * `limit` are never touched, so the file need not have space for them.  The file grows by
 * fallocate and a release store of the new limit.
 *
 * Other processes may write to the file, and the tool appends to it (th_log_observe()).
 * Nothing is read from the header but the control page and the tail, and a record's position is
 * validated against state kept here: it must lie below the limit in this struct, in a window.
 * An invalid tail is restored.
 */
#include "unify/log/log.h"

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

#include "unify/base/align.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/system.h"
#include "unify/log/log_window.h"
#include "unify/shared/clock.h"

/* First allocation: limits the disk space of a short-lived process. */
#define FIRST_CHUNK (1u << 20)
/* Later allocations: at 72 bytes a sample, 50,000 samples. */
#define CHUNK (4u << 20)
/* Allocation size when the disk is nearly full. */
#define LAST_CHUNK (64u << 10)
/*
 * Minimum time between attempts on a full disk: each may cost a millisecond, and every sample
 * would make one.
 */
#define RETRY_NS (TH_NS_PER_S / 10)
/* Bytes that the agent thread keeps ready ahead of the tail. */
#define AHEAD (1u << 20)
/* Minimum number of the descriptor, to avoid programs that expect small ones. */
#define DESCRIPTOR_BASE 512
/* Four texts and the other fields fit into a record; names in class files are shorter. */
#define TEXT_MAX 65535
/* A holder may wait for the disk; after a longer wait it is considered stopped. */
#define LOCK_TURNS (1u << 20)
/*
 * Of writers that compete for the tail one succeeds each time: more turns mean foreign writes.
 */
#define TAIL_TURNS (1u << 16)
#define FIELDS_MAX 16
/* Upper bound of the fixed part of every event. */
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

/* Indexed by number; numbers may have gaps. */
static const struct event events[TH_EVENT_NUMBERS] = {
#define F(data, content, name, label) {TH_DATA_##data, TH_CONTENT_##content, #name, label},
#define E(NUMBER, NAME, name, label, description) \
	[NUMBER] = {NUMBER, #name, label, description, {TH_FIELDS_##NAME(F)}},
	TH_EVENTS(E)
#undef E
#undef F
};

static struct {
	struct th_log_header *header; /* mapped permanently; NULL: no log */
	char *whole;                  /* other process's log: mapped up to the maximum size */
	uint64_t seen;                /* atomic: the last valid tail seen */
	uint64_t limit;               /* atomic: end of the space that this process allocated */
	uint64_t max_bytes;           /* atomic: maximum size of the log */
	uint64_t touched;             /* agent thread: end of the touched pages */
	uint32_t is_complete;         /* atomic */
	uint32_t refusal; /* atomic: enum th_log_counter, reason of the last failed append */
	int descriptor;   /* under `growing` */
	dev_t device;     /* identify the descriptor if the program closed it */
	ino_t inode;
	pid_t owner;
	struct th_spinlock growing;
	uint64_t next_try; /* atomic: earliest time of the next attempt after growing failed */
	/* End of the fixed part of each event, by type number. */
	uint32_t fixed_bytes[TH_EVENT_NUMBERS];
	char path[PATH_MAX];
} log_file = {.descriptor = -1};

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
			end = (uint32_t)th_align_up(end, bytes) + bytes;
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
	return th_system_open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The descriptor under a high number, if possible. */
static int
move_high(int descriptor)
{
	int high = descriptor < 0 ? -1 : th_system_duplicate(descriptor, DESCRIPTOR_BASE);

	if (high < 0)
		return descriptor;
	th_system_close(descriptor);
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
 * The descriptor, reopened if the program closed it; -1 if the file is out of reach.  Under
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
		th_system_close(descriptor);
		descriptor = -1;
	}
	log_file.descriptor = descriptor;
	return descriptor;
}

void
th_log_hold_file(void)
{
	int saved_errno = errno;

	if (!th_log_header() || !th_log_is_ours() || th_load_acquire(&log_file.is_complete))
		return;
	if (th_lock_bounded(&log_file.growing, LOCK_TURNS)) {
		log_descriptor();
		th_unlock(&log_file.growing);
	}
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

/* For file systems without fallocate: writing zeros also allocates the space. */
static bool
write_zeros(int descriptor, uint64_t from, uint64_t to)
{
	static const char zeros[4096];

	for (int interrupted = 0; from < to;) {
		uint64_t left = to - from;
		ssize_t written = th_system_pwrite(descriptor, zeros,
			left < sizeof(zeros) ? left : sizeof(zeros), (off_t)from);

		if (written < 0 && errno == EINTR && ++interrupted < TH_SYSTEM_TRIES)
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
	if (!file_size_allowed(to))
		return false;
	if (!th_system_allocate(descriptor, (off_t)from, (off_t)(to - from)))
		return true;
	/*
	 * Not from another process: its zeros could overwrite newer records of the log's own
	 * process.
	 */
	return (errno == EOPNOTSUPP || errno == ENOSYS) && !log_file.whole &&
	       write_zeros(descriptor, from, to);
}

static bool
is_recording(const struct th_log_header *header)
{
	return th_load_acquire(&header->state) == TH_LOG_RECORDING;
}

/*
 * Raises the limit in the header, which is the greatest of all appending processes.  False: the
 * log was closed.  Closing changes the state before the limit, so a process that raises the
 * limit afterwards sees the state.
 */
static bool
show_limit(struct th_log_header *header, uint64_t limit)
{
	uint64_t shown = th_load_acquire(&header->limit);

	for (unsigned i = 0; shown < limit && i < TAIL_TURNS; i++)
		if (!is_recording(header) || th_cas_acq_rel(&header->limit, &shown, limit))
			return is_recording(header);
	return true;
}

/* Raises the limit to `needed` and, within the maximum size, by `more`. */
static bool
grow_by(int descriptor, uint64_t needed, uint64_t more)
{
	struct th_log_header *header = th_log_header();
	uint64_t target = needed + more;

	if (target > th_load_relaxed(&log_file.max_bytes))
		target = th_load_relaxed(&log_file.max_bytes);
	if (!header || !allocate(descriptor, th_load_relaxed(&log_file.limit), target) ||
		th_load_acquire(&log_file.is_complete))
		return false;
	if (!show_limit(header, target) && log_file.whole)
		return false;
	/* Pairs with the acquire load in reserve(): the blocks are allocated. */
	th_store_release(&log_file.limit, target);
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
 * Raises the limit to at least `needed`.  Of several producers one allocates, and the others
 * wait for it for a bounded time, since it may have been stopped in the middle.
 */
static bool
grow(uint64_t needed)
{
	bool grown;

	if (needed > th_load_relaxed(&log_file.max_bytes) ||
		th_load_acquire(&log_file.is_complete))
		return refuse(TH_COUNTER_DROPPED_LOG_FULL);
	/* Until then the reason is the previous one. */
	if (th_clock_now() < th_load_relaxed(&log_file.next_try))
		return false;
	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return refuse(TH_COUNTER_DROPPED_BUSY);
	grown = grow_file(needed);
	th_unlock(&log_file.growing);
	return grown;
}

/* The tail */

static void
raise_seen(uint64_t tail)
{
	uint64_t seen = th_load_relaxed(&log_file.seen);

	while (seen < tail && !th_cas_acq_rel(&log_file.seen, &seen, tail))
		continue;
}

/* Space is allocated before a record is appended, so a valid tail lies within the file. */
enum whereabouts { IN_FILE, BEYOND, UNKNOWN };

static enum whereabouts
look_for(uint64_t tail)
{
	enum whereabouts result = UNKNOWN;
	struct stat status;

	if (tail <= th_load_acquire(&log_file.limit))
		return IN_FILE;
	if (tail > th_load_relaxed(&log_file.max_bytes))
		return BEYOND;
	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS)) {
		refuse(TH_COUNTER_DROPPED_BUSY);
		return UNKNOWN;
	}
	int descriptor = log_descriptor();
	if (descriptor >= 0 && !fstat(descriptor, &status))
		result = tail <= (uint64_t)status.st_size ? IN_FILE : BEYOND;
	else
		refuse(TH_COUNTER_DROPPED_LOG_UNREACHABLE);
	th_unlock(&log_file.growing);
	return result;
}

/*
 * The tail in the header; if it is invalid, it is replaced by the last valid one that this
 * process saw.  0: unknown.
 */
static uint64_t
sound_tail(struct th_log_header *header)
{
	for (unsigned i = 0; i < TAIL_TURNS; i++) {
		/* In this order, `seen` cannot be greater than the tail. */
		uint64_t seen = th_load_acquire(&log_file.seen);
		uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
		bool can_be = tail >= seen && tail % 8 == 0;
		enum whereabouts where = can_be ? look_for(tail) : BEYOND;

		if (where == IN_FILE) {
			raise_seen(tail);
			return tail;
		}
		if (where == UNKNOWN)
			return 0;
		if (th_cas_acq_rel(&header->tail, &tail, seen))
			return seen;
	}
	refuse(TH_COUNTER_DROPPED_BUSY);
	return 0;
}

/* Appending */

/* The position of a record: reserved space, in a window that was entered. */
struct place {
	struct th_log_window *window; /* NULL for the log of another process */
	uint64_t offset;
};

/*
 * False: the window cannot be mapped.  True also if the tail has moved on meanwhile, and
 * another window is needed.
 */
static bool
open_window(struct th_log_header *header, uint64_t tail)
{
	enum th_log_window_result result = th_log_window_open(tail, tail);

	if (result == TH_LOG_WINDOW_OPEN || sound_tail(header) != tail)
		return true;
	return refuse(result == TH_LOG_WINDOW_BUSY ? TH_COUNTER_DROPPED_BUSY
						   : TH_COUNTER_DROPPED_LOG_UNREACHABLE);
}

/*
 * Closing a log sets the state, moves the limit to the tail, reads the tail again and truncates
 * the file there.  Space that was reserved while the limit was above it therefore stays in the
 * file.  Another process uses the limit in the header for this check.  Pairs with the stores in
 * th_log_close().
 */
static bool
is_ours_to_fill(const struct th_log_header *header, uint64_t end)
{
	const uint64_t *limit = log_file.whole ? &header->limit : &log_file.limit;

	return end <= __atomic_load_n(limit, __ATOMIC_SEQ_CST);
}

/*
 * Reserves `bytes` from `tail` on, if that is still the tail.  False: try again.  True:
 * place->offset is the position, or 0 on failure.
 */
static bool
reserve_at(struct th_log_header *header, uint64_t tail, uint32_t bytes, struct place *place)
{
	/* Entered before the reservation: a window without users may be unmapped. */
	place->window = log_file.whole ? NULL : th_log_window_enter(tail);
	place->offset = 0;
	if (!place->window && !log_file.whole)
		return !open_window(header, tail);
	/* Sequentially consistent: ordered before the second read of the limit. */
	if (__atomic_compare_exchange_n(&header->tail, &tail, tail + bytes, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
		raise_seen(tail + bytes);
		place->offset = is_ours_to_fill(header, tail + bytes) ? tail : 0;
		if (!place->offset && place->window)
			th_log_window_leave(place->window);
		return true;
	}
	if (place->window)
		th_log_window_leave(place->window);
	return false;
}

static bool
reserve(struct th_log_header *header, uint32_t bytes, struct place *place)
{
	if (th_load_acquire(&log_file.is_complete))
		return refuse(TH_COUNTER_DROPPED_LOG_FULL);
	for (unsigned i = 0; i < TAIL_TURNS; i++) {
		uint64_t tail = sound_tail(header);

		if (!tail)
			return false;
		if (tail + bytes > th_load_acquire(&log_file.limit) && !grow(tail + bytes))
			return false;
		if (reserve_at(header, tail, bytes, place))
			return place->offset != 0;
	}
	return refuse(TH_COUNTER_DROPPED_BUSY);
}

static char *
memory_of(const struct place *place)
{
	return place->window ? th_log_window_at(place->window, place->offset)
			     : log_file.whole + place->offset;
}

static uint32_t
part_end(const struct field *field, const struct th_log_part *part, uint32_t at)
{
	at = (uint32_t)th_align_up(at, 4) + 4;
	if (field->data == TH_DATA_U64_ARRAY)
		return (uint32_t)th_align_up(at, 8) + 8 * part->length;
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
	return (uint32_t)th_align_up(end, 8);
}

/* New pages of the file are zero, so padding need not be written. */
static void
write_parts(char *record, const struct event *event, const struct th_log_part *parts,
	unsigned part_count)
{
	uint32_t at = log_file.fixed_bytes[event->type];
	const struct field *field = event->fields;

	for (unsigned i = 0; i < part_count; i++, field++) {
		uint32_t bytes = parts[i].length;

		field = next_variable_field(field);
		at = (uint32_t)th_align_up(at, 4);
		memcpy(record + at, &parts[i].length, 4);
		at += 4;
		if (field->data == TH_DATA_U64_ARRAY) {
			at = (uint32_t)th_align_up(at, 8);
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
	if (size > TH_LOG_WINDOW_OVERLAP || !reserve(header, size, &place)) {
		errno = saved_errno;
		return 0;
	}
	char *record = memory_of(&place);
	memcpy(record + head, (const char *)fixed + head, log_file.fixed_bytes[type] - head);
	write_parts(record, event, parts, part_count);
	commit(record, place.offset, size, type);
	if (place.window)
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

/* OR with 0 makes the page writable without changing a producer's data. */
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
	struct th_log_header *header = th_log_header();

	if (!header || th_load_acquire(&log_file.is_complete))
		return;
	uint64_t tail = sound_tail(header);
	uint64_t end = tail + AHEAD;
	if (!tail)
		return;
	if (th_load_relaxed(&log_file.limit) < end)
		grow(end);
	if (end > th_load_relaxed(&log_file.limit))
		end = th_load_relaxed(&log_file.limit);
	if (log_file.touched < tail)
		log_file.touched = th_align_down(tail, TH_PAGE_BYTES);
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

/*
 * Whether the file at `path` is the log of this process before an exec.  The pid and start time
 * are not enough: containers that share a directory start with the same pid, and possibly in
 * the same clock tick.
 */
static bool
is_earlier_image(const char *path, const struct th_log_identity *identity)
{
	struct th_log_header header;
	int descriptor = open_file(path, O_RDONLY | O_NONBLOCK);
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

/*
 * The program may close the descriptor at any time and open another file under its number:
 * checks the file before and after mapping.
 */
static void *
map_part(uint64_t offset, size_t bytes)
{
	void *mapping = MAP_FAILED;

	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return MAP_FAILED;
	int descriptor = log_descriptor();
	if (descriptor >= 0)
		mapping = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE, descriptor, offset);
	if (mapping != MAP_FAILED && !is_our_file(descriptor)) {
		th_memory_system_unmap(mapping, bytes);
		mapping = MAP_FAILED;
	}
	th_unlock(&log_file.growing);
	return mapping;
}

static struct th_log_header *
map_header(int descriptor)
{
	void *mapping = th_memory_system_map(NULL, TH_LOG_HEADER_BYTES, MAP_SHARED, descriptor);

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

/* Initializes the location of the log; the header is not published yet. */
static bool
init_file(const char *path, uint64_t max_bytes, int descriptor)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return false;
	for (size_t i = 0; i < TH_EVENT_NUMBERS; i++)
		log_file.fixed_bytes[i] = fixed_end(&events[i]);
	snprintf(log_file.path, sizeof(log_file.path), "%s", path);
	log_file.whole = NULL;
	log_file.seen = TH_LOG_HEADER_BYTES;
	log_file.limit = FIRST_CHUNK;
	log_file.max_bytes = max_bytes;
	log_file.touched = 0;
	log_file.is_complete = 0;
	log_file.next_try = 0;
	log_file.descriptor = descriptor;
	log_file.device = status.st_dev;
	log_file.inode = status.st_ino;
	log_file.owner = getpid();
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
	if (!allocate(descriptor, 0, FIRST_CHUNK))
		return abandon(descriptor, path, TH_LOG_NO_SPACE);
	struct th_log_header *header = map_header(descriptor);
	if (!header || !th_log_windows_init(descriptor, map_part) ||
		!init_file(path, max_bytes, descriptor))
		return abandon(descriptor, path, TH_LOG_FAILED);
	init_header(header, max_bytes, identity);
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
	ssize_t got = 0;

	if (!th_log_header() || offset < TH_LOG_HEADER_BYTES || bytes > sizeof(record) ||
		!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return NULL;
	int descriptor = log_descriptor();
	if (descriptor >= 0)
		got = th_system_pread(descriptor, record, bytes, (off_t)offset);
	th_unlock(&log_file.growing);
	memcpy(&head, record, sizeof(head));
	return got == (ssize_t)bytes && head.type == type &&
			       head.check == th_log_check(offset, head.size, head.type)
		       ? record
		       : NULL;
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
	void *whole = th_memory_system_map(
		NULL, header.most_bytes, MAP_SHARED | MAP_NORESERVE, descriptor);
	if (whole == MAP_FAILED)
		return false;
	log_file.whole = whole;
	log_file.seen = header.tail;
	log_file.limit = header.limit;
	th_store_release(&log_file.header, whole);
	return true;
}

void
th_log_observe_end(void)
{
	log_file.header = NULL;
	th_memory_system_unmap(log_file.whole, log_file.max_bytes);
	log_file.whole = NULL;
	log_file.descriptor = -1;
}

/* Closing */

/* Releases space allocated ahead; on failure zeros remain at the end, which readers skip. */
static void
cut_file(uint64_t bytes)
{
	if (!th_lock_bounded(&log_file.growing, LOCK_TURNS))
		return;
	int descriptor = log_descriptor();
	if (descriptor >= 0) {
		int result = ftruncate(descriptor, (off_t)bytes);

		(void)result;
		th_system_close(descriptor);
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
	 * The mappings stay: a capture interrupted by the end of the process may still hold a
	 * reservation below the tail.  Nothing is reserved beyond the tail once the limit
	 * equals it.
	 */
	uint64_t tail = sound_tail(header);
	if (!tail)
		return;
	/* Not while another thread raises it: grow_by() sees that the log is complete. */
	bool is_held = th_lock_bounded(&log_file.growing, LOCK_TURNS);
	__atomic_store_n(&log_file.limit, tail, __ATOMIC_SEQ_CST);
	if (is_held)
		th_unlock(&log_file.growing);
	/*
	 * Pairs with is_ours_to_fill(): a process that does not see this store moved the tail
	 * before.
	 */
	__atomic_store_n(&header->limit, tail, __ATOMIC_SEQ_CST);
	tail = sound_tail(header);
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
	struct th_log_header *header = log_file.header;

	if (!header)
		return;
	th_store_release(&log_file.header, NULL);
	th_store_relaxed(&log_file.max_bytes, 0);
	th_store_relaxed(&log_file.limit, 0);
	detach_header(header);
	th_log_windows_detach();
	if (is_our_file(log_file.descriptor))
		th_system_close(log_file.descriptor);
	log_file.descriptor = -1;
	log_file.growing.held = 0;
}
