/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample's row is found in two steps: its numbers (thread, class, stack) lead to a row that
 * was found when they first occurred; only then are names looked up, patterns matched and rows
 * with equal text merged. When all samples have their rows, they are added to the rows' sums.
 */
#include "report/profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/progress.h"
#include "report/profile/mapped_use.h"
#include "report/profile/resident_blocks.h"
#include "report/profile/values.h"
#include "report/statistics/sampling_changes.h"
#include "report/symbols/mapped_names.h"

/* Stacks after which the pages of the log that have been read are released. */
#define STACKS_PER_RELEASE (1 << 16)

/*
 * A snapshot taken after the start of teardown is used if no more than this part of the live bytes
 * had been freed.
 */
#define INTACT_PART 0.02

#define INTERNAL_GROUP "[JVM-internal]"
#define VIRTUAL_THREAD "[virtual thread]"

/* State of a build, beside the profile. */
struct builder {
	struct th_profile *profile;
	uint32_t *thread_labels; /* by name index */
	uint32_t *class_names;   /* by class index */
	uint32_t virtual_label;
	/*
	 * By numbers, for one heap: thread label, is_internal and class, then that and the
	 * stack.
	 */
	struct th_id_map actor_ids;
	struct th_id_map raw_ids; /* actor << 32 | stack */
	TH_ARRAY(uint32_t, raw_rows);
	/* By what is shown: thread label << 32 | class name, then that << 32 | path. */
	struct th_id_map label_ids;
	struct th_id_map row_ids;
	uint32_t first_row;                /* of the heap: row 0 of row_ids */
	struct th_resident_blocks touched; /* at the profile's snapshot of resident memory */
};

/* Threads */

static uint32_t
label_thread(struct th_profile *profile, const struct th_thread_name *of)
{
	const struct th_thread_info *thread = &profile->recording->threads[of->thread];
	char *name;

	if (of->text.length)
		name = th_text_clean(of->text);
	else if (thread->is_known)
		name = th_format_new("thread %u", thread->tid);
	else
		name = th_format_new("[unknown thread]");
	uint32_t label = th_frames_group(profile->frames, name);
	free(name);
	return label;
}

uint32_t
th_profile_class_name(const struct th_profile *profile, uint32_t index)
{
	const struct th_decoded_class *class = &profile->recording->classes[index];

	return class->class ? th_frames_intern_class(profile->frames, class->signature) : 0;
}

static void
builder_init(struct builder *builder, struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	*builder = (struct builder){
		.profile = profile,
		.thread_labels = th_allocate(recording->thread_names_count, sizeof(uint32_t)),
		.class_names = th_allocate(recording->classes_count, sizeof(uint32_t)),
		.virtual_label = th_frames_group(profile->frames, VIRTUAL_THREAD),
	};
	for (uint32_t i = 0; i < recording->thread_names_count; i++)
		builder->thread_labels[i] = label_thread(profile, &recording->thread_names[i]);
	for (uint32_t i = 0; i < recording->classes_count; i++)
		builder->class_names[i] = th_profile_class_name(profile, i);
}

/* The same numbers of the other heap's samples have other rows. */
static void
forget_heap(struct builder *builder)
{
	th_id_map_deinit(&builder->actor_ids);
	th_id_map_deinit(&builder->raw_ids);
	th_id_map_deinit(&builder->label_ids);
	th_id_map_deinit(&builder->row_ids);
	builder->raw_rows_count = 0;
}

static void
builder_deinit(struct builder *builder)
{
	free(builder->thread_labels);
	free(builder->class_names);
	forget_heap(builder);
	th_resident_blocks_deinit(&builder->touched);
	free(builder->raw_rows);
}

/* Rows */

/* The number of the row with the same text as this one. */
static uint32_t
add_row(struct builder *builder, const struct th_row *row)
{
	uint32_t label = th_id_map_intern(
		&builder->label_ids, (uint64_t)row->thread << 32 | row->class_name, NULL);

	return builder->first_row + th_id_map_enter(&builder->row_ids,
					    (uint64_t)label << 32 | row->path, builder->profile,
					    rows, *row);
}

