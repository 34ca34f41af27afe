/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording of a Java VM that runs already, by `twinheap attach`, and its end by `twinheap detach`:
 * the process is not disturbed, and nothing is left behind.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name

/*
 * Runs a script beside a Java VM: $pid is the VM's, $java its launcher, and the VM ends by itself
 * when the script has created the file "stop".  The VM's output is in the files out and err.
 */
static void
beside(const struct th_jdk *jdk, const char *options, const char *arguments, const char *script,
	struct th_outcome *ret)
{
	char *text = th_format(TH_JDK_IS_UP
		"java=%s\n"
		"$java %s -cp " PROGRAM("programs.jar") " %s >out 2>err &\n"
							"pid=$!\n"
							"until is_up $pid || ! kill -0 $pid; "
							"do sleep 0.05; done\n"
							"sleep 0.3\n"
							"%s\n"
							"touch stop\n"
							"wait $pid; echo exit $?\n"
							"echo err $(wc -l <err) $(cat out)\n",
		jdk->java, options, arguments, script);

	th_command_script(text, ret);
	free(text);
}

/* The value of a line "KEY NUMBER". */
static long
number_after(const char *text, const char *key)
{
	const char *found = strstr(text, key);

	assert_non_null(found);
	return strtol(found + strlen(key), NULL, 10);
}

/* Attach and detach */

/*
 * The program has a class loader of its own, which is found on the stacks of its threads: its methods
 * have names in native stacks from the first sample on.
 */
static void
for_a_time(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "", "Isolated Attached leak",
		TH_TOOL " attach $pid --for 3s -o late.thl -i 16k; echo attach $?\n" TH_TOOL
			" ctl late.thl\n" TH_TOOL
			" dump late.thl | grep -a -e native_samples -e methods_nameless\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "complete");
	th_assert_contains(outcome.errors, "native heap");
	th_assert_contains(outcome.output, "exit 0\n");
	print_message("%ld samples, %ld frames without a name\n",
		number_after(outcome.output, "native_samples\" = "),
		number_after(outcome.output, "methods_nameless\" = "));
	assert_true(number_after(outcome.output, "methods_nameless\" = ") <=
		    number_after(outcome.output, "native_samples\" = ") / 10);
	th_outcome_deinit(&outcome);
}

/*
 * Beside threads that allocate at full speed: descriptors, threads and mappings are as before, and
 * what is writable of the VM's objects is the same while slots are redirected and afterwards;
 * the memory of the process does not grow with the number of recordings.  The first two are not
 * compared: the VM loads classes, and the library's tables are touched.  A hundred on each JDK:
 * scripts/soak.
 */
static void
again_and_again(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-Xmx64m -Xms64m -XX:+AlwaysPreTouch -Xint", "Attached busy",
		"measure() {\n"
		"\techo $1 rss $(sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\).*/\\1/p' "
		"/proc/$pid/status)\n"
		"\techo $1 maps $(wc -l </proc/$pid/maps)\n"
		"\techo $1 threads $(ls /proc/$pid/task | wc -l)\n"
		"\techo $1 files $(ls /proc/$pid/fd | wc -l)\n"
		"}\n"
		"writable() {\n"
		"\tawk '$2 ~ /w/ && $6 ~ /(libjvm|libjava|libc)[.-][^/]*$/ "
		"{ print $1, $6 }' /proc/$pid/maps\n"
		"}\n"
		"same() {\n" /* a page is writable for a moment while a slot is written */
		"\tfor attempt in 1 2 3 4 5; do\n"
		"\t\twritable | cmp -s before && return; sleep 0.1\n"
		"\tdone\n"
		"\techo failed writable $1; writable | diff before - >&2\n"
		"}\n"
		"writable >before\n"
		"for i in $(seq 20); do\n"
		"\t" TH_TOOL " attach -q $pid -o r$i.thl -i 16k || echo failed $?\n"
		"\tsleep 0.1; same during\n"
		"\t" TH_TOOL " detach $pid >/dev/null || echo failed $?\n"
		"\tsame after\n"
		"\t[ $i = 2 ] && sleep 0.2 && measure first\n"
		"done\n"
		"sleep 0.3; measure last; wc -l <before\n" TH_TOOL " summary r20.thl\n" TH_TOOL
		" dump r20.thl | grep -a -c '^0x[0-9a-f]* allocator '\n",
		&outcome);
	if (strstr(outcome.output, "failed"))
		print_message("%s", outcome.errors);
	assert_null(strstr(outcome.output, "failed"));
	th_assert_contains(outcome.output, "exit 0\n");
	th_assert_contains(outcome.output, "Attached.churn");
	/* Each breakdown of the last recording, too, has the statistics of malloc. */
	assert_null(strstr(outcome.output, "\n0\n"));
	print_message("RSS %ld KiB, then %ld KiB\n", number_after(outcome.output, "first rss "),
		number_after(outcome.output, "last rss "));
	assert_true(number_after(outcome.output, "last rss ") <
		    number_after(outcome.output, "first rss ") + 6 * 1024);
	assert_true(number_after(outcome.output, "last maps ") <=
		    number_after(outcome.output, "first maps ") + 8);
	assert_true(number_after(outcome.output, "last threads ") <=
		    number_after(outcome.output, "first threads ") + 1);
	assert_true(number_after(outcome.output, "last files ") <=
		    number_after(outcome.output, "first files "));
	th_outcome_deinit(&outcome);
}

