/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each event type has a handler that adds what the event says to the recording.
 */
#include "report/log/events.h"

#include <ctype.h>

#include "report/base/allocate.h"

/* The index of `id` in a table of the recording, which gets an empty entry if it is new. */
#define intern(recording, table, id)                                                          \
	({                                                                                    \
		bool added_;                                                                  \
		uint32_t index_ = th_id_map_intern(&(recording)->table##_ids, (id), &added_); \
                                                                                              \
		if (added_)                                                                   \
			th_array_append(                                                      \
				(recording), table, (__typeof__(*(recording)->table)){0});    \
		index_;                                                                       \
	})

/* The index of a thread; a new one has a name without text. */
static uint32_t
intern_thread(struct th_recording *recording, uint32_t id)
{
	size_t before = recording->threads_count;
	uint32_t index = intern(recording, threads, id);

	if (recording->threads_count > before) {
		recording->threads[index].name = (uint32_t)recording->thread_names_count;
		th_array_append(
			recording, thread_names, (struct th_thread_name){.thread = index});
	}
	return index;
}

/* The index of the name that a thread has at this offset of the log. */
static uint32_t
thread_name(struct th_recording *recording, uint32_t id)
{
	uint32_t index = intern_thread(recording, id);

	return recording->threads[index].name;
}

/* Times */

static void
saw_time(struct th_recording *recording, uint64_t time)
{
	if (time > recording->end)
		recording->end = time;
}

/* Handlers: false when the event makes no sense. */

typedef bool handler(struct th_recording *, const struct th_record *, const union th_decoded *);

/* A bundle without the command line has zeros there. */
static struct th_text
command_of(const struct th_decoded_process *process)
{
	struct th_text command = process->command;

	while (command.length && !command.bytes[command.length - 1])
		command.length--;
	return command.length ? process->command : process->executable;
}

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
		.command = command_of(&event->process),
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

/* Build ids become parts of paths and of addresses of servers. */
static struct th_text
build_id_of(struct th_text text)
{
	for (uint32_t i = 0; i < text.length; i++) {
		if (!isxdigit((unsigned char)text.bytes[i]))
			return (struct th_text){"", 0};
	}
	return text;
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
		.build_id = build_id_of(event->module.build_id),
	};
	return true;
}

static bool
on_thread(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	uint32_t index = intern_thread(recording, event->thread.thread);
	struct th_thread_info *thread = &recording->threads[index];
	struct th_thread_name *now = &recording->thread_names[thread->name];
	struct th_thread_name name = {
		.text = event->thread.name,
		.thread = index,
		.is_of_java = event->thread.flags & TH_THREAD_JAVA_NAME,
	};

	(void)record;
	if (!thread->is_known || (name.is_of_java && !now->is_of_java)) {
		*now = name;
	} else if (!th_text_same(now->text, name.text)) {
		thread->name = (uint32_t)recording->thread_names_count;
		th_array_append(recording, thread_names, name);
	}
	thread->is_known = true;
	thread->tid = event->thread.tid;
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

uint32_t
th_recording_intern_interval(struct th_recording *recording, uint64_t interval)
{
	bool added;
	uint32_t index = th_id_map_intern(&recording->interval_ids, interval, &added);

	if (added)
		th_array_append(recording, intervals, interval);
	return index;
}

static void
add_gap(struct th_recording *recording, enum th_heap heap, const struct th_sample *sample,
	uint64_t interval)
{
	/* Every allocation was looked at: what is thinned is counted in blocks like this one. */
	uint64_t alone = sample->keep < 1 ? sample->size : 0;

	recording->gaps[heap] += (double)(interval ? interval : alone) / (double)sample->keep;
}

static bool
add_sample(struct th_recording *recording, enum th_heap heap, struct th_sample sample,
	uint64_t interval)
{
	struct th_samples *samples = heap == TH_HEAP_MAPPED ? &recording->mappings
							    : &recording->samples[heap];
	uint32_t index = th_recording_intern_interval(recording, interval);

	if (index >> 23)
		return false;
	sample.interval = index & 0x7fffff;
	add_gap(recording, heap, &sample, interval);
	th_array_append(samples, items, sample);
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
		.name = thread_name(recording, alloc->thread),
		.keep = (float)alloc->keep,
		.function = alloc->function & 15,
		.flags = alloc->flags & 15,
	};
	if (!add_sample(recording, TH_HEAP_NATIVE, sample, alloc->interval))
		return false;
	th_array_append(recording, addresses, alloc->address);
	return true;
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
		.name = thread_name(recording, alloc->thread),
		.class = intern(recording, classes, alloc->class),
		.keep = (float)alloc->keep,
		.flags = alloc->flags & 15,
	};
	return add_sample(recording, TH_HEAP_JAVA, sample, alloc->interval);
}

