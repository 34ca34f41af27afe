/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a log and answers simple queries. The events are handled in events.c. */
#include "report/log/recording.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/line.h"
#include "report/base/progress.h"
#include "report/base/sort.h"
#include "unify/shared/bisect.h"
#include "unify/shared/heaps.h"

/* Read between two releases of the pages of the log. */
#define RELEASE_BYTES (16u << 20)

/* exp(-40) is below half a unit in the last place of 1: the probability is exactly 1. */
#define CERTAIN_INTERVALS 40

/* Parts of mappings */

/*
 * Mappings can end in parts. A partly unmapped sample becomes several consecutive samples with
 * the same record, each with its own end, so that code that sums samples needs no special case:
 * one per end, and one for the rest.
 *
 * A part of b bytes of a sample of s bytes drawn at interval N has the probability of the
 * whole, 1 - exp(-s/N), which is that of a sample of b bytes at interval N b/s. The
 * longest-lived part represents the mapping; the others are marked and count bytes only.
 */
struct splitter {
	struct th_recording *recording;
	struct th_samples parts;
	size_t next;              /* of the recording's ends, by sample and time */
	TH_ARRAY(uint64_t, ends); /* of the parts */
};

TH_COMPARE(compare_ends, struct th_decoded_mapped_end,
	th_order(left->sample, right->sample) ?: th_order(left->time, right->time))

/* The interval at which a part has the probability of the whole. */
static uint32_t
interval_of_piece(struct th_recording *recording, const struct th_sample *whole, uint64_t bytes)
{
	uint64_t interval = th_recording_sample_interval(recording, whole);
	double scaled = (double)interval * (double)bytes / (double)whole->size;

	if (!interval || whole->size / interval >= CERTAIN_INTERVALS)
		return th_recording_intern_interval(recording, 0);
	return th_recording_intern_interval(
		recording, scaled < 1 ? 1 : (uint64_t)(scaled + 0.5));
}

/* Parts are added in order of time, so the longest-lived one is the last. */
static void
add_part(struct splitter *splitter, const struct th_sample *whole, uint64_t bytes, uint64_t end,
	bool is_last)
{
	struct th_sample part = *whole;

	if (bytes != whole->size)
		part.interval = interval_of_piece(splitter->recording, whole, bytes) & 0x7fffff;
	part.size = bytes;
	part.is_part = !is_last;
	th_array_append(&splitter->parts, items, part);
	th_array_append(splitter, ends, end);
}

static void
split(struct splitter *splitter, const struct th_sample *whole)
{
	uint64_t left = whole->size;

	for (; splitter->next < splitter->recording->mapped_ends_count; splitter->next++) {
		const struct th_decoded_mapped_end *end =
			&splitter->recording->mapped_ends[splitter->next];
		uint64_t bytes = end->bytes < left ? end->bytes : left;

		if (end->sample > whole->record)
			break;
		if (end->sample < whole->record || !bytes)
			continue;
		left -= bytes;
		add_part(splitter, whole, bytes,
			end->time > whole->time ? end->time : whole->time, !left);
	}
	if (left)
		add_part(splitter, whole, left, UINT64_MAX, true);
}

/*
 * Makes the mapped samples of a recording from `mappings` and `mapped_ends`, which it sorts, and
 * determines their ends.
 */
static void
split_mappings(struct th_recording *recording)
{
	struct splitter splitter = {.recording = recording};

	th_sort(recording->mapped_ends, recording->mapped_ends_count, compare_ends);
	for (size_t i = 0; i < recording->mappings.items_count; i++)
		split(&splitter, &recording->mappings.items[i]);
	recording->samples[TH_HEAP_MAPPED] = splitter.parts;
	recording->part_ends = splitter.ends;
}

/* Loading */

static void
read_counters(struct th_recording *recording)
{
	const struct th_log_header *header = th_reader_header(recording->reader);
	uint32_t count = header->counter_count;

	if (count > TH_LOG_COUNTER_SLOTS)
		count = TH_LOG_COUNTER_SLOTS;
	for (uint32_t i = (uint32_t)recording->counters_count; i < count; i++)
		th_array_append(recording, counters, (struct th_counter_info){0});
	for (uint32_t i = 0; i < count; i++)
		recording->counters[i].value = header->counters[i];
}

/* A recording of which only the header has been read. */
static struct th_recording *
create(struct th_reader *reader)
{
	struct th_recording *recording = th_allocate(1, sizeof(*recording));

	recording->reader = reader;
	recording->is_ring = th_reader_ring_from(reader) != 0;
	recording->schema = th_schema_create();
	recording->start = th_reader_header(reader)->start_monotonic;
	recording->end = recording->start;
	recording->process.pid = th_reader_header(reader)->pid;
	recording->cursor = th_reader_start(reader);
	recording->records_end = recording->cursor.offset;
	read_counters(recording);
	return recording;
}

