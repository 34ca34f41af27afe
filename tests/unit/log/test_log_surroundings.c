/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the log and its environment: existing files at its path, a program that changes
 * its descriptor, processes that inherit the open log.
 */
#include "tests/unit/log/log_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unify/log/log_file.h"

#define LARGE ((uint64_t)64 << 20)
/* Minimum number of the writer's descriptor. */
#define DESCRIPTOR_LOWEST 512

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
assert_file_is(const char *path, const char *text)
{
	char content[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fread(content, 1, sizeof(content) - 1, file), strlen(text));
	assert_string_equal(content, text);
	fclose(file);
}

/* Existing files and directories */

static void
test_missing_directory(void **state)
{
	char *path = log_fixture_new_path();
	char *inside = NULL;

	(void)state;
	assert_true(asprintf(&inside, "%s/log.thl", path) > 0);
	assert_int_equal(log_fixture_create_at(inside, LARGE), TH_LOG_FAILED);
	assert_int_equal(errno, ENOENT);
	assert_null(th_log_header());
	free(inside);
	free(path);
}

/* Permissions do not restrict root, a read-only file system does. */
static void
test_read_only_directory(void **state)
{
	char *disk = log_fixture_mount_disk("size=3m,ro");
	char *path = NULL;

	(void)state;
	if (!disk)
		skip();
	assert_true(asprintf(&path, "%s/log.thl", disk) > 0);
	mount("none", disk, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=3m");
	assert_int_equal(log_fixture_create_at(path, LARGE), TH_LOG_FAILED);
	assert_int_equal(errno, EROFS);
	assert_null(th_log_header());
	umount(disk);
	free(path);
	free(disk);
}

static void
test_a_file_of_somebody_else_is_left_alone(void **state)
{
	char *path = log_fixture_new_path();

	(void)state;
	write_file(path, "precious");
	assert_int_equal(log_fixture_create_at(path, LARGE), TH_LOG_EXISTS);
	assert_file_is(path, "precious");
	assert_null(th_log_header());
	free(path);
}

static void
test_a_link_is_not_followed(void **state)
{
	char *target = log_fixture_new_path();
	char *path = log_fixture_new_path();

	(void)state;
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(log_fixture_create_at(path, LARGE), TH_LOG_EXISTS);
	assert_int_equal(access(target, F_OK), -1);
	free(path);
	free(target);
}

/* Opening it for reading would wait for a writer. */
static void
test_a_named_pipe_does_not_block(void **state)
{
	char *path = log_fixture_new_path();

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(log_fixture_create_at(path, LARGE), TH_LOG_EXISTS);
	free(path);
}

/* Leaves a log at a new path as an exec would: with samples, without an end. */
static char *
leave_log(void)
{
	char *path = log_fixture_new_path();

	log_fixture_open_at(path, LARGE);
	log_samples_append(0, 0);
	log_fixture_detach();
	return path;
}

static void
test_an_earlier_image_of_this_process_is_replaced(void **state)
{
	char *path = leave_log();

	(void)state;
	log_fixture_open_at(path, LARGE);
	log_samples_assert_held(0);
	free(path);
}

/* Overwrites the header of the log at `path`. */
static void
change_header(const char *path, void (*change)(struct th_log_header *header))
{
	struct th_log_header header;
	int descriptor = open(path, O_RDWR);

	assert_int_equal(pread(descriptor, &header, sizeof(header), 0), sizeof(header));
	change(&header);
	assert_int_equal(pwrite(descriptor, &header, sizeof(header), 0), sizeof(header));
	close(descriptor);
}

static void
set_other_start(struct th_log_header *header)
{
	header->process_start++;
}

static void
set_other_pid(struct th_log_header *header)
{
	header->pid++;
}

static void
set_other_space(struct th_log_header *header)
{
	header->process_space++;
}

/* The pid was used by another process before; the log is that of a child, or of a container. */
static void
test_a_log_of_another_process_is_left_alone(void **state)
{
	void (*const changes[])(struct th_log_header *) = {
		set_other_start, set_other_pid, set_other_space};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *path = leave_log();

		change_header(path, changes[i]);
		assert_int_equal(log_fixture_create_at(path, LARGE), TH_LOG_EXISTS);
		log_samples_assert_held(1);
		free(path);
	}
}

