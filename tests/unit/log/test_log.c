/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the log against an independent reader: every acknowledged record is complete
 * and occurs once, under all disk conditions.
 */
#include "tests/unit/log/log_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/log/schema.h"
#include "unify/resident/address_space.h"

#define MIB ((uint64_t)1 << 20)
#define LARGE (64 * MIB)
/* A value that no function sets: a different value means that errno was not preserved. */
#define ERRNO_SENTINEL 77

/* End of the fixed part of an event, where its first text begins. */
#define NOTE_TEXT (offsetof(struct th_event_note, severity) + 4)
#define COUNTER_TEXT (offsetof(struct th_event_counter_name, index) + 4)

/* Start of a log */

static void
test_header(void **state)
{
	struct log_image image;

	(void)state;
	log_fixture_open(LARGE);
	log_image_open(&image);
	assert_memory_equal(image.header->magic, TH_LOG_MAGIC, 8);
	assert_int_equal(image.header->version, TH_LOG_VERSION);
	assert_int_equal(image.header->header_bytes, TH_LOG_HEADER_BYTES);
	assert_int_equal(image.header->pid, getpid());
	assert_int_equal(image.header->state, TH_LOG_RECORDING);
	assert_int_equal(image.header->process_start, 1);
	assert_int_equal(image.header->interval, 524288);
	assert_int_equal(image.header->counter_count, TH_COUNTER_COUNT);
	assert_in_range(image.header->tail, TH_LOG_HEADER_BYTES, image.header->limit);
	assert_true(image.header->limit <= log_fixture_file_bytes(log_fixture_path()));
	log_image_close(&image);
}

