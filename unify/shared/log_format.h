/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log, which the library writes and the tool reads.
 *
 *   offset 0                      struct th_log_header, TH_LOG_HEADER_BYTES long: identity,
 *                                 counters and the control page
 *   offset TH_LOG_HEADER_BYTES    consecutive records, each a multiple of 8 bytes
 *
 * Every record starts with a struct th_log_record.  Its three fields are one aligned 64-bit
 * word that is stored last, with release order, so a record is either complete or absent: a
 * zero word is space that was reserved but never committed (its writer was killed).  The
 * `check` field depends on the offset, so a reader can find the next record after a hole.
 *
 * The log describes the bodies of its records in EVENT_TYPE and EVENT_FIELD records, which come
 * first and are generated from the tables below.  Fields are stored in table order, each
 * aligned to the size of its data type, counted from the start of the record.  TEXT is a u32
 * byte count and the bytes, without terminator.  U64_ARRAY is a u32 element count, padding to
 * 8, and the elements. Fields of fixed size always come first, so they can be read through
 * struct th_event_NAME.
 *
 * Integers are in the byte order of the machine that wrote them (every supported one is
 * little-endian).  Times are CLOCK_MONOTONIC nanoseconds.
 */
/* clang-format off */
#ifndef TH_UNIFY_SHARED_LOG_FORMAT_H
#define TH_UNIFY_SHARED_LOG_FORMAT_H

#include <stdint.h>

#include "unify/shared/hash.h"

#define TH_LOG_MAGIC "TWINHEAP"
#define TH_LOG_VERSION 1
#define TH_LOG_HEADER_BYTES 4096
/* Maximum record size; a greater size in a log means damage. */
#define TH_LOG_RECORD_MAX (1u << 20)

enum th_log_state {
	TH_LOG_RECORDING = 0,
	TH_LOG_COMPLETE = 1, /* the trailer was written: the recording ended normally */
};

/*
 * Live counters, in the header so that they survive any kind of death of the process.  Any
 * thread updates them with relaxed atomic adds.  X(NAME, name, description)
 *
 * Invariant: SAMPLES_DUE = recorded (..._SAMPLES) + lost (DROPPED_... except
 * DROPPED_THREADS_FULL, whose samples never become due).  A sample is first
 * counted as due, so the right side lacks samples that were being taken when a process was
 * killed.
 */
#define TH_LOG_COUNTERS(X)                                                                     \
	X(NATIVE_SAMPLES, native_samples, "native samples recorded")                           \
	X(JAVA_SAMPLES, java_samples, "Java samples recorded")                                 \
	X(NATIVE_BYTES_QUIET, native_bytes_quiet,                                              \
		"exact native bytes of ended threads without a record of their own")           \
	X(DROPPED_LOG_FULL, dropped_log_full, "samples lost: the log reached its limit")       \
	X(DROPPED_STACKS_FULL, dropped_stacks_full, "samples lost: the stack table is full")   \
	X(DROPPED_THREADS_FULL, dropped_threads_full, "threads not sampled: the thread table is full") \
	X(DROPPED_NO_SCRATCH, dropped_no_scratch, "samples lost: no free capture buffer")      \
	X(DROPPED_REENTERED, dropped_reentered,                                                \
		"samples lost: allocated during another capture")                              \
	X(LIVE_TABLE_FULL, live_table_full, "sampled blocks whose free is not tracked")        \
	X(LIVE_OBJECTS_LOST, live_objects_lost,                                                \
		"sampled Java objects whose death is not tracked")                             \
	X(METHODS_FULL, methods_full, "Java frames without a name: the method table is full")  \
	X(JAVA_STACK_IN_JAVA, java_stack_in_java,                                              \
		"native samples without Java frames: compiled code called C without a transition") \
	X(JAVA_STACK_FAILED, java_stack_failed,                                                \
		"native samples without Java frames: the VM could not walk the stack")         \
	X(JAVA_STACK_STARTING, java_stack_starting,                                            \
		"native samples without Java frames: the VM was starting")                     \
	X(JAVA_STACK_BELOW, java_stack_below, "native samples called from Java frames")        \
	X(JAVA_STACK_FOUND, java_stack_found, "native samples with their Java frames")         \
	X(UNWIND_FRAME_POINTER, unwind_frame_pointer, "native frames stepped by frame pointer") \
	X(UNWIND_STOPPED, unwind_stopped, "native walks that ended before the first frame")    \
	X(SELF_CAPTURE_NS, self_capture_ns, "CPU time spent in captures, nanoseconds")         \
	X(SELF_AGENT_NS, self_agent_ns, "CPU time of the agent thread, nanoseconds")           \
	X(SELF_MEMORY_BYTES, self_memory_bytes, "resident tables of the library, bytes")       \
	X(PACKAGES_FULL, packages_full, "Java packages without a location: the table is full") \
	X(SAMPLES_DUE, samples_due, "samples due: expired countdowns of all heaps")            \
	X(DROPPED_STOPPED, dropped_stopped, "samples lost: the recording was ending")          \
	X(MAPPED_SAMPLES, mapped_samples, "mapped memory samples recorded")                    \
	X(MAPPED_LOST, mapped_lost, "changes of mapped memory seen only in part")              \
	X(METHODS_NAMELESS, methods_nameless,                                                  \
		"Java frames without a name: it could not be read")                            \
	X(DROPPED_NO_SPACE, dropped_no_space,                                                  \
		"samples lost: no space for the log (disk, quota or file size limit)")         \
	X(DROPPED_LOG_UNREACHABLE, dropped_log_unreachable,                                    \
		"samples lost: the program closed the log file and it could not be reopened")  \
	X(DROPPED_BUSY, dropped_busy, "samples lost: the holder of a lock was not running")    \
	X(LIVE_FREES_LOST, live_frees_lost,                                                    \
		"sampled blocks that were freed but may look alive")                           \
	X(LOCKS_GIVEN_UP, locks_given_up,                                                      \
		"table updates abandoned: the holder of a lock was not running")               \
	X(JAVA_EARLY, java_early,                                                              \
		"callbacks of HotSpot before the end of a countdown")                          \
	X(JAVA_MISSED, java_missed, "ends of countdowns that HotSpot passed over") \
	X(NAMES_FULL, names_full, "native addresses without a name in the log: a table is full") \
	X(NAMES_MISSING, names_missing,                                                        \
		"native addresses without a name in the log: their modules have no symbol for them") \
	X(PROCESS_CPU_NS, process_cpu_ns, "CPU time of the process, nanoseconds") \
	X(THREADS_UNSEEN, threads_unseen, "threads not counted: a table is full")              \
	X(LOADERS_UNSEEN, loaders_unseen, "class loaders not counted: a table is full")       \
	X(LIVE_REUSED, live_reused,                                                            \
		"sampled blocks whose free was not seen, ended when their address was reused") \
	X(SLOT_OBJECTS, slot_objects, "loaded objects whose calls are seen by import slots")   \
	X(SLOTS, slots, "import slots redirected")                                             \
	X(SLOTS_FOREIGN, slots_foreign,                                                        \
		"import slots of allocation functions that hold the function of another tool or library") \
	X(LEDGER_FULL, ledger_full,                                                            \
		"ledger: samples without a known end, its table is full")                        \
	X(LEDGER_LOST, ledger_lost, "ledger: samples lost: no stack or no space in the log")   \
	X(SLOT_SEARCHED, slot_searched,                                                        \
		"loaded objects whose data was searched for pointers to allocation functions")   \
	X(RING_THINNED, ring_thinned,                                                          \
		"old samples that the ring left out; others of their kind weigh more")        \
	X(RING_LOST, ring_lost, "old records that the ring had no space to keep")              \
	X(RING_NATIVE_BYTES, ring_native_bytes,                                                \
		"exact native bytes of ended threads that the ring left out")                  \
	X(RING_JAVA_BYTES, ring_java_bytes,                                                    \
		"exact Java bytes of ended threads that the ring left out")                     \
	X(JAVA_WALKS_ASKED, java_walks_asked,                                                  \
		"Java stacks of objects that the VM walked")                                   \
	X(JAVA_WALKS_CUT, java_walks_cut,                                                      \
		"Java stacks of native samples that end at a frame that cannot be walked")     \
	X(STACKS_REMEMBERED, stacks_remembered,                                                \
		"stacks known by their youngest frames and depth, without a walk")  \
	X(STACKS_WRONG, stacks_wrong,                                                          \
		"stacks that were not as remembered when walked to check")