/* Attaching only resumes a preloaded library, and detaching pauses it. */
static void
preloaded_and_paused(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-XX:-UsePerfData -version; LD_PRELOAD=" TH_LIBRARY " $java", "Attached",
		"sleep 1\n" TH_TOOL " attach $pid; echo first $?\n" TH_TOOL
		" detach $pid; echo detach $?\n" TH_TOOL " attach $pid; echo second $?\n",
		&outcome);
	th_assert_contains(outcome.output, "first 4\n");
	th_assert_contains(outcome.errors, "is already recorded in");
	th_assert_contains(outcome.output, "detach 0\n");
	th_assert_contains(outcome.output, "second 0\n");
	th_assert_contains(outcome.output, "is recorded in");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* Refusals */

/* Asserts that attach prints one line, and its exit status; the process continues. */
static void
check_refusal(const struct th_jdk *jdk, const char *options, int status, const char *reason)
{
	char *expected = th_format("attach %d 1\n", status);
	struct th_outcome outcome;

	beside(jdk, options, "Attached",
		TH_TOOL
		" attach $pid 2>line; echo attach $? $(grep -vc 'lines of WARNING' line)\n"
		"cat line >&2; cat out err; kill -0 $pid && echo alive\n",
		&outcome);
	th_assert_contains(outcome.output, expected);
	th_assert_contains(outcome.errors, reason);
	assert_null(strstr(outcome.output, "Full thread dump"));
	th_assert_contains(outcome.output, "alive\n");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
	free(expected);
}

static void
attach_disabled(const struct th_jdk *jdk)
{
	check_refusal(jdk, "-XX:+DisableAttachMechanism", 12, "-XX:+DisableAttachMechanism");
}

static void
agents_disabled(const struct th_jdk *jdk)
{
	check_refusal(
		jdk, "-XX:-EnableDynamicAgentLoading", 14, "-XX:-EnableDynamicAgentLoading");
}

/* -Xrs has a socket from the start: attach works, and sends no signal. */
static void
reduced_signals(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-Xrs", "Attached",
		TH_TOOL " attach $pid -o late.thl; echo attach $?\n"
			"rm -f /tmp/.java_pid$pid; " TH_TOOL " detach $pid >/dev/null\n" TH_TOOL
			" attach $pid -o more.thl; echo again $?\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "again 13\n");
	th_assert_contains(outcome.errors, "SIGQUIT has no handler");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

static void
no_java_vm(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c",
				"sleep 60 & pid=$!; sleep 0.2\n" TH_TOOL
				" attach $pid; echo attach $?\n" TH_TOOL
				" detach $pid; echo detach $?\n" TH_TOOL
				" attach 2147483647; echo nobody $?\n" TH_TOOL
				" attach x; echo word $?\n" TH_TOOL
				" attach $pid --for soon; echo time $?\n"
				"kill $pid"),
		},
		&outcome);
	th_assert_contains(outcome.output, "attach 11\ndetach 3\nnobody 3\nword 2\ntime 2\n");
	th_assert_contains(outcome.errors, "has no Java VM");
	th_outcome_deinit(&outcome);
}

