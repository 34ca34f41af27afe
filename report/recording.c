/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the log; each event type has a handler.
 */
#include "report/recording.h"

#include <stdlib.h>

#include "report/allocate.h"

/* The index of `id` in a table of the recording, which gets an empty entry if it is new. */
#define intern(recording, table, id)                                                       \
	({                                                                                 \
		bool added_;                                                               \
		uint32_t index_ = th_map_intern(&(recording)->table##_ids, (id), &added_); \
                                                                                           \
		if (added_)                                                                \
			th_array_append(                                                   \
				(recording), table, (__typeof__(*(recording)->table)){0}); \
		index_;                                                                    \
	})

/* Times */

static void
saw_time(struct th_recording *recording, uint64_t time)
{
	if (time > recording->end)
		recording->end = time;
}

/* Handlers: false when the event makes no sense. */

typedef bool handler(struct th_recording *, const struct th_record *, const union th_decoded *);

static bool
on_process(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	recording->process = (struct th_process_info){
		.pid = event->process.pid,
		.parent_pid = event->process.parent_pid,
		.page_bytes = event->process.page_bytes,
		.cpus = event->process.cpus,
		.library_version = event->process.library_version,
		.executable = event->process.executable,
		.command = event->process.command,
		.host = event->process.host,
	};
	return true;
}

static bool
on_setting(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_setting_info setting = {event->setting.name, event->setting.value};

	(void)record;
	th_array_append(recording, settings, setting);
	return true;
}

static bool
on_counter_name(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_counter_name *name = &event->counter_name;

	(void)record;
	if (name->index >= recording->counters_count)
		return false;
	recording->counters[name->index].name = name->name;
	recording->counters[name->index].description = name->description;
	return true;
}

static bool
on_note(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_note_info note = {event->note.time, event->note.severity, event->note.text};

	(void)record;
	th_array_append(recording, notes, note);
	return true;
}

static bool
on_jvm(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	recording->jvm = (struct th_jvm_info){
		.is_known = true,
		.feature_release = event->jvm.feature_release,
		.features = event->jvm.features,
		.version = event->jvm.version,
		.name = event->jvm.name,
		.vendor = event->jvm.vendor,
	};
	return true;
}

static bool
on_module(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern(recording, modules, event->module.module);

	(void)record;
	recording->modules[index] = (struct th_module_info){
		.is_known = true,
		.start = event->module.start,
		.end = event->module.end,
		.bias = event->module.bias,
		.path = event->module.path,
		.build_id = event->module.build_id,
	};
	return true;
}

static bool
on_thread(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern(recording, threads, event->thread.thread);

	(void)record;
	recording->threads[index] = (struct th_thread_info){
		.is_known = true,
		.tid = event->thread.tid,
		.name = event->thread.name,
	};
	saw_time(recording, event->thread.time);
	return true;
}

static bool
on_method(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern(recording, methods, event->method.method);

	(void)record;
	recording->methods[index] = (struct th_method_info){
		.is_known = true,
		.modifiers = event->method.modifiers,
		.class_signature = event->method.class_signature,
		.name = event->method.name,
		.signature = event->method.signature,
		.source_file = event->method.source_file,
		.lines = event->method.lines,
	};
	return true;
}

static bool
on_class(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern(recording, classes, event->class.class);

	(void)record;
	recording->classes[index] = (struct th_class_info){true, event->class.signature};
	return true;
}

static bool
on_stack(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern(recording, stacks, event->stack.stack);

	(void)record;
	recording->stacks[index] = (struct th_stack_info){
		.is_known = true,
		.flags = event->stack.flags,
		.frames = event->stack.frames,
	};
	return true;
}

/* A sample must have had a chance to be taken, or it would stand for infinitely much. */
static bool
is_possible(uint64_t size, uint64_t interval, double keep)
{
	return keep > 0 && keep <= 1 && (size || !interval);
}

static uint32_t
intern_interval(struct th_recording *recording, uint64_t interval)
{
	bool added;
	uint32_t index = th_map_intern(&recording->interval_ids, interval, &added);

	if (added)
		th_array_append(recording, intervals, interval);
	return index;
}

static bool
add_sample(struct th_recording *recording, enum th_heap heap, struct th_sample sample,
	uint64_t interval)
{
	uint32_t index = intern_interval(recording, interval);

	if (index >> 24)
		return false;
	sample.interval = index & 0xffffff;
	th_array_append(&recording->samples[heap], items, sample);
	saw_time(recording, sample.time);
	return true;
}

static bool
on_native_alloc(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_native_alloc *alloc = &event->native_alloc;

	if (!is_possible(alloc->size, alloc->interval, alloc->keep))
		return false;
	struct th_sample sample = {
		.time = alloc->time,
		.size = alloc->size,
		.thread_bytes = alloc->thread_bytes,
		.record = (uint32_t)(record->offset / 8),
		.stack = intern(recording, stacks, alloc->stack),
		.thread = intern(recording, threads, alloc->thread),
		.keep = (float)alloc->keep,
		.function = alloc->function & 15,
		.flags = alloc->flags & 15,
	};
	return add_sample(recording, TH_HEAP_NATIVE, sample, alloc->interval);
}

static bool
on_java_alloc(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_java_alloc *alloc = &event->java_alloc;

	if (!is_possible(alloc->size, alloc->interval, alloc->keep))
		return false;
	struct th_sample sample = {
		.time = alloc->time,
		.size = alloc->size,
		.thread_bytes = alloc->thread_bytes,
		.record = (uint32_t)(record->offset / 8),
		.stack = intern(recording, stacks, alloc->stack),
		.thread = intern(recording, threads, alloc->thread),
		.class = intern(recording, classes, alloc->class),
		.keep = (float)alloc->keep,
		.flags = alloc->flags & 15,
	};
	return add_sample(recording, TH_HEAP_JAVA, sample, alloc->interval);
}

static bool
on_native_free(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_free_info freed = {
		.time = event->native_free.time,
		.record = (uint32_t)(event->native_free.sample / 8),
		.thread = intern(recording, threads, event->native_free.thread),
	};

	(void)record;
	th_array_append(recording, frees, freed);
	saw_time(recording, freed.time);
	return true;
}

static bool
on_thread_bytes(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t thread = event->thread_bytes.thread;
	struct th_thread_bytes_info bytes = {
		.time = event->thread_bytes.time,
		.bytes = event->thread_bytes.bytes,
		.thread = thread ? intern(recording, threads, thread) : TH_MAP_NONE,
		.heap = event->thread_bytes.heap,
	};

	(void)record;
	if (bytes.heap != TH_HEAP_JAVA && bytes.heap != TH_HEAP_NATIVE)
		return false;
	th_array_append(recording, thread_bytes, bytes);
	saw_time(recording, bytes.time);
	return true;
}

static bool
on_end(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	recording->is_complete = true;
	saw_time(recording, event->end.time);
	return true;
}

static handler *const handlers[] = {
	[TH_EVENT_PROCESS] = on_process,
	[TH_EVENT_SETTING] = on_setting,
	[TH_EVENT_COUNTER_NAME] = on_counter_name,
	[TH_EVENT_NOTE] = on_note,
	[TH_EVENT_JVM] = on_jvm,
	[TH_EVENT_MODULE] = on_module,
	[TH_EVENT_THREAD] = on_thread,
	[TH_EVENT_METHOD] = on_method,
	[TH_EVENT_CLASS] = on_class,
	[TH_EVENT_STACK] = on_stack,
	[TH_EVENT_NATIVE_ALLOC] = on_native_alloc,
	[TH_EVENT_NATIVE_FREE] = on_native_free,
	[TH_EVENT_JAVA_ALLOC] = on_java_alloc,
	[TH_EVENT_THREAD_BYTES] = on_thread_bytes,
	[TH_EVENT_END] = on_end,
};
#define HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

/* Loading */

static void
handle(struct th_recording *recording, const struct th_record *record)
{
	union th_decoded event;

	recording->records++;
	if (record->type == TH_EVENT_EVENT_TYPE || record->type == TH_EVENT_EVENT_FIELD)
		th_schema_learn(recording->schema, record);
	else if (record->type >= HANDLERS || !handlers[record->type])
		recording->unknown++;
	else if (!th_schema_decode(recording->schema, record, &event) ||
		 !handlers[record->type](recording, record, &event))
		recording->undecodable++;
}

static void
read_counters(struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);
	uint32_t count = header->counter_count;

	if (count > TH_LOG_COUNTER_SLOTS)
		count = TH_LOG_COUNTER_SLOTS;
	for (uint32_t i = 0; i < count; i++) {
		struct th_counter_info counter = {.value = header->counters[i]};

		th_array_append(recording, counters, counter);
	}
}

