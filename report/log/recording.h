/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: the contents of a log in memory, before any analysis.
 *
 * Numbered entities of the log (threads, stacks, classes, methods, modules) are in arrays. A
 * sample may precede the definition of its stack: the first use of an id creates the entry,
 * which is zero until its definition is read. Then it has its id, and no id is 0. Texts and
 * frame words stay in the mapping of the log, so they live as long as the recording.
 */
#ifndef TH_REPORT_LOG_RECORDING_H
#define TH_REPORT_LOG_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/base/id_map.h"
#include "report/base/labels.h"
#include "report/base/log_text.h"
#include "report/log/reservations.h"
#include "report/log/schema.h"
#include "unify/shared/log_format.h"

/* Arrays by heap are indexed by enum th_heap; index 0 is unused. */
#define TH_HEAPS 4

struct th_counter_info {
	struct th_text name; /* empty: not in the log */
	struct th_text description;
	uint64_t value;
};

struct th_thread_info {
	bool is_known;
	uint32_t tid;
	uint32_t name;    /* index of the last one read */
	uint32_t starter; /* index of the stack that started it, plus one; 0 = not known */
};

/* A thread under one of its names. Without text until the log has a name. */
struct th_thread_name {
	struct th_text text;
	uint32_t thread; /* index */
	bool is_of_java;
};

/* One sampled allocation of any heap: 48 bytes, since there may be ten million. */
struct th_sample {
	uint64_t time;
	uint64_t size;
	uint64_t thread_bytes; /* exact bytes of the thread so far, this block included */
	uint32_t record;       /* th_recording_record() of its id */
	uint32_t stack;        /* indices into the arrays of the recording */
	uint32_t name;  /* of its thread at that time; the thread: th_recording_thread() */
	uint32_t class; /* Java: index; mapped: see TH_MAPPED_PLACE_SHIFT */
	float keep; /* probability with which a ring kept it although it had ended; else 1 */
	uint32_t interval : 23; /* index of `intervals` */
	uint32_t
		is_part : 1; /* mapped: part of the sample before it, which represents the mapping */
	uint32_t function : 4; /* enum th_alloc_function, not Java */
	uint32_t
		flags : 4; /* enum th_native_alloc_flag, th_java_alloc_flag or th_mapped_flag */
};

/*
 * The end of a sampled allocation: a native block was freed, a Java object was found collected.
 */
struct th_free_info {
	uint64_t time;
	uint32_t record; /* of the allocation */
	uint32_t thread; /* native only: index of the thread that freed */
};

/*
 * `class` of a mapped sample: th_mapped_flag in the low bits, the number of its reservation,
 * from 1, in the high ones; 0 = none is known.
 */
#define TH_MAPPED_PLACE_SHIFT 5

/* A sampled reservation of address space. */
struct th_reservation_info {
	uint64_t address;
	uint64_t bytes;
	uint32_t stack; /* index */
	uint32_t outer; /* number of the earlier one that contains it; 0 = none */
};

/* The frames of an address: consecutive in an array, innermost first. */
struct th_named_word {
	uint32_t first;
	uint32_t count;
};

/* A growing array of `type` whose elements have ids in the log. */
#define TH_TABLE(type, name)  \
	TH_ARRAY(type, name); \
	struct th_id_map name##_ids

struct th_samples {
	TH_ARRAY(struct th_sample, items);
};

/*
 * Events that are kept in the layout of the log, in its order: an array of struct th_decoded_NAME
 * for each type.  X(TYPE, NAME, array)
 */