/* Options of an agent, whose values may contain commas; a wrong one does not end the VM. */
static void
options_of_an_agent(const struct th_jdk *jdk)
{
	struct th_outcome outcome;
	char *text = th_format(
		"touch stop; java=%s; jar=" PROGRAM(
			"programs.jar") "\n"
					"$java -agentpath:" TH_LIBRARY
					"=output=o.thl,heaps=java,native,TWINHEAP_SEED=3,"
					"interval=64k -cp $jar Attached\n" TH_TOOL
					" dump o.thl | grep -a '^0x[^ ]* setting'\n"
					"$java -agentpath:" TH_LIBRARY
					"=depht=3 -cp $jar Attached; echo exit $?; ls\n",
		jdk->java);

	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", text),
			       .environment = TH_WORDS("LD_PRELOAD"),
			       .directory = th_temporary_directory()},
		&outcome);
	free(text);
	th_assert_contains(outcome.output, "TWINHEAP_HEAPS\" value=\"both\"");
	th_assert_contains(outcome.output, "TWINHEAP_SEED\" value=\"3\"");
	th_assert_contains(outcome.output, "TWINHEAP_INTERVAL\" value=\"64k\"");
	th_assert_contains(outcome.output, "done\nexit 0\no.thl\nstop\n");
	assert_string_equal(outcome.errors,
		"twinheap: depht=3: no such option; this process is not recorded\n");
	th_outcome_deinit(&outcome);
}

/* Attaching and detaching beside loads and unloads of libraries, for a short time. */
static void
short_storm(const struct th_jdk *jdk)
{
	char *feature = th_format("%d", jdk->feature);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(TH_TEST_SOURCE "/scripts/soak", "--jdk", feature,
				"0.05", "storm"),
			.environment = TH_WORDS("TWINHEAP_BUILD=" TH_TEST_BUILD, "LD_PRELOAD"),
		},
		&outcome);
	th_assert_contains(outcome.output, "2 passed, 0 failed\n");
	th_outcome_deinit(&outcome);
	free(feature);
}

