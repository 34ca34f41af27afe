/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses, heaps and the end of a recording, by `twinheap ctl`, in Java VMs whose
 * sampler another agent requests as well: excluded allocations leave no sample and no byte, and
 * recorded ones add up.  Holder.java allocates all the time; marks are set when a change must
 * be in effect.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define MARKS 8
/* Tolerance for the raw sum of weights relative to the exact bytes. */
#define SIGMAS 5
#define SAMPLES_LEAST 30

/*
 * $pid is the JVM; `say` gives it a command and waits until it is done, `ask` runs twinheap ctl
 * on it, and `expect` looks for words in the last output.  `more` waits until enough new
 * samples of the Java heap have arrived, `still` until none arrive any more: a sample in
 * progress at the time of the request may be delayed by a busy machine.
 */
#define SCRIPT                                                                                 \
	"say() { rm -f obeyed; echo \"$@\" >&3; until [ -e obeyed ]; do sleep 0.02; done; }\n" \
	"ask() { said=$(" TH_TOOL " ctl $pid \"$@\" 2>&1) || exit 1; }\n"                      \
	"expect() { case $said in *\"$1\"*) ;; *) echo \"$said: no $1\" >&2; exit 1;; esac; "  \
	"}\n"                                                                                  \
	"count() { " PROGRAMS "/log_counters $TWINHEAP_OUTPUT 2>/dev/null |\n"                 \
	"\tawk '$1 == \"java_samples\" { count = $2 } END { print count + 0 }'; }\n"           \
	"more() { goal=$(($(count) + 100));\n"                                                 \
	"\twhile [ $(count) -lt $goal ]; do sleep 0.02; done; }\n"                             \
	"still() { now=$(count); for i in 1 2 3 4 5; do was=$now; sleep 0.05; now=$(count);\n" \
	"\t[ $now = $was ] || { still; return; }; done; }\n"                                   \
	"rm -f commands; mkfifo commands\n"                                                    \
	"LD_PRELOAD=" TH_LIBRARY " \"$@\" <commands &\n"                                       \
	"pid=$!\n"                                                                             \
	"exec 3>commands\n"                                                                    \
	"more\n"
#define SCRIPT_END    \
	"exec 3>&-\n" \
	"wait $pid || exit 1\n"

static void
run_beside(const struct th_jdk *jdk, const char *script, struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS("sh", "-c", script, "sh", jdk->java, "-Xmx200m",
				"-agentpath:" PROGRAMS "/libholder.so=later", "-cp",
				PROGRAMS "/programs.jar", "Holder", PROGRAMS "/libholder.so"),
			.settings = TH_WORDS("LD_PRELOAD", "TWINHEAP_RATE=0",
				"TWINHEAP_INTERVAL=128k", "TWINHEAP_SEED=1"),
		},
		ret);
}

static double
time_of(const struct th_dump *dump)
{
	const char *at = strstr(dump->line, " time=+");

	assert_non_null(at);
	return strtod(at + strlen(" time=+"), NULL);
}

static size_t
read_marks(struct th_dump *dump, double *marks)
{
	size_t count = 0;

	th_dump_rewind(dump);
	while (th_dump_next(dump, "mark")) {
		assert_true(count < MARKS);
		marks[count++] = time_of(dump);
	}
	return count;
}

/* Samples of a kind between two times, and the sum of their weights. */
static size_t
samples_between(
	struct th_dump *dump, const char *event, double from, double to, double *bytes_ret)
{
	size_t count = 0;

	*bytes_ret = 0;
	th_dump_rewind(dump);
	while (th_dump_next(dump, event)) {
		double size = (double)th_dump_number(dump, "size");
		double interval = (double)th_dump_number(dump, "interval");

		if (time_of(dump) <= from || time_of(dump) >= to)
			continue;
		count++;
		*bytes_ret += size / -expm1(-size / interval);
	}
	return count;
}

/* The weights of all samples in the log add up to the bytes counted by the library. */
static void
check_total(struct th_recording *recording, struct th_dump *dump)
{
	double raw;

	size_t count = samples_between(dump, "java_alloc", 0, 1e9, &raw);
	th_recording_load(recording);
	struct th_figure total = th_recording_total(recording, "java", "alloc_bytes");
	print_message(
		"  exact %.0f, by samples %.3f of it\n", total.estimate, raw / total.estimate);
	assert_true(total.exact);
	assert_true(count > 0);
	assert_true(fabs(raw / total.estimate - 1) < SIGMAS / sqrt((double)count));
}

