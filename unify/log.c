/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One contiguous MAP_SHARED mapping of the log's greatest size is made at creation; pages
 * beyond `limit` are never touched, so they need no file behind them.  Growing is fallocate and
 * one release store of the new limit: no remapping, nothing for producers to re-read.
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
#include "unify/memory.h"
#include "unify/system.h"

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
/* Records that far behind the tail are written but for a thread that was stopped meanwhile. */
#define BEHIND (1u << 20)
/* The start of the log stays: the header is in it.  A multiple of every page size. */
#define KEPT_HEAD (64u << 10)
/* A process that may not map the full size (RLIMIT_AS) gets the largest power of two above. */
#define SMALLEST_LOG (1u << 20)
/* Kept out of the way of programs that expect small descriptors. */
#define DESCRIPTOR_BASE 512
#define FIELDS_MAX 16

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
	struct th_log_header *header; /* the mapping; NULL: no log */
	uint64_t mapped_bytes;
	bool is_observed; /* of another process, which writes it as well */
	uint64_t touched; /* agent thread: pages below are touched */
	int descriptor;
	dev_t device; /* to recognise the descriptor after the program closed it */
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

	if (length > TH_LOG_RECORD_MAX / 4)
		length = TH_LOG_RECORD_MAX / 4;
	return (struct th_log_part){text, (uint32_t)length};
}

/* Growing */

/* The descriptor under a number that is out of the way, if one can be had. */
static int
move_high(int descriptor)
{
	int high = descriptor < 0 ? -1 : th_system_duplicate(descriptor, DESCRIPTOR_BASE);

	if (high < 0)
		return descriptor;
	th_system_close(descriptor);
	return high;
}