/* 0600 is the access control of the control page. */
static void
test_only_the_owner_may_read(void **state)
{
	struct stat status;

	(void)state;
	log_fixture_open(LARGE);
	assert_int_equal(stat(log_fixture_path(), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

struct expected_field {
	uint32_t data_type;
	uint32_t content_type;
	const char *name;
	const char *label;
};

static void
check_description(const struct th_schema *schema, uint32_t type, const char *name,
	const char *label, const char *description, const struct expected_field *fields)
{
	const struct th_schema_event *event = th_schema_find(schema, type);
	uint32_t count = 0;

	assert_non_null(event);
	assert_string_equal(event->name, name);
	assert_string_equal(event->label, label);
	assert_string_equal(event->description, description);
	for (; fields[count].name; count++) {
		assert_true(count < event->field_count);
		assert_int_equal(event->fields[count].data_type, fields[count].data_type);
		assert_int_equal(event->fields[count].content_type, fields[count].content_type);
		assert_string_equal(event->fields[count].name, fields[count].name);
		assert_string_equal(event->fields[count].label, fields[count].label);
	}
	assert_int_equal(event->field_count, count);
}

static void
test_describes_every_event(void **state)
{
	struct log_image image;
	struct th_schema *schema = th_schema_create();

	(void)state;
	log_fixture_open(LARGE);
	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++)
		th_schema_learn(schema, &image.records[i]);
#define F(data, content, name, label) {TH_DATA_##data, TH_CONTENT_##content, #name, label},
#define E(NUMBER, NAME, name, label, description)                    \
	check_description(schema, NUMBER, #name, label, description, \
		(const struct expected_field[]){TH_FIELDS_##NAME(F){0}});
	TH_EVENTS(E)
#undef E
#undef F
	th_schema_destroy(schema);
	log_image_close(&image);
}

static void
test_names_every_counter(void **state)
{
	static const char *const names[] = {
#define X(NAME, name, description) #name,
		TH_LOG_COUNTERS(X)
#undef X
	};
	struct log_image image;

	(void)state;
	log_fixture_open(LARGE);
	th_log_count(TH_COUNTER_NATIVE_SAMPLES, 3);
	th_log_count(TH_COUNTER_NATIVE_SAMPLES, 4);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_COUNTER_NAME), TH_COUNTER_COUNT);
	for (size_t i = 0; i < TH_COUNTER_COUNT; i++) {
		const struct th_event_counter_name *event = log_image_get(
			&image, TH_EVENT_COUNTER_NAME, i);

		assert_int_equal(event->index, i);
		log_image_assert_text(event, COUNTER_TEXT, names[i]);
	}
	assert_int_equal(image.header->counters[TH_COUNTER_NATIVE_SAMPLES], 7);
	log_image_close(&image);
}

/* Appending */

/* Texts and arrays of every length modulo 8, decoded according to the log's own description. */
static void
test_fields_of_variable_size(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz";
	static const uint64_t lines[] = {1, UINT64_MAX, 3, 4};
	struct th_schema *schema = th_schema_create();
	struct log_image image;
	uint32_t seen = 0;

	(void)state;
	log_fixture_open(LARGE);
	for (uint32_t i = 0; i < 20; i++) {
		struct th_event_method event = {.method = i};
		struct th_log_part parts[] = {
			{text, i}, {text, 20 - i}, {text, i / 2}, {text, 0}, {lines, i % 5}};

		assert_int_not_equal(th_log_append(TH_EVENT_METHOD, &event, parts, 5), 0);
	}
	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++) {
		union th_decoded decoded;
		const struct th_decoded_method *method = &decoded.method;

		th_schema_learn(schema, &image.records[i]);
		if (image.records[i].type != TH_EVENT_METHOD)
			continue;
		assert_true(th_schema_decode(schema, &image.records[i], &decoded));
		assert_int_equal(method->method, seen);
		assert_int_equal(method->class_signature.length, seen);
		assert_memory_equal(method->class_signature.bytes, text, seen);
		assert_int_equal(method->name.length, 20 - seen);
		assert_memory_equal(method->name.bytes, text, 20 - seen);
		assert_int_equal(method->source_file.length, 0);
		assert_int_equal(method->lines.count, seen % 5);
		assert_memory_equal(method->lines.words, lines, 8 * (seen % 5));
		seen++;
	}
	assert_int_equal(seen, 20);
	th_schema_destroy(schema);
	log_image_close(&image);
}

static void
test_note(void **state)
{
	struct log_image image;

	(void)state;
	log_fixture_open(LARGE);
	th_log_note(1, "something to know");
	log_image_open(&image);
	const struct th_event_note *note = log_image_get(&image, TH_EVENT_NOTE, 0);
	assert_int_equal(note->severity, 1);
	log_image_assert_text(note, NOTE_TEXT, "something to know");
	log_image_close(&image);
}

/* A record that no reader would accept is not written. */
static void
test_too_long_a_record_is_refused(void **state)
{
	char *text = calloc(1, TH_LOG_RECORD_MAX + 1);
	struct th_event_note event = {0};
	struct th_log_part part = {text, TH_LOG_RECORD_MAX};

	(void)state;
	log_fixture_open(LARGE);
	uint64_t tail = th_log_header()->tail;
	assert_int_equal(th_log_append(TH_EVENT_NOTE, &event, &part, 1), 0);
	assert_int_equal(th_log_header()->tail, tail);
	memset(text, 'x', TH_LOG_RECORD_MAX);
	part = th_log_text(text);
	assert_int_not_equal(th_log_append(TH_EVENT_NOTE, &event, &part, 1), 0);
	free(text);
}

#define PRODUCERS 4
#define SAMPLES_PER_PRODUCER 40000
/* The lock for growing the log is waited for briefly: its holder may lose its processor. */
#define REFUSED_MAX (PRODUCERS * SAMPLES_PER_PRODUCER / 1000)

struct producer {
	pthread_t thread;
	uint32_t number;
	uint64_t wrong_errno;
	uint64_t wrong_refusals;
	uint64_t *offsets; /* SAMPLES_PER_PRODUCER elements; 0: refused */
};

static void *
produce(void *argument)
{
	struct producer *producer = argument;

	for (uint64_t i = 0; i < SAMPLES_PER_PRODUCER; i++) {
		errno = ERRNO_SENTINEL;
		producer->offsets[i] = log_samples_append(producer->number, i);
		producer->wrong_errno += errno != ERRNO_SENTINEL;
		producer->wrong_refusals += !producer->offsets[i] &&
					    th_log_refusal() != TH_COUNTER_DROPPED_BUSY;
	}
	return NULL;
}

static void
skip_refused(const struct producer *producer, uint64_t *number, uint64_t *count)
{
	for (; *number < SAMPLES_PER_PRODUCER && !producer->offsets[*number]; ++*number)
		++*count;
}

/*
 * Every offset returned by append is that of its record, and there are no others: what was not
 * refused is in the log exactly once, and nothing is refused but while the lock is held.  11 MiB,
 * so that the producers grow the log concurrently twice.
 */
static void
test_concurrent_producers(void **state)
{
	struct producer producers[PRODUCERS];
	uint64_t next[PRODUCERS] = {0}, refused = 0;
	struct log_image image;

	(void)state;
	log_fixture_open(LARGE);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){
			.number = i, .offsets = calloc(SAMPLES_PER_PRODUCER, sizeof(uint64_t))};
		pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
	}
	for (uint32_t i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i].thread, NULL);
	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++) {
		const struct th_event_native_alloc *event =
			(const void *)image.records[i].bytes;

		if (image.records[i].type != TH_EVENT_NATIVE_ALLOC)
			continue;
		assert_in_range(event->thread, 0, PRODUCERS - 1);
		skip_refused(&producers[event->thread], &next[event->thread], &refused);
		uint64_t number = next[event->thread]++;
		assert_in_range(number, 0, SAMPLES_PER_PRODUCER - 1);
		log_samples_assert_is(event, event->thread, number);
		assert_int_equal(
			producers[event->thread].offsets[number], image.records[i].offset);
	}
	assert_int_equal(image.torn, 0);
	assert_int_equal(image.damaged, 0);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		skip_refused(&producers[i], &next[i], &refused);
		assert_int_equal(next[i], SAMPLES_PER_PRODUCER);
		assert_int_equal(producers[i].wrong_errno, 0);
		assert_int_equal(producers[i].wrong_refusals, 0);
		free(producers[i].offsets);
	}
	assert_in_range(refused, 0, REFUSED_MAX);
	log_image_close(&image);
}