/* Two pauses: no samples in them, more than enough around them. */
static void
pauses(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;
	double marks[MARKS];
	double bytes;

	run_beside(jdk,
		SCRIPT "ask pause\nstill\nask mark begin\nask status\nexpect paused\n"
		       "sleep 0.4\n"
		       "ask mark end\nask resume\nask status\nexpect recording\n"
		       "more\n"
		       "ask pause\nstill\nask mark begin\nsleep 0.3\nask mark end\nask resume\n"
		       "more\n" SCRIPT_END,
		&recording);
	th_dump_init(&dump, recording.log);
	assert_int_equal(read_marks(&dump, marks), 4);
	for (int i = 0; i < 4; i += 2) {
		assert_int_equal(
			samples_between(&dump, "java_alloc", marks[i], marks[i + 1], &bytes),
			0);
		assert_int_equal(
			samples_between(&dump, "native_alloc", marks[i], marks[i + 1], &bytes),
			0);
	}
	assert_true(samples_between(&dump, "java_alloc", 0, marks[0], &bytes) > SAMPLES_LEAST);
	assert_true(samples_between(&dump, "java_alloc", marks[1], marks[2], &bytes) >
		    SAMPLES_LEAST);
	assert_true(samples_between(&dump, "java_alloc", marks[3], 1e9, &bytes) > 0);
	check_total(&recording, &dump);
	char *text = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_non_null(strstr(text, "paused for "));
	free(text);
	th_dump_deinit(&dump);
	th_recording_deinit(&recording);
}

/*
 * Another agent takes the sampler during a pause; recording reports it as missing, and takes it
 * again when it is released; the same with the C heap alone.
 */
static void
another_agent(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;
	double marks[MARKS];
	double bytes;

	run_beside(jdk,
		SCRIPT
		"say refused\n"
		"ask pause\nsay take\n"
		"ask resume\nexpect 'another agent samples the Java heap'\n"
		"ask mark begin\nask status\nexpect 'another agent samples'\n"
		"sleep 0.7\nask mark end\n"
		"say give\n"
		"while ask status; do case $said in *another*) sleep 0.1;; *) break;; "
		"esac; done\n"
		"say refused\nask mark again\nmore\n"
		"ask heaps native\nstill\nask mark alone\nask status\nexpect 'the C heap'\n"
		"say take\nsay give\nask mark both\nask heaps both\nmore\n" SCRIPT_END,
		&recording);
	th_dump_init(&dump, recording.log);
	assert_int_equal(read_marks(&dump, marks), 5);
	assert_int_equal(samples_between(&dump, "java_alloc", marks[0], marks[1], &bytes), 0);
	assert_true(samples_between(&dump, "java_alloc", marks[2], marks[3], &bytes) >
		    SAMPLES_LEAST);
	assert_int_equal(samples_between(&dump, "java_alloc", marks[3], marks[4], &bytes), 0);
	assert_true(samples_between(&dump, "java_alloc", marks[4], 1e9, &bytes) > 0);
	check_total(&recording, &dump);
	assert_non_null(strstr(recording.outcome.errors, "holder: "));
	assert_null(strstr(recording.outcome.errors, "holder: 0 samples"));
	th_dump_deinit(&dump);
	th_recording_deinit(&recording);
}

/*
 * A stopped process accepts requests when it continues: a machine may be busy.  The log is
 * complete while the process continues, and does not change.
 */
static void
stop(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;

	run_beside(jdk,
		SCRIPT
		"kill -STOP $pid\n{ sleep 1.5; kill -CONT $pid; } &\n"
		"ask flush\n[ -z \"$said\" ] || exit 1\nwait $!\n"
		"ask stop\n"
		"pid2=$pid; pid=$TWINHEAP_OUTPUT\n"
		"until ask status; case $said in *complete*) true;; *) false;; esac; do\n"
		"\tsleep 0.05\ndone\npid=$pid2\n"
		"before=$(cksum <$TWINHEAP_OUTPUT)\n"
		"say take\nsay give\n"
		"[ \"$(cksum <$TWINHEAP_OUTPUT)\" = \"$before\" ] || exit 1\n"
		"kill -0 $pid || exit 1\n" SCRIPT_END
		"[ \"$(cksum <$TWINHEAP_OUTPUT)\" = \"$before\" ] || exit 1\n",
		&recording);
	th_dump_init(&dump, recording.log);
	assert_true(th_dump_is_complete(&dump));
	assert_int_equal(th_dump_count(&dump, "end"), 1);
	check_total(&recording, &dump);
	th_recording_check_sum(&recording);
	th_dump_deinit(&dump);
	th_recording_deinit(&recording);
}

/* File permissions are the access control: another user's request is refused. */
static void
another_user(const struct th_jdk *jdk)
{
	struct th_recording recording;

	static bool is_done;

	/* Independent of the VM: once is enough. */
	if (is_done)
		return;
	is_done = true;
	if (geteuid()) {
		print_message("  skipped: takes root to become another user\n");
		return;
	}
	run_beside(jdk,
		SCRIPT "chmod 755 . ..; cp " TH_TOOL " tool; chmod 755 tool\n"
		       "setpriv --reuid 65534 --clear-groups ./tool ctl $TWINHEAP_OUTPUT pause "
		       "2>refused && exit 1\n"
		       "grep -q 'Permission denied' refused || exit 1\n"
		       "ask status\nexpect recording\n" SCRIPT_END,
		&recording);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"pauses", pauses, 0},
		{"another agent", another_agent, 0},
		{"stop", stop, 0},
		{"another user", another_user, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("pause", tests);
}