static void
read_all(struct th_recording *recording)
{
	uint64_t released = 0;
	struct th_record record;

	while (th_reader_next(&recording->cursor, &record)) {
		th_recording_add_event(recording, &record);
		recording->records_end = recording->cursor.offset;
		recording->torn = recording->cursor.torn;
		recording->damaged = recording->cursor.damaged;
		th_progress_often(
			"reading the log", record.offset, th_reader_bytes(recording->reader));
		if (record.offset - released < RELEASE_BYTES)
			continue;
		th_reader_release(&recording->cursor);
		released = record.offset;
	}
}

struct th_error *
th_recording_load(const char *path, struct th_recording **recording_ret)
{
	struct th_reader *reader;
	struct th_error *error = th_reader_open(path, &reader);

	if (error)
		return error;
	struct th_recording *recording = create(reader);
	read_all(recording);
	th_reader_release(&recording->cursor);
	th_progress_clear();
	split_mappings(recording);
	/* Two that overlap may end in reverse order. */
	th_sort_by_word(
		recording->accounts, recording->accounts_count, sizeof(*recording->accounts));
	recording->damaged_end = recording->cursor.damaged - recording->damaged;
	recording->damaged = recording->cursor.damaged + recording->bundle.damaged;
	*recording_ret = recording;
	return NULL;
}

void
th_recording_release(const struct th_recording *recording)
{
	th_reader_release(&recording->cursor);
}

void
th_recording_hide_command(struct th_recording *recording)
{
	recording->process.command = recording->process.executable;
}

static void
free_tables(struct th_recording *recording)
{
#define X(TYPE, name, items) free(recording->items);
	TH_KEPT_EVENTS(X)
#undef X
	th_id_map_deinit(&recording->modules_ids);
	th_id_map_deinit(&recording->threads_ids);
	th_id_map_deinit(&recording->methods_ids);
	th_id_map_deinit(&recording->classes_ids);
	th_id_map_deinit(&recording->stacks_ids);
	th_id_map_deinit(&recording->interval_ids);
	th_id_map_deinit(&recording->named_words_ids);
	free(recording->named_words);
	free(recording->modules);
	free(recording->threads);
	free(recording->thread_names);
	free(recording->methods);
	free(recording->classes);
	free(recording->stacks);
	free(recording->intervals);
	free(recording->take_records);
}

void
th_recording_destroy(struct th_recording *recording)
{
	if (!recording)
		return;
	free_tables(recording);
	free(recording->counters);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		free(recording->samples[heap].items);
	free(recording->reservations);
	th_reservations_deinit(&recording->reserved);
	free(recording->part_ends);
	free(recording->mappings.items);
	free(recording->frees);
	free(recording->deaths);
	free(recording->ids);
	th_schema_destroy(recording->schema);
	th_reader_close(recording->reader);
	free(recording);
}

/* Queries */

uint64_t
th_recording_log_bytes(const struct th_recording *recording)
{
	const struct th_reader *reader = recording->reader;
	uint64_t bytes = th_reader_bytes(reader);

	if (recording->is_ring)
		bytes -= th_reader_ring_from(reader) - th_reader_header(reader)->header_bytes;
	return recording->is_bundle ? recording->bundle.log_bytes : bytes;
}

uint64_t
th_recording_missing_bytes(const struct th_recording *recording)
{
	const struct th_reader *reader = recording->reader;
	uint64_t missing = recording->bundle.missing_bytes;

	if (th_reader_is_cut(reader))
		missing += th_reader_header(reader)->tail - th_reader_bytes(reader);
	return missing;
}

uint64_t
th_recording_counter(const struct th_recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->counters_count; i++) {
		if (th_text_equals(recording->counters[i].name, name))
			return recording->counters[i].value;
	}
	return 0;
}

/* Value of a setting (TWINHEAP_...) as text; NULL bytes if the log has none of that name. */
static struct th_text
setting(const struct th_recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->settings_count; i++) {
		if (th_text_equals(recording->settings[i].name, name))
			return recording->settings[i].value;
	}
	return (struct th_text){NULL, 0};
}

/* Logs without the setting have the first two heaps. */
unsigned
th_recording_heaps(const struct th_recording *recording)
{
	struct th_text text = setting(recording, "TWINHEAP_HEAPS");
	unsigned heaps = TH_HEAPS_BOTH;

	if (text.bytes) {
		char *words = th_text_clean(text);

		th_heaps_parse(words, &heaps);
		free(words);
	}
	return heaps;
}

