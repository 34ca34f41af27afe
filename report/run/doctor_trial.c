/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command is run as `twinheap run` does it; the largest log, which is that of a Java VM if there
 * is one, says which parts of the VM the library uses.
 */
#include "report/run/doctor_trial.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/base/log_text.h"
#include "report/log/recording.h"
#include "report/run/launch.h"
#include "report/run/launch_logs.h"

/* Arguments of `run` before the command. */
#define ARGUMENTS_MAX 64

/* What is lost without a feature of the VM; docs/architecture.md has the whole table. */
static const struct {
	uint32_t feature;
	const char *name;
	const char *loss;
} features[] = {
	{TH_JVM_TABLES, "layout of the VM (gHotSpotVMStructs)",
		"stacks end where Java begins, bytes of Java threads are estimates"},
	{TH_JVM_JAVA_FRAMES, "Java frames in native stacks",
		"native stacks end where Java begins"},
	{TH_JVM_SEAMS, "frame anchors of entry frames",
		"older native segments are missing from stacks"},
	{TH_JVM_STUBS, "code cache and runtime stubs",
		"stacks below compiled code that calls the VM have no Java frames"},
	{TH_JVM_SAMPLED_ALLOC, "samples of the Java heap (SampledObjectAlloc)",
		"the Java heap is not recorded: does another agent sample it?"},
	{TH_JVM_THREAD_BYTES, "bytes allocated by each thread",
		"totals of the Java heap are estimates"},
	{TH_JVM_OWN_DRAWS, "countdown of the VM's sampler",
		"the VM draws: before JDK 25 shares of the Java heap are approximate"},
	{TH_JVM_HEAP_RANGE, "range of the Java heap",
		"the breakdown of resident memory shows it as a mapping"},
	{TH_JVM_FLAGS, "flags of the VM",
		"objects are followed by weak references under every collector"},
	{TH_JVM_COUNTERS, "performance counters (-XX:+UsePerfData)",
		"collections have no cause, metaspace is not measured"},
};

void
th_doctor_print(enum th_finding finding, const char *topic, const char *format, ...)
{
	static const char *const marks[] = {"ok", "", "LOST", "BAD"};
	va_list arguments;

	va_start(arguments, format);
	printf("%-5s %-10s ", marks[finding], topic);
	vprintf(format, arguments);
	putchar('\n');
	va_end(arguments);
}

/* Recording */

/* Redirects stdout and stderr; the old ones, to be given back. */
static void
silence(const char *path, int saved_ret[2])
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved_ret[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
		if (file >= 0)
			dup2(file, STDOUT_FILENO + i);
	}
	if (file >= 0)
		close(file);
}

static void
give_back(const int saved[2])
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], STDOUT_FILENO + i);
		close(saved[i]);
	}
}

static int
record(char *const *command, char *pattern, const char *said, bool is_silent)
{
	char *arguments[ARGUMENTS_MAX] = {
		"run", "-q", "--follow", "all", "-i", "64k", "-o", pattern, "--"};
	int count = 9, saved[2], status;

	while (*command && count < ARGUMENTS_MAX - 1)
		arguments[count++] = *command++;
	if (is_silent)
		silence(said, saved);
	status = th_launch_main(count, arguments);
	if (is_silent)
		give_back(saved);
	return status;
}

/* Messages of the library and of `run`. */
static void
print_said(const char *path)
{
	static const char prefix[] = "twinheap: ";
	FILE *file = fopen(path, "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (th_text_begins(line, prefix))
			th_doctor_print(
				TH_FINDING_LOSS, "message", "%s", line + sizeof(prefix) - 1);
	}
	if (file)
		fclose(file);
}

/* The log */

static void
print_vm(const struct th_recording *recording)
{
	const struct th_decoded_jvm *jvm = &recording->jvm;
	char *name = th_text_clean(jvm->name);
	char *version = th_text_clean(jvm->version);
	bool is_hotspot = jvm->features & TH_JVM_TABLES;

	th_doctor_print(TH_FINDING_GOOD, "Java VM", "%s %s", name, version);
	if (!is_hotspot)
		th_doctor_print(TH_FINDING_LOSS, "Java VM",
			"not HotSpot, or without its tables: Java frames and exact totals are "
			"missing; the C heap is recorded");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (jvm->features & features[i].feature)
			th_doctor_print(TH_FINDING_GOOD, "HotSpot", "%s", features[i].name);
		else
			th_doctor_print(TH_FINDING_LOSS, "HotSpot", "%s: %s", features[i].name,
				features[i].loss);
	}
	free(name);
	free(version);
}

static void
print_notes(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->notes_count; i++) {
		char *text = th_text_clean(recording->notes[i].text);

		th_doctor_print(
			recording->notes[i].severity ? TH_FINDING_LOSS : TH_FINDING_NOTE,
			"note", "%s", text);
		free(text);
	}
}

static bool
print_log(const struct th_launch_log *log)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(log->path, &recording);

	if (error) {
		th_doctor_print(TH_FINDING_BAD, "log", "%s", th_error_message(error));
		th_error_destroy(error);
		return false;
	}
	th_doctor_print(TH_FINDING_GOOD, "recording", "%s",
		recording->has_jvm ? "the C heap, mapped memory and a Java VM"
				   : "the C heap and mapped memory; no Java VM was started");
	if (recording->has_jvm)
		print_vm(recording);
	print_notes(recording);
	th_recording_destroy(recording);
	return true;
}

static void
remove_log(const char *path, void *data)
{
	(void)data;
	unlink(path);
}

bool
th_doctor_try(char *const *command, const char *directory, bool is_silent)
{
	char *own = th_format_new("%s/twinheap-doctor-XXXXXX", directory);
	bool is_recorded = false;
	struct th_launch_logs logs;

	if (!mkdtemp(own)) {
		th_doctor_print(TH_FINDING_BAD, "trial", "cannot write to %s", directory);
		free(own);
		return false;
	}
	char *pattern = th_format_new("%s/%%p.thl", own);
	char *said = th_format_new("%s/said", own);
	int status = record(command, pattern, said, is_silent);
	if (status)
		th_doctor_print(
			TH_FINDING_NOTE, "trial", "%s ended with status %d", *command, status);
	print_said(said);
	th_launch_logs_find(pattern, 0, &logs);
	if (logs.logs_count)
		is_recorded = print_log(&logs.logs[0]);
	else
		th_doctor_print(TH_FINDING_BAD, "trial",
			"no log was written: LD_PRELOAD was not honored");
	th_launch_logs_deinit(&logs);
	th_launch_logs_each(pattern, remove_log, NULL);
	unlink(said);
	rmdir(own);
	free(said);
	free(pattern);
	free(own);
	return is_recorded;
}