static bool
is_internal(const struct builder *builder, const struct th_sample *sample)
{
	const struct th_profile *profile = builder->profile;

	return profile->internal_threads[th_recording_thread(profile->recording, sample)];
}

/* The row of samples with these numbers, which occur for the first time. */
static uint32_t
find_row(struct builder *builder, enum th_heap heap, const struct th_sample *sample)
{
	struct th_profile *profile = builder->profile;
	struct th_subject subject = {
		.heap = heap,
		.path = th_paths_resolve(profile->paths, sample->stack, heap),
		.thread = builder->thread_labels[sample->name],
		.is_internal = is_internal(builder, sample),
	};

	if (heap == TH_HEAP_JAVA)
		subject.class_name = builder->class_names[sample->class];
	if (heap == TH_HEAP_MAPPED)
		subject.class_name = th_mapped_names_label(
			profile->frames, profile->recording, sample);
	if (th_paths_get(profile->paths, subject.path).is_virtual)
		subject.thread = builder->virtual_label;
	if (!th_filter_selects(profile->filter, &subject))
		return TH_NO_ROW;
	uint32_t path = profile->is_whole ? subject.path
					  : th_filter_shape(profile->filter, &subject);
	uint32_t shown = th_filter_below_internal(profile->filter, &subject, path);
	struct th_row row = {
		.heap = heap,
		.thread = subject.thread,
		.class_name = subject.class_name,
		.path = path,
		.shown = shown,
		.is_internal = subject.is_internal,
		.shows_internal = shown != path,
		.shows_thread = th_filter_shows_thread(profile->filter, &subject),
	};
	return add_row(builder, &row);
}

/* By label, not by name index: a thread may alternate between two names. */
static uint32_t
row_of(struct builder *builder, enum th_heap heap, const struct th_sample *sample)
{
	uint64_t who = (uint64_t)builder->thread_labels[sample->name] << 1 |
		       is_internal(builder, sample);
	uint32_t actor = th_id_map_intern(&builder->actor_ids, who << 32 | sample->class, NULL);
	uint32_t raw = th_id_map_enter(&builder->raw_ids, (uint64_t)actor << 32 | sample->stack,
		builder, raw_rows, find_row(builder, heap, sample));

	return builder->raw_rows[raw];
}

bool
th_profile_counts(const struct th_profile *profile, enum th_measure measure, enum th_heap heap,
	size_t index)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;

	if (measure == TH_MEASURE_LIVE)
		return th_lifetimes_is_live(lifetimes, heap, index, &profile->at);
	return measure == TH_MEASURE_ALLOC ||
	       (measure == TH_MEASURE_TEMPORARY &&
		       th_lifetimes_follows(lifetimes, heap, index, &profile->end) &&
		       th_lifetimes_is_temporary(lifetimes, heap, index));
}

void
th_profile_add(const struct th_profile *profile, enum th_measure measure, enum th_heap heap,
	size_t index, struct th_estimator *sum)
{
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_calibration *calibration = &profile->heaps[heap];

	if (measure == TH_MEASURE_ALLOC)
		th_calibration_add(calibration, profile->recording,
			&profile->recording->samples[heap].items[index], sum);
	else
		th_lifetimes_add(lifetimes, calibration, heap, index,
			measure == TH_MEASURE_LIVE ? &profile->at : &profile->end, sum);
}

/* Adds a sample (by index) to the sums at `row` of each measure. */
static void
add_sample(const struct builder *builder, enum th_heap heap, size_t index,
	struct th_estimator *const *sums, uint32_t row)
{
	const struct th_profile *profile = builder->profile;
	const struct th_sample *sample = &profile->recording->samples[heap].items[index];
	uint64_t word;

	for (enum th_measure measure = 0; measure < TH_MEASURES; measure++)
		if (th_profile_counts(profile, measure, heap, index))
			th_profile_add(profile, measure, heap, index, &sums[measure][row]);
	if (heap == TH_HEAP_NATIVE && th_resident_blocks_find(&builder->touched, sample, &word))
		th_lifetimes_add_part(&profile->lifetimes, &profile->heaps[heap], heap, sample,
			&profile->at, th_touched_bytes(sample, word),
			&sums[TH_MEASURE_TOUCHED][row]);
}