/* No memory: the sums of MAPPED_USE tell how much it is, but it names what is mapped into it. */
static bool
add_reservation(struct th_recording *recording, const struct th_decoded_mapped_alloc *alloc)
{
	struct th_reservation_info reservation = {
		.address = alloc->address,
		.bytes = alloc->size,
		.stack = intern(recording, stacks, alloc->stack),
	};

	th_array_append(recording, reservations, reservation);
	th_reservations_add(&recording->reserved, alloc->address, alloc->size);
	saw_time(recording, alloc->time);
	return true;
}

static bool
on_mapped_alloc(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_mapped_alloc *alloc = &event->mapped_alloc;

	if (!is_possible(alloc->size, alloc->interval, alloc->keep))
		return false;
	if (alloc->flags & TH_MAPPED_RESERVED)
		return add_reservation(recording, alloc);
	struct th_sample sample = {
		.time = alloc->time,
		.size = alloc->size,
		.thread_bytes = alloc->total_bytes,
		.record = (uint32_t)(record->offset / 8),
		.stack = intern(recording, stacks, alloc->stack),
		.name = thread_name(recording, alloc->thread),
		.class = (alloc->flags &
				 (TH_MAPPED_SHARED | TH_MAPPED_FILE | TH_MAPPED_ARENA)) |
			 th_reservations_find(&recording->reserved, alloc->address)
				 << TH_MAPPED_PLACE_SHIFT,
		.keep = (float)alloc->keep,
		.function = alloc->function & 15,
		.flags = alloc->flags & 15,
	};
	return add_sample(recording, TH_HEAP_MAPPED, sample, alloc->interval);
}

static bool
on_mapped_end(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_mapped_end_info end = {
		.time = event->mapped_end.time,
		.bytes = event->mapped_end.bytes,
		.record = (uint32_t)(event->mapped_end.sample / 8),
	};

	(void)record;
	th_array_append(recording, mapped_ends, end);
	saw_time(recording, end.time);
	return true;
}

static bool
on_mapped_use(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_mapped_use_info use = {
		.time = event->mapped_use.time,
		.allocated = event->mapped_use.allocated,
		.accessible = event->mapped_use.accessible,
		.files = event->mapped_use.files,
		.reserved = event->mapped_use.reserved,
		.returned = event->mapped_use.returned,
	};

	(void)record;
	th_array_append(recording, mapped_uses, use);
	saw_time(recording, use.time);
	return true;
}

static bool
on_native_free(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_free_info freed = {
		.time = event->native_free.time,
		.record = (uint32_t)(event->native_free.sample / 8),
		.thread = intern_thread(recording, event->native_free.thread),
	};

	(void)record;
	th_array_append(recording, frees, freed);
	saw_time(recording, freed.time);
	return true;
}

/* What JAVA_DEATH and JAVA_LOST have in common. */
static struct th_free_info
end_of_object(uint64_t time, uint64_t sample)
{
	return (struct th_free_info){
		.time = time, .record = (uint32_t)(sample / 8), .thread = TH_ID_MAP_NONE};
}

static bool
on_java_death(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_free_info death = end_of_object(
		event->java_death.time, event->java_death.sample);

	(void)record;
	th_array_append(recording, deaths, death);
	saw_time(recording, death.time);
	return true;
}

