/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program many times, one after another, and waits for each; prints the median of the
 * microseconds and the mean of the page faults of a run:
 *
 *   exec_loop COUNT PROGRAM [NAME=VALUE...]
 *
 * The variables are those of the program, not of this one.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/* This program's variables and the `added` ones. */
static char **
make_environment(char **added, int count)
{
	size_t own = 0;
	char **environment;

	while (environ[own])
		own++;
	environment = calloc(own + (size_t)count + 1, sizeof(*environment));
	for (size_t i = 0; environment && i < own; i++)
		environment[i] = environ[i];
	for (int i = 0; environment && i < count; i++)
		environment[own + (size_t)i] = added[i];
	return environment;
}

/* The time of one run; negative: it failed. */
static double
run(char *program, char **environment, long *faults)
{
	char *arguments[] = {program, NULL};
	double start = microseconds();
	struct rusage usage;
	int status;
	pid_t child;

	if (posix_spawn(&child, program, NULL, NULL, arguments, environment) ||
		wait4(child, &status, 0, &usage) != child || status)
		return -1;
	*faults += usage.ru_minflt;
	return microseconds() - start;
}

int
main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;
	char **environment = count > 0 ? make_environment(argv + 3, argc - 3) : NULL;
	double *times = environment ? calloc((size_t)count, sizeof(*times)) : NULL;
	long faults = 0;

	if (!times) {
		fprintf(stderr, "usage: exec_loop COUNT PROGRAM [NAME=VALUE...]\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		times[i] = run(argv[2], environment, &faults);
		if (times[i] < 0) {
			fprintf(stderr, "exec_loop: %s failed\n", argv[2]);
			return 1;
		}
	}
	qsort(times, (size_t)count, sizeof(*times), compare);
	printf("%.1f %.1f\n", times[count / 2], (double)faults / count);
	free(times);
	free(environment);
	return 0;
}
