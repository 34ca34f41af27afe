/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static probes of the library: the notes that describe them, and gdb, which reads these notes,
 * stops at each probe and prints its arguments.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000
#define BLOCK_BYTES 300000
#define INTERVAL (512 << 10)

static bool
has(const char *program)
{
	char *command = th_format("command -v %s >/dev/null", program);
	bool is_there = system(command) == 0;

	free(command);
	return is_there;
}

/* The number of arguments of a probe in readelf's output; -1: it is not there. */
static int
arguments_of(const char *notes, const char *probe)
{
	char *wanted = th_format("Provider: otel_memory\n    Name: %s\n", probe);
	const char *at = strstr(notes, wanted);
	int count = -1;

	if (at)
		at = strstr(at, "Arguments: ");
	if (at) {
		/* "-8@%rbx 8@%rax": one "@" each. */
		count = 0;
		for (; *at != '\n'; at++)
			count += *at == '@';
	}
	free(wanted);
	return count;
}

static void
notes_describe_the_probes(void **state)
{
	char *notes = th_command_output(TH_WORDS("readelf", "--wide", "-n", TH_LIBRARY));

	(void)state;
	assert_int_equal(arguments_of(notes, "alloc"), 3);
	assert_int_equal(arguments_of(notes, "free"), 1);
	free(notes);
}

static const char debugger[] = "set -e\n"
			       "sed \"s#BUILD#$1#\" >commands <<'END'\n"
			       "set pagination off\n"
			       "set breakpoint pending on\n"
			       "set startup-with-shell off\n"
			       "set debuginfod enabled off\n"
			       "set environment LD_PRELOAD BUILD/libtwinheap.so\n"
			       "set environment TWINHEAP_FOLLOW all\n"
			       "set environment TWINHEAP_INTERVAL 512k\n"
			       "set environment TWINHEAP_OUTPUT work.thl\n"
			       "break -probe-stap otel_memory:alloc\n"
			       "commands\n"
			       "silent\n"
			       "printf \"alloc %lu %lu %lu\\n\", (unsigned long)$_probe_arg0, "
			       "(unsigned long)$_probe_arg1, (unsigned long)$_probe_arg2\n"
			       "continue\n"
			       "end\n"
			       "break -probe-stap otel_memory:free\n"
			       "commands\n"
			       "silent\n"
			       "printf \"free %lu\\n\", (unsigned long)$_probe_arg0\n"
			       "continue\n"
			       "end\n"
			       "run\n"
			       "END\n"
			       "gdb -batch -nx -x commands $1/tests/programs/native_probes\n";

struct seen {
	size_t allocated, freed;
	double weights;
	unsigned long blocks[BLOCKS]; /* sampled ones that are alive */
	size_t blocks_count;
};

static void
see_free(struct seen *seen, unsigned long block)
{
	for (size_t i = 0; i < seen->blocks_count; i++) {
		if (seen->blocks[i] != block)
			continue;
		seen->blocks[i] = seen->blocks[--seen->blocks_count];
		seen->freed++;
		return;
	}
	fail_msg("%#lx was freed and not allocated", block);
}

static struct seen
read_events(char *output)
{
	struct seen seen = {0};
	char *rest = NULL;

	for (char *line = strtok_r(output, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		unsigned long block, size, weight;

		if (sscanf(line, "alloc %lu %lu %lu", &block, &size, &weight) == 3) {
			if (size != BLOCK_BYTES)
				continue;
			assert_true(weight >= INTERVAL && weight <= INTERVAL + size);
			assert_true(seen.blocks_count < BLOCKS);
			seen.blocks[seen.blocks_count++] = block;
			seen.allocated++;
			seen.weights += (double)weight;
		} else if (sscanf(line, "free %lu", &block) == 1) {
			see_free(&seen, block);
		}
	}
	return seen;
}

/*
 * Each block is sampled with probability p = 1 - exp(-size / interval) = 0.44, so 436 are, with a
 * standard deviation of 16; their weights lie between interval and interval + size.  The relative
 * standard deviation of the sum of weights is below 0.05; six of them are accepted.
 */
static void
weights_add_up(void **state)
{
	struct th_outcome outcome;

	(void)state;
	if (!has("gdb")) {
		puts("skipped: gdb is not installed");
		skip();
	}
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("bash", "-c", debugger, "bash", TH_TEST_BUILD),
			.directory = th_temporary_directory(),
			.timeout_seconds = 120,
		},
		&outcome);
	if (strstr(outcome.errors, "ptrace") || strstr(outcome.errors, "not permitted")) {
		puts("skipped: gdb may not trace");
		skip();
	}
	struct seen seen = read_events(outcome.output);

	print_message("%zu sampled, %zu freed, weights of %.0f bytes\n", seen.allocated,
		seen.freed, seen.weights);
	assert_true(fabs(seen.weights / ((double)BLOCKS * BLOCK_BYTES) - 1) < 0.3);
	assert_true(seen.freed > 0 && seen.freed < seen.allocated);
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_describe_the_probes),
		cmocka_unit_test(weights_add_up),
	};

	if (system("echo '#include <sys/sdt.h>' | cc -E - >/dev/null 2>&1")) {
		puts("skipped: systemtap-sdt-dev is not installed");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
