/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One temporary directory per test program, removed at exit by the process that created it, so
 * that forked children leave it alone.
 */
#include "tests/unit/log/log_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char directory[] = "/tmp/twinheap-unit-XXXXXX";
static pid_t directory_owner; /* 0: there is no directory */
static char *current_path;

static int
remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

static void
remove_directory(void)
{
	if (directory_owner == getpid())
		nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(current_path);
}

const char *
log_fixture_directory(void)
{
	if (!directory_owner) {
		assert_non_null(mkdtemp(directory));
		directory_owner = getpid();
		atexit(remove_directory);
	}
	return directory;
}

char *
log_fixture_new_path(void)
{
	static unsigned number;
	char *path;

	assert_true(asprintf(&path, "%s/%u.thl", log_fixture_directory(), number++) > 0);
	return path;
}

void
log_fixture_read(const char *path)
{
	char *copy = strdup(path);

	assert_non_null(copy);
	free(current_path);
	current_path = copy;
}

void
log_fixture_open_at(const char *path, uint64_t max_bytes)
{
	const struct th_log_identity identity = {
		.process_start = 1, .process_space = 1, .interval = 524288};

	assert_null(th_log_header());
	assert_int_equal(th_log_create(path, max_bytes, &identity), TH_LOG_OK);
	log_fixture_read(path);
}

void
log_fixture_open(uint64_t max_bytes)
{
	char *path = log_fixture_new_path();

	log_fixture_open_at(path, max_bytes);
	free(path);
}

const char *
log_fixture_path(void)
{
	return current_path;
}

void
log_fixture_detach(void)
{
	th_log_detach();
	assert_null(th_log_header());
}

uint64_t
log_fixture_file_bytes(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return (uint64_t)status.st_size;
}

char *
log_fixture_mount_disk(const char *size)
{
	static bool is_private;
	char *path = log_fixture_new_path();

	if (!is_private && unshare(CLONE_NEWNS) == 0)
		is_private = mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	if (is_private && mkdir(path, 0700) == 0 && mount("none", path, "tmpfs", 0, size) == 0)
		return path;
	free(path);
	return NULL;
}

int
log_fixture_descriptor(void)
{
	DIR *open_files = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	assert_non_null(open_files);
	while ((entry = readdir(open_files))) {
		char target[512] = "";

		if (readlinkat(dirfd(open_files), entry->d_name, target, sizeof(target) - 1) >
				0 &&
			!strcmp(target, log_fixture_path()))
			found = atoi(entry->d_name);
	}
	closedir(open_files);
	return found;
}

enum th_log_status
log_fixture_create_at(const char *path, uint64_t max_bytes)
{
	const struct th_log_identity identity = {
		.process_start = 1, .process_space = 1, .interval = 0};

	return th_log_create(path, max_bytes, &identity);
}

int
log_fixture_teardown(void **state)
{
	(void)state;
	log_fixture_detach();
	return 0;
}

static void
add_record(struct log_image *image, const struct th_record *record)
{
	/* Doubles at every power of two. */
	if ((image->count & (image->count - 1)) == 0) {
		size_t capacity = image->count ? 2 * image->count : 1;

		image->records = realloc(image->records, capacity * sizeof(*record));
		assert_non_null(image->records);
	}
	image->records[image->count++] = *record;
}

void
log_image_open(struct log_image *image)
{
	struct th_cursor cursor;
	struct th_record record;
	struct th_error *error;

	memset(image, 0, sizeof(*image));
	error = th_reader_open(current_path, &image->reader);
	if (error)
		fail_msg("%s", th_error_message(error));
	image->header = th_reader_header(image->reader);
	cursor = th_reader_start(image->reader);
	while (th_reader_next(&cursor, &record))
		add_record(image, &record);
	image->torn = cursor.torn;
	image->damaged = cursor.damaged;
}

void
log_image_close(struct log_image *image)
{
	th_reader_close(image->reader);
	free(image->records);
	memset(image, 0, sizeof(*image));
}

size_t
log_image_count(const struct log_image *image, enum th_event_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < image->count; i++)
		count += image->records[i].type == type;
	return count;
}

const void *
log_image_get(const struct log_image *image, enum th_event_type type, size_t n)
{
	for (size_t i = 0; i < image->count; i++) {
		if (image->records[i].type == type && n-- == 0)
			return image->records[i].bytes;
	}
	fail_msg("no such record of type %d", type);
	return NULL;
}

void
log_image_assert_text(const void *event, size_t offset, const char *text)
{
	const char *at = (const char *)event + offset;
	uint32_t length;

	memcpy(&length, at, sizeof(length));
	assert_int_equal(length, strlen(text));
	assert_memory_equal(at + sizeof(length), text, length);
}