uint32_t
th_recording_record(const struct th_recording *recording, uint64_t id)
{
	if (!recording->is_ring)
		return (uint32_t)(id / 8);
	size_t index = th_bisect(recording->ids_count, i, recording->ids[i] < id);
	return index < recording->ids_count && recording->ids[index] == id ? (uint32_t)index
									   : TH_ID_MAP_NONE;
}

uint64_t
th_recording_id(const struct th_recording *recording, uint32_t record)
{
	if (!recording->is_ring)
		return (uint64_t)record * 8;
	return record < recording->ids_count ? recording->ids[record] : 0;
}

/* Samples are in the order of the log, so their records ascend. */
size_t
th_samples_find(const struct th_samples *samples, uint32_t record)
{
	size_t at = th_bisect(samples->items_count, i, samples->items[i].record < record);

	return at < samples->items_count && samples->items[at].record == record ? at : SIZE_MAX;
}

uint64_t
th_recording_address(const struct th_recording *recording, const struct th_sample *sample)
{
	uint64_t id = th_recording_id(recording, sample->record);
	struct th_cursor cursor = th_reader_at(recording->reader, id);
	struct th_record record;
	union th_decoded event;

	if (!th_reader_next(&cursor, &record) || record.offset != id ||
		record.type != TH_EVENT_NATIVE_ALLOC ||
		!th_schema_decode(recording->schema, &record, &event))
		return 0;
	return event.native_alloc.address;
}

uint64_t
th_recording_interval(const struct th_recording *recording)
{
	return th_reader_header(recording->reader)->interval;
}

uint64_t
th_recording_gap(const struct th_recording *recording, enum th_heap heap)
{
	size_t count = th_recording_allocations(recording, heap)->items_count;

	if (!count)
		return th_recording_interval(recording);
	return (uint64_t)llround(recording->gaps[heap] / (double)count);
}

bool
th_recording_find_mark(
	const struct th_recording *recording, const char *name, uint64_t *time_ret)
{
	for (size_t i = recording->marks_count; i-- > 0;) {
		if (th_text_equals(recording->marks[i].name, name)) {
			*time_ret = recording->marks[i].time;
			return true;
		}
	}
	return false;
}

const struct th_decoded_account *
th_recording_account_at(const struct th_recording *recording, uint64_t time)
{
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *head = &recording->accounts[i];

		if (!found || head->time <= time)
			found = head;
	}
	return found;
}

const struct th_decoded_account *
th_recording_account_peak(const struct th_recording *recording)
{
	const struct th_decoded_account *found = NULL;

	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *head = &recording->accounts[i];

		if (!found || head->resident > found->resident)
			found = head;
	}
	return found;
}

double
th_recording_duration(const struct th_recording *recording)
{
	return (double)(recording->end - recording->start) / 1e9;
}

struct th_pid_text
th_recording_pid(const struct th_recording *recording)
{
	struct th_pid_text pid = {"PID"};

	if (!recording->is_complete && recording->process.pid)
		snprintf(pid.text, sizeof(pid.text), "%u", recording->process.pid);
	return pid;
}

/* Labels, by OpenTelemetry's semantic conventions */

void
th_recording_labels(const struct th_recording *recording, struct th_labels *labels)
{
	const struct th_decoded_process *process = &recording->process;
	const char *executable = th_text_printable(process->executable);

	th_labels_set(labels, "service.name", th_text_base_name(executable));
	th_labels_set(labels, "process.pid", th_text_format("%u", process->pid));
	th_labels_set(labels, "process.executable.name", th_text_base_name(executable));
	th_labels_set(labels, "host.name", th_text_printable(process->host));
	th_labels_set(labels, "twinheap.version", th_text_printable(process->library_version));
	if (recording->has_jvm)
		th_labels_set(labels, "process.runtime.version",
			th_text_printable(recording->jvm.version));
}

void
th_recording_given_labels(const struct th_recording *recording, struct th_labels *labels)
{
	/* Without a key: the value is a list of labels. */
	static const struct {
		const char *variable;
		const char *key;
	} given[] = {
		{"POD_NAME", "k8s.pod.name"},
		{"POD_NAMESPACE", "k8s.namespace.name"},
		{"OTEL_RESOURCE_ATTRIBUTES", NULL},
		{"OTEL_SERVICE_NAME", "service.name"},
		{"TWINHEAP_LABELS", NULL},
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		struct th_text text = setting(recording, given[i].variable);

		if (!text.bytes)
			continue;
		if (given[i].key)
			th_labels_set(labels, given[i].key, th_text_printable(text));
		else
			th_labels_parse(labels, th_text_printable(text));
	}
}