#define TH_KEPT_EVENTS(X)                                                                          \
	X(SETTING, setting, settings)                                                              \
	X(NOTE, note, notes)                                                                       \
	X(MARK, mark, marks)                                                                       \
	X(TEARDOWN, teardown, teardowns)                                                           \
	X(CONTROL, control, changes)                                                               \
	X(CODE_SOURCE, code_source, code_sources)                                                  \
	X(SYMBOL, symbol, functions)                                                               \
	X(NATIVE_FRAME, native_frame, named_frames)                                                \
	X(MODULE_REMARK, module_remark, remarks)                                                   \
	X(THREAD_BYTES, thread_bytes, thread_bytes) /* thread: index, or TH_ID_MAP_NONE */         \
	X(MAPPED_END, mapped_end, mapped_ends)      /* sample: record */                           \
	X(MAPPED_USE, mapped_use, mapped_uses)                                                     \
	X(JAVA_LOST, java_lost, losses)           /* sample: record */                             \
	X(JAVA_FOLLOWED, java_followed, followed) /* sample: record; the last one counts */        \
	X(JAVA_JUDGED, java_judged, judged)                                                        \
	X(JAVA_LEVEL, java_level, levels)                                                          \
	X(COLLECTION, collection, collections)                                                     \
	X(HEAP_USE, heap_use, heap_uses)                                                           \
	X(TALLY, tally, tallies) /* stack, starter and type: see below */                          \
	/* What native code holds of the Java VM. */                                               \
	X(JNI_REFERENCES, jni_references, references) /* weaks: without the library's */           \
	X(UNDETACHED, undetached, undetached)         /* thread: index */                          \
	X(LEDGER_TAKE, ledger_take, ledger_takes)     /* stack and type */                         \
	X(LEDGER_GIVE, ledger_give, ledger_gives)     /* sample: record */                         \
	X(LEDGER_LONG, ledger_long, ledger_longs)     /* stack and type */                         \
	/* Walks of the Java heap, on demand; steps and objects of the last complete one count. */ \
	X(HOLDER_WALK, holder_walk, holder_walks)                                                  \
	X(HOLDER_STEP, holder_step, holder_steps)                                                  \
	X(HOLDER_OBJECTS, holder_objects, holder_objects)                                          \
	X(HOLDER_LOADERS, holder_loaders, holder_loaders) /* stack and type */                     \
	/* Resident memory; rows and figures belong to the snapshot whose number they hold. */     \
	X(RESIDENT, resident, residents)                                                           \
	X(ACCOUNT, account, accounts) /* complete ones, by time */                                 \
	X(ACCOUNT_ROW, account_row, account_rows)                                                  \
	X(TOUCHED, touched, touched)                                                               \
	X(MALLOC_HEAPS, malloc_heaps, malloc_heaps)                                                \
	X(POOL, pool, pools)                                                                       \
	X(BUFFERS, buffers, buffers) /* counts on demand */                                        \
	X(ALLOCATOR, allocator, allocators)                                                        \
	X(CGROUP, cgroup, cgroups)                                                                 \
	X(SLOT_COPIES, slot_copies, slot_copies)

struct th_recording {
	struct th_reader *reader;
	struct th_schema *schema;

	bool is_ring;        /* the log has dropped parts, see th_reader_open() */
	uint64_t whole_from; /* of a ring: from this time on it has every sample; else 0 */
	bool is_complete;    /* the process ended normally and closed the log */
	uint64_t start;      /* CLOCK_MONOTONIC, ns */
	uint64_t end;        /* of the last event */

	struct th_decoded_process process;
	bool has_jvm; /* `jvm` is known */
	struct th_decoded_jvm jvm;
	TH_ARRAY(struct th_counter_info, counters); /* by index in the log's header */

	TH_TABLE(struct th_decoded_module, modules);
	TH_TABLE(struct th_thread_info, threads);
	TH_ARRAY(struct th_thread_name, thread_names);
	TH_TABLE(struct th_decoded_method, methods);
	TH_TABLE(struct th_decoded_class, classes);
	TH_TABLE(struct th_decoded_stack, stacks);

	/* Bundles: frames by native frame word, so that no module files are needed. */
	bool is_bundle;
	struct th_decoded_bundle bundle; /* state of the log in the bundle */
	TH_TABLE(struct th_named_word, named_words);

	TH_ARRAY(uint64_t, intervals); /* that occur in samples, bytes */
	struct th_id_map interval_ids;
	double gaps[TH_HEAPS];                 /* sums of the intervals of the samples, bytes */
	struct th_samples samples[TH_HEAPS];   /* mapped ones: in parts, see recording.c */
	TH_ARRAY(struct th_free_info, frees);  /* native */
	TH_ARRAY(struct th_free_info, deaths); /* Java */
	TH_ARRAY(struct th_reservation_info, reservations);
	struct th_reservations reserved; /* their ranges */
	struct th_samples
		mappings; /* samples of mapped memory before they are split, as in the log */
	uint64_t *
		part_ends; /* by index of a mapped sample: time of its end, UINT64_MAX = none */
	TH_ARRAY(uint64_t, ids);          /* of a ring: of samples, by `record`, ascending */
	float keep;                       /* of the sample that is being added */
	TH_ARRAY(uint32_t, take_records); /* th_recording_record() of each of `ledger_takes` */
	struct th_decoded_ledger_count ledger_counts[TH_LEDGER_KINDS]; /* the last of each */

	/*
	 * Stacks are indices, and so are starters and types, plus one; 0 = none.  A record is
	 * th_recording_record() of a sample.
	 */
#define X(TYPE, name, items) TH_ARRAY(struct th_decoded_##name, items);
	TH_KEPT_EVENTS(X)
#undef X

	struct th_cursor cursor; /* after the last record read */

