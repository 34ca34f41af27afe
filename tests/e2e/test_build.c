/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The external properties of the built library: exported names, imports, the instructions of
 * its fast path, and which part of the source includes which.
 */
#include "tests/e2e/harness.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instructions from the entry of malloc to its jump to the next allocator. */
#define MALLOC_INSTRUCTIONS_MAX 8
#define FREE_INSTRUCTIONS_MAX 12
/* Above a null interposer: 5 and 8 with glibc 2.36 on Linux 6.18. */
#define DISABLED_FAULTS_MAX 8
#define CHILD_FAULTS_MAX 12
/* All instructions of three functions, of which a pair takes 69; its aim is 5 ns. */
#define PAIR_INSTRUCTIONS_MAX 100
#define INSTRUCTIONS_MAX 256

#define FORWARD_NEW TH_TEST_BUILD "/libtwinheap-new.so"
#define FORWARD_MALLOCX TH_TEST_BUILD "/libtwinheap-mallocx.so"

/*
 * Everything that the library may export.  Other names could change the behavior of programs:
 * librocksdbjni takes the mere presence of mallocx as a sign of jemalloc.
 */
static const char *const allowed_exports[] = {"malloc", "calloc", "realloc", "reallocarray",
	"free", "cfree", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
	"malloc_usable_size", "free_sized", "free_aligned_sized", "dlsym", "JNI_CreateJavaVM",
	"JVM_SetNativeThreadName", "pthread_create", "pthread_join", "pthread_tryjoin_np",
	"pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_detach", "mmap", "mmap64",
	"munmap", "mremap", "mprotect", "madvise", "brk", "sbrk", "exit", "quick_exit",
	"setuid", "seteuid", "setreuid", "setresuid", "chroot", "Agent_OnLoad",
	"Agent_OnAttach", "Agent_OnUnload", "th_operators", "th_mallocx", "th_slots_locked",
	NULL};
/*
 * The exports of the forwarding libraries, each of which implies that the allocator defines
 * them.
 */
static const char *const allowed_exports_of_new[] = {"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t", "_ZdlPv",
	"_ZdaPv", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvm", "_ZdaPvm",
	"_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t", "_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t", "th_forward_find_operator", NULL};
static const char *const allowed_exports_of_mallocx[] = {"mallocx", "rallocx", "xallocx",
	"dallocx", "sdallocx", "th_forward_find_mallocx", NULL};

static bool
is_in(const char *const *list, const char *word)
{
	for (; *list; list++) {
		if (strcmp(*list, word) == 0)
			return true;
	}
	return false;
}

static void
check_exports(const char *library, const char *const *names)
{
	char *text = th_command_output(
		TH_WORDS("nm", "-D", "--defined-only", "--format=posix", library));
	size_t allowed = 0;
	size_t found = 0;
	char *rest;

	while (names[allowed])
		allowed++;
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " @")] = '\0';
		if (!is_in(names, line))
			fail_msg("%s exports %s", library, line);
		found++;
	}
	assert_int_equal(found, allowed);
	free(text);
}

static void
exports_exactly_the_allowed_names(void **state)
{
	(void)state;
	check_exports(TH_LIBRARY, allowed_exports);
	check_exports(FORWARD_NEW, allowed_exports_of_new);
	check_exports(FORWARD_MALLOCX, allowed_exports_of_mallocx);
}

static void
needs_libc_alone(void **state)
{
	char *text = th_command_output(TH_WORDS("readelf", "-W", "-d", TH_LIBRARY));
	size_t needed = 0;

	(void)state;
	for (char *at = text; (at = strstr(at, "(NEEDED)")); at++) {
		char *name = strchr(at, '[');

		assert_non_null(name);
		name++;
		if (strncmp(name, "libc.so.6]", 10) != 0 && strncmp(name, "ld-linux", 8) != 0)
			fail_msg("the library needs %.*s", (int)strcspn(name, "]"), name);
		needed++;
	}
	assert_in_range(needed, 1, 2);
	free(text);
}

/*
 * By the public name of an interposed function the library would call its own wrapper: it would
 * sample itself, or deadlock.  Only preload/ may use these names.
 */
static void
parts_call_no_interposed_function(void **state)
{
	char *text = th_command_output(TH_WORDS("nm", "-A", "--undefined-only",
		"--format=posix", TH_TEST_BUILD "/libunify.a", TH_TEST_BUILD "/libjvmti.a"));
	size_t found = 0;
	char *rest;

	(void)state;
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		char *name = strstr(line, "]: ");

		assert_non_null(name);
		name += 3;
		name[strcspn(name, " @")] = '\0';
		if (is_in(allowed_exports, name))
			fail_msg("%s", line);
		found++;
	}
	assert_true(found > 100);
	free(text);
}