/* Finds the paths of the stacks of all samples in the window, in the order of the log. */
static void
resolve_stacks(struct th_profile *profile, enum th_heap heap)
{
	const struct th_recording *recording = profile->recording;
	const struct th_samples *samples = &recording->samples[heap];
	bool *is_used = th_allocate(recording->stacks_count, sizeof(*is_used));

	for (size_t i = 0; i < samples->items_count; i++)
		is_used[samples->items[i].stack] |= th_window_holds(
			&profile->window, samples->items[i].time);
	for (uint32_t i = 0; i < recording->stacks_count; i++) {
		th_progress_often("reading stacks", i, recording->stacks_count);
		if (is_used[i])
			th_paths_resolve(profile->paths, i, heap);
		if (!((i + 1) % STACKS_PER_RELEASE))
			th_recording_release(recording);
	}
	th_recording_release(recording);
	th_progress_clear();
	free(is_used);
}

static void
find_rows(struct builder *builder, enum th_heap heap, uint32_t *rows)
{
	const struct th_samples *samples = &builder->profile->recording->samples[heap];

	resolve_stacks(builder->profile, heap);
	builder->first_row = (uint32_t)builder->profile->rows_count;
	for (size_t i = 0; i < samples->items_count; i++) {
		th_progress_often("summing up", i, samples->items_count);
		rows[i] = th_window_holds(&builder->profile->window, samples->items[i].time)
				  ? row_of(builder, heap, &samples->items[i])
				  : TH_NO_ROW;
	}
	th_progress_clear();
}

/* Adds the samples of a heap to their rows, and those that only patterns leave out to one sum. */
static void
add_heap(const struct builder *builder, enum th_heap heap)
{
	struct th_profile *profile = builder->profile;
	const struct th_samples *samples = &profile->recording->samples[heap];
	const uint32_t *rows = profile->sample_rows[heap];
	struct th_estimator *left_out[TH_MEASURES];

	if (!(profile->options->heaps & 1u << heap))
		return;
	for (int measure = 0; measure < TH_MEASURES; measure++)
		left_out[measure] = &profile->left_out[heap][measure];
	for (size_t i = 0; i < samples->items_count; i++) {
		if (rows[i] != TH_NO_ROW)
			add_sample(builder, heap, i, profile->sums, rows[i]);
		else if (th_window_holds(&profile->window, samples->items[i].time))
			add_sample(builder, heap, i, left_out, 0);
	}
}

/* Profiles */