enum th_log_counter {
#define X(NAME, name, description) TH_COUNTER_##NAME,
	TH_LOG_COUNTERS(X)
#undef X
		TH_COUNTER_COUNT
};
#define TH_LOG_COUNTER_SLOTS 128

/*
 * The control page.  Any process with write access to the file submits a request: it holds
 * flock(LOCK_EX) on the file, writes verb, value and name, and then increments `asked`.  The
 * library executes the request, writes the answer and sets `served` to the number of the
 * request.
 */
enum th_control_verb {
	TH_CONTROL_INTERVAL = 1, /* mean bytes between samples: `value` */
	TH_CONTROL_RATE = 2,     /* samples a second: `value` */
	TH_CONTROL_MARK = 3,     /* records a mark named `name` */
	TH_CONTROL_FLUSH = 4,    /* writes at once what is otherwise written periodically */
	TH_CONTROL_PAUSE = 5,    /* stops sampling until RESUME */
	TH_CONTROL_RESUME = 6,
	TH_CONTROL_HEAPS = 7,    /* samples these heaps: `value`, bits 1 << enum th_heap */
	TH_CONTROL_STOP = 9,     /* ends the recording; the process continues */
	TH_CONTROL_BUFFERS = 10, /* counts buffers that wait for their Cleaner, then flushes */
	TH_CONTROL_COLLECT = 11, /* a full collection of the Java heap, then flushes */
	TH_CONTROL_LEDGER = 12,  /* switches the ledger: `value`, TH_LEDGER_OFF, ... */
	/*
	 * Finds what holds the sampled Java objects: `value`, th_holder_limits(); `name`
	 * TH_HOLDERS_ESTIMATE: only estimates the cost.
	 */
	TH_CONTROL_HOLDERS = 24,
};
enum th_control_answer {
	TH_CONTROL_DONE = 0,
	TH_CONTROL_REFUSED = 1,
	TH_CONTROL_UNKNOWN = 2,
	TH_CONTROL_NO_JAVA = 3, /* done, but another agent samples the Java heap */
	TH_CONTROL_UNSEEN = 4,  /* refused: this heap's functions are not intercepted */
	TH_CONTROL_NO_VM = 5,   /* there is no Java VM, or it cannot be queried now */
	TH_CONTROL_FAILED = 6,  /* the request failed; a note gives the reason */
	TH_CONTROL_TOO_LONG = 16,  /* the VM would be, or was, stopped for longer than allowed */
	TH_CONTROL_TOO_LARGE = 17, /* needs more memory than allowed, or than is free */
};
#define TH_CONTROL_NAME_MAX 64

struct th_log_control {
	/* Written by the requester. */
	uint32_t asked; /* atomic: number of requests so far */
	uint32_t verb;  /* enum th_control_verb */
	uint64_t value;
	char name[TH_CONTROL_NAME_MAX]; /* NUL-terminated */
	/* Written by the library, atomic. */
	uint32_t served;   /* number of the last completed request */
	uint32_t answer;   /* enum th_control_answer, of that request */
	uint64_t interval; /* in effect */
	uint64_t due;      /* samples due in the last second */
	uint64_t unused; /* the fields behind it stay where older processes have them */
	uint64_t looked;   /* CLOCK_MONOTONIC when the library last wrote these */
	uint32_t begun;    /* number of the last request started; it may take a while */
	/*
	 * Atomic, a futex: increased by all who wake the library's thread; the requester does
	 * so after it has written `asked`.
	 */
	uint32_t calls;
	uint64_t unused_too; /* as above */
	/* Of the last TH_CONTROL_HOLDERS: estimated, or measured if it was not refused. */
	uint64_t holders_pause_ns;
	uint64_t holders_bytes;  /* memory */
	uint64_t holders_heap;   /* Java heap in use, bytes */
};

struct th_log_header {
	char magic[8];             /* TH_LOG_MAGIC, written last at creation */
	uint32_t version;          /* TH_LOG_VERSION; a reader refuses a higher one */
	uint32_t header_bytes;     /* TH_LOG_HEADER_BYTES: where the first record starts */
	uint32_t pid;              /* in the process's own pid namespace */
	uint32_t state;            /* enum th_log_state */
	uint64_t process_start;    /* field 22 of /proc/PID/stat; the same after exec */
	uint64_t start_realtime;   /* CLOCK_REALTIME at creation, nanoseconds */
	uint64_t start_monotonic;  /* CLOCK_MONOTONIC at creation, nanoseconds */
	uint64_t tail;             /* atomic: file offset of the next record */
	uint64_t limit;            /* atomic: end of the allocated space, a file offset */
	uint64_t interval;         /* atomic: configured (the first) interval; 0 = every allocation */
	uint64_t rate;             /* atomic: configured maximum samples per second; 0 = none */
	uint32_t paused;           /* atomic: 1 = nothing is sampled */
	uint32_t counter_count;    /* number of `counters` that this writer knows */
	uint32_t heaps;            /* atomic: sampled heaps, 1 << enum th_heap; 0 = unknown */
	uint32_t java_elsewhere;   /* atomic: 1 = another agent samples the Java heap */
	char unused_text[64];
	uint32_t has_server;       /* atomic: 1 = a library thread polls the control page */
	uint32_t accounts;         /* atomic: number of breakdowns of resident memory so far */
	uint64_t observed;         /* atomic: address of the tables for the tool; 0 = none */
	uint64_t most_bytes;       /* maximum size of the file */
	uint32_t has_vm;           /* atomic: 1 = a Java VM, of whose memory only the library knows */
	uint32_t unused;
	uint64_t process_space;    /* where pid and start time are unique; 0 = unknown */
	uint64_t overhead;         /* maximum CPU time of recording, millionths; 0 = no budget */
	uint64_t ring_bytes;       /* size of the ring (ring.h); 0 = the log is none */
	uint64_t ring_from;        /* atomic: records before, but the metadata, are in KEPT */
	uint64_t reserved;
	uint64_t counters[TH_LOG_COUNTER_SLOTS]; /* atomic, indexed by enum th_log_counter */
	struct th_log_control control;
};

struct th_log_record {
	uint32_t size;  /* in bytes with this header, a multiple of 8 */
	uint16_t type;  /* enum th_event_type; 0 = never committed */
	uint16_t check; /* th_log_check() of the other two and the record's offset */
};

/*
 * Checksum of a record header at file offset `offset`: a 64-bit mix (the finalizer of
 * MurmurHash3) folded to 16 bits.  A random word passes as a header with probability 1/65,536.
 * [any]
 */