static bool
on_java_lost(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_free_info loss = end_of_object(
		event->java_lost.time, event->java_lost.sample);

	(void)record;
	th_array_append(recording, losses, loss);
	saw_time(recording, loss.time);
	return true;
}

static bool
on_java_followed(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_java_followed *followed = &event->java_followed;
	struct th_followed_info info = {
		.record = (uint32_t)(followed->sample / 8),
		.keep = (float)followed->keep,
		.is_judged = followed->judged,
	};

	(void)record;
	if (!(followed->keep >= 0 && followed->keep <= 1))
		return false;
	th_array_append(recording, followed, info);
	saw_time(recording, followed->time);
	return true;
}

static bool
on_java_judged(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_judged_info judged = {event->java_judged.time, event->java_judged.births};

	(void)record;
	th_array_append(recording, judged, judged);
	saw_time(recording, judged.time);
	return true;
}

static bool
on_java_level(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_level_info level = {event->java_level.time, event->java_level.level};

	(void)record;
	th_array_append(recording, levels, level);
	saw_time(recording, level.time);
	return true;
}

static bool
on_collection(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_collection_info collection = {
		.start = event->collection.start,
		.end = event->collection.end,
		.number = event->collection.number,
		.kind = event->collection.kind,
	};

	(void)record;
	th_array_append(recording, collections, collection);
	saw_time(recording, collection.end);
	return true;
}

static bool
on_heap_use(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_heap_use_info use = {
		.time = event->heap_use.time,
		.used = event->heap_use.used,
		.committed = event->heap_use.committed,
		.collections = event->heap_use.collections,
	};

	(void)record;
	th_array_append(recording, heap_uses, use);
	saw_time(recording, use.time);
	return true;
}

/* What the rate control did stands in every sample. */
static bool
on_rate(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	saw_time(recording, event->rate.time);
	return true;
}

static bool
on_control(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_change_info change = {event->control.time, event->control.value,
		event->control.name, event->control.text};

	(void)record;
	th_array_append(recording, changes, change);
	saw_time(recording, change.time);
	return true;
}

static bool
on_mark(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_mark_info mark = {event->mark.time, event->mark.name};

	(void)record;
	th_array_append(recording, marks, mark);
	saw_time(recording, mark.time);
	return true;
}

static bool
on_symbol(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_symbol *symbol = &event->symbol;
	uint32_t index = intern(
		recording, symbols, th_frame_native(symbol->module, symbol->offset));

	(void)record;
	recording->symbols[index] = symbol->name;
	return true;
}

/* A bundle holds one log: where it ends, its holes are counted already. */
static bool
on_bundle(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	recording->bundle = (struct th_bundle_info){
		.is_bundle = true,
		.log_bytes = event->bundle.log_bytes,
		.missing_bytes = event->bundle.missing_bytes,
		.damaged = event->bundle.damaged,
	};
	return true;
}

/* The frames of an address stand one after the other; what comes out of turn is damage. */
static bool
on_native_frame(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	const struct th_decoded_native_frame *frame = &event->native_frame;
	uint32_t index = intern(
		recording, named_words, th_frame_native(frame->module, frame->offset));
	struct th_named_word *word = &recording->named_words[index];
	struct th_named_frame named = {
		.function = frame->function,
		.file = frame->file,
		.line = frame->line,
		.is_inlined = frame->flags & TH_NATIVE_FRAME_INLINED,
	};

	(void)record;
	if (!word->count)
		word->first = (uint32_t)recording->named_frames_count;
	if (frame->index != word->count ||
		word->first + word->count != recording->named_frames_count)
		return false;
	word->count++;
	th_array_append(recording, named_frames, named);
	return true;
}

