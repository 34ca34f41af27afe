/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_children WAY [COMMAND...]: allocates 1,000 blocks in parent_site(), creates a child in one
 * of the ways below, allocates 1,000 more and waits for the child, which allocates 5,000
 * blocks in child_site() or executes COMMAND.  Exits with the child's status.
 *
 *   fork, _exit    the child ends by exit() or _exit()
 *   bare           as fork, with the bare system call: no fork handlers run
 *   vfork, clone   without COMMAND: the child shares the parent's memory (clone: on another
 *                  stack), and allocates in it before it ends by _exit()
 *   retitle        as fork, but first the program overwrites its own environment, like servers
 *                  that change their title in the list of processes
 *   exec, vfork, spawn    with COMMAND, which the child executes
 *   orphan COMMAND        the original ends, and then the child executes COMMAND
 *   self N         executes itself N times before it allocates
 *   daemon         the original ends; the daemon closes every descriptor before it allocates
 *   storm N        N children by fork while three other threads allocate
 *   many N BYTES   N children by fork, in turn, that allocate BYTES each; they end by
 *                  exit(), _exit() and SIGKILL in turn
 *   mapped BYTES   a child by fork that maps BYTES, and does nothing else
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000
#define STORM_THREADS 3
/* Far more than the storm needs; ends the program if it deadlocks. */
#define STORM_SECONDS 200
#define CLONE_STACK_BYTES (64 << 10)

extern char **environ;

#define SITE(name)                                               \
	static __attribute__((noinline)) void *name(size_t size) \
	{                                                        \
		void *block = malloc(size);                      \
		__asm__ volatile("" : "+r"(block)::"memory");    \
		return block;                                    \
	}
SITE(parent_site)
SITE(child_site)
SITE(storm_site)

static void
allocate(void *(*site)(size_t size), int blocks)
{
	for (int i = 0; i < blocks; i++)
		free(site(100));
}

static int
wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) != child)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t
fork_child(const char *way)
{
	pid_t child = fork();

	if (child == 0) {
		allocate(child_site, 5 * BLOCKS);
		if (!strcmp(way, "_exit"))
			_exit(0);
		exit(0);
	}
	return child;
}

static pid_t
fork_bare(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0) {
		allocate(child_site, 5 * BLOCKS);
		exit(0);
	}
	return child;
}

static int
allocate_and_leave(void *unused)
{
	(void)unused;
	allocate(child_site, 5 * BLOCKS);
	_exit(0);
}

static pid_t
clone_child(void)
{
	static char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));

	return clone(allocate_and_leave, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static pid_t
vfork_child(void)
{
	pid_t child = vfork();

	if (child == 0)
		allocate_and_leave(NULL);
	return child;
}

static pid_t
have_child(const char *way)
{
	if (!strcmp(way, "bare"))
		return fork_bare();
	if (!strcmp(way, "vfork"))
		return vfork_child();
	if (!strcmp(way, "clone"))
		return clone_child();
	return fork_child(way);
}

static void
overwrite_environment(void)
{
	for (char **variable = environ; *variable; variable++)
		memset(*variable, '-', strlen(*variable));
	clearenv();
}

static pid_t
run_child(const char *way, char **command)
{
	pid_t child;

	if (!strcmp(way, "spawn"))
		return posix_spawnp(&child, command[0], NULL, NULL, command, environ) ? -1
										      : child;
	child = !strcmp(way, "vfork") ? vfork() : fork();
	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	return child;
}

static int
become_self(char **argv)
{
	int times = atoi(argv[2]);
	char number[16];

	allocate(child_site, 5 * BLOCKS);
	if (times == 0) {
		allocate(parent_site, 2 * BLOCKS);
		return 0;
	}
	snprintf(number, sizeof(number), "%d", times - 1);
	execv("/proc/self/exe", (char *[]){argv[0], argv[1], number, NULL});
	return 127;
}

/* The daemon reports its end by closing its end of the pipe, its stdout. */
static int
become_daemon(void)
{
	if (daemon(1, 1) != 0)
		return 1;
	for (int i = 3; i < 1024; i++)
		close(i);
	allocate(child_site, 5 * BLOCKS);
	dprintf(STDOUT_FILENO, "done\n");
	return 0;
}

/* The child executes the command once it has a different parent. */
static int
leave_orphan(char **command)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child != 0)
		return child < 0;
	while (getppid() == parent)
		usleep(1000);
	execvp(command[0], command);
	_exit(127);
}

static void *
allocate_for_ever(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		allocate(storm_site, 10);
	return NULL;
}

static int
storm(int children)
{
	pthread_t threads[STORM_THREADS];
	int stop = 0;
	int status = 0;

	alarm(STORM_SECONDS);
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_create(&threads[i], NULL, allocate_for_ever, &stop);
	for (int i = 0; i < children && status == 0; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(STORM_SECONDS);
			allocate(child_site, 100);
			exit(0);
		}
		status = wait_for(child);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_join(threads[i], NULL);
	return status;
}

static void
end(int number)
{
	if (number % 3 == 0)
		exit(0);
	if (number % 3 == 1)
		_exit(0);
	raise(SIGKILL);
}

static int
have_many(int children, int bytes)
{
	for (int i = 0; i < children; i++) {
		pid_t child = fork();

		if (child == 0) {
			allocate(child_site, bytes / 100);
			end(i);
		}
		if (child < 0 || wait_for(child) != (i % 3 == 2 ? 128 + SIGKILL : 0))
			return 1;
	}
	return 0;
}

static int
have_mapper(size_t bytes)
{
	pid_t child = fork();

	if (child == 0)
		_exit(mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			MAP_FAILED);
	return child < 0 ? 1 : wait_for(child);
}

int
main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "fork";
	pid_t child;

	if (!strcmp(way, "self"))
		return become_self(argv);
	allocate(parent_site, BLOCKS);
	if (!strcmp(way, "retitle"))
		overwrite_environment();
	if (!strcmp(way, "daemon"))
		return become_daemon();
	if (!strcmp(way, "orphan"))
		return leave_orphan(argv + 2);
	if (!strcmp(way, "storm"))
		return storm(atoi(argv[2]));
	if (!strcmp(way, "many"))
		return have_many(atoi(argv[2]), atoi(argv[3]));
	if (!strcmp(way, "mapped"))
		return have_mapper((size_t)atol(argv[2]));
	child = argc > 2 ? run_child(way, argv + 2) : have_child(way);
	allocate(parent_site, BLOCKS);
	return child < 0 ? 1 : wait_for(child);
}
