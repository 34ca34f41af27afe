/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_signals HITS: threads that allocate without pause receive signals whose handler
 * allocates as well, until it has run HITS times: SIGPROF from a timer of 1 kHz, SIGUSR1 from a
 * thread that sends nothing else.  One handler in a hundred also forks, and the child exits
 * after it has continued from the interrupted point, possibly in the middle of an allocation.
 * Requires an allocator that a handler may call, see libbump.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/sites.h"

#define THREADS 3
#define FORK_EVERY 100
/* Far more than needed; ends the program if it deadlocks. */
#define SECONDS 200

TH_SITE(thread_site)
TH_SITE(handler_site)

static unsigned hits;
static unsigned hits_wanted;
static bool stop;
static volatile sig_atomic_t is_child;
static unsigned bad_children;
static unsigned bad_errnos;

/* The child returns to the interrupted code, and exits from there. */
static void
fork_here(void)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(SECONDS);
		is_child = 1;
	} else if (child > 0) {
		int status;

		while (waitpid(child, &status, 0) != child)
			;
		if (status)
			__atomic_fetch_add(&bad_children, 1, __ATOMIC_RELAXED);
	}
}

static void
handle(int signal)
{
	int saved_errno = errno;

	(void)signal;
	if (is_child)
		return;
	allocate_and_free(handler_site, 3, 50);
	if (__atomic_add_fetch(&hits, 1, __ATOMIC_RELAXED) % FORK_EVERY == 0)
		fork_here();
	errno = saved_errno;
}

static void *
allocate(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		errno = 4711;
		allocate_and_free(thread_site, 10, 100);
		if (errno != 4711)
			__atomic_fetch_add(&bad_errnos, 1, __ATOMIC_RELAXED);
		if (is_child)
			_exit(0);
	}
	return NULL;
}

static void
start_signals(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	const struct itimerval timer = {{0, 1000}, {0, 1000}};

	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGALRM);
	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

static void
stop_signals(void)
{
	const struct itimerval never = {{0, 0}, {0, 0}};

	setitimer(ITIMER_PROF, &never, NULL);
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	sigset_t signals;

	hits_wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	alarm(SECONDS);
	start_signals();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	/* This thread only sends signals, and blocks them itself. */
	sigfillset(&signals);
	sigdelset(&signals, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	for (unsigned i = 0; __atomic_load_n(&hits, __ATOMIC_RELAXED) < hits_wanted; i++) {
		pthread_kill(threads[i % THREADS], SIGUSR1);
		usleep(100);
	}
	stop_signals();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	print_site(&thread_site_truth);
	print_site(&handler_site_truth);
	printf("{\"bad_children\": %u, \"bad_errnos\": %u}\n", bad_children, bad_errnos);
	return bad_children || bad_errnos;
}