/* Another tool takes a slot: the lane is closed within a second or two, and nothing else ends. */
static void
slot_taken_by_another(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-agentpath:" PROGRAM("libusurper.so"), "Attached",
		TH_TOOL " attach $pid -o late.thl; echo attach $?\n"
			"sleep 3\n" TH_TOOL " ctl $pid\n" TH_TOOL
			" detach $pid; echo detach $?\n"
			"grep -c 'has overwritten import slots' err\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "\nsamples the Java heap\n");
	th_assert_contains(outcome.output, "detach 0\n1\n");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* A number of the part "import_slots" of the report. */
static double
slots_number(const json_t *report, const char *part, const char *key)
{
	const json_t *slots = json_object_get(report, "import_slots");

	assert_true(json_is_object(slots));
	return json_number_value(
		json_object_get(part ? json_object_get(slots, part) : slots, key));
}

/*
 * What passes the import slots is named and measured: 2,000 blocks that stay, allocated by a pointer
 * which was taken before, and 2,000 that were freed by another one.
 */
static void
calls_past_the_slots(const struct th_jdk *jdk)
{
	const double leaked = 2000 * 10000.0;
	struct th_outcome outcome;
	json_t *report;

	beside(jdk, "-Xint -agentpath:" PROGRAM("libcopies.so"), "Attached",
		TH_TOOL " attach -q $pid -i 16k -o late.thl || echo failed\n" TH_TOOL
			" rss $pid >/dev/null; echo rss $? >&2; touch leak\n"
			"until grep -q leaked out; do sleep 0.1; done\n" TH_TOOL
			" detach $pid >/dev/null\n" TH_TOOL " summary late.thl >&2\n" TH_TOOL
			" summary --format json late.thl >report\n"
			"cat report; echo; echo end of report\n",
		&outcome);
	th_assert_contains(outcome.errors, "rss 0\n");
	th_assert_contains(outcome.errors,
		"warning: not seen by import slots: calls by 2 pointers to allocation "
		"functions in the data of objects (libcopies.so 2); ");
	report = json_loads(outcome.output, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(report);
	print_message("grown %.0f, not seen %.0f, freed past the slots %.0f\n",
		slots_number(report, "growth", "bytes"),
		slots_number(report, "growth", "unseen_at_least"),
		slots_number(report, NULL, "freed_unseen"));
	assert_true(slots_number(report, NULL, "searched_objects") > 5);
	assert_true(slots_number(report, NULL, "freed_unseen") > 1000);
	assert_true(slots_number(report, "growth", "bytes") > 0.9 * leaked);
	assert_true(slots_number(report, "growth", "unseen_at_least") > 0.5 * leaked);
	assert_true(slots_number(report, "growth", "unseen_at_least") < 1.2 * leaked);
	json_decref(report);
	th_outcome_deinit(&outcome);
}

/* An explicit name that cannot be written is refused, before the library is loaded. */
static void
one_rule_for_logs(void **state)
{
	struct th_outcome outcome;

	(void)state;
	beside(th_jdk_newest(), "", "Attached",
		"touch there.thl\n"
		"for name in /nonexistent/x.thl there.thl ./; do\n"
		"\t" TH_TOOL " attach $pid -o $name 2>line; echo attach $? $(wc -l <line)\n"
		"\t" TH_TOOL " run -o $name -- true 2>other; echo run $? $(wc -l <other)\n"
		"\tcmp line other && cat line >&2\n"
		"done\n"
		"grep -c libtwinheap /proc/$pid/maps\n",
		&outcome);
	th_assert_contains(outcome.output,
		"attach 2 1\nrun 2 1\nattach 2 1\nrun 2 1\nattach 2 1\nrun 2 1\n0\n");
	th_assert_contains(outcome.errors, "already exists and is not overwritten");
	th_assert_contains(outcome.errors, "the directory of the log does not exist");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* A VM that does not have environments for agents yet: attach waits. */
static void
starting_vm(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-agentpath:" PROGRAM("libslow_start.so"), "Attached",
		TH_TOOL " attach -q $pid -o late.thl; echo attach $?\n" TH_TOOL
			" ctl $pid; cat err\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "samples all heaps\n");
	assert_null(strstr(outcome.output, "JVMTI 11"));
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* An object that is not loaded by the VM is noticed when a function of it is looked up. */
static void
library_loaded_later(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-agentpath:" PROGRAM("libloader.so") "=" PROGRAM("libloaded.so"),
		"Attached",
		TH_TOOL " attach -q $pid -o late.thl; echo attach $?\n"
			"for i in $(seq 200); do\n"
			"\tgrep -q -e soon -e late out && break; sleep 0.1\n"
			"done\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, " soon done\n");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* Whoever closes a library runs its destructors, and nobody else. */
static void
libraries_closed_meanwhile(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	beside(jdk, "-agentpath:" PROGRAM("libunloading.so") "=" PROGRAM("libloaded.so"),
		"Attached",
		TH_TOOL " attach -q $pid -o late.thl; echo attach $?\n"
			"for i in $(seq 300); do\n"
			"\tgrep -q unloaded out && break; sleep 0.1\n"
			"done\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	assert_null(strstr(outcome.output, "met 0,"));
	th_assert_contains(outcome.output, ", unloaded elsewhere: 0 done\n");
	th_assert_contains(outcome.output, "exit 0\n");
	th_outcome_deinit(&outcome);
}

/* java.lang.foreign */

#define FOREIGN_COUNT "20000"

static void
check_foreign(const struct th_jdk *jdk, const char *agent, const char *preload)
{
	const double truth = atof(FOREIGN_COUNT) * 1000;
	struct th_recording recording;
	struct th_figure figure;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, agent,
				"--enable-native-access=ALL-UNNAMED", "-cp",
				PROGRAM("programs.jar"), "Foreign", FOREIGN_COUNT),
			.settings = TH_WORDS(
				"TWINHEAP_INTERVAL=16k", "TWINHEAP_SEED=1", preload),
		},
		&recording);
	figure = th_recording_site(&recording, "native", "Foreign.allocate", "live_bytes");
	print_message("%.0f of %.0f\n", figure.estimate, truth);
	/* 1,200 samples: a standard deviation of 3 %; the VM allocates a little there as well. */
	assert_true(figure.estimate > 0.88 * truth && figure.estimate < 1.15 * truth);
	th_recording_deinit(&recording);
}

/* The default lookup searches libc, past the library. */
static void
foreign_lookup(const struct th_jdk *jdk)
{
	check_foreign(jdk, "-Xshare:auto", "TWINHEAP_VERBOSE=0");
	check_foreign(jdk, "-agentpath:" TH_LIBRARY, "LD_PRELOAD");
}

static void
record_critical(const struct th_jdk *jdk, const char *program, const char *argument,
	struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx128m", "-agentpath:" TH_LIBRARY,
				"--enable-native-access=ALL-UNNAMED", "-cp",
				PROGRAM("programs.jar"), program, argument, "critical"),
			.settings = TH_WORDS(
				"TWINHEAP_INTERVAL=16k", "TWINHEAP_SEED=1", "LD_PRELOAD"),
		},
		ret);
	print_message("%.0f samples without Java frames, %.0f failed\n",
		th_recording_counter(ret, "java_stack_in_java"),
		th_recording_counter(ret, "java_stack_failed"));
}

