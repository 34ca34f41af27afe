/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from a debuginfod server: a small one on the loopback interface that serves one
 * file, one that never answers, and none at all; and elfutils' own, which finds the files of a
 * directory by build id.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * In a new directory: a program without debug information, its debug file on a server only, a
 * log of it, and the tool's report. $1 is the build directory, $2 the behavior of the server.
 */
static const char script[] =
	"set -e\n"
	"mkdir -p web cache\n"
	"printf '%s\\n' '#include <stdlib.h>' '#include <string.h>'"
	" '__attribute__((noinline)) static void *deep_secret(size_t n) { return "
	"strdup(calloc(1, n)); }'"
	" 'int main(void) { for (int i = 0; i < 1000; i++) if (!deep_secret(100000)) return 1; "
	"return 0; }'"
	" >work.c\n"
	"gcc -g -O1 work.c -o work\n"
	"id=$(readelf -n work | sed -n 's/.*Build ID: //p')\n"
	"mkdir -p web/buildid/$id\n"
	"objcopy --only-keep-debug work web/buildid/$id/debuginfo\n"
	"strip work\n"
	"LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all TWINHEAP_INTERVAL=64k"
	" TWINHEAP_OUTPUT=work.thl ./work\n"
	"/usr/bin/python3 -u -c '\n"
	"import http.server, sys, time, os\n"
	"class Handler(http.server.SimpleHTTPRequestHandler):\n"
	"    def do_GET(self):\n"
	"        if sys.argv[1] == \"silent\": time.sleep(100)\n"
	"        super().do_GET()\n"
	"os.chdir(\"web\")\n"
	"server = http.server.HTTPServer((\"127.0.0.1\", 0), Handler)\n"
	"open(\"../port\", \"w\").write(\"%d \" % server.server_port)\n"
	"server.serve_forever()' $2 2>server.log &\n"
	"trap 'kill $!' EXIT\n"
	"while ! [ -s port ]; do sleep 0.05; done\n"
	"DEBUGINFOD_URLS=http://127.0.0.1:$(cat port | tr -d ' ') "
	"DEBUGINFOD_CACHE_PATH=$PWD/cache"
	" TWINHEAP_DEBUGINFOD_SECONDS=$3 $1/twinheap tree work.thl\n";

static struct th_outcome
look(const char *server, const char *seconds)
{
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(
				"bash", "-c", script, "bash", TH_TEST_BUILD, server, seconds),
			.directory = th_temporary_directory(),
		},
		&outcome);
	return outcome;
}

static void
test_file_from_the_server(void **state)
{
	(void)state;
	struct th_outcome outcome = look("answering", "60");

	assert_non_null(strstr(outcome.output, "deep_secret"));
	assert_non_null(
		strstr(outcome.errors, "asking $DEBUGINFOD_URLS for debug information"));
	th_outcome_deinit(&outcome);
}

/*
 * A server that takes too long is abandoned, for all files; the report is printed nevertheless.
 */
static void
test_silent_server(void **state)
{
	(void)state;
	struct th_outcome outcome = look("silent", "1");

	assert_null(strstr(outcome.output, "deep_secret"));
	assert_non_null(strstr(outcome.output, "work+0x"));
	char *told = strstr(outcome.errors, "no answer in time, no other file is asked for");
	assert_non_null(told);
	assert_null(strstr(told, "asking"));
	th_outcome_deinit(&outcome);
}

/*
 * A library whose debug file is in a directory served by debuginfod; its names and lines while
 * the server answers, when it is stopped, and when it is gone. $1 is the build directory.  Each
 * query has a separate cache, since a client caches negative answers.
 */
