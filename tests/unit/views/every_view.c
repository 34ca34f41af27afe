/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all views on one log, with output to /dev/null, and builds a log that contains every
 * event.
 */
#include "tests/unit/views/every_view.h"

#include <stdlib.h>
#include <string.h>

#include "report/leaks/leaks.h"
#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/profile/diff.h"
#include "report/profile/profile.h"
#include "report/views/view.h"

#define ARGUMENTS_MAX 16
#define INTERVAL 4096

/* Views */

typedef void print_profile(
	FILE *file, const struct th_recording *recording, const struct th_profile *profile);

static void
print_summary(
	FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	struct th_health health;

	th_health_init(&health, recording);
	th_health_add_profile(&health, profile);
	th_view_summary(file, profile, &health, "twinheap");
	th_view_brief(file, profile, &health, "twinheap");
	th_health_deinit(&health);
}

static void
print_plain(FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	(void)recording;
	th_view_tree(file, profile);
	th_view_collapsed(file, profile);
	th_view_json(file, profile);
	th_view_pprof(file, profile);
	th_view_otlp(file, profile);
	th_view_jfr(file, profile);
	th_view_speedscope(file, profile);
}

static void
print_account(
	FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	if (!recording->accounts_count)
		return;
	th_view_rss(file, profile, NULL);
	th_view_rss_json(file, profile, NULL);
}

static void
print_page(FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	(void)recording;
	th_view_flamegraph(file, profile);
}

static void
print_leaks(FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	struct th_leaks leaks;

	(void)recording;
	th_leaks_init(&leaks, profile);
	th_view_leaks(file, &leaks);
	th_view_leaks_json(file, &leaks);
	th_leaks_deinit(&leaks);
}

static void
print_holders(
	FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	struct th_leaks leaks;

	if (!recording->holder_walks_count)
		return;
	th_leaks_init(&leaks, profile);
	th_view_holders(file, &leaks);
	th_view_holders_json(file, &leaks);
	th_leaks_deinit(&leaks);
}

/* Compares the recording with itself. */
static void
print_diff(FILE *file, const struct th_recording *recording, const struct th_profile *profile)
{
	struct th_leak_sites places;
	struct th_diff diff;

	(void)recording;
	th_leak_sites_init(&places, profile);
	th_diff_init(&diff, &places, &places);
	th_view_diff(file, &diff);
	th_view_diff_json(file, &diff);
	th_diff_deinit(&diff);
	th_leak_sites_deinit(&places);
}

/* A view with its options, as on the command line, ended by NULL. */
struct look {
	const char *words[ARGUMENTS_MAX];
	print_profile *print;
};

static const struct look looks[] = {
	{{NULL}, print_summary},
	{{NULL}, print_plain},
	{{NULL}, print_page},
	{{NULL}, print_account},
	{{NULL}, print_leaks},
	{{NULL}, print_holders},
	{{"--value", "live-bytes", "--at", "peak", "--annotate", "--vm-frames"}, print_plain},
	{{"--value", "temp-bytes", "--thread", "ma"}, print_plain},
	{{"--value", "live-objects", "--at", "0.02", "--heaps", "java", "--include", "work",
		 "--exclude", "zzz"},
		print_summary},
	{{"--from", "0.01", "--to", "mark:middle"}, print_diff},
};
#define LOOK_COUNT (sizeof(looks) / sizeof(looks[0]))

/* A large buffer in front of /dev/null keeps the number of system calls low. */
static FILE *
open_nowhere(void)
{
	FILE *file = fopen("/dev/null", "w");

	setvbuf(file, NULL, _IOFBF, 1 << 20);
	return file;
}

static bool
look_at(const struct look *look, const struct th_recording *recording, const char *path)
{
	char *arguments[ARGUMENTS_MAX + 2] = {(char *)(uintptr_t) "view"};
	struct th_options options;
	struct th_error *error;
	int count = 1;

	for (; look->words[count - 1]; count++)
		arguments[count] = (char *)(uintptr_t)look->words[count - 1];
	arguments[count++] = (char *)(uintptr_t)path;
	error = th_options_parse(&options, TH_OPTIONS_OF_LOGS, count, arguments);
	if (!error) {
		options.input = th_format_new("%s", path);
		error = th_options_resolve_marks(&options);
	}
	if (!error) {
		FILE *file = open_nowhere();
		struct th_profile *profile = th_profile_create(recording, &options, NULL, NULL);

		look->print(file, recording, profile);
		th_profile_destroy(profile);
		fclose(file);
	}
	th_options_deinit(&options);
	bool is_shown = !error;
	th_error_destroy(error);
	return is_shown;
}

static void
dump(const struct th_recording *recording)
{
	FILE *file = open_nowhere();

	th_view_dump(file, recording->reader, false);
	fclose(file);
}

