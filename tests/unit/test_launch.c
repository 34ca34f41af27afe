/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `run`, called as the tool calls it, in a process of its own.  This program plays all
 * the parts: with "summary" as its first argument it is the tool that prints one, with
 * "write-log" it is a command that leaves logs.  What is preloaded is the C library, which
 * changes nothing.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/launch.h"
#include "preload/launch_logs.h"
#include "preload/launch_target.h"
#include "unify/clock.h"
#include "unify/log_format.h"

#define TEXT_MAX 8192

static char directory[] = "/tmp/test-launch-XXXXXX";
static char self[PATH_MAX];
static char library[PATH_MAX];

/* How the launcher is started. */
#define NOBODY 65534
static bool ignores_children;
static bool is_unprivileged;

/* What a run left behind. */
static struct {
	int status;
	char out[TEXT_MAX];
	char err[TEXT_MAX];
} result;

/* --- the other parts ------------------------------------------------------------------------ */

/* A log of this process at `path`, begun `age` seconds ago, with `padding` bytes of records. */
static void
write_log(const char *path, bool has_jvm, int age, uint32_t padding)
{
	static union {
		struct th_log_header header;
		char bytes[4 * TH_LOG_HEADER_BYTES];
	} log;
	struct th_log_record filler = {.size = padding, .type = TH_EVENT_NOTE};
	struct th_log_record jvm = {.size = 64, .type = TH_EVENT_JVM};
	uint64_t at = TH_LOG_HEADER_BYTES;
	FILE *file = fopen(path, "w");

	memset(&log, 0, sizeof(log));
	memcpy(log.header.magic, TH_LOG_MAGIC, 8);
	log.header.header_bytes = TH_LOG_HEADER_BYTES;
	log.header.pid = (uint32_t)getpid();
	log.header.start_realtime = th_clock_read(CLOCK_REALTIME) - (uint64_t)age * TH_NS_PER_S;
	filler.check = th_log_check(at, filler.size, filler.type);
	memcpy(log.bytes + at, &filler, sizeof(filler));
	at += padding;
	jvm.check = th_log_check(at, jvm.size, jvm.type);
	memcpy(log.bytes + at, &jvm, has_jvm ? sizeof(jvm) : 0);
	log.header.tail = at + (has_jvm ? jvm.size : 0);
	assert_non_null(file);
	assert_int_equal(fwrite(&log, 1, sizeof(log), file), sizeof(log));
	fclose(file);
}

/* write-log PATH java|native AGE PADDING ...: leaves logs. */
static int
play_command(int argc, char **argv)
{
	for (int i = 2; i + 3 < argc; i += 4)
		write_log(argv[i], !strcmp(argv[i + 1], "java"), atoi(argv[i + 2]),
			(uint32_t)atoi(argv[i + 3]));
	return 0;
}

static int
play_tool(int argc, char **argv)
{
	printf("summary of %s, %s\n", argc > 3 ? argv[3] : "nothing", argv[2]);
	return 0;
}

/* --- running it ----------------------------------------------------------------------------- */

static void
read_text(const char *path, char text_ret[TEXT_MAX])
{
	FILE *file = fopen(path, "r");
	size_t length = file != NULL ? fread(text_ret, 1, TEXT_MAX - 1, file) : 0;

	text_ret[length] = '\0';
	if (file != NULL)
		fclose(file);
}

/* Starts `run` with these arguments; its output goes to files. */
static pid_t
start(char **arguments)
{
	int argc = 0;
	pid_t child;

	while (arguments[argc] != NULL)
		argc++;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(open("/tmp", O_RDONLY), STDIN_FILENO);
		dup2(creat("out", 0600), STDOUT_FILENO);
		dup2(creat("err", 0600), STDERR_FILENO);
		setpgid(0, 0);
		signal(SIGCHLD, ignores_children ? SIG_IGN : SIG_DFL);
		if (is_unprivileged && getuid() == 0)
			assert_int_equal(setuid(NOBODY), 0);
		exit(th_launch_main(argc, arguments));
	}
	return child;
}

static void
finish(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	result.status = WEXITSTATUS(status);
	read_text("out", result.out);
	read_text("err", result.err);
}

#define RUN(...) finish(start((char *[]){(char *)"run", __VA_ARGS__, NULL}))

static void
assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in: %s", part, text);
}

