/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds logs byte by byte for tests, from the definitions in unify/log_format.h, without the
 * library's writer and the tool's reader, so that tests check these independently.
 */
#ifndef TH_TESTS_LOG_BUILDER_H
#define TH_TESTS_LOG_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

struct log_builder {
	unsigned char *bytes;
	size_t length;
	size_t capacity;
	uint64_t paused; /* by collections so far, ns */
};

#define LOG_START 1000000000u /* CLOCK_MONOTONIC at which the logs of tests begin */

/* Writes the header, descriptions of all events, names of all counters; interval in bytes. */
void log_init(struct log_builder *log, uint64_t interval);
void log_deinit(struct log_builder *log);

/* The arguments of the command are terminated by NUL, as in /proc/PID/cmdline. */
#define log_process(log, executable, command) \
	log_process_text((log), (executable), (command), sizeof(command))
void log_process_text(struct log_builder *log, const char *executable, const char *command,
	uint32_t command_bytes);

struct th_log_header *log_header(struct log_builder *log);

/* One value of a record: text if `text` is set, an array if `words` is, else `integer`. */
struct log_field {
	enum th_data_type type;
	uint64_t integer;
	double number;
	const char *text;
	const uint64_t *words;
	uint32_t length; /* bytes of `text`, elements of `words` */
};

#define LOG_U32(value)                                  \
	{                                               \
		.type = TH_DATA_U32, .integer = (value) \
	}
#define LOG_U64(value)                                  \
	{                                               \
		.type = TH_DATA_U64, .integer = (value) \
	}
#define LOG_F64(value)                                 \
	{                                              \
		.type = TH_DATA_F64, .number = (value) \
	}
#define LOG_TEXT(value)                                                                  \
	{                                                                                \
		.type = TH_DATA_TEXT, .text = (value), .length = (uint32_t)strlen(value) \
	}
#define LOG_BYTES(value, count)                                          \
	{                                                                \
		.type = TH_DATA_TEXT, .text = (value), .length = (count) \
	}
#define LOG_WORDS(value, count)                                                \
	{                                                                      \
		.type = TH_DATA_U64_ARRAY, .words = (value), .length = (count) \
	}

/* Appends a committed record with these fields; returns its offset. */
uint64_t log_add(struct log_builder *log, uint16_t type, const struct log_field *fields,
	size_t field_count);
#define log_add_fields(log, type, ...)                                  \
	log_add((log), (type), (const struct log_field[]){__VA_ARGS__}, \
		sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

/* Appends `bytes` bytes that were reserved and never committed. */
void log_add_hole(struct log_builder *log, size_t bytes);

/*
 * The log becomes a ring that begins at its end: all records but the metadata are in KEPT events, and
 * there is a hole in their place.  Samples of the C heap have been thinned out: each was kept with
 * the probability of its number in `keeps`; NULL: with 1/2.
 */
void log_keep_past(struct log_builder *log, const double *keeps);

/* Describes an event type, or one field of it. */
void
log_describe_type(struct log_builder *log, uint32_t type, const char *name, const char *label);
void log_describe_field(struct log_builder *log, uint32_t type, uint32_t index,
	enum th_data_type data_type, enum th_content_type content, const char *name);

/* The events that most tests need.  Times in milliseconds after LOG_START. */
void log_thread(struct log_builder *log, uint32_t thread, const char *name);
void log_thread_by(struct log_builder *log, uint32_t thread, uint32_t flags, const char *name);
void log_module(struct log_builder *log, uint32_t module, const char *path);
void log_method(struct log_builder *log, uint32_t method, const char *class_signature,
	const char *name);
void log_code_source(
	struct log_builder *log, uint32_t flags, const char *package, const char *location);
void log_class(struct log_builder *log, uint32_t class, const char *signature);
void log_stack(struct log_builder *log, uint32_t stack, const uint64_t *frames, uint32_t count);
void log_jvm(struct log_builder *log, uint32_t release, uint32_t features);

struct log_sample {
	uint32_t ms;
	uint64_t size;
	uint64_t interval;
	uint64_t thread_bytes;
	uint32_t thread;
	uint32_t stack;
	uint32_t class; /* Java only */
};
uint64_t log_native(struct log_builder *log, struct log_sample sample);
uint64_t log_java(struct log_builder *log, struct log_sample sample);
void log_free_by(struct log_builder *log, uint32_t thread, uint32_t ms, uint64_t sample);
void log_free(struct log_builder *log, uint32_t ms, uint64_t sample);
/* As log_native(), but the free of the block is not tracked. */
uint64_t log_native_untracked(struct log_builder *log, struct log_sample sample);
/*
 * Mapped memory, with the `thread_bytes` of the process; and the unmapping of some of its
 * bytes.
 */
uint64_t log_mapped(struct log_builder *log, struct log_sample sample);
void log_mapped_end(struct log_builder *log, uint32_t ms, uint64_t sample, uint64_t bytes);
void log_java_death(struct log_builder *log, uint32_t ms, uint64_t sample);
void log_java_lost(struct log_builder *log, uint32_t ms, uint64_t sample);
void log_java_level(struct log_builder *log, uint32_t ms, uint32_t level);
void log_collection(struct log_builder *log, uint32_t from_ms, uint32_t to_ms, uint32_t number,
	const char *kind);
void log_heap_use(struct log_builder *log, uint32_t ms, uint64_t used, uint32_t collections);
void log_thread_bytes(struct log_builder *log, uint32_t ms, enum th_heap heap, uint32_t thread,
	uint64_t bytes);
void log_end(struct log_builder *log, uint32_t ms);

/* Writes the log, or `length` bytes, to a new file; the caller frees the name. */
char *log_save(const struct log_builder *log);
char *log_save_bytes(const void *bytes, size_t length);

#endif