static inline uint16_t
th_log_check(uint64_t offset, uint32_t size, uint16_t type)
{
	uint64_t x = offset * 0x9e3779b97f4a7c15u ^ ((uint64_t)size << 16 | type);

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return (uint16_t)(x ^ x >> 16 ^ x >> 32 ^ x >> 48);
}

/*
 * The `process_space` of a process: FNV-1a over the text of /proc/sys/kernel/random/boot_id and
 * the inode of its pid namespace, which is unique while the namespace exists. [any]
 */
static inline uint64_t
th_log_process_space(const char *boot_id, uint32_t length, uint64_t inode)
{
	return th_hash_bytes(TH_HASH_START ^ inode, boot_id, length);
}

enum th_data_type {
	TH_DATA_U32 = 1,
	TH_DATA_U64 = 2,
	TH_DATA_F64 = 3,
	TH_DATA_TEXT = 4,
	TH_DATA_U64_ARRAY = 5,
};

enum th_content_type {
	TH_CONTENT_NONE = 0,
	TH_CONTENT_BYTES = 1,       /* a size */
	TH_CONTENT_NANOSECONDS = 2, /* a time stamp, CLOCK_MONOTONIC */
	TH_CONTENT_ADDRESS = 3,
	TH_CONTENT_COUNT = 4,
	TH_CONTENT_PROBABILITY = 5,
	TH_CONTENT_STACK = 6,  /* id of a STACK */
	TH_CONTENT_THREAD = 7, /* id of a THREAD */
	TH_CONTENT_CLASS = 8,  /* id of a CLASS; 0 = unknown */
	TH_CONTENT_METHOD = 9,
	TH_CONTENT_MODULE = 10,
	TH_CONTENT_SAMPLE = 11, /* file offset of the sample's record */
	TH_CONTENT_FRAMES = 12, /* frame words, leaf first; format below */
	TH_CONTENT_LINES = 13,  /* bytecode index << 32 | line number */
	TH_CONTENT_FLAGS = 14,
};

/*
 * Event types: E(NUMBER, NAME, name, label, description).  Numbers are never reused.
 * Fields: F(data type, content type, name, label).
 */
#define TH_EVENTS(E)                                                                           \
	E(1, EVENT_TYPE, event_type, "Event type", "A type of event that this log may hold")   \
	E(2, EVENT_FIELD, event_field, "Event field", "One field of an event type")            \
	E(3, PROCESS, process, "Process", "The profiled process")                              \
	E(4, SETTING, setting, "Setting", "A setting in effect when the log was opened")       \
	E(5, COUNTER_NAME, counter_name, "Counter name", "Meaning of one counter of the header") \
	E(6, NOTE, note, "Note", "A message for the reader of the report")                     \
	E(7, JVM, jvm, "Java VM", "The Java VM of the process")                                \
	E(8, MODULE, module, "Module", "A loaded ELF object")                                  \
	E(9, THREAD, thread, "Thread", "A thread and its name for the following samples")      \
	E(10, METHOD, method, "Method", "A Java method that occurs in stacks")                 \
	E(11, CLASS, class, "Class", "A Java class of sampled objects")                        \
	E(12, STACK, stack, "Stack", "A unified call stack")                                   \
	E(13, NATIVE_ALLOC, native_alloc, "Native allocation", "A sampled native allocation")  \
	E(14, NATIVE_FREE, native_free, "Native free", "A sampled native block was freed")     \
	E(15, JAVA_ALLOC, java_alloc, "Java allocation", "A sampled Java object")              \
	E(16, THREAD_BYTES, thread_bytes, "Thread bytes",                                      \
		"Exact bytes that a thread has allocated in one heap since it started")        \
	E(17, END, end, "End", "The recording ended normally; last event")          \
	E(18, COLLECTION, collection, "Garbage collection", "A pause of the Java garbage collector") \
	E(19, HEAP_USE, heap_use, "Heap use", "Java heap in use, read right after a collection") \
	E(20, JAVA_DEATH, java_death, "Java death", "A sampled Java object was found collected") \
	E(21, JAVA_LOST, java_lost, "Java lost", "A sampled Java object is not followed") \
	E(22, JAVA_LEVEL, java_level, "Java level",                                            \
		"From here on, one of 2^level sampled Java objects is followed")               \
	E(23, SYMBOL, symbol, "Symbol", "Name of a function, which its module may lack")       \
	E(24, RATE, rate, "Rate", "Result of the rate control over the last second or more")   \
	E(25, CONTROL, control, "Control", "A setting was changed while the process ran")      \
	E(26, MARK, mark, "Mark", "A named point in time")                                     \
	E(27, MAPPED_ALLOC, mapped_alloc, "Mapped allocation",                                 \
		"A sampled piece of address space that was mapped, or made accessible")        \
	E(28, MAPPED_END, mapped_end, "Mapped end",                                            \
		"Bytes of a sampled piece are no longer mapped or accessible")                 \
	E(29, MAPPED_USE, mapped_use, "Mapped use", "Exact bytes of all intercepted mappings") \
	E(30, RESIDENT, resident, "Resident memory", "Resident memory of the process, once a second") \
	E(31, ACCOUNT, account, "Breakdown", "A breakdown of resident memory is complete")     \
	E(32, ACCOUNT_ROW, account_row, "Breakdown row", "One row of a breakdown")             \
	E(33, TOUCHED, touched, "Touched", "Resident bytes of sampled live blocks")            \
	E(34, POOL, pool, "Pool", "A memory pool or buffer pool as reported by the Java VM")   \
	E(35, ALLOCATOR, allocator, "Allocator", "Statistics reported by the C allocator")     \
	E(36, CGROUP, cgroup, "Control group", "Limit and usage of the memory control group")  \
	E(40, BUNDLE, bundle, "Bundle",                                                        \
		"End of the log; what follows was added for reading it on other machines")     \
	E(41, NATIVE_FRAME, native_frame, "Native frame",                                      \
		"A function at a native address; inlined functions innermost first")           \
	E(42, MODULE_REMARK, module_remark, "Module remark",                                   \
		"A remark on the symbol names of a module")                                    \
	E(43, BUFFERS, buffers, "Buffers",                                                     \
		"Buffers outside the Java heap, counted on demand")                            \
	E(44, MALLOC_HEAPS, malloc_heaps, "Heaps of malloc",                                   \
		"Address ranges of the allocator's heaps, and their resident bytes")           \
	E(45, JAVA_FOLLOWED, java_followed, "Java followed",                                   \
		"A followed Java object of a VM that follows few; the last record of an object counts") \
	E(46, JAVA_JUDGED, java_judged, "Java judged",                                         \
		"A collection judged all followed Java objects born up to a time")             \
	E(47, TEARDOWN, teardown, "Teardown", "The process, or its Java VM, begins to end") \
	E(64, TALLY, tally, "Tally",                                                           \
		"Threads or class loaders that one stack has made; the last record of a stack counts") \
	E(72, JNI_REFERENCES, jni_references, "JNI references",                                \
		"References of native code as counted by the Java VM, when they have changed")   \
	E(73, UNDETACHED, undetached, "Undetached thread",                                     \
		"A thread ended while it was attached to the Java VM")                           \
	E(74, LEDGER_TAKE, ledger_take, "Ledger: taken",                                       \
		"Native code took something from the Java VM that it has to give back")          \
	E(75, LEDGER_GIVE, ledger_give, "Ledger: given back",                                  \
		"What a sampled LEDGER_TAKE took was given back")                                \
	E(76, LEDGER_COUNT, ledger_count, "Ledger: count",                                     \
		"Exact counts of one kind since the ledger was switched on first")               \
	E(77, LEDGER_LONG, ledger_long, "Ledger: long critical section",                       \
		"A long critical section whose begin was not sampled")                           \
	E(78, KEPT, kept, "Kept", "Records of the past that a ring has kept")                 \
	E(90, SLOT_COPIES, slot_copies, "Copies of pointers",                                  \
		"Pointers to allocation functions in an object's data: calls by them are not seen") \
	E(96, HOLDER_STEP, holder_step, "Holders: step",                                       \
		"A step of a path from a root of the Java heap to sampled objects")              \
	E(97, HOLDER_OBJECTS, holder_objects, "Holders: objects",                              \
		"Sampled Java objects at the end of a path")                                     \
	E(98, HOLDER_WALK, holder_walk, "Holders: walk",                                       \
		"A walk of the Java heap is complete: its steps and objects precede it")         \
	E(99, HOLDER_LOADERS, holder_loaders, "Holders: class loaders",                        \
		"Class loaders of one maker (TALLY) at the end of a path")                        \
	E(100, CODE_SOURCE, code_source, "Code source",                                        \
		"Where the classes of a Java package come from; packages without are of the Java runtime")