/* A time of the options on the clock of the recording. */
static uint64_t
absolute_time(const struct th_recording *recording, double seconds)
{
	double nanoseconds = (double)recording->start + seconds * 1e9;

	return nanoseconds < 0x1p63 ? recording->start + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

static struct th_window
window_of(const struct th_recording *recording, const struct th_options *options)
{
	return (struct th_window){
		.from = options->from > 0 ? absolute_time(recording, options->from) : 0,
		.to = absolute_time(recording, options->to),
	};
}

static struct th_moment
find_peak(const struct th_profile *profile)
{
	return th_lifetimes_peak(&profile->lifetimes, profile->heaps, profile->options->heaps);
}

static struct th_moment
moment_of(const struct th_profile *profile)
{
	const struct th_options *options = profile->options;
	const struct th_recording *recording = profile->recording;

	uint64_t time = profile->teardown.time;

	if (options->at == TH_AT_PEAK)
		return find_peak(profile);
	if (options->at == TH_AT_SECONDS)
		time = absolute_time(recording, options->at_seconds);
	else if (options->at == TH_AT_EXIT)
		time = recording->end;
	else if (options->at == TH_AT_LAST && profile->window.to < time)
		time = profile->window.to;
	if (time != profile->teardown.time)
		return th_lifetimes_moment(&profile->lifetimes, time);
	struct th_moment moment = th_lifetimes_moment(
		&profile->lifetimes, profile->teardown.known);
	moment.time = time;
	return moment;
}

/*
 * The first snapshot after the start of teardown, if little of what was live then had been freed;
 * else NULL.  It is closer than the last one before.
 */
static const struct th_decoded_account *
account_in_teardown(const struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;
	uint64_t from = profile->at.time;
	const struct th_decoded_account *found = NULL;

	for (size_t i = recording->accounts_count; i-- > 0;) {
		if (recording->accounts[i].time > from)
			found = &recording->accounts[i];
	}
	for (int heap = TH_HEAP_NATIVE; found && heap <= TH_HEAP_MAPPED; heap++) {
		if (th_teardown_freed_part(&profile->lifetimes, (enum th_heap)heap, from,
			    found->time) > INTACT_PART)
			found = NULL;
	}
	return found;
}

const struct th_decoded_account *
th_profile_chosen_account(const struct th_profile *profile)
{
	const struct th_decoded_account *late = NULL;

	if (profile->options->at == TH_AT_PEAK)
		return th_recording_account_peak(profile->recording);
	if (th_profile_is_before_teardown(profile))
		late = account_in_teardown(profile);
	return late ? late : th_recording_account_at(profile->recording, profile->at.time);
}

bool
th_profile_is_before_teardown(const struct th_profile *profile)
{
	enum th_at at = profile->options->at;

	return profile->teardown.is_found && (at == TH_AT_LAST || at == TH_AT_END) &&
	       profile->at.time == profile->teardown.time;
}

const char *
th_profile_moment_text(const struct th_profile *profile)
{
	double seconds = th_profile_seconds(profile, profile->at.time);

	if (th_profile_is_before_teardown(profile))
		return th_printed(
			"at {t} s, before {}", seconds, th_teardown_reason(&profile->teardown));
	if (profile->at.time == profile->recording->end)
		return "at the end";
	return th_printed("at {t} s", seconds);
}

struct th_moment
th_profile_peak(const struct th_profile *profile)
{
	return profile->options->wants_peak ? profile->peak : find_peak(profile);
}

/* Prepares calibrations and lifetimes, which do not depend on stacks. */
static void
init_estimators(struct th_profile *profile)
{
	const struct th_recording *recording = profile->recording;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		th_calibration_init(
			&profile->heaps[heap], recording, (enum th_heap)heap, &profile->window);
	th_lifetimes_init(&profile->lifetimes, recording);
	profile->end = th_lifetimes_moment(&profile->lifetimes, recording->end);
	th_teardown_find(&profile->teardown, &profile->lifetimes, profile->internal_threads);
	profile->at = moment_of(profile);
	profile->java_bound = th_heap_use_bound(
		recording, &profile->heaps[TH_HEAP_JAVA], profile->at.time);
	profile->account = th_profile_chosen_account(profile);
	if (profile->account && !(profile->account->flags & TH_BREAKDOWN_HAS_PAGES))
		profile->account = NULL;
	if (profile->options->wants_peak)
		profile->peak = find_peak(profile);
}

/* Finds the rows of all samples. */
static void
make_rows(struct builder *builder)
{
	struct th_profile *profile = builder->profile;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (profile->options->heaps & 1u << heap)
			find_rows(builder, (enum th_heap)heap, profile->sample_rows[heap]);
		else
			memset(profile->sample_rows[heap], 0xff, /* TH_NO_ROW */
				profile->recording->samples[heap].items_count *
					sizeof(uint32_t));
		forget_heap(builder);
	}
}

static void
sum_rows(struct th_profile *profile)
{
	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];

		for (int measure = 0; measure < TH_MEASURES; measure++)
			th_estimator_merge(&profile->selected[row->heap][measure],
				&profile->sums[measure][i]);
	}
}

static void
build(struct th_profile *profile)
{
	struct builder builder;

	profile->window = window_of(profile->recording, profile->options);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		profile->sample_rows[heap] = th_allocate(
			profile->recording->samples[heap].items_count, sizeof(uint32_t));
	profile->internal_threads = th_frames_find_vm_threads(profile->frames);
	init_estimators(profile);
	builder_init(&builder, profile);
	make_rows(&builder);
	if (profile->account)
		th_resident_blocks_init(
			&builder.touched, profile->recording, profile->account->account, NULL);
	for (int measure = 0; measure < TH_MEASURES; measure++)
		profile->sums[measure] = th_allocate(
			profile->rows_count, sizeof(*profile->sums[measure]));
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		add_heap(&builder, (enum th_heap)heap);
	builder_deinit(&builder);
	sum_rows(profile);
}