static void
forget_start(struct th_log_header *header)
{
	header->process_start = 0;
}

static void
forget_space(struct th_log_header *header)
{
	header->process_space = 0;
}

/* Without /proc neither process is identified, and unknown processes are not equal. */
static void
test_a_log_of_an_unknown_process_is_left_alone(void **state)
{
	const struct {
		void (*forget)(struct th_log_header *header);
		struct th_log_identity identity;
	} cases[] = {
		{forget_start, {.process_space = 1}},
		{forget_space, {.process_start = 1}},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *path = leave_log();

		change_header(path, cases[i].forget);
		assert_int_equal(th_log_create(path, LARGE, &cases[i].identity), TH_LOG_EXISTS);
		log_samples_assert_held(1);
		free(path);
	}
}

/* Changes of the descriptor by the program */

static void
test_descriptor_is_out_of_the_way(void **state)
{
	int lowest = open("/dev/null", O_RDONLY);
	int descriptor;

	(void)state;
	close(lowest);
	log_fixture_open(LARGE);
	descriptor = log_fixture_descriptor();
	assert_true(descriptor >= DESCRIPTOR_LOWEST);
	assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	assert_int_equal(open("/dev/null", O_RDONLY), lowest);
	close(lowest);
}

/* Daemons close all descriptors. */
static void
test_descriptor_closed_by_the_program(void **state)
{
	const uint64_t count = 100000;

	(void)state;
	log_fixture_open(LARGE);
	close(log_fixture_descriptor());
	for (uint64_t i = 0; i < count; i++)
		assert_int_not_equal(log_samples_append(0, i), 0);
	assert_true(log_fixture_descriptor() >= DESCRIPTOR_LOWEST);
	log_samples_assert_held(count);
	th_log_close();
	assert_int_equal(log_fixture_descriptor(), -1);
	assert_int_equal(log_fixture_file_bytes(log_fixture_path()), th_log_header()->tail);
}

/* The number is reused for the program's own file, which is neither grown, cut nor closed. */
static void
test_descriptor_reused_by_the_program(void **state)
{
	char *path = log_fixture_new_path();
	int number;

	(void)state;
	write_file(path, "precious");
	log_fixture_open(LARGE);
	number = log_fixture_descriptor();
	int theirs = open(path, O_RDWR);
	assert_int_equal(dup2(theirs, number), number);
	close(theirs);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_not_equal(log_samples_append(0, i), 0);
	th_log_close();
	assert_file_is(path, "precious");
	assert_int_equal(log_fixture_file_bytes(path), strlen("precious"));
	assert_int_equal(fcntl(number, F_GETFD), 0);
	close(number);
	log_samples_assert_held(100000);
	free(path);
}

/*
 * The file was unlinked, or its name is another file: records that fit are kept, and no other
 * file is changed.
 */
static void
test_log_out_of_reach(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	close(log_fixture_descriptor());
	assert_int_equal(unlink(log_fixture_path()), 0);
	write_file(log_fixture_path(), "precious");
	assert_true(log_samples_fill() > 10000);
	th_log_close();
	assert_file_is(log_fixture_path(), "precious");
}

/* Other processes */

static int
status_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Runs in a child; returns its exit status, the number of the failed step. */
static int
use_log_as_a_child(void)
{
	if (log_samples_append(0, 5000))
		return 1;
	th_log_close();
	if (th_log_header()->state != TH_LOG_RECORDING)
		return 2;
	th_log_detach();
	if (th_log_header() || log_samples_append(0, 5000))
		return 3;
	th_log_count(TH_COUNTER_NATIVE_SAMPLES, 1);
	th_log_prepare();
	return 0;
}

static void
test_forked_child_writes_nothing(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	log_samples_append(0, 0);
	uint64_t tail = th_log_header()->tail;
	pid_t child = fork();
	if (child == 0)
		_exit(use_log_as_a_child());
	assert_int_equal(status_of(child), 0);
	assert_int_equal(th_log_header()->tail, tail);
	assert_int_equal(th_log_header()->counters[TH_COUNTER_NATIVE_SAMPLES], 0);
	log_samples_append(0, 1);
	log_samples_assert_held(2);
}