/* Two processes */

/*
 * Starts another process, in the role of the tool, that appends samples of thread 1 to this
 * process's log until it has `count` or is refused.  Exits with 0 in the first case.
 */
static pid_t
start_other_writer(uint64_t count)
{
	pid_t child = fork();

	if (child)
		return child;
	th_log_detach();
	int descriptor = open(log_fixture_path(), O_RDWR);
	if (!th_log_observe(descriptor))
		_exit(2);
	for (uint64_t i = 0; i < count; i++)
		if (!log_samples_append(1, i))
			_exit(1);
	th_log_observe_end();
	_exit(0);
}

static int
wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Checks the samples of both processes, in the order of each; returns the number of the
 * other's.
 */
static uint64_t
check_samples_of_two(uint64_t own)
{
	uint64_t next[2] = {0};
	struct log_image image;

	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++) {
		const struct th_event_native_alloc *event =
			(const void *)image.records[i].bytes;

		if (image.records[i].type != TH_EVENT_NATIVE_ALLOC)
			continue;
		assert_in_range(event->thread, 0, 1);
		log_samples_assert_is(event, event->thread, next[event->thread]++);
	}
	assert_int_equal(next[0], own);
	assert_int_equal(image.torn, 0);
	assert_int_equal(image.damaged, 0);
	log_image_close(&image);
	return next[1];
}

/* Each process grows the log while the other appends; nothing is lost. */
static void
test_two_processes_append(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	pid_t child = start_other_writer(SAMPLES_PER_PRODUCER);
	for (uint64_t i = 0; i < SAMPLES_PER_PRODUCER; i++)
		assert_int_not_equal(log_samples_append(0, i), 0);
	assert_int_equal(wait_for(child), 0);
	assert_int_equal(check_samples_of_two(SAMPLES_PER_PRODUCER), SAMPLES_PER_PRODUCER);
	assert_true(th_log_header()->limit <= log_fixture_file_bytes(log_fixture_path()));
}