/* Cancellation points in glibc: those of pthreads(7), and glibc's additional ones. */
static const char *const cancellation_points[] = {"accept", "accept4", "clock_nanosleep",
	"close", "connect", "creat", "creat64", "epoll_pwait", "epoll_wait", "fallocate",
	"fallocate64", "fcntl", "fcntl64", "fdatasync", "fsync", "getrandom", "lockf",
	"mq_receive", "mq_send", "mq_timedreceive", "mq_timedsend", "msgrcv", "msgsnd", "msync",
	"nanosleep", "open", "open64", "openat", "openat64", "pause", "poll", "posix_fallocate",
	"posix_fallocate64", "ppoll", "pread", "pread64", "preadv", "preadv2", "pselect",
	"pthread_cond_timedwait", "pthread_cond_wait", "pthread_join", "pthread_testcancel",
	"pwrite", "pwrite64", "pwritev", "pwritev2", "read", "readv", "recv", "recvfrom",
	"recvmsg", "select", "sem_timedwait", "sem_wait", "send", "sendmsg", "sendto",
	"sigpause", "sigsuspend", "sigtimedwait", "sigwait", "sigwaitinfo", "sleep", "splice",
	"sync_file_range", "system", "tcdrain", "tee", "usleep", "vmsplice", "wait", "wait3",
	"wait4", "waitid", "waitpid", "write", "writev", "fopen", "fdopen", "fclose", "fflush",
	"fgetc", "fgets", "fprintf", "fputc", "fputs", "fread", "fseek", "fwrite", "getline",
	"opendir", "readdir", "closedir", "perror", "printf", "puts", "syslog", "vfprintf",
	NULL};

/* A thread that is cancelled inside malloc never releases the locks that it holds. */
static void
imports_no_cancellation_point(void **state)
{
	char *text = th_command_output(
		TH_WORDS("nm", "-D", "--undefined-only", "--format=posix", TH_LIBRARY));
	size_t found = 0;
	char *rest;

	(void)state;
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " @")] = '\0';
		if (is_in(cancellation_points, line))
			fail_msg("the library calls %s", line);
		found++;
	}
	assert_true(found > 10);
	free(text);
}

/* A text relocation or a lazy binding would do work, and take locks, inside malloc. */
static void
is_bound_at_load(void **state)
{
	char *text = th_command_output(TH_WORDS("readelf", "-W", "-d", TH_LIBRARY));

	(void)state;
	assert_non_null(strstr(text, "NOW"));
	assert_null(strstr(text, "(TEXTREL)"));
	free(text);
}

/* Mean page faults of a small program with these variables. */
static double
count_faults(const char *preload, const char *first, const char *second)
{
	char *output = th_command_output(TH_WORDS(TH_TEST_BUILD "/bench/exec_loop", "20",
		"/bin/true", preload, first, second, "TWINHEAP_OUTPUT=/nowhere/%p.thl"));
	char *end;
	double faults;

	strtod(output, &end);
	faults = strtod(end, NULL);
	assert_true(faults > 0);
	free(output);
	return faults;
}

/*
 * Each page costs the start of every process with the library some microseconds.  Compared with
 * a library that only passes calls on, since plain programs differ by system.
 */
static void
start_touches_few_pages(void **state)
{
	const char *ours = "LD_PRELOAD=" TH_LIBRARY;
	double null = count_faults("LD_PRELOAD=" TH_TEST_BUILD "/bench/libnull.so", "A=", "B=");
	double disabled = count_faults(ours, "TWINHEAP_DISABLE=1", "B=");
	double child = count_faults(ours, "TWINHEAP_ROOT=1", "B=");
	double followed = count_faults(ours, "TWINHEAP_ROOT=1", "TWINHEAP_FOLLOW=all");

	(void)state;
	print_message("page faults: %.1f, disabled %.1f, child %.1f, followed %.1f\n", null,
		disabled, child, followed);
	assert_true(disabled <= null + DISABLED_FAULTS_MAX);
	assert_true(child <= null + CHILD_FAULTS_MAX);
	assert_true(followed <= null + CHILD_FAULTS_MAX);
}

struct instruction {
	unsigned long address;
	char text[96];
};

struct function {
	struct instruction code[INSTRUCTIONS_MAX];
	size_t count;
};