/* A child with its own log: two writers, two files. */
static void
test_forked_child_with_its_own_log(void **state)
{
	char *theirs = log_fixture_new_path();

	(void)state;
	log_fixture_open(LARGE);
	pid_t child = fork();
	if (child == 0) {
		th_log_detach();
		if (log_fixture_create_at(theirs, LARGE) != TH_LOG_OK ||
			log_samples_fill() < 10000)
			_exit(1);
		th_log_close();
		_exit(0);
	}
	for (uint64_t i = 0; i < 50000; i++)
		log_samples_append(0, i);
	assert_int_equal(status_of(child), 0);
	log_samples_assert_held(50000);
	assert_int_equal(log_fixture_file_bytes(theirs) % 8, 0);
	free(theirs);
}

static char child_stack[65536] __attribute__((aligned(16)));

/* As vfork: the child runs in the parent's memory. */
static int
status_in_shared_memory(int (*run)(void *))
{
	return WEXITSTATUS(status_of(clone(run, child_stack + sizeof(child_stack),
		CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)));
}

static int
set(void *value)
{
	*(int *)value = 1;
	return 0;
}

/* An emulator may make a copy. */
static bool
can_share_memory(void)
{
	volatile int value = 0;

	status_of(clone(set, child_stack + sizeof(child_stack),
		CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)&value));
	return value;
}

/* The log's descriptor belongs to the parent: the child does not replace it. */
static int
append_without_descriptor(void *unused)
{
	(void)unused;
	dup2(STDERR_FILENO, th_log_file.descriptor);
	th_log_hold_file();
	return log_samples_append(0, 1) != 0;
}

/* The heap is one, and so is what is recorded of it. */
static void
test_child_in_shared_memory_appends(void **state)
{
	(void)state;
	if (!can_share_memory())
		skip();
	log_fixture_open(LARGE);
	log_samples_append(0, 0);
	int descriptor = th_log_file.descriptor;
	assert_int_equal(status_in_shared_memory(append_without_descriptor), 1);
	assert_int_equal(th_log_file.descriptor, descriptor);
	for (uint64_t i = 2; i < 50000; i++)
		log_samples_append(0, i);
	log_samples_assert_held(50000);
}

static int
is_ours(void *unused)
{
	(void)unused;
	return th_log_is_ours() + 2 * th_log_is_owner();
}

/* A child with a copy of the memory, made without the handlers of fork(), and one that shares it. */
static void
test_copies_of_the_memory(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	assert_int_equal(is_ours(NULL), 3);
	pid_t copy = clone(is_ours, child_stack + sizeof(child_stack), SIGCHLD, NULL);
	assert_int_equal(status_of(copy), 0);
	if (can_share_memory())
		assert_int_equal(status_in_shared_memory(is_ours), 1);
	assert_int_equal(is_ours(NULL), 3);
}

/* Closes a log left open by a test before the next one. */
#define CASE(test) cmocka_unit_test_teardown(test, log_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_missing_directory),
		CASE(test_read_only_directory),
		CASE(test_a_file_of_somebody_else_is_left_alone),
		CASE(test_a_link_is_not_followed),
		CASE(test_a_named_pipe_does_not_block),
		CASE(test_an_earlier_image_of_this_process_is_replaced),
		CASE(test_a_log_of_another_process_is_left_alone),
		CASE(test_a_log_of_an_unknown_process_is_left_alone),
		CASE(test_descriptor_is_out_of_the_way),
		CASE(test_descriptor_closed_by_the_program),
		CASE(test_descriptor_reused_by_the_program),
		CASE(test_log_out_of_reach),
		CASE(test_forked_child_writes_nothing),
		CASE(test_forked_child_with_its_own_log),
		CASE(test_child_in_shared_memory_appends),
		CASE(test_copies_of_the_memory),
	};

	return cmocka_run_group_tests_name("log surroundings", tests, NULL, NULL);
}