/*
 * The other is refused from then on; its earlier records are present, and nothing follows the
 * end.
 */
static void
test_a_log_is_closed_while_another_process_appends(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		const struct timespec nap = {0, (i + 1) * 500000};

		log_fixture_detach();
		log_fixture_open(LARGE);
		pid_t child = start_other_writer(UINT64_MAX);
		nanosleep(&nap, NULL);
		th_log_close();
		assert_int_equal(wait_for(child) & ~3, 0);
		check_samples_of_two(0);
	}
}

/* Enough data that the next window is neither mapped nor adjacent to a mapped one. */
static void
test_another_process_appends_while_this_one_is_idle(void **state)
{
	const uint64_t count = 20 * MIB / sizeof(struct th_event_native_alloc);

	(void)state;
	for (int closes_at_once = 0; closes_at_once < 2; closes_at_once++) {
		log_fixture_detach();
		log_fixture_open(LARGE);
		log_samples_append(0, 0);
		assert_int_equal(wait_for(start_other_writer(count)), 0);
		if (!closes_at_once)
			for (uint64_t i = 1; i < 100; i++)
				assert_int_not_equal(log_samples_append(0, i), 0);
		th_log_close();
		assert_int_equal(check_samples_of_two(closes_at_once ? 1 : 100), count);
	}
}

/* Another process may overwrite the tail; records stay, and more can be written. */
static void
test_a_tail_that_cannot_be_is_put_back(void **state)
{
	uint64_t count = 0;

	(void)state;
	log_fixture_open(LARGE);
	struct th_log_header *header = th_log_header();
	log_samples_append(0, count++);
	const uint64_t tails[] = {0, 8, header->tail - 8, header->tail + 4,
		log_fixture_file_bytes(log_fixture_path()) + 8, LARGE, LARGE + 8, UINT64_MAX,
		UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		header->tail = tails[i];
		assert_int_not_equal(log_samples_append(0, count++), 0);
		log_samples_assert_held(count);
	}
	header->tail = UINT64_MAX;
	header->limit = UINT64_MAX;
	th_log_close();
	log_samples_assert_held(count);
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), header->tail);
}

/* Invalid sizes in a header are not used. */
static void
test_a_log_that_makes_no_sense_is_not_observed(void **state)
{
	struct th_log_header *header;

	(void)state;
	log_fixture_open(LARGE);
	header = th_log_header();
	uint64_t limit = header->limit;
	header->limit = log_fixture_file_bytes(log_fixture_path()) + 1;
	assert_int_equal(wait_for(start_other_writer(1)), 2);
	header->limit = header->tail - 1;
	assert_int_equal(wait_for(start_other_writer(1)), 2);
	header->limit = limit;
	assert_int_equal(wait_for(start_other_writer(1)), 0);
}

/* Space */

static void
test_grows_beyond_the_first_chunk(void **state)
{
	const uint64_t count = 100000; /* 6.9 MiB */

	(void)state;
	log_fixture_open(LARGE);
	uint64_t first = th_log_header()->limit;
	for (uint64_t i = 0; i < count; i++)
		assert_int_not_equal(log_samples_append(0, i), 0);
	assert_true(th_log_header()->limit > first);
	assert_true(th_log_header()->limit <= log_fixture_file_bytes(log_fixture_path()));
	log_samples_assert_held(count);
}

/*
 * At its maximum size the log refuses further records permanently, and its content is
 * unchanged.
 */
static void
test_stops_at_its_greatest_size(void **state)
{
	(void)state;
	log_fixture_open(2 * MIB);
	uint64_t count = log_samples_fill();
	uint64_t free_bytes = 2 * MIB - th_log_header()->tail;
	assert_true(free_bytes < sizeof(struct th_event_native_alloc));
	for (int i = 0; i < 1000; i++) {
		errno = ERRNO_SENTINEL;
		assert_int_equal(log_samples_append(0, count), 0);
		assert_int_equal(errno, ERRNO_SENTINEL);
	}
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), 2 * MIB);
	log_samples_assert_held(count);
	th_log_close();
	log_samples_assert_held(count);
}