/* The instructions of one function of a library, as objdump prints them. */
static void
disassemble(const char *library, const char *name, struct function *ret)
{
	char *option = th_format("--disassemble=%s", name);
	char *text = th_command_output(
		TH_WORDS("objdump", "-d", "--no-show-raw-insn", option, library));
	char *rest;

	ret->count = 0;
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		char *end;
		unsigned long address = strtoul(line, &end, 16);

		if (end == line || end[0] != ':' || end[1] != '\t')
			continue;
		assert_true(ret->count < INSTRUCTIONS_MAX);
		ret->code[ret->count].address = address;
		snprintf(ret->code[ret->count].text, sizeof(ret->code[0].text), "%s", end + 2);
		ret->count++;
	}
	assert_true(ret->count > 0);
	free(option);
	free(text);
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Whether it leaves the function permanently: to the next allocator, or to a slow path. */
static bool
is_final_jump(const struct function *function, const char *text)
{
	unsigned long target;

	if (!starts_with(text, "jmp"))
		return false;
	if (strchr(text, '*'))
		return true;
	target = strtoul(text + strcspn(text, " \t"), NULL, 16);
	return target < function->code[0].address ||
	       target > function->code[function->count - 1].address;
}

/*
 * Disassembles a function and counts the instructions of its fast path: compilers lay out the
 * likely path in sequence, so it is everything up to the first indirect jump.
 */
static size_t
read_fast_path(const char *name, struct function *function)
{
	disassemble(TH_LIBRARY, name, function);
	for (size_t i = 0; i < function->count; i++) {
		const char *text = function->code[i].text;

		if (is_final_jump(function, text) && strchr(text, '*'))
			return i + 1;
		if (starts_with(text, "call") || starts_with(text, "ret"))
			fail_msg("%s: \"%s\" on the fast path", name, text);
	}
	fail_msg("%s does not end in a jump to the next allocator", name);
	return 0;
}

static size_t
count_in_path(const struct function *function, size_t length, const char *part)
{
	size_t found = 0;

	for (size_t i = 0; i < length; i++)
		found += strstr(function->code[i].text, part) != NULL;
	return found;
}

static void
skip_unless_x86_64(void)
{
#ifndef __x86_64__
	skip();
#endif
}

static void
malloc_costs_few_instructions(void **state)
{
	struct function function;
	size_t length;

	(void)state;
	skip_unless_x86_64();
	length = read_fast_path("malloc", &function);
	print_message("malloc: %zu instructions\n", length);
	assert_in_range(length, 1, MALLOC_INSTRUCTIONS_MAX);
	assert_int_equal(count_in_path(&function, length, "%fs:"), 1);
	assert_int_equal(count_in_path(&function, length, "lock "), 0);
}

static void
free_costs_few_instructions(void **state)
{
	struct function function;
	size_t length;

	(void)state;
	skip_unless_x86_64();
	length = read_fast_path("free", &function);
	print_message("free: %zu instructions\n", length);
	assert_in_range(length, 1, FREE_INSTRUCTIONS_MAX);
	assert_int_equal(count_in_path(&function, length, "lock "), 0);
}

static size_t
count_instructions(const char *name)
{
	struct function function;

	disassemble(TH_LIBRARY, name, &function);
	assert_int_equal(count_in_path(&function, function.count, "lock "), 0);
	return function.count;
}

/*
 * A pair of calls that the ledger follows, without recording it: all of the wrappers but what is apart,
 * for a thread's first call and recorded ones.
 */
static void
followed_pair_costs_few_instructions(void **state)
{
	(void)state;
	skip_unless_x86_64();
	size_t count = count_instructions("new_global") +
		       count_instructions("follow_new_global") +
		       count_instructions("delete_global");
	print_message("NewGlobalRef and DeleteGlobalRef: %zu instructions\n", count);
	assert_in_range(count, 1, PAIR_INSTRUCTIONS_MAX);
}

/* RTLD_NEXT depends on the caller's return address, so our frame must not be in between. */
static void
dlsym_ends_in_a_tail_jump(void **state)
{
	struct function function;
	bool found = false;

	(void)state;
	skip_unless_x86_64();
	disassemble(TH_LIBRARY, "dlsym", &function);
	for (size_t i = 0; i < function.count; i++) {
		const char *text = function.code[i].text;

		found |= is_final_jump(&function, text) && strchr(text, '*');
		if (starts_with(text, "call") && strchr(text, '*'))
			fail_msg("dlsym calls what it should jump to: \"%s\"", text);
	}
	assert_true(found);
}

/* The forwarding libraries only jump, so that return addresses are the caller's. */
static void
forwarding_is_a_jump(void **state)
{
	static const char *const names[] = {"_Znwm", "_ZdlPvmSt11align_val_t"};
	struct function function;

	(void)state;
	skip_unless_x86_64();
	for (size_t i = 0; i < 2; i++) {
		disassemble(FORWARD_NEW, names[i], &function);
		assert_true(function.count >= 2);
		assert_true(is_final_jump(&function, function.code[1].text));
	}
	disassemble(FORWARD_MALLOCX, "mallocx", &function);
	assert_true(is_final_jump(&function, function.code[1].text));
}

/* Include rules */

#define ARCHITECTURE TH_TEST_SOURCE "/docs/architecture.md"
#define ROOMS_MAX 64

