/* SPDX-License-Identifier: Apache-2.0 */
/* Entries for ids of the log, and definitions of threads, modules and native frames. */
#include "report/log/names.h"

#include <ctype.h>

uint32_t
th_recording_intern_thread(struct th_recording *recording, uint32_t id)
{
	size_t before = recording->threads_count;
	uint32_t index = th_recording_intern(recording, threads, id);

	if (recording->threads_count > before) {
		recording->threads[index].name = (uint32_t)recording->thread_names_count;
		th_array_append(
			recording, thread_names, (struct th_thread_name){.thread = index});
	}
	return index;
}

uint32_t
th_recording_thread_name(struct th_recording *recording, uint32_t id)
{
	uint32_t index = th_recording_intern_thread(recording, id);

	return recording->threads[index].name;
}

/* Rejects invalid build ids, because they become parts of paths and of server URLs. */
static struct th_text
build_id_of(struct th_text text)
{
	for (uint32_t i = 0; i < text.length; i++) {
		if (!isxdigit((unsigned char)text.bytes[i]))
			return (struct th_text){"", 0};
	}
	return text;
}

void
th_recording_add_module(struct th_recording *recording, const struct th_decoded_module *event)
{
	uint32_t index = th_recording_intern(recording, modules, event->module);

	recording->modules[index] = *event;
	recording->modules[index].build_id = build_id_of(event->build_id);
}

void
th_recording_add_thread(struct th_recording *recording, const struct th_decoded_thread *event)
{
	uint32_t index = th_recording_intern_thread(recording, event->thread);
	struct th_thread_info *thread = &recording->threads[index];
	struct th_thread_name *now = &recording->thread_names[thread->name];
	struct th_thread_name name = {
		.text = event->name,
		.thread = index,
		.is_of_java = event->flags & TH_THREAD_JAVA_NAME,
	};

	if (!thread->is_known || (name.is_of_java && !now->is_of_java)) {
		*now = name;
	} else if (!th_text_same(now->text, name.text)) {
		thread->name = (uint32_t)recording->thread_names_count;
		th_array_append(recording, thread_names, name);
	}
	thread->is_known = true;
	thread->tid = event->tid;
	if (event->starter)
		thread->starter = th_recording_intern(recording, stacks, event->starter) + 1;
}

void
th_recording_add_symbol(struct th_recording *recording, const struct th_decoded_symbol *symbol)
{
	const struct th_named_function function = {
		.start = th_frame_native(symbol->module, symbol->offset),
		.end = th_frame_native(symbol->module, symbol->offset) + symbol->size,
		.name = symbol->name,
	};

	th_array_append(recording, functions, function);
}

bool
th_recording_add_native_frame(
	struct th_recording *recording, const struct th_decoded_native_frame *frame)
{
	uint32_t index = th_recording_intern(
		recording, named_words, th_frame_native(frame->module, frame->offset));
	struct th_named_word *word = &recording->named_words[index];
	struct th_named_frame named = {
		.function = frame->function,
		.file = frame->file,
		.line = frame->line,
		.is_inlined = frame->flags & TH_NATIVE_FRAME_INLINED,
	};

	if (!word->count)
		word->first = (uint32_t)recording->named_frames_count;
	if (frame->index != word->count ||
		word->first + word->count != recording->named_frames_count)
		return false;
	word->count++;
	th_array_append(recording, named_frames, named);
	return true;
}