/* With a bound below the first chunk there would be no space for a sample. */
static void
test_smallest_bound_still_takes_samples(void **state)
{
	(void)state;
	log_fixture_open(1);
	assert_true(log_samples_fill() > 10000);
	assert_true(log_fixture_file_bytes(log_fixture_path()) <= MIB);
}

/* A log that could not grow retries after a delay. */
static void
append_again(uint64_t number)
{
	for (unsigned tries = 0; !log_samples_append(0, number); tries++) {
		assert_true(tries < 10000);
		usleep(1000);
	}
}

static void
restore_file_size_limit(const struct rlimit *limit)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, limit), 0);
}

/* SIGXFSZ has its default action here: it would terminate this program. */
static void
test_file_size_limit(void **state)
{
	struct rlimit old;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	log_fixture_open(LARGE);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){6 * MIB, old.rlim_max});
	uint64_t count = log_samples_fill();
	restore_file_size_limit(&old);
	assert_true(log_fixture_file_bytes(log_fixture_path()) <= 6 * MIB);
	assert_true(count * sizeof(struct th_event_native_alloc) > MIB / 2);
	log_samples_assert_held(count);
	/* The limit is removed: recording continues. */
	append_again(count);
	log_samples_assert_held(count + 1);
}

static void
test_no_room_for_the_first_chunk(void **state)
{
	struct rlimit old;
	char *path = log_fixture_new_path();

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){MIB / 2, old.rlim_max});
	enum th_log_status status = log_fixture_create_at(path, LARGE);
	restore_file_size_limit(&old);
	assert_int_equal(status, TH_LOG_NO_SPACE);
	assert_null(th_log_header());
	assert_int_equal(access(path, F_OK), -1);
	free(path);
}

/* A file that takes all free space of the disk. */
static void
fill_disk(const char *path)
{
	char block[4096] = {1};
	int descriptor = open(path, O_CREAT | O_WRONLY, 0600);

	assert_true(descriptor >= 0);
	while (write(descriptor, block, sizeof(block)) > 0)
		;
	close(descriptor);
}

static void
test_disk_full(void **state)
{
	char *disk = log_fixture_mount_disk("size=8m");
	char *path = NULL;
	char *other = NULL;

	(void)state;
	if (!disk)
		skip();
	assert_true(asprintf(&path, "%s/log.thl", disk) > 0);
	assert_true(asprintf(&other, "%s/other", disk) > 0);
	log_fixture_open_at(path, LARGE);
	fill_disk(other);
	uint64_t count = log_samples_fill();
	assert_in_range(count, 1, MIB / sizeof(struct th_event_native_alloc));
	log_samples_assert_held(count);
	/* Space becomes available, and recording continues. */
	assert_int_equal(unlink(other), 0);
	append_again(count);
	th_log_close();
	log_samples_assert_held(count + 1);
	umount(disk);
	free(other);
	free(path);
	free(disk);
}

/* The last free space, less than a chunk, is used. */
static void
test_uses_the_last_of_a_disk(void **state)
{
	char *disk = log_fixture_mount_disk("size=3m");
	char *path = NULL;

	(void)state;
	if (!disk)
		skip();
	assert_true(asprintf(&path, "%s/log.thl", disk) > 0);
	log_fixture_open_at(path, LARGE);
	uint64_t count = log_samples_fill();
	/* 3 MiB without a page or two that tmpfs uses itself. */
	assert_true(count * sizeof(struct th_event_native_alloc) > 5 * MIB / 2);
	log_samples_assert_held(count);
	umount(disk);
	free(path);
	free(disk);
}

static void
test_prepare_allocates_ahead_and_changes_nothing(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	for (uint64_t i = 0; i < 10000; i++)
		log_samples_append(0, i);
	uint64_t tail = th_log_header()->tail;
	th_log_prepare();
	th_log_prepare();
	assert_true(th_log_header()->limit >= tail + MIB / 4);
	assert_int_equal(th_log_header()->tail, tail);
	log_samples_assert_held(10000);
}