static bool
on_module_remark(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	struct th_remark_info remark = {event->module_remark.module, event->module_remark.text};

	(void)record;
	th_array_append(recording, remarks, remark);
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
		.thread = thread ? intern_thread(recording, thread) : TH_ID_MAP_NONE,
		.heap = event->thread_bytes.heap,
	};

	(void)record;
	if (bytes.heap != TH_HEAP_JAVA && bytes.heap != TH_HEAP_NATIVE)
		return false;
	th_array_append(recording, thread_bytes, bytes);
	saw_time(recording, bytes.time);
	return true;
}

/* Resident memory: kept as it stands in the log. */

static bool
on_resident(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	th_array_append(recording, residents, event->resident);
	saw_time(recording, event->resident.time);
	return true;
}

static bool
on_account(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	th_array_append(recording, accounts, event->account);
	/* Two that overlap may end in reverse order. */
	size_t last = recording->accounts_count - 1;
	if (last > 0 && recording->accounts[last - 1].time > event->account.time) {
		recording->accounts[last] = recording->accounts[last - 1];
		recording->accounts[last - 1] = event->account;
	}
	saw_time(recording, event->account.time);
	return true;
}

static bool
on_account_row(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	if (!event->account_row.category || event->account_row.category >= TH_MEMORY_CATEGORIES)
		return false;
	th_array_append(recording, account_rows, event->account_row);
	return true;
}

static bool
on_touched(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	if (event->touched.blocks.count % 2)
		return false;
	th_array_append(recording, touched, event->touched);
	return true;
}

static bool
on_malloc_heaps(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	if (event->malloc_heaps.stretches.count % 3)
		return false;
	th_array_append(recording, malloc_heaps, event->malloc_heaps);
	return true;
}

static bool
on_pool(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	th_array_append(recording, pools, event->pool);
	return true;
}

static bool
on_buffers(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	if (!event->buffers.kind || event->buffers.kind >= TH_BUFFERS_KINDS)
		return false;
	th_array_append(recording, buffers, event->buffers);
	saw_time(recording, event->buffers.time);
	return true;
}

static bool
on_allocator(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	th_array_append(recording, allocators, event->allocator);
	return true;
}

static bool
on_cgroup(struct th_recording *recording, const struct th_record *record,
	const union th_decoded *event)
{
	(void)record;
	th_array_append(recording, cgroups, event->cgroup);
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
	[TH_EVENT_COLLECTION] = on_collection,
	[TH_EVENT_HEAP_USE] = on_heap_use,
	[TH_EVENT_JAVA_DEATH] = on_java_death,
	[TH_EVENT_JAVA_LOST] = on_java_lost,
	[TH_EVENT_JAVA_LEVEL] = on_java_level,
	[TH_EVENT_JAVA_FOLLOWED] = on_java_followed,
	[TH_EVENT_JAVA_JUDGED] = on_java_judged,
	[TH_EVENT_SYMBOL] = on_symbol,
	[TH_EVENT_RATE] = on_rate,
	[TH_EVENT_CONTROL] = on_control,
	[TH_EVENT_MARK] = on_mark,
	[TH_EVENT_MAPPED_ALLOC] = on_mapped_alloc,
	[TH_EVENT_MAPPED_END] = on_mapped_end,
	[TH_EVENT_MAPPED_USE] = on_mapped_use,
	[TH_EVENT_RESIDENT] = on_resident,
	[TH_EVENT_ACCOUNT] = on_account,
	[TH_EVENT_ACCOUNT_ROW] = on_account_row,
	[TH_EVENT_TOUCHED] = on_touched,
	[TH_EVENT_MALLOC_HEAPS] = on_malloc_heaps,
	[TH_EVENT_POOL] = on_pool,
	[TH_EVENT_BUFFERS] = on_buffers,
	[TH_EVENT_ALLOCATOR] = on_allocator,
	[TH_EVENT_CGROUP] = on_cgroup,
	[TH_EVENT_BUNDLE] = on_bundle,
	[TH_EVENT_NATIVE_FRAME] = on_native_frame,
	[TH_EVENT_MODULE_REMARK] = on_module_remark,
};
#define HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

void
th_recording_add_event(struct th_recording *recording, const struct th_record *record)
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
