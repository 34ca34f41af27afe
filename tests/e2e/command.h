/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands and keeps their output; creates directories that are removed after the test. */
#ifndef TESTS_E2E_COMMAND_H
#define TESTS_E2E_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Build and source directories: absolute paths. */
#define TH_LIBRARY TH_TEST_BUILD "/libtwinheap.so"
#define TH_TOOL TH_TEST_BUILD "/twinheap"

struct th_command {
	const char *const *arguments; /* NULL-terminated; [0] is looked up in PATH */
	/* "NAME=VALUE" to add, "NAME" to remove; NULL: unchanged */
	const char *const *environment;
	const char *directory;    /* working directory; NULL: the current one */
	unsigned timeout_seconds; /* 0: 300 */
};

struct th_outcome {
	int status;     /* exit status, or -1 if it did not exit by itself */
	int signal;     /* the signal that ended it, or 0 */
	bool timed_out; /* it was killed, with its process group, because it took too long */
	char *output;   /* stdout, NUL-terminated */
	size_t output_bytes;
	char *errors; /* stderr, NUL-terminated */
	size_t errors_bytes;
};

/*
 * Whether programs under test are those of the processor TH_TEST_ARCH, run by qemu-user, which has no
 * process_vm_readv, ptrace and seccomp, and whose own memory counts as that of the process.
 */
bool th_is_emulated(void);

/* Runs a command until it ends. th_outcome_deinit() afterwards. */
void th_command_run(const struct th_command *command, struct th_outcome *ret);

/* Runs a command that must succeed; otherwise prints its output and fails the test. */
void th_command_check(const struct th_command *command, struct th_outcome *ret);

/*
 * Runs a shell script without a preload, in a new directory.  Prints what it printed if
 * TH_TEST_VERBOSE is set.
 */
void th_command_script(const char *script, struct th_outcome *ret);

/* Shorthand for a command that must succeed; returns its stdout, to be freed. */
char *th_command_output(const char *const *arguments);

void th_outcome_deinit(struct th_outcome *outcome);

/* Fails the test, and prints both, if a text does not contain a part. */
void th_assert_contains(const char *text, const char *part);

/*
 * A new directory, removed with its contents when the program ends (kept if the variable
 * TH_TEST_KEEP is set).  The string lives as long as the program.
 */
const char *th_temporary_directory(void);

/* asprintf() that fails the test instead of returning an error; to be freed. */
char *th_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
