/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of the library in a process: UNREAD -> IDLE, RECORDING or OFF.  Recording starts
 * in the constructor, with a Java VM, or with the first sample of a forked child.  All settings
 * are read in the constructor.
 */
#include "preload/life.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jvmti/agent.h"
#include "preload/allocator.h"
#include "preload/late.h"
#include "preload/leave.h"
#include "preload/log_path.h"
#include "preload/mallocx.h"
#include "preload/message.h"
#include "preload/next.h"
#include "preload/operators.h"
#include "preload/settings.h"
#include "preload/threads.h"
#include "unify/base/memory.h"
#include "unify/base/observed.h"
#include "unify/base/proc_file.h"
#include "unify/base/real_dlsym.h"
#include "unify/base/safe_read.h"
#include "unify/base/system.h"
#include "unify/log/function_names.h"
#include "unify/log/module_elf.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/mapped/mapping.h"
#include "unify/recording/housekeeping.h"
#include "unify/recording/recorder.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/native.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"
#include "unify/shared/size.h"
#include "unify/unwind/libunwind.h"

/* Matches any path of libtwinheap.so or libtwinheap.so.1. */
#define LIBRARY "libtwinheap"
/* Longest environment variable examined; LD_PRELOAD lists are far shorter. */
#define VARIABLE_MAX 4096

/* Positions among the words of the setting. */
enum unwinder { OWN_UNWINDER, LIBUNWIND };

/* UNREAD: the constructor has not run, the settings are unknown. */
enum state { UNREAD, IDLE, RECORDING, OFF };

#define NO_LIBUNWIND                                                          \
	"libunwind.so.8 is missing or unusable: native stacks are walked by " \
	"twinheap's own unwinder"

static struct {
	enum state state;
	bool is_prepared;
	bool can_walk;    /* prepare_walks() was called */
	bool has_modules; /* loaded modules can be found */
	/* recording the C heap was requested, but malloc does not reach us */
	bool lacks_native;
	bool lacks_libunwind; /* libunwind was requested, but is missing or does not work */
	bool has_allocator;   /* the underlying malloc is not libc's */
	bool log_is_fixed;    /* the log is written to the given name, or nowhere */
	struct th_unrecorded *unrecorded; /* NULL: not started by `twinheap run` */
	uint32_t turns;                   /* atomic: of note_unrecorded() */
	/* protects the transition from IDLE; never taken in the malloc path */
	pthread_mutex_t lock;
	struct th_settings settings; /* last: most of it is never touched */
} life = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t
ledger(void)
{
	if (!life.settings.number[TH_SETTING_NAME_LEDGER])
		return TH_LEDGER_OFF;
	return strcmp(life.settings.text[TH_SETTING_NAME_LEDGER], "exact") ? TH_LEDGER_SAMPLED
									   : TH_LEDGER_EXACT;
}

void
th_life_tell_agent(struct th_agent_host *host)
{
	const uint64_t *number = life.settings.number;

	host->is_verbose = number[TH_SETTING_NAME_VERBOSE];
	host->gc_every = number[TH_SETTING_NAME_GC_EVERY] * TH_NS_PER_S;
	host->gc_at_exit = (enum th_gc_at_exit)number[TH_SETTING_NAME_GC_AT_EXIT];
	host->ledger = ledger();
}

/* Start */

static void
log_settings(void)
{
	static const char names[][TH_SETTING_WORD_BYTES] = {
#define S(NAME, letter, option, variable, ...) variable,
		TH_SETTINGS(S)
#undef S
	};
	struct th_event_setting event = {0};

	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		struct th_log_part parts[] = {
			th_log_text(names[i]), th_log_text(life.settings.text[i])};

		th_log_append(TH_EVENT_SETTING, &event, parts, 2);
	}
}