static unsigned
count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* The command was not started, and one line says why. */
static void
assert_refused(int status, const char *why)
{
	assert_int_equal(result.status, status);
	assert_string_equal(result.out, "");
	assert_int_equal(count_lines(result.err), 1);
	assert_int_equal(strncmp(result.err, "twinheap: ", 10), 0);
	assert_contains(result.err, why);
}

/* Whether this program and the commands around it are for one processor. */
static bool
can_start_commands(void)
{
	char program[PATH_MAX];
	char reason[PATH_MAX];

	return th_launch_target_check("sh", program, reason, sizeof(reason)) == 0;
}

static int
set_up(void **state)
{
	Dl_info info;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chdir(directory), 0);
	if (can_start_commands()) /* not every emulator knows this name */
		assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "getppid"), &info), 0);
	assert_non_null(realpath(info.dli_fname, library));
	unsetenv("LD_PRELOAD");
	/* A sanitizer wants to be the first library; here it may be the second. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
	return setenv("TWINHEAP_LIBRARY", library, 1);
}

static int
tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* --- exit status ---------------------------------------------------------------------------- */

static void
test_exit_status_is_the_command_s(void **state)
{
	(void)state;
	RUN("-q", "true");
	assert_int_equal(result.status, 0);
	RUN("-q", "--", "sh", "-c", "exit 7");
	assert_int_equal(result.status, 7);
	RUN("-q", "sh", "-c", "kill -KILL $$");
	assert_int_equal(result.status, 128 + SIGKILL);
	assert_string_equal(result.err, "");
}

static void
test_death_by_signal_is_said(void **state)
{
	(void)state;
	RUN("sh", "-c", "kill -KILL $$");
	assert_int_equal(result.status, 128 + SIGKILL);
	assert_contains(result.err, "sh was ended by signal 9 (Killed)");
}

static void
test_commands_that_cannot_be_started(void **state)
{
	(void)state;
	close(creat("plain", 0644));
	RUN("no-such-command-anywhere");
	assert_refused(127, "no-such-command-anywhere: command not found");
	RUN("./nothing-here");
	assert_refused(127, "./nothing-here: No such file or directory");
	RUN("plain/below");
	assert_refused(127, "No such file");
	RUN("./plain");
	assert_refused(126, "./plain: Permission denied");
	RUN("/tmp");
	assert_refused(126, "/tmp: Is a directory");
	RUN("");
	assert_refused(127, "not found");
}

/* What only the kernel finds out: the interpreter of a script is missing. */
static void
test_failure_of_exec_is_reported(void **state)
{
	FILE *script = fopen("orphan", "w");

	(void)state;
	fputs("#!/nowhere/interpreter\n", script);
	fclose(script);
	chmod("orphan", 0755);
	RUN("./orphan");
	assert_refused(127, "./orphan: No such file or directory");
}

/* As execvp() has it: a script without a first line is the shell's. */
static void
test_script_without_interpreter_line(void **state)
{
	FILE *script = fopen("bare", "w");

	(void)state;
	fputs("exit 3\n", script);
	fclose(script);
	chmod("bare", 0755);
	RUN("-q", "./bare");
	assert_int_equal(result.status, 3);
}

/* --- options -------------------------------------------------------------------------------- */

static void
test_help(void **state)
{
	(void)state;
	RUN("--help");
	assert_int_equal(result.status, 0);
	assert_string_equal(result.err, "");
	assert_contains(result.out, "-o, --output LOG");
	assert_contains(result.out, "-i, --interval BYTES");
	assert_contains(result.out, "--heaps all|both|java|native|mapped");
	assert_contains(result.out, "--depth N");
	assert_contains(result.out, "--follow java|all|none");
	assert_contains(result.out, "TWINHEAP_MAX_LOG=BYTES");
	assert_contains(result.out, "-r, --rate RATE");
}