/* A folder with sources: a row of the table in docs/architecture.md. */
struct room {
	const char *name;
	char *others;         /* the remaining cells of its row */
	uint64_t may_include; /* bits of rooms, by index */
	bool is_there;        /* it contains a file with an #include */
};

struct rooms {
	char *text; /* of the table */
	struct room items[ROOMS_MAX];
	size_t count;
};

/* The next word in backquotes, cut out of *text; NULL: none. */
static char *
next_quoted(char **text)
{
	char *start = strchr(*text, '`');
	char *end = start ? strchr(start + 1, '`') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return start + 1;
}

/* The room with this name; NULL: not in the table. */
static struct room *
find_room(struct rooms *rooms, const char *name, size_t length)
{
	for (size_t i = 0; i < rooms->count; i++) {
		if (strlen(rooms->items[i].name) == length &&
			strncmp(rooms->items[i].name, name, length) == 0)
			return &rooms->items[i];
	}
	return NULL;
}

static void
read_rooms(struct rooms *ret)
{
	char *rest;
	char *other;

	*ret = (struct rooms){.text = th_command_output(TH_WORDS("sed", "-n",
				      "/^## Who includes whom$/,/^## /p", ARCHITECTURE))};
	for (char *line = strtok_r(ret->text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		struct room *room = &ret->items[ret->count];

		if (!starts_with(line, "| `"))
			continue;
		assert_true(ret->count < ROOMS_MAX);
		room->name = next_quoted(&line);
		room->others = line;
		ret->count++;
	}
	for (size_t i = 0; i < ret->count; i++) {
		while ((other = next_quoted(&ret->items[i].others))) {
			struct room *found = find_room(ret, other, strlen(other));

			if (!found)
				fail_msg("%s has no row of its own", other);
			ret->items[i].may_include |= UINT64_C(1) << (found - ret->items);
		}
	}
}

/*
 * Repeatedly removes rooms that include none of the remaining ones; in a cycle some are never
 * removed.
 */
static void
check_order(const struct rooms *rooms)
{
	uint64_t left = ~UINT64_C(0) >> (ROOMS_MAX - rooms->count);
	uint64_t before;

	do {
		before = left;
		for (size_t i = 0; i < rooms->count; i++) {
			if (!(rooms->items[i].may_include & left))
				left &= ~(UINT64_C(1) << i);
		}
	} while (left != before);
	for (size_t i = 0; i < rooms->count; i++) {
		if (left >> i & 1)
			print_error("%s is in a circle, or above one\n", rooms->items[i].name);
	}
	assert_int_equal(left, 0);
}

/* The length of the directory of a path, without the slash. */
static size_t
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Whether the table allows one #include; headers without a folder are generated. */
static bool
check_include(struct rooms *rooms, const char *file, const char *header)
{
	struct room *from = find_room(rooms, file, directory_of(file));
	struct room *to = find_room(rooms, header, directory_of(header));

	if (!from) {
		print_error("%s: its folder is not in the table\n", file);
		return false;
	}
	from->is_there = true;
	if (!strchr(header, '/') || to == from ||
		(to && from->may_include >> (to - rooms->items) & 1))
		return true;
	print_error("%s includes %s\n", file, header);
	return false;
}

static void
rooms_include_only_what_they_may(void **state)
{
	struct rooms rooms;
	size_t faults = 0;
	char *rest;
	char *text = th_command_output(TH_WORDS("sh", "-c",
		"cd '" TH_TEST_SOURCE "' && "
		"grep -rEo '^ *# *include *\"[^\"]+\"' unify jvmti preload report"));

	(void)state;
	read_rooms(&rooms);
	check_order(&rooms);
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		char *quote = strchr(line, '"');

		assert_non_null(quote);
		quote[strlen(quote) - 1] = '\0';
		line[strcspn(line, ":")] = '\0';
		faults += !check_include(&rooms, line, quote + 1);
	}
	for (size_t i = 0; i < rooms.count; i++) {
		if (!rooms.items[i].is_there) {
			print_error(
				"%s: is in the table, and nowhere else\n", rooms.items[i].name);
			faults++;
		}
	}
	assert_int_equal(faults, 0);
	free(rooms.text);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_exactly_the_allowed_names),
		cmocka_unit_test(parts_call_no_interposed_function),
		cmocka_unit_test(needs_libc_alone),
		cmocka_unit_test(imports_no_cancellation_point),
		cmocka_unit_test(is_bound_at_load),
		cmocka_unit_test(start_touches_few_pages),
		cmocka_unit_test(malloc_costs_few_instructions),
		cmocka_unit_test(free_costs_few_instructions),
		cmocka_unit_test(followed_pair_costs_few_instructions),
		cmocka_unit_test(dlsym_ends_in_a_tail_jump),
		cmocka_unit_test(forwarding_is_a_jump),
		cmocka_unit_test(rooms_include_only_what_they_may),
	};

	return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