#define TH_FIELDS_EVENT_TYPE(F)                                                                \
	F(U32, NONE, type, "Type number")                                                      \
	F(TEXT, NONE, name, "Name")                                                            \
	F(TEXT, NONE, label, "Label")                                                          \
	F(TEXT, NONE, description, "Description")
#define TH_FIELDS_EVENT_FIELD(F)                                                               \
	F(U32, NONE, type, "Type number of the event")                                         \
	F(U32, NONE, index, "Position of the field")                                           \
	F(U32, NONE, data_type, "Data type")                                                   \
	F(U32, NONE, content_type, "Content type")                                             \
	F(TEXT, NONE, name, "Name")                                                            \
	F(TEXT, NONE, label, "Label")
#define TH_FIELDS_PROCESS(F)                                                                   \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, NONE, pid, "Process id")                                                        \
	F(U32, BYTES, page_bytes, "Page size")                                                 \
	F(TEXT, NONE, library_version, "Version of the library")                               \
	F(TEXT, NONE, executable, "Executable")                                                \
	F(TEXT, NONE, command, "Command line, arguments separated by NUL")                     \
	F(TEXT, NONE, host, "Host name")
#define TH_FIELDS_SETTING(F)                                                                   \
	F(TEXT, NONE, name, "Name")                                                            \
	F(TEXT, NONE, value, "Value")
#define TH_FIELDS_COUNTER_NAME(F)                                                              \
	F(U32, NONE, index, "Index")                                                           \
	F(TEXT, NONE, name, "Name")                                                            \
	F(TEXT, NONE, description, "Description")
#define TH_FIELDS_NOTE(F)                                                                      \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, NONE, severity, "Severity: 0 information, 1 warning")                           \
	F(TEXT, NONE, text, "Text")
#define TH_FIELDS_JVM(F)                                                                       \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, NONE, feature_release, "Feature release (17, 21, ...)")                         \
	F(U32, FLAGS, features, "Features: enum th_jvm_feature")                               \
	F(TEXT, NONE, version, "Version (java.vm.version)")                                    \
	F(TEXT, NONE, name, "Name (java.vm.name)")                                             \
	F(TEXT, NONE, vendor, "Vendor (java.vm.vendor)")
#define TH_FIELDS_MODULE(F)                                                                    \
	F(U64, ADDRESS, start, "First address")                                                \
	F(U64, ADDRESS, end, "End address (exclusive)")                                        \
	F(U64, ADDRESS, bias, "Load bias: address minus ELF virtual address")                  \
	F(U32, MODULE, module, "Module")                                                       \
	F(TEXT, NONE, path, "Path")                                                            \
	F(TEXT, NONE, build_id, "Build id, hexadecimal")
/*
 * A name applies to the samples of the thread that follow it in the log, up to the next name of
 * the thread.  The first name also applies to earlier samples; so does the first name from the
 * Java VM, since a Java thread is named before it runs and has the kernel name of its creator
 * until then.
 */
#define TH_FIELDS_THREAD(F)                                                                    \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, THREAD, thread, "Thread")                                                       \
	F(U32, NONE, tid, "Thread id of the kernel")                                           \
	F(U32, FLAGS, flags, "Flags: 1 = the Java VM gave the name")                           \
	F(U32, STACK, starter, "Stack that started it; 0 = not known")                         \
	F(TEXT, NONE, name, "Name")
#define TH_FIELDS_METHOD(F)                                                                    \
	F(U32, METHOD, method, "Method")                                                       \
	F(TEXT, NONE, class_signature, "Signature of the class")                               \
	F(TEXT, NONE, name, "Name")                                                            \
	F(TEXT, NONE, signature, "Signature")                                                  \
	F(TEXT, NONE, source_file, "Source file")                                              \
	F(U64_ARRAY, LINES, lines, "Line number table")
#define TH_FIELDS_CLASS(F)                                                                     \
	F(U32, CLASS, class, "Class")                                                          \
	F(TEXT, NONE, signature, "Signature")
#define TH_FIELDS_CODE_SOURCE(F)                                                               \
	F(U32, FLAGS, flags, "Flags: 1 = the program's")                                       \
	F(TEXT, NONE, package, "Package, with slashes")                                        \
	F(TEXT, NONE, location, "Location of the code source, a URL; empty = none")
#define TH_FIELDS_STACK(F)                                                                     \
	F(U32, STACK, stack, "Stack")                                                          \
	F(U32, FLAGS, flags, "Flags: enum th_stack_flag")                                      \
	F(U64_ARRAY, FRAMES, frames, "Frames, leaf first")
/*
 * weight of a sample = 1 / p, p = 1 - exp(-size / interval); interval 0: p = 1.
 * `thread_bytes` includes this block.  `size` is the requested size (native) or the size of the
 * object in the heap (Java).
 */
#define TH_FIELDS_NATIVE_ALLOC(F)                                                              \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, size, "Size")                                                            \
	F(U64, BYTES, interval, "Sampling interval in effect")                                 \
	F(U64, BYTES, thread_bytes, "Exact native bytes of the thread so far")                 \
	F(U32, THREAD, thread, "Thread")                                                       \
	F(U32, STACK, stack, "Stack")                                                          \
	F(U64, ADDRESS, address, "Address")                                                    \
	F(U32, NONE, function, "Function: enum th_alloc_function")                             \
	F(U32, FLAGS, flags, "Flags: 1 = tracked, a free will be recorded")
#define TH_FIELDS_NATIVE_FREE(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The allocation")                                               \
	F(U32, THREAD, thread, "Thread that freed it")
#define TH_FIELDS_JAVA_ALLOC(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, size, "Size")                                                            \
	F(U64, BYTES, interval, "Sampling interval in effect")                                 \
	F(U64, BYTES, thread_bytes, "Exact Java bytes of the thread so far; 0 = not known")    \
	F(U32, THREAD, thread, "Thread")                                                       \
	F(U32, STACK, stack, "Stack")                                                          \
	F(U32, CLASS, class, "Class")                                                          \
	F(U32, FLAGS, flags, "Flags: enum th_java_alloc_flag")
#define TH_FIELDS_THREAD_BYTES(F)                                                              \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, bytes, "Exact bytes")                                                    \
	F(U32, THREAD, thread, "Thread; 0 = all threads without a record of their own")        \
	F(U32, NONE, heap, "Heap: enum th_heap")