static void
test_options_that_are_refused(void **state)
{
	static const char *const cases[][3] = {
		{"--interval", "12q", "--interval 12q: not a size"},
		{"-i", "-5", "not a size"},
		{"-i", "", "not a size"},
		{"-i", "2G", "out of range, expected 0 to 2147483647"},
		{"--depth", "0", "out of range, expected 1 to 2048"},
		{"--depth", "2049", "out of range"},
		{"--depth", "2k", "not a number"},
		{"--heaps", "jav",
			"--heaps jav: not one of the choices, expected "
			"all|both|java|native|mapped"},
		{"--heaps", "java|native", "not one of the choices"},
		{"--follow", "", "not one of the choices"},
		{"--output", "", "--output : empty"},
		{"-r", "12k", "not a number"},
		{"--rate", "1000001", "out of range"},
		{"--nonsense", "5", "unknown option --nonsense"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		RUN((char *)cases[i][0], (char *)cases[i][1], "echo", "started");
		assert_refused(2, cases[i][2]);
	}
	RUN("--depth");
	assert_refused(2, "--depth needs a value: N");
	RUN("-q");
	assert_refused(2, "no command given");
}

static void
test_values_that_are_taken(void **state)
{
	static const char *const cases[][2] = {{"-i", "0"}, {"-i", "2147483647"},
		{"-i", "2MiB"}, {"--depth", "1"}, {"--depth", "2048"}, {"--heaps", "native"},
		{"--follow", "none"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		RUN("-q", (char *)cases[i][0], (char *)cases[i][1], "echo", "started");
		assert_string_equal(result.out, "started\n");
	}
}

static void
test_variables_are_checked_too(void **state)
{
	(void)state;
	setenv("TWINHEAP_INTERVAL", "many", 1);
	RUN("echo", "started");
	assert_refused(2, "TWINHEAP_INTERVAL=many: not a size");
	RUN("-q", "-i", "1M", "echo", "started");
	assert_string_equal(result.out, "started\n");
	setenv("TWINHEAP_INTERVAL", "", 1);
	RUN("-q", "echo", "started");
	assert_string_equal(result.out, "started\n");
	unsetenv("TWINHEAP_INTERVAL");
}

/* --- environment ---------------------------------------------------------------------------- */

static void
test_environment_of_the_command(void **state)
{
	char expected[3 * PATH_MAX];
	char script[] =
		"echo \"$LD_PRELOAD|$TWINHEAP_OUTPUT|$TWINHEAP_INTERVAL|$TWINHEAP_HEAPS|"
		"${TWINHEAP_DEPTH-unset}\"";

	(void)state;
	RUN("-q", "-i", "2M", "--heaps", "java", "sh", "-c", script);
	snprintf(expected, sizeof(expected), "%s|%s/twinheap.%%p.thl|2M|java|unset\n", library,
		directory);
	assert_string_equal(result.out, expected);
	assert_null(getenv("LD_PRELOAD"));
}

static void
test_earlier_preload_is_kept(void **state)
{
	char expected[3 * PATH_MAX];

	(void)state;
	setenv("LD_PRELOAD", library, 1);
	RUN("-q", "sh", "-c", "echo $LD_PRELOAD");
	unsetenv("LD_PRELOAD");
	snprintf(expected, sizeof(expected), "%s:%s\n", library, library);
	assert_string_equal(result.out, expected);
}

static void
test_output_becomes_absolute(void **state)
{
	char expected[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("100%p", 0755), 0);
	assert_int_equal(chdir("100%p"), 0);
	RUN("-q", "-o", "x-%h.thl", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	assert_int_equal(chdir(directory), 0);
	snprintf(expected, sizeof(expected), "%s/100%%%%p/x-%%h.thl\n", directory);
	assert_string_equal(result.out, expected);
	RUN("-q", "-o", "/tmp/%p", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	assert_string_equal(result.out, "/tmp/%p\n");
	setenv("TWINHEAP_OUTPUT", "by-variable", 1);
	RUN("-q", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	unsetenv("TWINHEAP_OUTPUT");
	snprintf(expected, sizeof(expected), "%s/by-variable\n", directory);
	assert_string_equal(result.out, expected);
}

static void
test_library_that_is_missing(void **state)
{
	char path[PATH_MAX];

	(void)state;
	setenv("TWINHEAP_LIBRARY", "/nowhere/lib.so", 1);
	RUN("echo", "started");
	assert_refused(2, "TWINHEAP_LIBRARY=/nowhere/lib.so: No such file or directory");
	setenv("TWINHEAP_LIBRARY", "", 1); /* as if unset: beside this program there is none */
	RUN("echo", "started");
	assert_refused(2, "libtwinheap.so is neither beside the tool nor");
	assert_int_equal(mkdir("with blank", 0755), 0);
	close(creat("with blank/lib.so", 0644));
	snprintf(path, sizeof(path), "%s/with blank/lib.so", directory);
	setenv("TWINHEAP_LIBRARY", path, 1);
	RUN("echo", "started");
	assert_refused(2, "LD_PRELOAD cannot name a path with a blank");
	setenv("TWINHEAP_LIBRARY", library, 1);
}

/* --- the name of the log --------------------------------------------------------------------- */

static void
test_outputs_that_are_refused(void **state)
{
	(void)state;
	close(creat("taken.thl", 0644));
	RUN("-o", "taken.thl", "echo", "started");
	assert_refused(2, "taken.thl: exists already");
	RUN("-o", "/nowhere/x.thl", "echo", "started");
	assert_refused(2, "/nowhere/x.thl: the directory of the log does not exist");
	RUN("-o", "taken.thl/x", "echo", "started");
	assert_refused(2, "directory");
	RUN("-o", directory, "echo", "started");
	assert_refused(2, "a directory, not a name");
	RUN("-o", "./", "echo", "started");
	assert_refused(2, "a directory, not a name");
	RUN("-q", "-o", "taken.%p.thl", "echo", "started");
	assert_int_equal(result.status, 0);
}

static void
test_directory_that_is_not_writable(void **state)
{
	(void)state;
	assert_int_equal(mkdir("closed", 0555), 0);
	is_unprivileged = true; /* root may write anywhere */
	RUN("-o", "closed/x.thl", "echo", "started");
	is_unprivileged = false;
	assert_refused(2, "not writable");
}

/* --- what cannot be preloaded ---------------------------------------------------------------- */

/* A copy of this program, changed by `change`. */
static void
make_program(const char *path, void (*change)(char *bytes))
{
	static char bytes[8 << 20];
	FILE *file = fopen(self, "r");
	size_t length = fread(bytes, 1, sizeof(bytes), file);

	fclose(file);
	assert_in_range(length, sizeof(Elf64_Ehdr), sizeof(bytes) - 1);
	change(bytes);
	file = fopen(path, "w");
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	chmod(path, 0755);
}

static Elf64_Phdr *
find_interpreter(char *bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	Elf64_Phdr *segment = (Elf64_Phdr *)(bytes + header->e_phoff);

	while (segment->p_type != PT_INTERP)
		segment++;
	return segment;
}

static void
make_static(char *bytes)
{
	find_interpreter(bytes)->p_type = PT_NULL;
}

static void
make_foreign_libc(char *bytes)
{
	strcpy(bytes + find_interpreter(bytes)->p_offset, "/lib/ld-musl.so.1");
}

static void
make_32_bit(char *bytes)
{
	bytes[EI_CLASS] = ELFCLASS32;
}

static void
make_foreign_processor(char *bytes)
{
	((Elf64_Ehdr *)bytes)->e_machine = EM_S390;
}

static void
make_same(char *bytes)
{
	(void)bytes;
}

static void
test_programs_that_cannot_be_preloaded(void **state)
{
	(void)state;
	make_program("static", make_static);
	RUN("./static", "summary", "x");
	assert_refused(2, "./static: statically linked");
	make_program("foreign-libc", make_foreign_libc);
	RUN("./foreign-libc", "summary", "x");
	assert_refused(2, "./foreign-libc: uses another C library (ld-musl.so.1)");
	make_program("narrow", make_32_bit);
	RUN("./narrow", "summary", "x");
	assert_refused(2, "./narrow: a 32-bit program");
	make_program("foreign", make_foreign_processor);
	RUN("./foreign", "summary", "x");
	assert_refused(2, "./foreign: a program for another processor");
	make_program("same", make_same);
	RUN("-q", "./same", "summary", "x");
	assert_int_equal(result.status, 0);
}

static void
test_interpreter_of_a_script(void **state)
{
	FILE *script = fopen("script", "w");

	(void)state;
	make_program("static", make_static);
	fprintf(script, "#! %s/static -x\nnothing\n", directory);
	fclose(script);
	chmod("script", 0755);
	RUN("./script");
	assert_refused(2, "static: statically linked");
}

static void
test_command_is_searched_along_path(void **state)
{
	char *before = strdup(getenv("PATH"));
	char path[256];

	(void)state;
	make_program("static", make_static);
	snprintf(path, sizeof(path), "/nowhere:%s:%s", directory, before);
	setenv("PATH", path, 1);
	RUN("static");
	assert_refused(2, "statically linked");
	setenv("PATH", before, 1);
	free(before);
}

static void
test_privileged_program(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip(); /* only root can make one */
	make_program("privileged", make_same);
	assert_int_equal(chown("privileged", 12345, 12345), 0);
	chmod("privileged", 04755);
	RUN("./privileged", "summary", "x");
	assert_refused(2, "./privileged: set-user-ID");
	chmod("privileged", 02755);
	RUN("./privileged", "summary", "x");
	assert_refused(2, "./privileged: set-group-ID");
	assert_int_equal(chown("privileged", 0, 0), 0);
	chmod("privileged", 04755); /* root's own: changes nothing for root */
	RUN("-q", "./privileged", "summary", "x");
	assert_int_equal(result.status, 0);
}

/* The library for the operators of AddressSanitizer stands beside ours, which is made up here. */
#ifdef __SANITIZE_ADDRESS__
#	define OWN_ALLOCATOR_LINES 1
#else
#	define OWN_ALLOCATOR_LINES 0
#endif

/* --- after the run --------------------------------------------------------------------------- */

static void
test_no_log(void **state)
{
	(void)state;
	RUN("true");
	assert_int_equal(result.status, 0);
	assert_int_equal(count_lines(result.err), 1);
	assert_contains(result.err, "no log was written");
}

/* The JVM's first although it is smaller, and its summary; nothing on stdout. */
static void
test_logs_of_the_run(void **state)
{
	(void)state;
	write_log("twinheap.1.thl", true, 10, 64); /* of an earlier run */
	close(creat("twinheap.2.thl", 0644));
	close(creat("twinheap.x.thl", 0644));
	RUN(self, "write-log", "twinheap.77.thl", "native", "0", "4096", "twinheap.78.thl",
		"java", "0", "64", "twinheap.79.thl", "native", "0", "128",
		"twinheap.1.thl.bak", "java", "0", "64");
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "");
	assert_int_equal(count_lines(result.err), OWN_ALLOCATOR_LINES + 4);
	assert_contains(result.err, "(Java) recorded in twinheap.78.thl\n");
	assert_contains(result.err, "\nsummary of twinheap.78.thl, --brief\n");
	assert_true(strstr(result.err, "78.thl") < strstr(result.err, "77.thl"));
	assert_true(strstr(result.err, "77.thl") < strstr(result.err, "79.thl"));
	RUN("-q", self, "write-log", "twinheap.80.thl", "java", "0", "64");
	assert_int_equal(count_lines(result.err), OWN_ALLOCATOR_LINES);
}

static void
test_many_logs_are_not_all_named(void **state)
{
	(void)state;
	RUN("-o", "m.%p", self, "write-log", "m.1", "java", "0", "64", "m.2", "java", "0", "64",
		"m.3", "java", "0", "64", "m.4", "java", "0", "64", "m.5", "java", "0", "64",
		"m.6", "java", "0", "64", "m.7", "java", "0", "64", "m.8", "java", "0", "64",
		"m.9", "java", "0", "64", "m.10", "java", "0", "64");
	assert_int_equal(count_lines(result.err), OWN_ALLOCATOR_LINES + 8 + 1 + 1);
	assert_contains(result.err, "and 2 more logs");
}

static bool
finds(const char *pattern, const char *name)
{
	struct th_launch_logs logs;
	char *absolute = th_launch_logs_absolute(pattern);
	bool found;

	write_log(name, false, 0, 64);
	th_launch_logs_find(absolute, 0, &logs);
	unlink(name);
	found = logs.count == 1;
	th_launch_logs_deinit(&logs);
	free(absolute);
	return found;
}

/* As the library expands a pattern, and ".PID" before the extension when a name is taken. */
static void
test_names_that_a_pattern_stands_for(void **state)
{
	char host[256] = "", name[512];

	(void)state;
	assert_int_equal(mkdir("names", 0755), 0);
	assert_int_equal(chdir("names"), 0);
	assert_true(finds("a.%p.thl", "a.123.thl"));
	assert_true(finds("a.%p.thl", "a.123.45.thl"));
	assert_false(finds("a.%p.thl", "a..thl"));
	assert_false(finds("a.%p.thl", "a.x.thl"));
	assert_false(finds("a.%p.thl", "a.123.thl2"));
	assert_false(finds("a.%p.thl", "b.123.thl"));
	assert_true(finds("a.thl", "a.thl"));
	assert_true(finds("a.thl", "a.123.thl"));
	assert_true(finds("plain", "plain"));
	assert_true(finds("plain", "plain.123"));
	assert_true(finds("1%p2", "1992")); /* %p = 99 */
	assert_false(finds("1%p2", "12"));
	assert_true(finds("[*]%p", "[*]7"));
	assert_false(finds("[*]%p", "x7"));
	assert_true(finds("100%%p.thl", "100%p.thl"));
	assert_false(finds("100%%p.thl", "1007.thl"));
	assert_true(finds("%x", "%x"));
	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%s.12", host);
	assert_true(finds("%h.%p", name));
	assert_int_equal(chdir(directory), 0);
}

/* --- signals -------------------------------------------------------------------------------- */

static void
await_file(const char *path)
{
	for (int i = 0; access(path, F_OK) != 0; i++) {
		assert_true(i < 1000);
		usleep(10000);
	}
}

static void
test_signals_are_passed_on(void **state)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1};

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		char script[] = "trap 'exit 41' TERM; trap 'exit 42' HUP; trap 'exit 43' INT;"
				"trap 'exit 44' QUIT; trap 'exit 45' USR1; touch ready;"
				"for i in $(seq 200); do sleep 0.02; done";
		static const int statuses[] = {41, 42, 43, 44, 45};
		pid_t child;

		unlink("ready");
		child = start((char *[]){"run", "-q", "sh", "-c", script, NULL});
		await_file("ready");
		kill(child, signals[i]);
		finish(child);
		assert_int_equal(result.status, statuses[i]);
	}
}

/* The command starts with the mask and the dispositions that the launcher was given. */
static void
test_signals_of_the_command_are_untouched(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	signal(SIGUSR2, SIG_IGN);
	ignores_children = true;
	RUN("-q", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status");
	signal(SIGUSR2, SIG_DFL);
	ignores_children = false;
	assert_int_equal(result.status, 0);
	assert_contains(result.out, "SigBlk:\t0000000000000000");
	snprintf(text, sizeof(text), "%016llx", 1ull << (SIGUSR2 - 1) | 1ull << (SIGCHLD - 1));
	assert_contains(result.out, text);
}

static void
test_everything_that_starts_a_command(void **state)
{
	(void)state;
	skip(); /* under an emulator: the commands of this machine are of another processor */
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest few_tests[] = {
		cmocka_unit_test(test_everything_that_starts_a_command),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_options_that_are_refused),
		cmocka_unit_test(test_names_that_a_pattern_stands_for),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status_is_the_command_s),
		cmocka_unit_test(test_death_by_signal_is_said),
		cmocka_unit_test(test_commands_that_cannot_be_started),
		cmocka_unit_test(test_failure_of_exec_is_reported),
		cmocka_unit_test(test_script_without_interpreter_line),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_options_that_are_refused),
		cmocka_unit_test(test_values_that_are_taken),
		cmocka_unit_test(test_variables_are_checked_too),
		cmocka_unit_test(test_environment_of_the_command),
		cmocka_unit_test(test_earlier_preload_is_kept),
		cmocka_unit_test(test_output_becomes_absolute),
		cmocka_unit_test(test_library_that_is_missing),
		cmocka_unit_test(test_outputs_that_are_refused),
		cmocka_unit_test(test_directory_that_is_not_writable),
		cmocka_unit_test(test_programs_that_cannot_be_preloaded),
		cmocka_unit_test(test_interpreter_of_a_script),
		cmocka_unit_test(test_command_is_searched_along_path),
		cmocka_unit_test(test_privileged_program),
		cmocka_unit_test(test_no_log),
		cmocka_unit_test(test_logs_of_the_run),
		cmocka_unit_test(test_many_logs_are_not_all_named),
		cmocka_unit_test(test_names_that_a_pattern_stands_for),
		cmocka_unit_test(test_signals_are_passed_on),
		cmocka_unit_test(test_signals_of_the_command_are_untouched),
	};

	if (argc > 1 && strcmp(argv[1], "summary") == 0)
		return play_tool(argc, argv);
	if (argc > 1 && strcmp(argv[1], "write-log") == 0)
		return play_command(argc, argv);
	if (!can_start_commands())
		return cmocka_run_group_tests(few_tests, set_up, tear_down);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