struct th_error *
th_recording_load(const char *path, struct th_recording **recording_ret)
{
	struct th_reader *reader;
	struct th_error *error = th_reader_open(path, &reader);
	struct th_record record;

	if (error)
		return error;
	struct th_recording *recording = th_allocate(1, sizeof(*recording));
	recording->reader = reader;
	recording->schema = th_schema_create();
	recording->start = th_reader_header(reader)->start_monotonic;
	recording->end = recording->start;
	recording->process.pid = th_reader_header(reader)->pid;
	read_counters(recording);
	struct th_cursor cursor = th_reader_start(reader);
	while (th_reader_next(&cursor, &record))
		handle(recording, &record);
	recording->torn = cursor.torn;
	recording->damaged = cursor.damaged;
	*recording_ret = recording;
	return NULL;
}

static void
free_tables(struct th_recording *recording)
{
	th_map_deinit(&recording->modules_ids);
	th_map_deinit(&recording->threads_ids);
	th_map_deinit(&recording->methods_ids);
	th_map_deinit(&recording->classes_ids);
	th_map_deinit(&recording->stacks_ids);
	th_map_deinit(&recording->interval_ids);
	free(recording->modules);
	free(recording->threads);
	free(recording->methods);
	free(recording->classes);
	free(recording->stacks);
	free(recording->intervals);
}

void
th_recording_destroy(struct th_recording *recording)
{
	if (!recording)
		return;
	free_tables(recording);
	free(recording->settings);
	free(recording->notes);
	free(recording->counters);
	free(recording->samples[TH_HEAP_JAVA].items);
	free(recording->samples[TH_HEAP_NATIVE].items);
	free(recording->frees);
	free(recording->thread_bytes);
	th_schema_destroy(recording->schema);
	th_reader_close(recording->reader);
	free(recording);
}

/* Questions */

uint64_t
th_recording_counter(const struct th_recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->counters_count; i++) {
		if (th_text_equals(recording->counters[i].name, name))
			return recording->counters[i].value;
	}
	return 0;
}

struct th_text
th_recording_setting(const struct th_recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->settings_count; i++) {
		if (th_text_equals(recording->settings[i].name, name))
			return recording->settings[i].value;
	}
	return (struct th_text){NULL, 0};
}

uint64_t
th_recording_interval(const struct th_recording *recording)
{
	return th_reader_header(recording->reader)->interval;
}

double
th_recording_duration(const struct th_recording *recording)
{
	return (double)(recording->end - recording->start) / 1e9;
}