#define TH_FIELDS_COLLECTION(F)                                                                \
	F(U64, NANOSECONDS, start, "Start")                                                    \
	F(U64, NANOSECONDS, end, "End")                                                        \
	F(U64, COUNT, paused, "Nanoseconds of all pauses so far")                              \
	F(U32, COUNT, number, "Pauses so far")                                                 \
	F(TEXT, NONE, kind, "Collectors that ran, and the cause")
#define TH_FIELDS_HEAP_USE(F)                                                                  \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, used, "Bytes in use")                                                    \
	F(U64, BYTES, committed, "Bytes committed")                                            \
	F(U32, COUNT, collections, "Collections so far")                                       \
	F(TEXT, NONE, source, "Source of the values")
#define TH_FIELDS_JAVA_DEATH(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The allocation")
#define TH_FIELDS_JAVA_LOST(F)                                                                 \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The allocation")
#define TH_FIELDS_JAVA_LEVEL(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, NONE, level, "Level")
/*
 * `keep`: the probability that the object was followed, given that it was sampled.  `judged`: a
 * collection that would have found the object dead has found it alive, or dead (JAVA_DEATH).  Earlier
 * versions also wrote 0, for objects that were younger than the last collection, and keep 0 once they were
 * no longer followed.
 */
#define TH_FIELDS_JAVA_FOLLOWED(F)                                                             \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The allocation")                                               \
	F(F64, PROBABILITY, keep, "Probability of being followed")                             \
	F(U32, NONE, judged, "1 = a collection judged it")
#define TH_FIELDS_JAVA_JUDGED(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, NANOSECONDS, births, "Time of birth of the youngest object")
/*
 * A function that occurs in stacks, as named by the symbol table of its module while it was
 * loaded; or a function of JNI.
 */
#define TH_FIELDS_SYMBOL(F)                                                                    \
	F(U64, ADDRESS, offset, "Start, an ELF virtual address")                               \
	F(U32, MODULE, module, "Module")                                                       \
	F(U32, BYTES, size, "Size")                                                            \
	F(TEXT, NONE, name, "Name")
#define TH_FIELDS_RATE(F)                                                                      \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, interval, "Sampling interval of the C heap")                              \
	F(U64, COUNT, target, "Samples per second that it follows; 0 = it is fixed")           \
	F(U64, COUNT, due, "Samples due since the last RATE event")
#define TH_FIELDS_CONTROL(F)                                                                   \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, NONE, value, "New value")                                                       \
	F(TEXT, NONE, name, "Setting")                                                         \
	F(TEXT, NONE, text, "New value of a setting that is not a number")
#define TH_FIELDS_MARK(F)                                                                      \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(TEXT, NONE, name, "Name")
/* `detail`: the name of the thread that handles a signal; empty for the other causes. */
#define TH_FIELDS_TEARDOWN(F)                                                                  \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, NONE, cause, "Cause: enum th_teardown_cause")                                   \
	F(TEXT, NONE, detail, "Detail")
#define TH_FIELDS_RESIDENT(F)                                                                  \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, resident, "Resident")                                                    \
	F(U64, BYTES, file, "Files and shared memory in it")                                   \
	F(U64, BYTES, group, "In use in the control group; 0 = not known")
/*
 * Rows come first and carry the number of their breakdown.  ACCOUNT is written last: rows
 * without an ACCOUNT belong to a breakdown that was cut off.
 */
#define TH_FIELDS_ACCOUNT(F)                                                                   \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, resident, "Resident, from smaps")                                        \
	F(U64, BYTES, counted, "Resident, from statm right afterwards")                        \
	F(U64, BYTES, swapped, "In swap")                                                      \
	F(U64, COUNT, cost, "CPU time of the breakdown, nanoseconds")                          \
	F(U32, COUNT, account, "Number of the breakdown, from 1")                              \
	F(U32, NONE, reason, "Reason: enum th_breakdown_reason")                               \
	F(U32, FLAGS, flags, "Flags: enum th_breakdown_flag")                                  \
	F(U32, COUNT, mappings, "Mappings")                                                    \
	F(U32, COUNT, threads, "Threads whose stacks were found")
#define TH_FIELDS_ACCOUNT_ROW(F)                                                               \
	F(U64, BYTES, resident, "Resident")                                                    \
	F(U64, BYTES, swapped, "In swap")                                                      \
	F(U64, BYTES, size, "Address space")                                                   \
	F(U64, BYTES, accessible, "Accessible part")                                           \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(U32, NONE, category, "Category: enum th_memory_category")                            \
	F(U32, COUNT, mappings, "Mappings")                                                    \
	F(U32, STACK, stack, "Stack that mapped it; 0 = not known")                            \
	F(TEXT, NONE, name, "Name")
/* Live native and mapped samples that no TOUCHED of a breakdown lists were not measured. */
#define TH_FIELDS_TOUCHED(F)                                                                   \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(U64_ARRAY, NONE, blocks, "Pairs: sample; resident bytes and flags (TH_TOUCHED_...)")
/*
 * The address of a block determines its range.  The resident bytes of a range are assumed to be
 * spread evenly over it.
 */
#define TH_FIELDS_MALLOC_HEAPS(F)                                                              \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(U64_ARRAY, NONE, stretches, "Sorted triples: address, bytes, resident bytes")
#define TH_FIELDS_POOL(F)                                                                      \
	F(U64, BYTES, used, "In use; 0 = not known")                                           \
	F(U64, BYTES, committed, "Committed; for buffers: capacity")                           \
	F(U64, BYTES, limit, "Limit; 0 = none")                                                \
	F(U64, COUNT, count, "Buffers")                                                        \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(U32, NONE, kind, "Kind: enum th_pool_kind")                                          \
	F(TEXT, NONE, name, "Name")
#define TH_FIELDS_ALLOCATOR(F)                                                                 \
	F(U64, BYTES, heaps, "Bytes of its heaps (arenas)")                                    \
	F(U64, BYTES, mapped, "Bytes of blocks with a mapping of their own")                   \
	F(U64, BYTES, used, "Bytes in use in the heaps")                                       \
	F(U64, BYTES, free, "Free bytes in the heaps")                                         \
	F(U64, BYTES, top, "Free bytes at the end of the main heap, which a trim can release") \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(TEXT, NONE, name, "Name")
#define TH_FIELDS_CGROUP(F)                                                                    \
	F(U64, BYTES, limit, "Tightest limit; 0 = none")                                       \
	F(U64, BYTES, current, "In use")                                                       \
	F(U64, BYTES, anonymous, "Anonymous memory in it")                                     \
	F(U64, BYTES, file, "Page cache in it")                                                \
	F(U64, BYTES, kernel, "Kernel memory in it")                                           \
	F(U32, COUNT, account, "Breakdown")                                                    \
	F(U32, NONE, version, "Version of the control groups")                                 \
	F(TEXT, NONE, path, "Path")
/* Refers to the original log, without anything omitted after its last record. */
#define TH_FIELDS_BUNDLE(F)                                                                    \
	F(U64, BYTES, log_bytes, "Bytes in use in the log")                                    \
	F(U64, BYTES, missing_bytes, "Bytes cut off at its end")                               \
	F(U64, COUNT, damaged, "Damaged regions after its last record")                        \
	F(TEXT, NONE, tool_version, "Version of the tool")                                     \
	F(TEXT, NONE, host, "Host on which symbol names were resolved")