/*
 * Pages written long ago are neither resident nor mapped: mlockall() would lock resident pages,
 * and counts mapped ones.
 */
static void
test_pages_behind_are_given_back(void **state)
{
	static struct th_address_space space;
	uint64_t count = 0, bytes = 0, resident = 0;

	(void)state;
	log_fixture_open(LARGE);
	for (; th_log_header()->tail < LARGE / 2; count++)
		log_samples_append(0, count);
	assert_true(th_address_space_init(&space));
	assert_true(th_address_space_read_file(&space, "smaps"));
	for (uint32_t i = 0; i < space.count; i++) {
		const struct th_address_space_entry *entry = &space.entries[i];

		if (strcmp(th_address_space_path(&space, entry), log_fixture_path()) != 0)
			continue;
		bytes += entry->end - entry->start;
		resident += entry->resident;
	}
	assert_in_range(resident, 4096, 3 * MIB);
	assert_in_range(bytes, 4096, 3 * MIB);
	log_samples_assert_held(count);
}

/* Near the end there is no space ahead to prepare. */
static void
test_prepare_at_the_greatest_size(void **state)
{
	(void)state;
	log_fixture_open(MIB);
	uint64_t count = log_samples_fill();
	th_log_prepare();
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), MIB);
	log_samples_assert_held(count);
}

/* The end */

static void
test_close_marks_and_cuts(void **state)
{
	struct log_image image;

	(void)state;
	log_fixture_open(LARGE);
	for (uint64_t i = 0; i < 10; i++)
		log_samples_append(0, i);
	th_log_close();
	log_image_open(&image);
	assert_int_equal(image.header->state, TH_LOG_COMPLETE);
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), image.header->tail);
	assert_int_equal(image.records[image.count - 1].type, TH_EVENT_END);
	log_image_close(&image);
	assert_int_equal(log_fixture_descriptor(), -1);
}

static void
test_nothing_follows_the_end(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	log_samples_append(0, 0);
	th_log_close();
	uint64_t bytes = log_fixture_file_bytes(log_fixture_path());
	errno = ERRNO_SENTINEL;
	assert_int_equal(log_samples_append(0, 1), 0);
	assert_int_equal(errno, ERRNO_SENTINEL);
	th_log_prepare();
	th_log_close();
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), bytes);
	log_samples_assert_held(1);
}

static void
test_without_a_log_nothing_happens(void **state)
{
	(void)state;
	assert_null(th_log_header());
	assert_int_equal(log_samples_append(0, 0), 0);
	th_log_count(TH_COUNTER_NATIVE_SAMPLES, 1);
	th_log_note(0, "nobody reads this");
	th_log_prepare();
	th_log_close();
	th_log_detach();
}

/* Closes a log left open by a test before the next one. */
#define CASE(test) cmocka_unit_test_teardown(test, log_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_without_a_log_nothing_happens),
		CASE(test_header),
		CASE(test_only_the_owner_may_read),
		CASE(test_describes_every_event),
		CASE(test_names_every_counter),
		CASE(test_fields_of_variable_size),
		CASE(test_note),
		CASE(test_too_long_a_record_is_refused),
		CASE(test_concurrent_producers),
		CASE(test_two_processes_append),
		CASE(test_a_log_is_closed_while_another_process_appends),
		CASE(test_another_process_appends_while_this_one_is_idle),
		CASE(test_a_tail_that_cannot_be_is_put_back),
		CASE(test_a_log_that_makes_no_sense_is_not_observed),
		CASE(test_grows_beyond_the_first_chunk),
		CASE(test_stops_at_its_greatest_size),
		CASE(test_smallest_bound_still_takes_samples),
		CASE(test_file_size_limit),
		CASE(test_no_room_for_the_first_chunk),
		CASE(test_disk_full),
		CASE(test_uses_the_last_of_a_disk),
		CASE(test_prepare_allocates_ahead_and_changes_nothing),
		CASE(test_pages_behind_are_given_back),
		CASE(test_prepare_at_the_greatest_size),
		CASE(test_close_marks_and_cuts),
		CASE(test_nothing_follows_the_end),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