bool
some_views(const char *path, unsigned first, unsigned step, unsigned count)
{
	struct th_recording *recording;
	struct th_error *error = th_recording_load(path, &recording);
	bool is_shown = true;

	if (error) {
		th_error_destroy(error);
		return false;
	}
	for (unsigned i = 0; i < count; i++) {
		const unsigned which = (first + i * step) % (LOOK_COUNT + 1);

		if (which < LOOK_COUNT)
			is_shown &= look_at(&looks[which], recording, path);
		else
			dump(recording);
	}
	th_recording_destroy(recording);
	th_texts_free();
	return is_shown;
}

bool
every_view(const char *path)
{
	return some_views(path, 0, 1, LOOK_COUNT + 1);
}

/* The log */

static void
add_definitions(struct log_builder *log)
{
	const uint64_t mixed[] = {th_frame_native(1, 0x1234), th_frame_java(7, TH_BCI_NATIVE),
		th_frame_java(8, 5), th_frame_native(2, 0x99), th_frame_native(0, 0x7fff1234)};
	const uint64_t java[] = {th_frame_java(8, 3), th_frame_java(7, TH_BCI_UNKNOWN),
		th_frame_marker(TH_MARKER_VIRTUAL_THREAD)};

	log_jvm(log, 17, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES | TH_JVM_THREAD_BYTES);
	log_add_fields(log, TH_EVENT_SETTING, LOG_TEXT("interval"), LOG_TEXT("4096"));
	log_add_fields(log, TH_EVENT_NOTE, LOG_U64(LOG_START), LOG_U32(1), LOG_TEXT("a note"));
	log_thread(log, 1, "main");
	log_thread(log, 2, "worker-2");
	log_module(log, 1, "/nonexistent/libwork.so");
	log_module(log, 2, "/nonexistent/libjvm.so");
	log_add_fields(log, TH_EVENT_SYMBOL, LOG_U64(0x1200), LOG_U32(1), LOG_U32(0x40),
		LOG_TEXT("_Z4workv"));
	log_method(log, 7, "Lapp/Main;", "work");
	log_method(log, 8, "Lapp/Main$$Lambda/0x1234;", "run");
	log_code_source(log, TH_CODE_SOURCE_PROGRAM, "app", "file:/app.jar");
	log_code_source(log, 0, "app/lib", "jar:file:/app.jar!/lib.jar!/");
	log_class(log, 1, "[B");
	log_class(log, 2, "Lapp/Session;");
	log_stack(log, 1, mixed, 5);
	log_stack(log, 2, java, 3);
}

/* Returns the Java object. */
static uint64_t
add_turn(struct log_builder *log, uint32_t turn)
{
	struct log_sample sample = {.ms = 10 * turn,
		.size = 1000 + turn,
		.interval = INTERVAL,
		.thread = 1 + turn % 2,
		.thread_bytes = 10000 * (turn + 1),
		.stack = 1};
	uint64_t block = log_native(log, sample);

	sample.stack = 2;
	sample.class = 1 + turn % 2;
	sample.ms++;
	uint64_t object = log_java(log, sample);
	if (turn % 3 == 0)
		log_free(log, 10 * turn + 5, block);
	log_collection(log, 10 * turn + 6, 10 * turn + 7, turn + 1, "young");
	log_heap_use(log, 10 * turn + 7, 100000, turn + 1);
	if (turn % 3 == 1)
		log_java_death(log, 10 * turn + 8, object);
	if (turn % 3 == 2)
		log_java_lost(log, 10 * turn + 8, object);
	return object;
}

/* Mapped memory that is partly unmapped, and a breakdown of resident memory. */
static void
add_mapped(struct log_builder *log)
{
	const uint64_t at = LOG_START + 40 * 1000000;
	uint64_t block = log_native(log, (struct log_sample){.ms = 38,
						 .size = 8192,
						 .interval = INTERVAL,
						 .thread = 1,
						 .thread_bytes = 90000,
						 .stack = 1});
	const uint64_t touched[] = {block, 4096, 0};
	const uint64_t heaps[] = {0, UINT64_MAX / 2, 8192};
	uint64_t mapping = log_add_fields(log, TH_EVENT_MAPPED_ALLOC, LOG_U64(at),
		LOG_U64(1 << 20), LOG_U64(INTERVAL), LOG_U64(1 << 20), LOG_U32(1), LOG_U32(1),
		LOG_U64(0x7f1000), LOG_U32(1), LOG_U32(5), LOG_U32(0));

	log_add_fields(log, TH_EVENT_MAPPED_END, LOG_U64(at + 1), LOG_U64(mapping),
		LOG_U64(4096), LOG_U64(0x7f1000), LOG_U32(1));
	log_add_fields(log, TH_EVENT_MAPPED_USE, LOG_U64(at + 2), LOG_U64(1 << 20),
		LOG_U64(1 << 20), LOG_U64(0), LOG_U64(0), LOG_U64(0));
	for (uint32_t category = 0; category < 12; category++)
		log_add_fields(log, TH_EVENT_ACCOUNT_ROW, LOG_U64(8192), LOG_U64(0),
			LOG_U64(65536), LOG_U64(16384), LOG_U32(1), LOG_U32(category),
			LOG_U32(2), LOG_U32(category % 2), LOG_TEXT("/lib/x.so"));
	log_add_fields(log, TH_EVENT_TOUCHED, LOG_U32(1), LOG_WORDS(touched, 3));
	log_add_fields(log, TH_EVENT_MALLOC_HEAPS, LOG_U32(1), LOG_WORDS(heaps, 3));
	log_add_fields(log, TH_EVENT_RESIDENT, LOG_U64(at + 3), LOG_U64(98304), LOG_U64(8192),
		LOG_U64(200000));
	log_add_fields(log, TH_EVENT_ACCOUNT, LOG_U64(at + 4), LOG_U64(98304), LOG_U64(98304),
		LOG_U64(0), LOG_U64(1000), LOG_U32(1), LOG_U32(1), LOG_U32(3), LOG_U32(24),
		LOG_U32(2));
}