/*
 * A critical downcall leaves the thread in the state of Java code, without an anchor for the VM.  The
 * callers are those that the VM itself prints, inlined ones included.
 */
static void
critical_downcalls(const struct th_jdk *jdk)
{
	const char *const frames[] = {
		"Foreign.allocate", "jdk.internal.foreign.abi.DowncallStub.invoke"};
	const double truth = atof(FOREIGN_COUNT) * 1000;
	struct th_recording recording;

	record_critical(jdk, "Foreign", FOREIGN_COUNT, &recording);
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		struct th_figure figure = th_recording_site(
			&recording, "native", frames[i], "live_bytes");

		print_message("%s: %.0f of %.0f\n", frames[i], figure.estimate, truth);
		/* As above. */
		assert_true(figure.estimate > 0.88 * truth && figure.estimate < 1.15 * truth);
	}
	th_recording_deinit(&recording);
}

/* Many at once, from platform and virtual threads, beside collections: the program ends as usual. */
static void
storm_of_critical_downcalls(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_critical(jdk, "ForeignStorm", "3", &recording);
	th_recording_check_sum(&recording);
	assert_true(th_recording_counter(&recording, "java_stack_found") > 0);
	th_recording_deinit(&recording);
}

/*
 * Other VMs, by what their processes look like: one line, and no signal, at which OpenJ9 would write a
 * dump.
 */
static void
other_virtual_machines(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_script(
		"cp " PROGRAM(
			"libloaded.so") " libjvm.so; cp libjvm.so libj9vm29.so\n"
					"LD_PRELOAD=$PWD/libjvm.so:$PWD/libj9vm29.so sleep 60 "
					"& pid=$!\n"
					"sleep 0.3; " TH_TOOL
					" attach $pid; echo openj9 $?\n" TH_TOOL
					" list | grep -c libj9vm\n"
					"kill -0 $pid && echo alive; kill $pid\n"
					"cp " PROGRAM(
						"native_image") " image; ./image 60 & pid=$!\n"
								"sleep 0.3; " TH_TOOL
								" attach $pid; echo image $?; "
								"kill $pid\n" TH_TOOL
								" run -q -o x.thl ./image 0; "
								"echo run $?\n" TH_TOOL
								" summary x.thl | grep -c "
								"'native heap'\n",
		&outcome);
	th_assert_contains(outcome.output, "openj9 11\n0\nalive\nimage 11\nrun 0\n");
	th_assert_contains(outcome.errors, "its VM is OpenJ9, not HotSpot");
	th_assert_contains(outcome.errors, "is a GraalVM native image, which loads no agents");
	th_assert_contains(outcome.errors, "./image is a GraalVM native image: its Java heap");
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"for a time", for_a_time, 0},
		{"again and again", again_and_again, 0},
		{"preloaded and paused", preloaded_and_paused, 0},
		{"-XX:+DisableAttachMechanism", attach_disabled, 0},
		{"-XX:-EnableDynamicAgentLoading", agents_disabled, 0},
		{"-Xrs", reduced_signals, 0},
		{"a slot taken by another tool", slot_taken_by_another, 0},
		{"calls past the slots", calls_past_the_slots, 0},
		{"a VM that is starting", starting_vm, 0},
		{"a library loaded later", library_loaded_later, 0},
		{"libraries closed meanwhile", libraries_closed_meanwhile, 0},
		{"options of an agent", options_of_an_agent, 0},
		{"a short storm", short_storm, 0},
		{"malloc found by java.lang.foreign", foreign_lookup, 22},
		{"critical downcalls", critical_downcalls, 22},
		{"storm of critical downcalls", storm_of_critical_downcalls, 22},
		{NULL, NULL, 0},
	};
	const struct CMUnitTest others[] = {
		cmocka_unit_test(one_rule_for_logs),
		cmocka_unit_test(other_virtual_machines),
		cmocka_unit_test(no_java_vm),
	};

	return th_jdk_run_tests("attach", tests) +
	       cmocka_run_group_tests_name("attach without a VM", others, NULL, NULL);
}
