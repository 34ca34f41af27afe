/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdebuginfod is loaded on demand, so that neither it nor its dependencies (curl) are
 * required. It calls back many times a second while it waits; the callback checks the deadline
 * and the interrupt.
 */
#include "report/symbols/debuginfod.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/error.h"
#include "report/base/progress.h"
#include "unify/shared/clock.h"

#define DEFAULT_SECONDS 30

/* From <elfutils/debuginfod.h>, which is in a separate package. */
struct client;
typedef int progress(struct client *client, long done, long all);

static struct {
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	int (*find)(
		struct client *client, const unsigned char *build_id, int bytes, char **path);
	void (*set_progress)(struct client *client, progress *function);
	struct client *client; /* NULL: no server is used */
	bool is_known;         /* whether the check for servers has been made */
	bool is_told;          /* the line for this file has been printed */
	const char *module_path;
	uint64_t deadline; /* CLOCK_MONOTONIC ns */
} server;

/* Set by Ctrl-C while waiting for a file. */
static volatile sig_atomic_t is_interrupted;

static uint64_t
patience_ns(void)
{
	const char *text = getenv("TWINHEAP_DEBUGINFOD_SECONDS");
	double seconds = text ? atof(text) : 0;

	return (uint64_t)((seconds > 0 && seconds < 1e6 ? seconds : DEFAULT_SECONDS) * 1e9);
}

static void
on_interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* Called while the library waits; a nonzero result aborts the request. */
static int
wait_on(struct client *client, long done, long all)
{
	(void)client;
	(void)done;
	(void)all;
	if (!server.is_told) {
		th_progress_clear();
		th_notice("asking $DEBUGINFOD_URLS for debug information of %s "
			  "(Ctrl-C to continue without it)",
			server.module_path);
	}
	server.is_told = true;
	return is_interrupted || th_clock_now() > server.deadline;
}

#ifdef TH_STATIC
#	define MISSING "this twinheap is linked statically and cannot load libdebuginfod"

/*
 * Replaces libc's for libdw, too: a static program must not load libraries of the system, which
 * need the system's libc.
 */
void *
dlopen(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return NULL;
}
#else
#	define MISSING "libdebuginfod is not installed"
#endif

static bool
find_functions(void *library)
{
	const struct {
		const char *name;
		void **function;
	} functions[] = {
		{"debuginfod_begin", (void **)&server.begin},
		{"debuginfod_end", (void **)&server.end},
		{"debuginfod_find_debuginfo", (void **)&server.find},
		{"debuginfod_set_progressfn", (void **)&server.set_progress},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(library, functions[i].name);
		if (!*functions[i].function)
			return false;
	}
	return true;
}

static void
end_client(void)
{
	if (server.client)
		server.end(server.client);
	server.client = NULL;
}

/* Loads the library on first use, if any server is configured. */
static bool
has_server(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (server.is_known || !urls || !urls[0])
		return server.client != NULL;
	server.is_known = true;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library || !find_functions(library)) {
		th_progress_clear();
		th_notice("DEBUGINFOD_URLS is set, but " MISSING);
		return false;
	}
	server.client = server.begin();
	if (!server.client)
		return false;
	server.set_progress(server.client, wait_on);
	atexit(end_client);
	return true;
}

void
th_debuginfod_disable(void)
{
	server.is_known = true;
	end_client();
}

/* Makes the request, with a handler for Ctrl-C; a request that timed out is not repeated. */
static int
ask(const char *build_id, char **path_ret)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	server.deadline = th_clock_now() + patience_ns();
	server.is_told = false;
	sigaction(SIGINT, &action, &before);
	/* 0 bytes: the build id is text. */
	int descriptor = server.find(
		server.client, (const unsigned char *)build_id, 0, path_ret);
	sigaction(SIGINT, &before, NULL);
	if (descriptor < 0 && (is_interrupted || th_clock_now() > server.deadline)) {
		th_notice("%s; names may be missing",
			is_interrupted ? "interrupted, no other file is asked for"
				       : "no answer in time, no other file is asked for");
		th_debuginfod_disable();
	}
	return descriptor;
}

int
th_debuginfod_open(const char *module_path, const char *build_id, char **path_ret)
{
	if (strlen(build_id) < 8 || !has_server())
		return -1;
	server.module_path = module_path;
	*path_ret = NULL;
	int descriptor = ask(build_id, path_ret);
	return descriptor >= 0 ? descriptor : -1;
}