#define TH_FIELDS_NATIVE_FRAME(F)                                                              \
	F(U64, ADDRESS, offset, "An ELF virtual address, as in stacks")                        \
	F(U32, MODULE, module, "Module")                                                       \
	F(U32, COUNT, index, "Position: 0 = innermost")                                        \
	F(U32, NONE, line, "Line; 0 = not known")                                              \
	F(U32, FLAGS, flags, "Flags: 1 = inlined into the next frame")                         \
	F(TEXT, NONE, function, "Function")                                                    \
	F(TEXT, NONE, file, "Source file")
#define TH_FIELDS_MODULE_REMARK(F)                                                             \
	F(U32, MODULE, module, "Module")                                                       \
	F(TEXT, NONE, text, "Text")
/*
 * As NATIVE_ALLOC.  `size` is in whole pages.  Accessible and reserved (PROT_NONE) pieces are
 * sampled separately; `total_bytes` are those of the process, of the kind of this piece.
 */
#define TH_FIELDS_MAPPED_ALLOC(F)                                                              \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, size, "Size")                                                            \
	F(U64, BYTES, interval, "Sampling interval in effect")                                 \
	F(U64, BYTES, total_bytes, "Exact bytes of this kind mapped so far")                   \
	F(U32, THREAD, thread, "Thread; 0 = not known")                                        \
	F(U32, STACK, stack, "Stack")                                                          \
	F(U64, ADDRESS, address, "Address")                                                    \
	F(U32, MODULE, owner, "Module that mapped it; 0 = not known")                          \
	F(U32, NONE, function, "Function: enum th_alloc_function")                             \
	F(U32, FLAGS, flags, "Flags: enum th_mapped_flag")
#define TH_FIELDS_MAPPED_END(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The allocation")                                               \
	F(U64, BYTES, bytes, "Bytes unmapped or made inaccessible")                            \
	F(U64, ADDRESS, address, "Start address of these bytes; 0 = not known")                \
	F(U32, THREAD, thread, "Thread; 0 = not known")
#define TH_FIELDS_MAPPED_USE(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, BYTES, allocated, "Accessible bytes mapped so far")                             \
	F(U64, BYTES, accessible, "Accessible bytes now")                                      \
	F(U64, BYTES, files, "Accessible bytes that map a file")                               \
	F(U64, BYTES, reserved, "Reserved bytes now")                                          \
	F(U64, BYTES, returned, "Bytes whose contents madvise discarded so far")
/* All kinds of one count have the same time. */
#define TH_FIELDS_BUFFERS(F)                                                                   \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, stopped, "Pause of the VM for the count of all kinds, nanoseconds")      \
	F(U64, COUNT, reached, "Buffers in use")                                               \
	F(U64, BYTES, reached_bytes, "Their memory")                                           \
	F(U64, COUNT, waiting, "Buffers waiting for their Cleaner")                            \
	F(U64, BYTES, waiting_bytes, "Their memory")                                           \
	F(U32, NONE, kind, "Kind: enum th_buffers_kind")
/*
 * Exact counts if the level is 0.  Else those of class loaders are to be multiplied by 2^level;
 * those of threads are estimates already.  `births`: of those alive, by slots of equal length
 * from `origin` on.
 */
#define TH_FIELDS_TALLY(F)                                                                     \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, NANOSECONDS, origin, "Start of the first slot")                                 \
	F(U64, COUNT, slot_ns, "Length of a slot, nanoseconds")                                \
	F(U64, COUNT, made, "Made so far")                                                     \
	F(U64, COUNT, alive, "Alive")                                                          \
	F(U64, BYTES, bytes, "Of those alive: address space of stacks, or size of classes")    \
	F(U64, COUNT, parts, "Of those alive: classes")                                        \
	F(U32, STACK, stack, "Stack that made them")                                           \
	F(U32, CLASS, type, "Their class; 0 = none")                                           \
	F(U32, NONE, kind, "Kind: enum th_tally_kind")                                         \
	F(U32, COUNT, level, "One of 2^level is counted")                                      \
	F(U32, STACK, starter, "Stack that started the thread of the first; 0 = not known")    \
	F(U64_ARRAY, COUNT, births, "Alive, by time of birth")
#define TH_FIELDS_JNI_REFERENCES(F)                                                            \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, globals, "Global references")                                            \
	F(U64, COUNT, weaks, "Weak global references")                                         \
	F(U64, COUNT, own, "Of the weak ones: those of this library")
#define TH_FIELDS_UNDETACHED(F)                                                                \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, THREAD, thread, "Thread")
#define TH_FIELDS_LEDGER_TAKE(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(F64, PROBABILITY, keep, "Probability of being recorded")                             \
	F(U32, THREAD, thread, "Thread")                                                       \
	F(U32, STACK, stack, "Stack")                                                          \
	F(U32, CLASS, type, "Class of the object; 0 = not known")                              \
	F(U32, NONE, kind, "Kind: enum th_ledger_kind")
#define TH_FIELDS_LEDGER_GIVE(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, sample, "The LEDGER_TAKE")                                              \
	F(U64, COUNT, duration, "Nanoseconds in a critical section; 0 = not measured")         \
	F(U32, NONE, how, "How: enum th_ledger_end")
/* `taken` - `given` may be off by calls in progress. */
#define TH_FIELDS_LEDGER_COUNT(F)                                                              \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, taken, "Taken")                                                          \
	F(U64, COUNT, given, "Given back")                                                     \
	F(U64, COUNT, duration, "Nanoseconds in critical sections")                            \
	F(U64, COUNT, longest, "Nanoseconds of the longest one")                               \
	F(U32, NONE, kind, "Kind: enum th_ledger_kind")
#define TH_FIELDS_LEDGER_LONG(F)                                                               \
	F(U64, NANOSECONDS, time, "Time of its end")                                           \
	F(U64, COUNT, duration, "Nanoseconds")                                                 \
	F(U32, THREAD, thread, "Thread")                                                       \
	F(U32, STACK, stack, "Stack of a section that began with the same call, or of its end") \
	F(U32, CLASS, type, "Class of the object; 0 = not known")                              \
	F(U32, NONE, kind, "Kind: enum th_ledger_kind")
/* Steps have numbers from 1; a step follows its parent.  0 = none: the step is a root. */
#define TH_FIELDS_HOLDER_STEP(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, SAMPLE, take, "JNI global: the LEDGER_TAKE of the reference; 0 = not known")    \
	F(U32, COUNT, walk, "Number of the walk")                                              \
	F(U32, NONE, number, "Number of the step")                                             \
	F(U32, NONE, parent, "Number of the step before")                                      \
	F(U32, NONE, kind, "Kind: enum th_holder_kind")                                        \
	F(TEXT, NONE, name, "Name")
#define TH_FIELDS_HOLDER_OBJECTS(F)                                                            \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U32, COUNT, walk, "Number of the walk")                                              \
	F(U32, NONE, step, "Last step of their path")                                          \
	F(U64_ARRAY, SAMPLE, samples, "Samples")
#define TH_FIELDS_HOLDER_LOADERS(F)                                                            \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, count, "Class loaders; one of 2^level of the TALLY is counted")          \
	F(U32, COUNT, walk, "Number of the walk")                                              \
	F(U32, NONE, step, "Last step of their path")                                          \
	F(U32, STACK, stack, "Stack of the maker")                                             \
	F(U32, CLASS, type, "Class of the loaders")
#define TH_FIELDS_HOLDER_WALK(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, paused, "Pause of the VM, nanoseconds")                                  \
	F(U64, COUNT, expected, "Pause estimated before, nanoseconds")                         \
	F(U64, COUNT, cpu, "CPU time of the process in the pause, nanoseconds")                \
	F(U64, BYTES, heap, "Java heap in use")                                                \
	F(U64, COUNT, objects, "Objects that can hold others")                                 \
	F(U64, COUNT, references, "References between objects seen")                           \
	F(U64, BYTES, memory, "Memory of the walk")                                            \
	F(U32, COUNT, walk, "Number of the walk")                                              \
	F(U32, COUNT, wanted, "Sampled objects followed")                                      \
	F(U32, COUNT, found, "Of these, with a path")