static void
log_process(void)
{
	struct th_event_process event = {
		.time = th_clock_now(),
		.pid = (uint32_t)getpid(),
		.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
	};
	static char command[4096]; /* static: the stack of an allocating thread may be small */
	char host[256] = "";
	size_t command_bytes = th_proc_file_read(
		"/proc/self/cmdline", command, sizeof(command));

	gethostname(host, sizeof(host) - 1);
	struct th_log_part parts[] = {th_log_text(TH_VERSION),
		th_log_text(th_module_executable()), {command, (uint32_t)command_bytes},
		th_log_text(host)};
	if (!command_bytes)
		parts[2] = parts[1];
	th_log_append(TH_EVENT_PROCESS, &event, parts, 4);
}

/*
 * A number for the pid namespace of this process in this boot of the machine: two processes
 * with the same number, pid and start time are the same process.  0 where either is unknown, as
 * without /proc.
 */
static uint64_t
process_space(void)
{
	char boot[64];
	size_t length = th_proc_file_read(
		"/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	struct stat status;

	if (!length || stat("/proc/self/ns/pid", &status))
		return 0;
	return th_log_process_space(boot, (uint32_t)length, status.st_ino);
}

static bool
create_log(void)
{
	const struct th_log_identity identity = {
		.process_start = th_proc_start_time("/proc/self/stat"),
		.process_space = process_space(),
		.interval = life.settings.number[TH_SETTING_NAME_INTERVAL],
		.rate = life.settings.number[TH_SETTING_NAME_RATE],
		.overhead = life.settings.number[TH_SETTING_NAME_MAX_OVERHEAD],
		.ring = life.settings.number[TH_SETTING_NAME_LOG_RING],
		.keeps_earlier = th_next_is_late(),
	};
	static char path[PATH_MAX], elsewhere[PATH_MAX];
	const char *pattern = life.settings.text[TH_SETTING_NAME_OUTPUT];
	uint64_t bytes = identity.ring ? identity.ring
				       : life.settings.number[TH_SETTING_NAME_MAX_LOG];
	enum th_log_status status = th_log_path_create(
		pattern, bytes, &identity, path, sizeof(path));

	if (status == TH_LOG_OK) {
		if (life.settings.number[TH_SETTING_NAME_VERBOSE])
			th_message("recording to %s", path);
		return true;
	}
	if (status == TH_LOG_FAILED && !life.log_is_fixed &&
		th_log_path_create_elsewhere(
			pattern, bytes, &identity, elsewhere, sizeof(elsewhere))) {
		th_message("%.300s: %s; recording to %.300s", path, th_message_reason(errno),
			elsewhere);
		return true;
	}
	/* The path is cut so that the reason stays on the line. */
	th_message("%.300s: %s; this process is not recorded", path,
		status == TH_LOG_NO_SPACE ? "no space for a log" : th_message_reason(errno));
	return false;
}

static uint64_t
random_seed(void)
{
	uint64_t seed;

	if (life.settings.is_given[TH_SETTING_NAME_SEED])
		return life.settings.number[TH_SETTING_NAME_SEED];
	if (syscall(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = th_clock_now() ^ (uint64_t)getpid() << 32;
	return seed;
}

/* Neither interval nor rate are given: the budget determines the interval. */
static bool
is_adaptive(void)
{
	return !life.settings.is_given[TH_SETTING_NAME_INTERVAL] &&
	       !life.settings.is_given[TH_SETTING_NAME_RATE];
}

/*
 * A given interval is the lower bound, and nothing but a budget or a rate raises it.  Without
 * one the interval moves in both directions, unless a rate is given: its samples are then like
 * those of other profilers with the same rate.
 */
static void
set_limits(struct th_plan_limits *limits)
{
	limits->rate = life.settings.number[TH_SETTING_NAME_RATE];
	limits->overhead = life.settings.number[TH_SETTING_NAME_MAX_OVERHEAD];
	limits->interval = life.settings.number[TH_SETTING_NAME_INTERVAL];
	limits->least_interval = limits->interval;
	if (is_adaptive()) {
		limits->least_interval = TH_INTERVAL_LEAST;
		limits->saves_space = true;
	}
}

#define JAVA (1u << TH_HEAP_JAVA)
#define NATIVE (1u << TH_HEAP_NATIVE)
#define MAPPED (1u << TH_HEAP_MAPPED)

static struct th_recorder_settings
recorder_settings(void)
{
	uint32_t heaps = (uint32_t)life.settings.number[TH_SETTING_NAME_HEAPS];

	return (struct th_recorder_settings){
		.depth = (uint32_t)life.settings.number[TH_SETTING_NAME_DEPTH],
		/* th_late_redirect() opens the others. */
		.heaps = heaps & (th_next_is_late() ? JAVA : JAVA | NATIVE | MAPPED),
		/* The Java heap may appear late. */
		.seen = JAVA | (th_allocator_is_seen() ? NATIVE : 0) |
			(th_allocator_mmap_is_seen() ? MAPPED : 0),
		.seed = random_seed(),
	};
}

/* The blocks of malloc lie in memory mapped by the underlying allocator. */
static void
set_allocator(void)
{
	const void *underneath = th_allocator_underneath();
	const struct th_module *module = underneath ? th_module_find((uintptr_t)underneath)
						    : NULL;

	th_mapping_set_allocator(module ? module->id : 0);
}

/*
 * Sets up the recording, in a process that may have run for a while already.  A child calls
 * this before fork() returns, so no code here may take a lock of libc or of the loader, or call
 * libc's malloc: other threads may have held such a lock, and a signal handler that forks may
 * have interrupted malloc.  Returns the new state: a process that is attached to, and whose log
 * cannot be created, can be attached to again with another name.
 */
static enum state
start(void)
{
	struct th_recorder_settings settings = recorder_settings();
	char from = 0, to;

	set_limits(&settings.limits);
	if (!create_log())
		return th_next_is_late() ? IDLE : OFF;
	log_process();
	log_settings();
	if (!life.has_modules)
		th_log_note(1, "no loaded modules found: native frames are walked by "
			       "frame pointer only");
	if (!th_safe_read_works())
		th_log_note(1, "this kernel does not say which memory is readable: native "
			       "stacks end early");
	if (life.lacks_libunwind) {
		th_message(NO_LIBUNWIND);
		th_log_note(1, NO_LIBUNWIND);
	}
	set_allocator();
	if (settings.heaps & NATIVE || life.lacks_native)
		th_allocator_log();
	if (!th_observed_copy((uintptr_t)&from, &to, sizeof(to)))
		th_log_note(1,
			"the kernel forbids process_vm_readv here: the bytes of a thread "
			"are known as of its last sample, and totals are estimates");
	th_recorder_start(&settings);
	return RECORDING;
}

static void
start_once(void)
{
	int cancel_state;

	/*
	 * A child's first sample is taken inside malloc, which must not be a cancellation
	 * point.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&life.lock);
	if (life.state == IDLE) {
		th_guard_enter();
		life.state = start();
		if (life.state == OFF)
			th_in_flight_close();
		th_guard_leave();
	}
	pthread_mutex_unlock(&life.lock);
	pthread_setcancelstate(cancel_state, &cancel_state);
}

/* A child without samples creates no log and prints nothing. */
static void
start_with_first_sample(void)
{
	const struct th_recorder_settings settings = {
		.limits.interval = life.settings.number[TH_SETTING_NAME_INTERVAL],
		/* Another allocator may map memory while it holds its locks. */
		.heaps = (uint32_t)life.settings.number[TH_SETTING_NAME_HEAPS] &
			 (life.has_allocator ? NATIVE : NATIVE | MAPPED),
		.seed = random_seed(),
	};

	th_recorder_wait(&settings, start_once);
}

/*
 * At the last of several turns: after a single one of a random length a small process would be noted
 * as well, one that allocates a hundredth of the mean once in a hundred times.
 */
#define TURNS 4

/* It may be recorded later, if it loads a Java VM; then its log tells. */
static void
note_unrecorded(void)
{
	struct th_unrecorded *list = life.unrecorded;

	if (th_add_relaxed(&life.turns, 1) != TURNS - 1)
		return;
	uint32_t number = th_add_relaxed(&list->count, 1);
	if (number < sizeof(list->pids) / sizeof(list->pids[0]))
		th_store_relaxed(&list->pids[number], (uint32_t)getpid());
}

/* For a child that is recorded only if it loads a Java VM: it is noted if it allocates much. */
static void
note_when_large(void)
{
	if (!life.unrecorded)
		return;
	const struct th_recorder_settings settings = {
		.limits.interval = TH_UNRECORDED_BYTES / TURNS,
		.heaps = NATIVE,
		.seed = random_seed(),
	};
	th_recorder_wait(&settings, note_unrecorded);
}

/* At the start, since a process may forbid itself to open files later; its children inherit it. */
static void
map_unrecorded(void)
{
	const char *path = getenv(TH_UNRECORDED_VARIABLE);
	uint32_t magic;
	int descriptor;

	if (!path || life.settings.number[TH_SETTING_NAME_FOLLOW] != TH_FOLLOW_JAVA)
		return;
	descriptor = th_system_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
	if (descriptor < 0)
		return;
	if (th_system_pread(descriptor, &magic, sizeof(magic),
		    offsetof(struct th_unrecorded, magic)) == sizeof(magic) &&
		magic == TH_UNRECORDED_MAGIC) {
		void *start = th_memory_system_map(
			NULL, sizeof(*life.unrecorded), MAP_SHARED, descriptor);

		life.unrecorded = start == MAP_FAILED ? NULL : start;
	}
	th_system_close(descriptor);
}

static void
set_number(enum th_setting setting, uint64_t number, const char *text)
{
	life.settings.number[setting] = number;
	life.settings.text[setting] = text;
}

/* The log names the unwinder in use, not the requested one. */
static void
use_own_unwinder(void)
{
	set_number(TH_SETTING_NAME_UNWINDER, OWN_UNWINDER, "own");
}

static void
choose_unwinder(void)
{
	if (life.settings.number[TH_SETTING_NAME_UNWINDER] != LIBUNWIND)
		return;
	if (th_libunwind_open(th_real_dlsym)) {
		th_capture_set_unwinder(th_libunwind_walk);
	} else {
		life.lacks_libunwind = true;
		use_own_unwinder();
	}
}

/* What only a recording needs. In malloc, where a forked child's begins, it would be too late. */
static void
prepare_walks(void)
{
	if (life.can_walk)
		return;
	life.can_walk = true;
	th_message_init();
	th_allocator_figures_init();
	life.has_modules = th_module_init();
	choose_unwinder();
}

bool
th_life_java_comes(void)
{
	if (life.state == IDLE &&
		life.settings.number[TH_SETTING_NAME_FOLLOW] != TH_FOLLOW_NONE) {
		prepare_walks();
		start_once();
	}
	return life.state == RECORDING && !th_housekeeping_is_ending();
}

/* Load */

static void
turn_off(void)
{
	life.state = OFF;
	th_in_flight_close();
}

/*
 * The parent does not wait: captures of other threads continue in the parent only.  A capture
 * on this thread, interrupted by a signal handler that forks, continues in the child too.  That
 * child is not recorded, because the owner of the sample would be ambiguous.
 */
static void
in_forked_child(void)
{
	bool follows_all = life.settings.number[TH_SETTING_NAME_FOLLOW] == TH_FOLLOW_ALL;

	th_loader_reset();
	if (life.state == OFF || (life.state == IDLE && !follows_all))
		return;
	bool is_ending = th_housekeeping_is_ending();

	pthread_mutex_init(&life.lock, NULL);
	th_log_detach();
	th_recorder_reset();
	th_threads_reset();
	use_own_unwinder();
	life.state = IDLE;
	if (th_thread.guard || is_ending)
		turn_off();
	else if (follows_all)
		start_with_first_sample();
	else
		note_when_large();
}

/* The log names the heaps that are recorded, not those requested. */
static void
adjust_heaps(void)
{
	uint64_t wanted = life.settings.number[TH_SETTING_NAME_HEAPS];
	uint64_t heaps = wanted;

	if (!(wanted & 1u << TH_HEAP_JAVA))
		return;
	if (!th_allocator_is_seen())
		heaps &= ~(uint64_t)(1u << TH_HEAP_NATIVE);
	if (!th_allocator_mmap_is_seen())
		heaps &= ~(uint64_t)(1u << TH_HEAP_MAPPED);
	life.lacks_native = (wanted & ~heaps) >> TH_HEAP_NATIVE & 1;
	set_number(TH_SETTING_NAME_HEAPS, heaps, th_heaps_text((unsigned)heaps));
}

/* An interval or a rate determines the number of samples, so the default budget does not apply. */
static void
adjust_limits(void)
{
	const bool *is_given = life.settings.is_given;

	if (!is_given[TH_SETTING_NAME_MAX_OVERHEAD] &&
		(is_given[TH_SETTING_NAME_INTERVAL] || is_given[TH_SETTING_NAME_RATE]))
		set_number(TH_SETTING_NAME_MAX_OVERHEAD, 0, "");
	if (is_given[TH_SETTING_NAME_INTERVAL])
		return;
	if (is_given[TH_SETTING_NAME_RATE])
		set_number(TH_SETTING_NAME_INTERVAL, TH_INTERVAL_OF_RATE, "512k");
	else
		set_number(TH_SETTING_NAME_INTERVAL, TH_INTERVAL_FIRST, "");
}

/* The first process of every container has the same id: the host name tells their logs apart. */
static void
name_first_process(void)
{
	if (!life.settings.is_given[TH_SETTING_NAME_OUTPUT] && getpid() == 1)
		life.settings.text[TH_SETTING_NAME_OUTPUT] = "twinheap.%h.%p.thl";
}

/* False: printed, and the process is not recorded. */
static bool
read_settings(const char *options)
{
	char problem[256];

	if (th_settings_read(&life.settings, options, problem, sizeof(problem))) {
		name_first_process();
		return true;
	}
	th_message("%s; this process is not recorded", problem);
	return false;
}

/*
 * glibc exports pthread_atfork under another name, since it needs to know which library calls it:
 * our handlers stay for good.
 */
static void
watch_forks(void)
{
	int (*add)(void (*)(void), void (*)(void), void (*)(void), void *);
	void *found = th_real_dlsym ? th_real_dlsym(RTLD_DEFAULT, "__register_atfork") : NULL;

	if (!found && th_real_dlsym)
		found = th_real_dlsym(RTLD_DEFAULT, "pthread_atfork");
	memcpy(&add, &found, sizeof(add));
	if (found)
		add(th_loader_before_fork, th_loader_after_fork, in_forked_child, NULL);
}

/* Children */

static bool
is_preload_of_ours(const char *variable)
{
	static const char name[] = "LD_PRELOAD=";

	return !strncmp(variable, name, sizeof(name) - 1) && strstr(variable, LIBRARY);
}

/* Variables end with NUL; longer ones are truncated to VARIABLE_MAX. */
static bool
has_preload(int descriptor)
{
	char variable[VARIABLE_MAX];
	char chunk[4096];
	size_t length = 0;
	ssize_t got;

	while ((got = th_system_read(descriptor, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			variable[length] = chunk[i];
			if (!chunk[i] && is_preload_of_ours(variable))
				return true;
			length = !chunk[i] ? 0 : length + (length < VARIABLE_MAX - 2);
		}
	}
	return false;
}

/*
 * By the variable that `twinheap run` sets: it names the process that was started, whatever the
 * parents are now.
 */
static bool
is_other_than(const char *root)
{
	uint64_t pid;

	return !th_number_parse(root, &pid) || pid != (uint64_t)getpid();
}

/*
 * Whether this process is not the one that the user started: by TH_ROOT_VARIABLE or, if that is
 * not set, by whether its parent was itself started with this library preloaded.  False without
 * /proc, or when the parent belongs to another user.
 */
static bool
is_followed_child(void)
{
	const char *root = getenv(TH_ROOT_VARIABLE);
	char path[64];
	int descriptor;
	bool found;

	if (root && *root)
		return is_other_than(root);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	descriptor = th_system_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (descriptor < 0)
		return false;
	found = has_preload(descriptor);
	th_system_close(descriptor);
	return found;
}

/* What every process needs whose settings have been read; some of it once. */
static void
prepare(void)
{
	adjust_heaps();
	adjust_limits();
	th_log_path_init(life.settings.text[TH_SETTING_NAME_OUTPUT]);
	if (life.is_prepared)
		return;
	th_thread_init(random_seed());
	life.has_allocator = th_allocator_underneath() != NULL;
	watch_forks();
	life.is_prepared = true;
}

static void
begin(void)
{
	bool follows_all = life.settings.number[TH_SETTING_NAME_FOLLOW] == TH_FOLLOW_ALL;
	bool is_followed = is_followed_child();

	map_unrecorded();
	th_allocator_init();
	prepare();
	if (life.has_allocator)
		th_allocator_silence_nested();
	th_leave_watch_main();
	if (is_followed && !follows_all) {
		note_when_large();
		return;
	}
	prepare_walks();
	if (is_followed)
		start_with_first_sample();
	else
		start_once();
}

__attribute__((constructor)) static void
load(void)
{
	int saved_errno = errno;

	th_next_init();
	th_operators_init();
	th_mallocx_init();
	life.state = IDLE;
	/*
	 * With raised privileges the user lacks them: variables are not trusted, and no file is
	 * created.
	 */
	if (getauxval(AT_SECURE)) {
		turn_off();
	} else if (th_next_is_late()) {
		/* The options come with the agent's start. */
		th_allocator_init();
	} else if (!read_settings(NULL) || life.settings.number[TH_SETTING_NAME_DISABLE]) {
		turn_off();
	} else {
		begin();
	}
	errno = saved_errno;
}

/* The last recording has been ended on request. */
static bool
restart(void)
{
	bool is_done;

	th_guard_enter();
	is_done = th_agent_has_ended() && th_recorder_restart();
	th_guard_leave();
	if (is_done)
		life.state = IDLE;
	return is_done;
}

enum th_late_status
th_life_start_late(const char *options, bool waits)
{
	if (life.state == RECORDING && !th_housekeeping_is_ending())
		return TH_LATE_RECORDED_ALREADY;
	if (life.state == OFF)
		return TH_LATE_REFUSED;
	if (life.state == RECORDING && !restart())
		return TH_LATE_BUSY;
	if (!read_settings(options))
		return TH_LATE_BAD_OPTION;
	if (life.settings.number[TH_SETTING_NAME_DISABLE])
		return TH_LATE_REFUSED;
	life.log_is_fixed = waits && life.settings.is_option[TH_SETTING_NAME_OUTPUT];
	prepare();
	prepare_walks();
	th_native_keep_countdowns();
	start_once();
	if (life.state != RECORDING)
		return TH_LATE_NO_LOG;
	th_late_redirect((unsigned)life.settings.number[TH_SETTING_NAME_HEAPS]);
	return TH_LATE_RECORDS;
}

void
th_life_ends(enum th_teardown_cause cause)
{
	int saved_errno = errno;
	bool is_immediate = cause == TH_TEARDOWN_IMMEDIATE_EXIT;

	if (life.state != RECORDING || !th_log_is_owner() || (is_immediate && th_thread.guard))
		return;
	th_guard_enter();
	if (!is_immediate)
		th_breakdown_now(TH_BREAKDOWN_END, false);
	th_teardown_begins(cause, NULL);
	th_guard_leave();
	errno = saved_errno;
}

__attribute__((destructor)) static void
unload(void)
{
	if (life.state != RECORDING || !th_log_is_owner())
		return;
	th_guard_enter();
	th_function_names_log(true);
	th_breakdown_now(TH_BREAKDOWN_END, false);
	th_recorder_end();
	th_guard_leave();
}