struct th_profile *
th_profile_create(const struct th_recording *recording, const struct th_options *options,
	th_symbols_warn *warn, void *warn_data)
{
	struct th_profile *profile = th_allocate(1, sizeof(*profile));

	profile->recording = recording;
	profile->options = options;
	th_sampling_changes_tell(recording, warn, warn_data);
	profile->frames = th_frames_create(recording, options->symbols, warn, warn_data);
	profile->paths = th_paths_create(recording, profile->frames, options->all_vm_frames);
	profile->internal_group = th_frames_group(profile->frames, INTERNAL_GROUP);
	profile->filter = th_filter_create(
		options, profile->frames, profile->paths, profile->internal_group);
	build(profile);
	if (options->value == TH_VALUE_TOUCHED_BYTES && !profile->account && warn)
		warn(warn_data,
			"resident bytes of blocks are unknown: the log has no resident-memory "
			"snapshot, or /proc/self/pagemap could not be read");
	return profile;
}

struct th_profile *
th_profile_create_whole(const struct th_profile *profile)
{
	struct th_profile *whole = th_allocate(1, sizeof(*whole));

	*whole = (struct th_profile){
		.recording = profile->recording,
		.options = profile->options,
		.frames = profile->frames,
		.paths = profile->paths,
		.internal_group = profile->internal_group,
		.filter = profile->filter,
		.is_whole = true,
	};
	build(whole);
	return whole;
}

void
th_profile_destroy(struct th_profile *profile)
{
	if (!profile)
		return;
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		th_calibration_deinit(&profile->heaps[heap]);
		free(profile->sample_rows[heap]);
	}
	th_profile_forget_sums(profile);
	free(profile->internal_threads);
	th_lifetimes_deinit(&profile->lifetimes);
	free(profile->rows);
	if (!profile->is_whole) {
		th_filter_destroy(profile->filter);
		th_paths_destroy(profile->paths);
		th_frames_destroy(profile->frames);
	}
	free(profile);
}

void
th_profile_forget_sums(struct th_profile *profile)
{
	for (int measure = 0; measure < TH_MEASURES; measure++) {
		free(profile->sums[measure]);
		profile->sums[measure] = NULL;
	}
}

enum th_heap
th_profile_contents(const struct th_profile *profile, const struct th_row *row)
{
	enum th_heap heap;

	if (row->heap != TH_HEAP_MAPPED)
		return 0;
	heap = th_mapped_names_contents(th_frames_string(profile->frames, row->class_name));
	return heap && th_profile_has_heap(profile, heap) ? heap : 0;
}

bool
th_profile_has_heap(const struct th_profile *profile, enum th_heap heap)
{
	return profile->options->heaps & 1u << heap && profile->heaps[heap].is_recorded;
}

/* The calibration for a measure's sums. */
static struct th_calibration
calibration_of(const struct th_profile *profile, enum th_heap heap, enum th_measure measure,
	uint64_t samples)
{
	bool is_at = measure == TH_MEASURE_LIVE || measure == TH_MEASURE_TOUCHED;

	if (measure == TH_MEASURE_ALLOC)
		return profile->heaps[heap];
	return th_lifetimes_calibration(&profile->lifetimes, &profile->heaps[heap], heap,
		is_at ? &profile->at : &profile->end, samples);
}

/* What live bytes do not exceed: what the Java heap has in use, or is mapped. */
static double
most_of(const struct th_profile *profile, enum th_heap heap, enum th_measure measure)
{
	struct th_estimate whole;

	if (measure == TH_MEASURE_LIVE && heap == TH_HEAP_JAVA)
		return profile->java_bound;
	if (measure == TH_MEASURE_LIVE && heap == TH_HEAP_MAPPED &&
		th_mapped_use_live(profile, &whole))
		return whole.estimate;
	return HUGE_VAL;
}