#define TH_FIELDS_SLOT_COPIES(F)                                                               \
	F(U64, NANOSECONDS, time, "Time")                                                      \
	F(U64, COUNT, copies, "Pointers")                                                      \
	F(TEXT, NONE, path, "Path of the object")
/*
 * Counts if the header's ring_from is at least `from`.  `records`: for each, the offset at which it
 * was appended, which is a multiple of 8, plus TH_KEPT_THINNED if the next word is the probability
 * (F64) with which the sample was kept; then the record, whose check is that of
 * the offset.  No offset occurs twice, nor is one at or behind ring_from.
 */
#define TH_FIELDS_KEPT(F)                                                                      \
	F(U64, BYTES, from, "Start of the ring from which on these records count")             \
	F(U64_ARRAY, NONE, records, "The records")
#define TH_FIELDS_END(F) F(U64, NANOSECONDS, time, "Time")

enum th_event_type {
#define E(NUMBER, NAME, name, label, description) TH_EVENT_##NAME = NUMBER,
	TH_EVENTS(E)
#undef E
	TH_EVENT_NUMBERS, /* one more than the highest */
};

/* Purposes of memory: the categories of the rows of a breakdown, in the order of reports. */
enum th_memory_category {
	TH_MEMORY_JAVA_HEAP = 1,
	TH_MEMORY_METASPACE = 2,
	TH_MEMORY_CLASS_SPACE = 3,
	TH_MEMORY_CODE_CACHE = 4,
	TH_MEMORY_CLASS_ARCHIVE = 5, /* class data sharing */
	TH_MEMORY_VM = 6,            /* the VM's own: tables of the collector, compilers */
	TH_MEMORY_STACK = 7,         /* thread stacks */
	TH_MEMORY_MALLOC = 8,        /* the allocator's heaps */
	TH_MEMORY_MALLOC_MAPPED = 9, /* sampled blocks with a mapping of their own */
	TH_MEMORY_MAPPED = 10,       /* anonymous mappings with a known owner: the name */
	TH_MEMORY_FILE = 11,         /* mapped files: the name */
	TH_MEMORY_SHARED = 12,       /* shared memory: System V, memfd, /dev/shm */
	TH_MEMORY_OWN = 13,          /* this library's tables and log */
	TH_MEMORY_KERNEL = 14,       /* vdso and the like */
	TH_MEMORY_UNKNOWN = 15,      /* anonymous mappings without a known owner */
	TH_MEMORY_CATEGORIES,
};

/*
 * What the end of a process or of its VM begins with, as far as it can be observed.  After
 * MAIN_RETURNED and the EXITs the process ends; MAIN_RETURNED is also written if the main
 * thread calls pthread_exit() while others run.  After HOOKS and VM_DEATH the Java VM ends, which
 * may be embedded in a process that goes on.  After SIGNAL nothing needs to end: the program may
 * handle the signal.
 */
enum th_teardown_cause {
	TH_TEARDOWN_SIGNAL = 1,        /* the VM started a thread for SIGTERM, SIGINT or SIGHUP */
	TH_TEARDOWN_HOOKS = 2,         /* the VM started its shutdown hooks */
	TH_TEARDOWN_VM_DEATH = 3,      /* JVMTI's VMDeath: the hooks have ended */
	TH_TEARDOWN_MAIN_RETURNED = 4, /* or the main thread ended */
	TH_TEARDOWN_EXIT = 5,          /* exit() was called */
	TH_TEARDOWN_QUICK_EXIT = 6,    /* quick_exit() was called */
	TH_TEARDOWN_VM_ENDS = 7,       /* main and all other threads returned, or System.exit() */
	TH_TEARDOWN_IMMEDIATE_EXIT = 8, /* _exit() or _Exit() was called; the log has no end */
	TH_TEARDOWN_CAUSES,
};

enum th_breakdown_reason {
	TH_BREAKDOWN_REGULAR = 1,
	TH_BREAKDOWN_GROWTH = 2, /* resident memory has grown since the last breakdown */
	TH_BREAKDOWN_END = 3,
	TH_BREAKDOWN_ASKED = 4,
	TH_BREAKDOWN_TEARDOWN = 5, /* the VM's shutdown hooks have just been started */
};

enum th_breakdown_flag {
	TH_BREAKDOWN_HAS_PAGES = 1, /* /proc/self/pagemap could be read */
	TH_BREAKDOWN_TRUNCATED = 2, /* a table was full */
	TH_BREAKDOWN_HAS_OWNERS = 4, /* the owners of anonymous mappings are known */
};

/* A word of TOUCHED: resident bytes, and whether the block has a mapping of its own. */
#define TH_TOUCHED_OWN_MAPPING (UINT64_C(1) << 63)
#define TH_TOUCHED_BYTES (TH_TOUCHED_OWN_MAPPING - 1)

enum th_pool_kind {
	TH_POOL_MEMORY = 1,
	TH_POOL_BUFFERS = 2,
	TH_POOL_FINALIZERS = 3, /* `count` wait for finalize(), most of the class with signature `name` */
};

enum th_tally_kind { TH_TALLY_THREADS = 1, TH_TALLY_LOADERS = 2, TH_TALLY_KINDS };

/* What native code takes from the Java VM, and has to give back. */
enum th_ledger_kind {
	TH_LEDGER_GLOBAL = 1,      /* NewGlobalRef */
	TH_LEDGER_WEAK = 2,        /* NewWeakGlobalRef */
	TH_LEDGER_ELEMENTS = 3,    /* Get<Type>ArrayElements */
	TH_LEDGER_CRITICAL = 4,    /* GetPrimitiveArrayCritical */
	TH_LEDGER_CHARS = 5,       /* GetStringChars */
	TH_LEDGER_UTF = 6,         /* GetStringUTFChars */
	TH_LEDGER_STRING_CRITICAL = 7, /* GetStringCritical */
	TH_LEDGER_DIRECT_BUFFER = 8,   /* NewDirectByteBuffer; given back when it is collected */
	TH_LEDGER_MONITOR = 9,     /* MonitorEnter */
	TH_LEDGER_LOCAL = 10,      /* NewLocalRef; also given back when its address is reused */
	TH_LEDGER_KINDS,
};

enum th_ledger_end {
	TH_LEDGER_GIVEN_BACK = 1,
	TH_LEDGER_COMMITTED = 2, /* Release<Type>ArrayElements with JNI_COMMIT: still taken */
	TH_LEDGER_REUSED = 3,    /* its address was taken again: its release was not seen */
	TH_LEDGER_DIED = 4,      /* the buffer was collected */
	TH_LEDGER_ENDS,
};

/*
 * The value of TH_CONTROL_LEDGER, of the setting and of the change of that name: 0 = off, 1 = every
 * take is recorded, else at most one of so many of a frequent caller.
 */
enum { TH_LEDGER_OFF = 0, TH_LEDGER_EXACT = 1, TH_LEDGER_SAMPLED = 512 };