	uint64_t records;
	uint64_t records_end; /* file offset one past the last */
	uint64_t damaged_end; /* damaged places after that: part of `damaged` */
	uint64_t torn;        /* reserved, never committed */
	uint64_t damaged;     /* neither a record nor unused space */
	uint64_t
		undecodable; /* known events that do not match their description, or limits.h */
	uint64_t early;      /* events before `start`, moved there */
	uint64_t unknown;    /* events of a type unknown to this tool */
};

/* Reads the log at `path`. Damage inside is counted, not an error. */
struct th_error *th_recording_load(const char *path, struct th_recording **recording_ret);

/*
 * Returns the pages of the file to the kernel, after its stacks have been read. What is used
 * again is read again.
 */
void th_recording_release(const struct th_recording *recording);

/*
 * Replaces the command line by the path of the executable, as in a log whose process could not
 * read it.
 */
void th_recording_hide_command(struct th_recording *recording);

/* NULL is legal. */
void th_recording_destroy(struct th_recording *recording);

/* Bytes of the log that are in use, and bytes missing at its end; not those of a bundle. */
uint64_t th_recording_log_bytes(const struct th_recording *recording);
uint64_t th_recording_missing_bytes(const struct th_recording *recording);

/* Value of the counter of that name (lower case, as in TH_LOG_COUNTERS), 0 if unknown. */
uint64_t th_recording_counter(const struct th_recording *recording, const char *name);

/*
 * Labels that a log contains, by OpenTelemetry's semantic conventions. What is known of any process:
 * service.name (of the executable), process.pid, host.name, ...
 */
void th_recording_labels(const struct th_recording *recording, struct th_labels *labels);

/*
 * What the process was given when it started: the pod's name and namespace (POD_NAME,
 * POD_NAMESPACE), OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, TWINHEAP_LABELS; each replaces
 * those before it.
 */
void th_recording_given_labels(const struct th_recording *recording, struct th_labels *labels);

/* Heaps that sampling was enabled for at the start: bits 1 << enum th_heap. */
unsigned th_recording_heaps(const struct th_recording *recording);

/* Configured mean bytes between samples; 0 = every allocation. */
uint64_t th_recording_interval(const struct th_recording *recording);

/*
 * Actual mean bytes between the samples of a heap, with the effect of rate control: the mean of
 * their intervals. Without samples the configured interval.
 */
uint64_t th_recording_gap(const struct th_recording *recording, enum th_heap heap);

/* The time of the last mark of that name; false: there is none. */
bool th_recording_find_mark(
	const struct th_recording *recording, const char *name, uint64_t *time_ret);

/*
 * Snapshots of resident memory: the last one up to `time`, the first if there is none before;
 * the one with the most resident bytes. NULL without snapshots.
 */
const struct th_decoded_account *
th_recording_account_at(const struct th_recording *recording, uint64_t time);
const struct th_decoded_account *
th_recording_account_peak(const struct th_recording *recording);

/* The samples of a heap as in the log: mappings are not split into parts. */
static inline const struct th_samples *
th_recording_allocations(const struct th_recording *recording, enum th_heap heap)
{
	return heap == TH_HEAP_MAPPED ? &recording->mappings : &recording->samples[heap];
}

/*
 * The `record` of the sample with this id, which is the offset of its record in the log: a number
 * of 32 bits, ascending as the id. TH_ID_MAP_NONE: a ring has not kept it. And back.
 */
uint32_t th_recording_record(const struct th_recording *recording, uint64_t id);
uint64_t th_recording_id(const struct th_recording *recording, uint32_t record);

/*
 * The index of the sample with this record, SIZE_MAX if there is none; of several mapped parts
 * the first.
 */
size_t th_samples_find(const struct th_samples *samples, uint32_t record);

/* The address of the block of a native sample, read again from the log. */
uint64_t
th_recording_address(const struct th_recording *recording, const struct th_sample *sample);

/* The index of the thread that a sample was taken on. */
static inline uint32_t
th_recording_thread(const struct th_recording *recording, const struct th_sample *sample)
{
	return recording->thread_names[sample->name].thread;
}

/* Mean bytes between samples at the time of this sample. */
static inline uint64_t
th_recording_sample_interval(
	const struct th_recording *recording, const struct th_sample *sample)
{
	return recording->intervals[sample->interval];
}

/* The process for a command: its id while the recording goes on, as far as the log shows, then "PID". */
struct th_pid_text {
	char text[12];
};
struct th_pid_text th_recording_pid(const struct th_recording *recording);

/* Seconds from the start of the recording to its last event. */
double th_recording_duration(const struct th_recording *recording);

/* Between recording.c and events.c */

/* Adds one record, in the order of the log. Malformed records are counted and skipped. */
void th_recording_add_event(struct th_recording *recording, const struct th_record *record);

/* The index of an interval in `intervals`. */
uint32_t th_recording_intern_interval(struct th_recording *recording, uint64_t interval);

#endif