struct th_estimate
th_profile_bytes(const struct th_profile *profile, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *sum)
{
	struct th_calibration calibration = calibration_of(
		profile, heap, measure, sum->samples);
	struct th_estimate bytes = th_calibration_bytes(&calibration, sum);

	if (heap == TH_HEAP_JAVA && measure == TH_MEASURE_LIVE &&
		profile->lifetimes.is_unjudged)
		bytes.high = profile->java_bound;
	return th_heap_use_clamp(&bytes, most_of(profile, heap, measure));
}

double
th_profile_bytes_point(const struct th_profile *profile, enum th_heap heap,
	enum th_measure measure, const struct th_estimator *sum)
{
	const struct th_estimate *whole = &profile->heaps[heap].bytes;
	double bytes = fmin(th_sums_point(&sum->bytes), most_of(profile, heap, measure));

	return whole->exact ? fmin(bytes, whole->estimate) : bytes;
}

struct th_estimate
th_profile_objects(const struct th_profile *profile, enum th_heap heap, enum th_measure measure,
	const struct th_estimator *sum)
{
	struct th_calibration calibration = calibration_of(
		profile, heap, measure, sum->samples);

	return th_calibration_objects(&calibration, sum);
}

struct th_estimate
th_profile_total(const struct th_profile *profile, enum th_heap heap)
{
	const struct th_calibration *calibration = &profile->heaps[heap];

	if (!th_options_filter_stacks(profile->options))
		return calibration->bytes;
	return th_profile_bytes(
		profile, heap, TH_MEASURE_ALLOC, &profile->selected[heap][TH_MEASURE_ALLOC]);
}

struct th_estimate
th_profile_live(const struct th_profile *profile, enum th_heap heap)
{
	struct th_estimate live;

	if (heap == TH_HEAP_MAPPED && th_mapped_use_live(profile, &live))
		return live;
	return th_profile_bytes(
		profile, heap, TH_MEASURE_LIVE, &profile->selected[heap][TH_MEASURE_LIVE]);
}

struct th_estimate
th_profile_value(
	const struct th_profile *profile, enum th_heap heap, const struct th_estimator *sum)
{
	enum th_measure measure = th_values[profile->options->value].measure;

	if (th_values[profile->options->value].unit == TH_UNIT_OBJECTS)
		return th_profile_objects(profile, heap, measure, sum);
	return th_profile_bytes(profile, heap, measure, sum);
}

struct th_estimate
th_profile_whole(const struct th_profile *profile, enum th_heap heap)
{
	switch (profile->options->value) {
	case TH_VALUE_ALLOC_BYTES:
		return th_profile_total(profile, heap);
	case TH_VALUE_LIVE_BYTES:
		return th_profile_live(profile, heap);
	default:
		return th_profile_value(profile, heap, th_profile_selected(profile, heap));
	}
}

double
th_profile_point(const struct th_profile *profile, const struct th_estimator *sum)
{
	if (th_values[profile->options->value].unit == TH_UNIT_OBJECTS)
		return th_sums_point(&sum->objects);
	return th_sums_point(&sum->bytes);
}

const struct th_estimator *
th_profile_sum(const struct th_profile *profile, const struct th_row *row)
{
	return th_profile_row_sum(profile, row, th_values[profile->options->value].measure);
}

const struct th_estimator *
th_profile_selected(const struct th_profile *profile, enum th_heap heap)
{
	return &profile->selected[heap][th_values[profile->options->value].measure];
}

double
th_profile_seconds(const struct th_profile *profile, uint64_t time)
{
	return ((double)time - (double)profile->recording->start) / 1e9;
}

bool
th_profile_function_at(const struct th_profile *profile, const struct th_row *row,
	uint32_t index, uint32_t *function_ret)
{
	struct th_path path = th_paths_get(profile->paths, row->path);
	uint32_t groups = (uint32_t)row->shows_internal + row->shows_thread;

	if (index >= groups + path.count)
		return false;
	if (index >= groups)
		*function_ret =
			th_frames_get(profile->frames, path.frames[index - groups])->function;
	else
		*function_ret = index || !row->shows_internal ? row->thread
							      : profile->internal_group;
	return true;
}