/* What a step of a path to an object is. */
enum th_holder_kind {
	TH_HOLDER_STATIC = 1,     /* a static field */
	TH_HOLDER_JNI_GLOBAL = 2, /* a JNI global reference; name: class of the object */
	TH_HOLDER_THREAD = 3,     /* a java.lang.Thread that has not ended; name: of the thread */
	TH_HOLDER_STACK = 4,      /* a local variable; name: thread, a tab, method */
	TH_HOLDER_LOADER = 5,     /* a class loader, of one of its classes; name: its class */
	TH_HOLDER_FIELD = 6,
	TH_HOLDER_ELEMENT = 7,    /* of an array; name: class of the array */
	TH_HOLDER_VM = 8,         /* another root of the VM: a monitor, its own tables */
	TH_HOLDER_KINDS,
};

/* The value of TH_CONTROL_HOLDERS. */
#define TH_HOLDERS_ESTIMATE "estimate"
static inline uint64_t
th_holder_limits(uint32_t pause_ms, uint32_t memory_mib)
{
	return (uint64_t)memory_mib << 32 | pause_ms;
}
/* In a word of KEPT: see there. */
#define TH_KEPT_THINNED UINT64_C(1)

/* Critical sections of at least this length are recorded. */
#define TH_LEDGER_LONG_NS 10000000

enum th_buffers_kind {
	TH_BUFFERS_DIRECT = 1,  /* ByteBuffer.allocateDirect() */
	TH_BUFFERS_MAPPED = 2,  /* FileChannel.map() */
	TH_BUFFERS_FOREIGN = 3, /* native code's memory: NewDirectByteBuffer() */
	TH_BUFFERS_KINDS,
};

enum th_heap { TH_HEAP_JAVA = 1, TH_HEAP_NATIVE = 2, TH_HEAP_MAPPED = 3 };

enum th_alloc_function {
	TH_FUNCTION_MALLOC = 1,
	TH_FUNCTION_CALLOC = 2,
	TH_FUNCTION_REALLOC = 3,
	TH_FUNCTION_ALIGNED = 4, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
	TH_FUNCTION_NEW = 5,     /* operator new of the underlying allocator */
	TH_FUNCTION_MALLOCX = 6, /* mallocx, rallocx, xallocx */
	TH_FUNCTION_MMAP = 7,
	TH_FUNCTION_MREMAP = 8,   /* the bytes by which a mapping grew */
	TH_FUNCTION_MPROTECT = 9, /* the memory was reserved before */
	TH_FUNCTION_BRK = 10,     /* brk, sbrk */
};

enum th_native_alloc_flag {
	TH_NATIVE_TRACKED = 1, /* its free will be recorded */
};

enum th_mapped_flag {
	TH_MAPPED_TRACKED = 1,  /* its end will be recorded */
	TH_MAPPED_RESERVED = 2, /* PROT_NONE: address space, no memory */
	TH_MAPPED_SHARED = 4,
	TH_MAPPED_FILE = 8,
	TH_MAPPED_ARENA = 16, /* by the allocator behind malloc, for its blocks */
};

enum th_thread_flag { TH_THREAD_JAVA_NAME = 1 };

enum th_code_source_flag {
	TH_CODE_SOURCE_PROGRAM = 1, /* the package of the main class, or a package of its jar */
};

enum th_java_alloc_flag {
	/* 1: of older logs, the first object of its TLAB */
	TH_JAVA_VIRTUAL_THREAD = 2,
};

enum th_native_frame_flag { TH_NATIVE_FRAME_INLINED = 1 };

/*
 * Whether the Java object of a sample is followed at a level: one of 2^level is, chosen by a
 * hash of the id only.  A sample kept at one level is kept at every lower one.
 */
static inline int
th_live_keeps(uint64_t sample, uint32_t level)
{
	uint64_t x = sample * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return level >= 32 ? 0 : !((x >> 32) & ((1u << level) - 1));
}

enum th_jvm_feature {
	TH_JVM_SAMPLED_ALLOC = 1,   /* the Java heap is sampled */
	TH_JVM_JAVA_FRAMES = 2,     /* native samples carry Java frames */
	TH_JVM_THREAD_BYTES = 8,    /* exact Java bytes per thread are known */
	TH_JVM_SHARES_APPROXIMATE = 32, /* the sampler is biased */
	TH_JVM_FOLLOWS_FEW = 64, /* only Java objects with a JAVA_FOLLOWED have a known end */
	TH_JVM_TABLES = 128,     /* the VM exports its layout */
	TH_JVM_STUBS = 256,      /* frames of runtime stubs are walked */
	TH_JVM_HEAP_RANGE = 512, /* range and collections of the Java heap are read */
	TH_JVM_FLAGS = 1024,     /* flags of the VM are read */
	TH_JVM_COUNTERS = 2048,  /* performance counters are read */
	TH_JVM_OWN_DRAWS = 4096, /* the library draws the countdowns of the Java heap */
};

enum th_stack_flag {
	TH_STACK_TRUNCATED = 1,    /* deeper than the limit: the root end is missing */
	TH_STACK_NO_JAVA = 2,      /* a Java thread whose Java frames could not be read */
	TH_STACK_NATIVE_CUT = 8,   /* a native segment ends early: no unwind information */
};

/*
 * Frame words.  The two top bits are the kind.
 *   native: module id (14 bits) << 48 | offset in ELF virtual addresses; module 0: an absolute
 *           address in no known module.  The offset lies inside the calling instruction (return
 *           addresses are stored minus one), so it can be looked up unchanged.
 *   java:   bytecode index (18 bits, or one of the two special values) << 32 | method id
 *   marker: enum th_marker
 */
enum th_frame_kind { TH_FRAME_NATIVE = 0, TH_FRAME_JAVA = 1, TH_FRAME_MARKER = 2 };
enum th_marker { TH_MARKER_VIRTUAL_THREAD = 1 };
#define TH_BCI_UNKNOWN 0x3ffffu
#define TH_BCI_NATIVE 0x3fffeu /* a native method */
#define TH_MODULE_MAX 0x3fffu

static inline uint64_t
th_frame_native(uint32_t module, uint64_t offset)
{
	return (uint64_t)(module & TH_MODULE_MAX) << 48 | (offset & 0xffffffffffffu);
}

static inline uint64_t
th_frame_java(uint32_t method, uint32_t bci)
{
	return (uint64_t)TH_FRAME_JAVA << 62 | (uint64_t)(bci & 0x3ffffu) << 32 | method;
}

static inline uint64_t
th_frame_marker(uint32_t marker)
{
	return (uint64_t)TH_FRAME_MARKER << 62 | marker;
}

static inline unsigned
th_frame_kind(uint64_t frame)
{
	return frame >> 62;
}

static inline uint32_t
th_frame_module(uint64_t frame)
{
	return frame >> 48 & TH_MODULE_MAX;
}

static inline uint64_t
th_frame_offset(uint64_t frame)
{
	return frame & 0xffffffffffffu;
}

static inline uint32_t
th_frame_method(uint64_t frame)
{
	return (uint32_t)frame;
}

static inline uint32_t
th_frame_bci(uint64_t frame)
{
	return frame >> 32 & 0x3ffffu;
}

/* The fixed part of each event: struct th_event_NAME. */
#define TH_MEMBER_U32(name) uint32_t name;
#define TH_MEMBER_U64(name) uint64_t name;
#define TH_MEMBER_F64(name) double name;
#define TH_MEMBER_TEXT(name)
#define TH_MEMBER_U64_ARRAY(name)
#define F(data, content, name, label) TH_MEMBER_##data(name)
#define E(NUMBER, NAME, name, label, description)                                              \
	struct th_event_##name {                                                               \
		struct th_log_record record;                                                   \
		TH_FIELDS_##NAME(F)                                                            \
	};
TH_EVENTS(E)
#undef E
#undef F

#endif
