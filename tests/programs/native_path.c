/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_path WHAT MS: allocates for MS milliseconds, keeps 256 MiB, and checks malloc for
 * side effects:
 *
 *   cancel   in a thread that holds a lock and has a cancellation request pending from the start
 *   calls    under a filter that counts system calls for files and sleeping
 *   timer    under a timer of 0.7 ms whose handler interrupts system calls
 *
 * Prints one line of JSON: "work" done and "wanted", counted "calls".  Ends by _exit(), so that calls
 * at the end of the process are not counted.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEPT_BYTES (1u << 20)
#define KEPT_MAX 256u
#define CHURN_BYTES 1000u
#define CHURN 2000u
#define TIMER_US 700

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept[KEPT_MAX];
static volatile unsigned rounds, calls, wanted_rounds;
static volatile int last_call;

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One round: a kept block, as long as there is room, and many freed ones. */
static void
allocate(unsigned round)
{
	if (round < KEPT_MAX) {
		kept[round] = malloc(KEPT_BYTES);
		memset(kept[round], 1, KEPT_BYTES);
	}
	for (unsigned i = 0; i < CHURN; i++) {
		char *volatile block = malloc(CHURN_BYTES);

		*block = 1;
		free(block);
	}
}

static void
work(double end)
{
	while (seconds() < end || rounds < KEPT_MAX) {
		pthread_mutex_lock(&lock);
		allocate(rounds);
		pthread_mutex_unlock(&lock);
		rounds++;
	}
	wanted_rounds = rounds;
}

static void *
work_cancelled(void *data)
{
	/* Pending from now on: the only cancellation point is the last call. */
	pthread_cancel(pthread_self());
	work(*(double *)data);
	pthread_testcancel();
	return data;
}

static int
cancel(double end)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, work_cancelled, &end) ||
		pthread_join(thread, &result))
		return 1;
	return result != PTHREAD_CANCELED || pthread_mutex_trylock(&lock);
}

/* Counts a call that was blocked, and makes it fail. */
static void
count_call(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	calls++;
	last_call = info->si_syscall;
#if defined(__x86_64__)
	user->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
	user->uc_mcontext.regs[0] = (uint64_t)-EPERM;
#endif
}

#define COUNT(name)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

static int
count_calls(double end)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		COUNT(openat),
		COUNT(read),
		COUNT(pread64),
		COUNT(readlinkat),
		COUNT(getdents64),
		COUNT(nanosleep),
		COUNT(clock_nanosleep),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	struct sigaction action = {.sa_sigaction = count_call, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	work(end);
	return 0;
}

static void
interrupt(int number)
{
	(void)number;
}

static int
under_timer(double end)
{
	struct sigaction action = {.sa_handler = interrupt};
	struct itimerval often = {{0, TIMER_US}, {0, TIMER_US}};

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
		return 1;
	work(end);
	return 0;
}

int
main(int count, char **arguments)
{
	double end = seconds() + (count > 2 ? atof(arguments[2]) / 1000 : 0);
	const char *what = count > 2 ? arguments[1] : "";
	int status = 2;

	if (!strcmp(what, "cancel"))
		status = cancel(end);
	else if (!strcmp(what, "calls"))
		status = count_calls(end);
	else if (!strcmp(what, "timer"))
		status = under_timer(end);
	printf("{\"work\": %u, \"wanted\": %u, \"calls\": %u, \"last_call\": %d}\n", rounds,
		wanted_rounds, calls, last_call);
	fflush(stdout);
	_exit(status);
}