/* A walk, with the object that is still alive. */
static void
add_walk(struct log_builder *log, uint64_t object)
{
	const uint64_t at = LOG_START + 45 * 1000000;

	log_add_fields(log, TH_EVENT_HOLDER_STEP, LOG_U64(at), LOG_U64(0), LOG_U32(1),
		LOG_U32(1), LOG_U32(0), LOG_U32(TH_HOLDER_STATIC), LOG_TEXT("app.Main.all"));
	log_add_fields(log, TH_EVENT_HOLDER_STEP, LOG_U64(at), LOG_U64(0), LOG_U32(1),
		LOG_U32(2), LOG_U32(1), LOG_U32(TH_HOLDER_ELEMENT),
		LOG_TEXT("java.lang.Object[]"));
	log_add_fields(log, TH_EVENT_HOLDER_OBJECTS, LOG_U64(at), LOG_U32(1), LOG_U32(2),
		LOG_WORDS(&object, 1));
	log_add_fields(log, TH_EVENT_HOLDER_LOADERS, LOG_U64(at), LOG_U64(5), LOG_U32(1),
		LOG_U32(1), LOG_U32(1), LOG_U32(0));
	log_add_fields(log, TH_EVENT_HOLDER_WALK, LOG_U64(at), LOG_U64(2000000),
		LOG_U64(1000000), LOG_U64(1500000), LOG_U64(100000), LOG_U64(1000),
		LOG_U64(3000), LOG_U64(40000), LOG_U32(1), LOG_U32(1), LOG_U32(1));
}

/* The definitions, and the samples of all heaps; returns a live Java object. */
static uint64_t
add_first_part(struct log_builder *log)
{
	uint64_t object = 0;

	add_definitions(log);
	for (uint32_t turn = 0; turn < 5; turn++)
		object = add_turn(log, turn);
	add_mapped(log);
	return object;
}

static void
add_last_part(struct log_builder *log, uint64_t object)
{
	add_walk(log, object);
	log_add_fields(
		log, TH_EVENT_MARK, LOG_U64(LOG_START + 30 * 1000000), LOG_TEXT("middle"));
	log_add_fields(log, TH_EVENT_SLOT_COPIES, LOG_U64(LOG_START + 30 * 1000000), LOG_U64(3),
		LOG_TEXT("/lib/x.so"));
	log_header(log)->counters[TH_COUNTER_SLOTS] = 60;
	log_add_fields(log, TH_EVENT_RATE, LOG_U64(LOG_START + 30 * 1000000), LOG_U64(8192),
		LOG_U64(300), LOG_U64(10), LOG_U64(5));
	log_java_level(log, 55, 1);
	log_thread_bytes(log, 60, TH_HEAP_NATIVE, 1, 650000);
	log_thread_bytes(log, 60, TH_HEAP_JAVA, 0, 50000);
	log_header(log)->counters[TH_COUNTER_SAMPLES_DUE] = 11;
	log_header(log)->counters[TH_COUNTER_NATIVE_SAMPLES] = 5;
	log_header(log)->counters[TH_COUNTER_JAVA_SAMPLES] = 5;
	log_header(log)->counters[TH_COUNTER_DROPPED_STACKS_FULL] = 1;
	log_end(log, 70);
}

void
every_event(struct log_builder *log)
{
	log_init(log, INTERVAL);
	add_last_part(log, add_first_part(log));
}

void
every_event_in_ring(struct log_builder *log)
{
	log_init(log, INTERVAL);
	uint64_t object = add_first_part(log);
	log_keep_past(log, NULL);
	add_last_part(log, object);
}