/* The descriptor, reopened when the program closed ours; -1 when the file is out of reach. */
static int
log_descriptor(void)
{
	struct stat status;

	if (log_file.descriptor >= 0 && !fstat(log_file.descriptor, &status) &&
		status.st_dev == log_file.device && status.st_ino == log_file.inode)
		return log_file.descriptor;
	log_file.descriptor = move_high(
		th_system_open(log_file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
	if (log_file.descriptor < 0)
		return -1;
	if (!fstat(log_file.descriptor, &status) && status.st_dev == log_file.device &&
		status.st_ino == log_file.inode)
		return log_file.descriptor;
	th_system_close(log_file.descriptor);
	log_file.descriptor = -1;
	return -1;
}

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
	return (errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(descriptor, from, to);
}

/* Moves the limit to `needed` and, within the log's greatest size, `more`. */
static bool
grow_by(struct th_log_header *header, uint64_t limit, uint64_t needed, uint64_t more)
{
	uint64_t target = needed + more;
	int descriptor = log_descriptor();

	if (target > log_file.mapped_bytes)
		target = log_file.mapped_bytes;
	if (descriptor < 0 || !allocate(descriptor, limit, target))
		return false;
	/*
	 * Another process may have moved it further meanwhile (th_log_observe()).  Pairs with the
	 * acquire load in reserve(): the blocks are there.
	 */
	while (limit < target && th_load_acquire(&header->state) == TH_LOG_RECORDING &&
		!th_cas_acq_rel(&header->limit, &limit, target))
		continue;
	return true;
}

/*
 * The pages behind the tail go back to the page cache, or a long recording would keep its whole
 * log in the memory of the process.  Whoever still writes or reads there finds them as they
 * were.  From the start every time: some have come back since.  Preserves errno.
 */
static void
release_behind(struct th_log_header *header)
{
	uint64_t tail = th_load_relaxed(&header->tail);
	int saved_errno = errno;

	if (tail > KEPT_HEAD + BEHIND)
		syscall(SYS_madvise, (char *)header + KEPT_HEAD,
			(tail - BEHIND - KEPT_HEAD) & ~(uint64_t)(KEPT_HEAD - 1),
			MADV_DONTNEED);
	errno = saved_errno;
}

/*
 * Moves the limit to at least `needed`.  Several producers may arrive at once: one allocates,
 * the others wait for it, bounded, since it may have been stopped in the middle.
 */
static bool
grow(struct th_log_header *header, uint64_t needed)
{
	bool grown;

	if (needed > log_file.mapped_bytes ||
		th_clock_now() < th_load_relaxed(&log_file.next_try))
		return false;
	if (!th_lock_bounded(&log_file.growing, 1u << 20))
		return false;
	uint64_t limit = th_load_relaxed(&header->limit);
	bool must_grow = limit < needed;
	grown = !must_grow || grow_by(header, limit, needed, CHUNK) ||
		grow_by(header, limit, needed, LAST_CHUNK);
	if (!grown)
		th_store_relaxed(&log_file.next_try, th_clock_now() + RETRY_NS);
	th_unlock(&log_file.growing);
	if (must_grow)
		release_behind(header);
	return grown;
}

/* Appending */

/*
 * Who closes a log moves the limit to the tail and then cuts the file at the tail that it finds.
 * So what another process has reserved while the limit was above it stays in the file.
 */
static bool
is_ours_to_fill(const struct th_log_header *header, uint64_t end)
{
	return !log_file.is_observed || end <= th_load_acquire(&header->limit);
}

static uint64_t
reserve(struct th_log_header *header, uint32_t bytes)
{
	uint64_t tail = th_load_acquire(&header->tail);

	for (;;) {
		if (tail + bytes > th_load_acquire(&header->limit) &&
			!grow(header, tail + bytes))
			return 0;
		if (th_cas_acq_rel(&header->tail, &tail, tail + bytes))
			break;
	}
	return is_ours_to_fill(header, tail + bytes) ? tail : 0;
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
	int saved_errno = errno;
	uint64_t offset = 0;

	if (!header)
		return 0;
	uint32_t size = record_bytes(event, parts, part_count);
	if (size <= TH_LOG_RECORD_MAX)
		offset = reserve(header, size);
	if (offset) {
		char *record = (char *)header + offset;
		const size_t head = sizeof(struct th_log_record);

		memcpy(record + head, (const char *)fixed + head,
			log_file.fixed_bytes[type] - head);
		write_parts(record, event, parts, part_count);
		commit(record, offset, size, type);
	}
	errno = saved_errno;
	return offset;
}

uint64_t
th_log_append(enum th_event_type type, const void *fixed, const struct th_log_part *parts,
	unsigned part_count)
{
	return th_log_is_ours() ? th_log_append_ours(type, fixed, parts, part_count) : 0;
}

/* What goes on in a process whose recording was ended is no business of a complete log. */
static bool
takes_counts(const struct th_log_header *header)
{
	return header && th_load_relaxed(&header->state) == TH_LOG_RECORDING;
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

void
th_log_prepare(void)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	uint64_t tail = th_load_relaxed(&header->tail);
	if (th_load_relaxed(&header->limit) < tail + AHEAD)
		grow(header, tail + AHEAD);
	uint64_t end = th_load_relaxed(&header->limit);
	if (end > tail + AHEAD)
		end = tail + AHEAD;
	/* An or with 0 makes the page writable without changing what a producer may write. */
	for (; log_file.touched < end; log_file.touched += 4096)
		th_or_relaxed((uint64_t *)(void *)((char *)header + log_file.touched), 0);
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
 * Whether the file at `path` is the log of this process before an exec.  Containers that share a
 * directory start with the same pid, and may do so in the same clock tick.
 */
static bool
is_earlier_image(const char *path, const struct th_log_identity *identity)
{
	struct th_log_header header;
	int descriptor = th_system_open(
		path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
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
	const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	int descriptor = th_system_open(path, flags, 0600);

	if (descriptor < 0 && errno == EEXIST) {
		if (!is_earlier_image(path, identity)) {
			errno = EEXIST;
			return -1;
		}
		if (unlink(path))
			return -1;
		descriptor = th_system_open(path, flags, 0600);
	}
	return move_high(descriptor);
}

/* Where address space is limited, most of it is left to the program. */
static uint64_t
address_space_for(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return bytes;
	return bytes < limit.rlim_cur / 8 ? bytes : limit.rlim_cur / 8;
}

static struct th_log_header *
map_file(int descriptor, uint64_t *bytes)
{
	for (; *bytes >= SMALLEST_LOG; *bytes /= 2) {
		void *mapping = th_memory_system_map(
			NULL, *bytes, MAP_SHARED | MAP_NORESERVE, descriptor);

		if (mapping != MAP_FAILED)
			return mapping;
	}
	return NULL;
}

static void
init_header(
	struct th_log_header *header, uint64_t bytes, const struct th_log_identity *identity)
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
	header->most_bytes = bytes;
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

static void
measure_events(void)
{
	for (size_t i = 0; i < TH_EVENT_NUMBERS; i++)
		log_file.fixed_bytes[i] = fixed_end(&events[i]);
}

enum th_log_status
th_log_create(const char *path, uint64_t max_bytes, const struct th_log_identity *identity)
{
	struct stat status;
	int descriptor = create_file(path, identity);

	if (descriptor < 0)
		return errno == EEXIST ? TH_LOG_EXISTS : TH_LOG_FAILED;
	max_bytes = address_space_for(max_bytes);
	if (max_bytes < SMALLEST_LOG)
		max_bytes = SMALLEST_LOG;
	if (!allocate(descriptor, 0, FIRST_CHUNK))
		return abandon(descriptor, path, TH_LOG_NO_SPACE);
	struct th_log_header *header = map_file(descriptor, &max_bytes);
	if (!header || fstat(descriptor, &status))
		return abandon(descriptor, path, TH_LOG_FAILED);
	measure_events();
	snprintf(log_file.path, sizeof(log_file.path), "%s", path);
	log_file.mapped_bytes = max_bytes;
	log_file.touched = 0;
	log_file.next_try = 0;
	log_file.descriptor = descriptor;
	log_file.device = status.st_dev;
	log_file.inode = status.st_ino;
	log_file.owner = getpid();
	init_header(header, max_bytes, identity);
	th_store_release(&log_file.header, header);
	write_metadata();
	return TH_LOG_OK;
}

/* Reading back */

const void *
th_log_get(uint64_t offset, enum th_event_type type)
{
	struct th_log_header *header = th_log_header();
	uint64_t word;

	if (!header || offset < TH_LOG_HEADER_BYTES || offset % 8 ||
		offset + log_file.fixed_bytes[type] > th_load_acquire(&header->tail))
		return NULL;
	const void *record = (const char *)header + offset;
	/* Pairs with the commit: what follows the word is there. */
	word = th_load_acquire((const uint64_t *)record);
	return (word >> 32 & 0xffff) == (uint64_t)type ? record : NULL;
}

bool
th_log_range(uintptr_t *start_ret, uintptr_t *end_ret)
{
	struct th_log_header *header = th_log_header();

	*start_ret = (uintptr_t)header;
	*end_ret = (uintptr_t)header + log_file.mapped_bytes;
	return header != NULL;
}

/* The log of another process */

/* Whether the header can be believed: what it says lies in the file. */
static bool
is_sound(const struct th_log_header *header, const struct stat *status)
{
	uint64_t limit = th_load_acquire(&header->limit);

	return !memcmp(header->magic, TH_LOG_MAGIC, sizeof(header->magic)) &&
	       header->version == TH_LOG_VERSION &&
	       th_load_relaxed(&header->state) == TH_LOG_RECORDING &&
	       limit <= (uint64_t)status->st_size && limit <= header->most_bytes &&
	       th_load_acquire(&header->tail) <= limit;
}

static struct th_log_header *
map_observed(int descriptor, uint64_t *bytes_ret)
{
	struct th_log_header header;
	struct stat status;

	if (th_system_pread(descriptor, &header, sizeof(header), 0) != sizeof(header) ||
		fstat(descriptor, &status) || !is_sound(&header, &status))
		return NULL;
	*bytes_ret = header.most_bytes;
	void *mapping = th_memory_system_map(
		NULL, *bytes_ret, MAP_SHARED | MAP_NORESERVE, descriptor);
	return mapping == MAP_FAILED ? NULL : mapping;
}

bool
th_log_observe(int descriptor)
{
	struct stat status;
	uint64_t bytes;
	struct th_log_header *header = map_observed(descriptor, &bytes);

	if (!header || fstat(descriptor, &status))
		return false;
	measure_events();
	log_file.path[0] = '\0';
	log_file.mapped_bytes = bytes;
	log_file.is_observed = true;
	log_file.next_try = 0;
	log_file.descriptor = descriptor;
	log_file.device = status.st_dev;
	log_file.inode = status.st_ino;
	log_file.owner = getpid();
	th_store_release(&log_file.header, header);
	return true;
}

void
th_log_observe_end(void)
{
	th_memory_system_unmap(log_file.header, log_file.mapped_bytes);
	log_file.header = NULL;
	log_file.descriptor = -1;
}

/* Closing */

void
th_log_close(void)
{
	struct th_log_header *header = th_log_header();
	struct th_event_end end = {.time = th_clock_now()};

	if (!header || !th_log_is_ours())
		return;
	th_log_append(TH_EVENT_END, &end, NULL, 0);
	th_store_release(&header->state, TH_LOG_COMPLETE);
	/*
	 * The mapping stays: a capture that was cut off by the end of the process may still hold
	 * a reservation below the tail.  Nothing reserves beyond it once the limit is the tail.
	 */
	uint64_t tail = th_load_acquire(&header->tail);
	log_file.mapped_bytes = tail;
	th_store_release(&header->limit, tail);
	int descriptor = log_descriptor();
	if (descriptor >= 0) {
		int result = ftruncate(descriptor, (off_t)th_load_acquire(&header->tail));

		(void)result; /* on failure zeros stay at the end, which readers skip */
		th_system_close(descriptor);
		log_file.descriptor = -1;
	}
}

/*
 * Puts private zeros in place of what an interrupted append may still touch (a log without room),
 * and gives the rest back.
 */
static void
replace_mapping(struct th_log_header *header, uint64_t mapped_bytes)
{
	uint64_t used = (th_load_relaxed(&header->limit) + 4095) & ~(uint64_t)4095;

	if (used > mapped_bytes ||
		th_memory_system_map(header, used,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			-1) == MAP_FAILED)
		used = 0;
	if (used < mapped_bytes)
		th_memory_system_unmap((char *)header + used, mapped_bytes - used);
}

void
th_log_detach(void)
{
	struct th_log_header *header = log_file.header;

	if (!header)
		return;
	th_store_release(&log_file.header, NULL);
	replace_mapping(header, log_file.mapped_bytes);
	log_file.mapped_bytes = 0;
	if (log_file.descriptor >= 0)
		th_system_close(log_descriptor());
	log_file.descriptor = -1;
	log_file.growing.held = 0;
}
