/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from a debuginfod server: a small one on the loopback interface that serves one
 * file, one that never answers, and none at all.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * In a fresh directory: a program without debug information, its debug file on a server only, a
 * log of it, and what the tool says of the log.  $1 is the build, $2 how the server behaves.
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

/* One that takes too long is given up, for all files; the report comes all the same. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_from_the_server),
		cmocka_unit_test(test_silent_server),
	};

	if (system("/sbin/ldconfig -p | grep -q libdebuginfod.so.1")) {
		puts("skipped: libdebuginfod is not installed");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
