/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_host WAY ...: unusual things that a host may do with a preloaded library.  Exits with 0 if
 * the result is the same as without the library.
 *
 *   deaf LIBRARY COMMAND...   runs the command with the library preloaded and a closed pipe as
 *                             stderr; SIGPIPE is blocked and pending in "deaf-pending"
 *   full LIBRARY COMMAND...   the same with a stderr that has reached RLIMIT_FSIZE
 *   pending                   whether SIGPIPE is blocked and pending, and nothing else is
 *   handler                   forks in a signal handler that interrupted malloc (libinterrupted.so)
 *   loader                    forks while another thread walks the list of loaded objects, and a
 *                             third loads and unloads one
 *   lock                      mlockall(); prints its result and the locked memory
 *   leave user|root           a daemon: closes all descriptors, then drops its user or enters an
 *                             empty root, and continues to allocate
 *   leave late                the same in the other order: user first
 *   scribble LOG              writes random values to each word of the log's header while it allocates
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/interrupted.h"

#define HEADER_BYTES 4096
#define NOBODY 65534
#define FORKS 40
/* Of a way that hangs. */
#define SECONDS 30

static volatile sig_atomic_t failures;

/* Allocating */

static __attribute__((noinline)) void
host_site(int count)
{
	for (int i = 0; i < count; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
}

/* Stderr */

static int
preload_and_run(const char *library, char **command)
{
	setenv("LD_PRELOAD", library, 1);
	execvp(command[0], command);
	return 127;
}

static int
run_deaf(bool is_pending, char **arguments)
{
	sigset_t set;
	int ends[2];

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(is_pending ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	if (is_pending)
		raise(SIGPIPE);
	if (pipe(ends))
		return 1;
	close(ends[0]);
	dup2(ends[1], STDERR_FILENO);
	return preload_and_run(arguments[0], arguments + 1);
}

static int
run_full(char **arguments)
{
	const struct rlimit none = {0, 0};
	FILE *file = tmpfile();

	if (!file)
		return 1;
	dup2(fileno(file), STDERR_FILENO);
	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &none);
	return preload_and_run(arguments[0], arguments + 1);
}

static int
is_pending_alone(void)
{
	sigset_t blocked, pending;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (int signal = 1; signal < 32; signal++)
		if (sigismember(&blocked, signal) != (signal == SIGPIPE) ||
			sigismember(&pending, signal) != (signal == SIGPIPE))
			return 1;
	return 0;
}

/* Fork */

static bool
succeeds(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void
fork_in_handler(int signal)
{
	pid_t child = fork();

	(void)signal;
	if (!child)
		_exit(0);
	if (child < 0 || !succeeds(child))
		failures++;
}

/*
 * As glibc's tst-mallocfork2: one thread, so that fork() itself takes no lock of malloc.  There the
 * signals come at random.
 */
static int
fork_in_handlers(void)
{
	const struct sigaction action = {.sa_handler = fork_in_handler};

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < FORKS / 4; i++)
		free(malloc(INTERRUPTED_BYTES));
	return failures != 0;
}

static void *
load_for_ever(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		void *handle = dlopen("libutil.so.1", RTLD_NOW);

		if (handle)
			dlclose(handle);
	}
	return NULL;
}

/* The list is locked while it is walked. */
static int
visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)info;
	(void)bytes;
	(void)data;
	for (volatile int i = 0; i < 2000; i = i + 1) {
	}
	return 0;
}

static void *
walk_for_ever(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		dl_iterate_phdr(visit, NULL);
	return NULL;
}

static int
fork_beside_the_loader(void)
{
	pthread_t loader, walker;
	int stop = 0;

	pthread_create(&loader, NULL, load_for_ever, &stop);
	pthread_create(&walker, NULL, walk_for_ever, &stop);
	for (int i = 0; i < FORKS && !failures; i++) {
		pid_t child = fork();

		if (!child) {
			alarm(SECONDS / 3);
			host_site(100);
			_exit(0);
		}
		if (!succeeds(child))
			failures++;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(loader, NULL);
	pthread_join(walker, NULL);
	return failures != 0;
}

/* Locked memory */

static long
locked_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

/* As an ordinary user with the usual limit of 8 MiB, if `is_limited`. */
static int
lock(bool is_limited)
{
	const struct rlimit limit = {8 << 20, 8 << 20};

	host_site(100);
	if (is_limited) {
		setrlimit(RLIMIT_MEMLOCK, &limit);
		if (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY))
			return 1;
	}
	int result = mlockall(MCL_CURRENT | MCL_FUTURE);
	int error = errno;
	host_site(50000);
	printf("locked: %s\nkib: %ld\n", result ? strerror(error) : "yes", locked_kib());
	return 0;
}

/* Leaving */

static void
close_all(void)
{
	for (int i = 0; i < 4096; i++)
		if (i != STDOUT_FILENO)
			close(i);
}

static int
leave_user(void)
{
	return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY);
}

static int
leave_root(void)
{
	char empty[] = "empty.XXXXXX";

	return !mkdtemp(empty) || chroot(empty) || chdir("/");
}

static int
leave(const char *what)
{
	int result;

	host_site(100);
	if (!strcmp(what, "late")) {
		result = leave_user();
		close_all();
	} else {
		close_all();
		result = strcmp(what, "user") ? leave_root() : leave_user();
	}
	host_site(100000);
	return result;
}

/* A header that others write to */

static int
scribble(const char *log)
{
	static const uint64_t nonsense[] = {0, 1, 8, 4095, 4096, 4100, 1u << 20, INT64_MAX,
		(uint64_t)INT64_MAX + 1, UINT64_MAX - 7, UINT64_MAX, 0x0101010101010101};
	int descriptor = open(log, O_RDWR);
	uint64_t *header = mmap(
		NULL, HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);

	if (header == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < HEADER_BYTES / sizeof(*header); i++) {
		for (size_t k = 0; k < sizeof(nonsense) / sizeof(nonsense[0]); k++) {
			uint64_t was = header[i];

			__atomic_store_n(&header[i], nonsense[k], __ATOMIC_SEQ_CST);
			host_site(20);
			__atomic_store_n(&header[i], was, __ATOMIC_SEQ_CST);
		}
	}
	memset(header, 0xff, HEADER_BYTES);
	host_site(1000);
	puts("alive");
	return 0;
}

int
main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	alarm(SECONDS);
	if (!strcmp(way, "deaf") || !strcmp(way, "deaf-pending"))
		return run_deaf(!strcmp(way, "deaf-pending"), argv + 2);
	if (!strcmp(way, "full"))
		return run_full(argv + 2);
	if (!strcmp(way, "pending"))
		return is_pending_alone();
	if (!strcmp(way, "handler"))
		return fork_in_handlers();
	if (!strcmp(way, "loader"))
		return fork_beside_the_loader();
	if (!strcmp(way, "lock"))
		return lock(argc > 2);
	if (!strcmp(way, "leave"))
		return leave(argv[2]);
	if (!strcmp(way, "scribble"))
		return scribble(argv[2]);
	return 2;
}