static const char real_script[] =
	"set -e\n"
	"mkdir -p store\n"
	"printf '%s\\n' '#include <stdlib.h>' '#include <string.h>'"
	" '__attribute__((noinline)) static void *deep_secret(size_t n) {'"
	" '\treturn strdup(calloc(1, n));' '}' 'int work(void);'"
	" 'int work(void) { for (int i = 0; i < 1000; i++) if (!deep_secret(100000)) return 1; "
	"return 0; }' >library.c\n"
	"echo 'int work(void); int main(void) { return work(); }' >program.c\n"
	"gcc -g -O1 -shared -fPIC library.c -o libwork.so\n"
	"gcc program.c -o program -L. -lwork -Wl,-rpath,$PWD\n"
	"objcopy --only-keep-debug libwork.so store/libwork.so.debug\n"
	"strip libwork.so\n"
	"id=$(readelf -n libwork.so | sed -n 's/.*Build ID: //p')\n"
	"LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all TWINHEAP_INTERVAL=64k"
	" TWINHEAP_OUTPUT=work.thl ./program\n"
	"port=$(/usr/bin/python3 -c 'import socket\n"
	"with socket.socket() as free:\n"
	"    free.bind((\"127.0.0.1\", 0))\n"
	"    print(free.getsockname()[1])')\n"
	"debuginfod -d :memory: -F -p $port store >server.log 2>&1 &\n"
	"trap 'kill -KILL $!' EXIT\n"
	"export DEBUGINFOD_URLS=http://127.0.0.1:$port\n"
	"look() { DEBUGINFOD_CACHE_PATH=$PWD/cache-$2 TWINHEAP_DEBUGINFOD_SECONDS=$3"
	" $1/twinheap export --format json work.thl >$2.json; }\n"
	/* The server scans its directory after it has started. */
	"/usr/bin/python3 -c 'import sys, time, urllib.request\n"
	"for turn in range(2400):\n"
	"    try: urllib.request.urlopen(sys.argv[1]).read(); break\n"
	"    except OSError: time.sleep(0.05)\n"
	"else: sys.exit(\"debuginfod does not serve the file\")'"
	" $DEBUGINFOD_URLS/buildid/$id/debuginfo\n"
	"look $1 answering 60\n"
	"kill -STOP $!\n"
	"look $1 stopped 1\n"
	"kill -KILL $!\n"
	"look $1 gone 60\n"
	"trap - EXIT\n";

/* Name and line of the library's allocating frame; false: it has no name. */
static bool
find_secret(const char *directory, const char *name, json_int_t *line_ret)
{
	char *path = th_format("%s/%s.json", directory, name);
	json_t *root = json_load_file(path, 0, NULL);
	json_t *stacks = json_object_get(root, "stacks");
	bool is_found = false;
	json_t *stack, *frame;
	size_t i, j;

	assert_true(json_array_size(stacks) > 0);
	json_array_foreach(stacks, i, stack)
	{
		json_array_foreach(json_object_get(stack, "frames"), j, frame)
		{
			if (strcmp(json_string_value(json_object_get(frame, "name")),
				    "deep_secret") != 0)
				continue;
			is_found = true;
			*line_ret = json_integer_value(json_object_get(frame, "line"));
		}
	}
	json_decref(root);
	free(path);
	return is_found;
}

static void
test_real_server(void **state)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;
	json_int_t line;

	(void)state;
	if (system("command -v debuginfod >/dev/null")) {
		puts("skipped: debuginfod is not installed");
		skip();
	}
	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("bash", "-c", real_script, "bash", TH_TEST_BUILD),
			.directory = directory,
		},
		&outcome);
	assert_true(find_secret(directory, "answering", &line));
	assert_int_equal(line, 4);
	assert_false(find_secret(directory, "stopped", &line));
	assert_false(find_secret(directory, "gone", &line));
	/* Abandoned once, for all files. */
	char *told = strstr(outcome.errors, "no answer in time");
	assert_non_null(told);
	assert_null(strstr(told + 1, "no answer in time"));
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_from_the_server),
		cmocka_unit_test(test_silent_server),
		cmocka_unit_test(test_real_server),
	};

	if (system("/sbin/ldconfig -p | grep -q libdebuginfod.so.1")) {
		puts("skipped: libdebuginfod is not installed");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
