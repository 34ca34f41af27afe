/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks that are under way when `twinheap attach` comes, of the JDK's zlib, of other JNI libraries, and
 * of plain C: they are found, with names.  The VMs run at the same time.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/corpus.h"

/* The first release that warns of agents loaded late. */
#define WARNS_OF_AGENTS 21
/* Of a program of the corpus: longer than all attempts take. */
#define SECONDS 40

/*
 * leak NAME FRAMES COMMAND: starts a VM, records it for four seconds and prints the report into the
 * file NAME; at most three times, until it names leaks at all FRAMES: on a busy machine the program may
 * have stopped for a part of the time.
 */
static const char script[] = TH_JDK_IS_UP
	"names_all() { for frame in $2; do grep -q $frame $1 || return 1; done; }\n"
	"leak() {\n"
	"\tname=$1 frames=$2; shift 2\n"
	"\t\"$@\" >$name.out 2>$name.err & pid=$!\n"
	"\tuntil is_up $pid || ! kill -0 $pid; do sleep 0.05; done\n"
	"\tsleep 1\n"
	"\tfor attempt in 1 2 3; do\n"
	"\t\tlog=$name.$attempt.thl\n"
	"\t\t" TH_TOOL " attach -q $pid -o $log -i 16k || echo attach $?\n"
	"\t\tsleep 4\n"
	"\t\t" TH_TOOL " detach $pid >/dev/null || echo detach $?\n"
	"\t\t" TH_TOOL " leaks $log --all --fail-on leak >$name 2>&1\n"
	"\t\tstatus=$?; [ $status = 1 ] && names_all $name \"$frames\" && break\n"
	"\tdone\n"
	"\techo $name $status\n"
	"\tkill $pid && echo $name alive\n"
	"\techo $name warned $(grep -m 1 -c ^WARNING $name.err)\n"
	"}\n";

static void
find(const struct th_jdk *jdk, const char *commands, struct th_outcome *ret)
{
	char *text = th_format("%sjava=%s\n%s", script, jdk->java, commands);

	th_command_script(text, ret);
	free(text);
}

static char *
command_of(const struct th_jdk *jdk, const char *program)
{
	return th_corpus_shell_command(&(struct th_corpus_plan){
		.jdk = jdk, .program = program, .variant = "leak", .seconds = SECONDS});
}

static void
leaks_under_way(const struct th_jdk *jdk)
{
	char *blocks = command_of(jdk, "jni-blocks");
	char *sqlite = command_of(jdk, "sqlite-statements");
	char *zstd = th_corpus_has("zstd") ? command_of(jdk, "zstd") : NULL;
	char *netty = th_corpus_has("netty-engines") ? command_of(jdk, "netty-engines") : NULL;
	char *commands = th_format("leak deflater Attached.leak $java -cp " TH_TEST_BUILD
				   "/tests/programs/programs.jar Attached leak &\n"
				   "leak blocks JniBlocks.request %s &\n"
				   "leak sqlite SqliteStatements.lookUp %s &\n"
				   "%s %s &\n"
				   "%s %s &\n"
				   "wait; cat deflater blocks sqlite zstd netty\n",
		blocks, sqlite, zstd ? "leak zstd ZstdStreams.compress" : ": >zstd",
		zstd ? zstd : "",
		netty ? "leak netty 'NettyEngines.refuse NettyEngines.receive'" : ": >netty",
		netty ? netty : "");
	struct th_outcome outcome;

	find(jdk, commands, &outcome);
	th_assert_contains(outcome.output, "deflater 1\n");
	th_assert_contains(outcome.output, "deflater alive\n");
	th_assert_contains(outcome.output, jdk->feature >= WARNS_OF_AGENTS
						   ? "deflater warned 1\n"
						   : "deflater warned 0\n");
	th_assert_contains(outcome.output, "Attached.leak");
	th_assert_contains(outcome.output, "deflateInit2_");
	th_assert_contains(outcome.output, "blocks 1\n");
	th_assert_contains(outcome.output, "blocks alive\n");
	th_assert_contains(outcome.output, "JniBlocks.request");
	th_assert_contains(outcome.output, "leak_block");
	/* A lambda's class has one that calls it. */
	assert_null(strstr(outcome.output, "[unknown Java method]"));
	th_assert_contains(outcome.output, "sqlite 1\n");
	th_assert_contains(outcome.output, "sqlite alive\n");
	th_assert_contains(outcome.output, "SqliteStatements.lookUp");
	th_assert_contains(outcome.output, "sqlite3_");
	if (zstd) {
		th_assert_contains(outcome.output, "zstd 1\n");
		th_assert_contains(outcome.output, "zstd alive\n");
		th_assert_contains(outcome.output, "ZstdStreams.compress");
		th_assert_contains(outcome.output, "ZSTD_");
	}
	if (netty) {
		th_assert_contains(outcome.output, "netty 1\n");
		th_assert_contains(outcome.output, "netty alive\n");
		th_assert_contains(outcome.output, "NettyEngines.refuse");
		th_assert_contains(outcome.output, "libcrypto.so");
		th_assert_contains(outcome.output, "NettyEngines.receive");
		th_assert_contains(outcome.output, "PoolArena");
	}
	assert_null(strstr(outcome.output, "attach "));
	assert_null(strstr(outcome.output, "detach "));
	th_outcome_deinit(&outcome);
	free(commands);
	free(netty);
	free(zstd);
	free(sqlite);
	free(blocks);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"leaks under way", leaks_under_way, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("leaks found by attach", tests);
}
