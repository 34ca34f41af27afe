/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym returns the same results with and without the library, except for a Java VM's
 * JNI_CreateJavaVM.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM TH_TEST_BUILD "/tests/programs/dlsym_answers"
#define FIRST TH_TEST_BUILD "/tests/programs/libnext_first.so"
#define INNER_VM TH_TEST_BUILD "/tests/programs/libinner_vm.so"
#define OTHER_VM TH_TEST_BUILD "/tests/programs/libother_vm.so"
#define TWO_VMS TH_TEST_BUILD "/tests/programs/two_vms"
#define THREADS TH_TEST_BUILD "/tests/programs/native_threads"
#define NO_DLVSYM TH_TEST_BUILD "/tests/programs/libno_dlvsym.so"
#define SECOND TH_TEST_BUILD "/tests/programs/libnext_second.so"

/* The output of the program under these preloads; to be freed. */
static char *
answers(const char *preloads)
{
	char *variable = th_format("LD_PRELOAD=%s", preloads);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(PROGRAM),
			.environment = TH_WORDS(variable),
			.directory = th_temporary_directory(),
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	free(outcome.errors);
	free(variable);
	return outcome.output;
}

/* The same output with and without the library, and the expected number. */
static void
check_same(const char *without, const char *with, const char *line)
{
	char *plain = answers(without);
	char *ours = answers(with);

	if (!strstr(plain, line))
		fail_msg("\"%s\" is not in: %s", line, plain);
	assert_string_equal(ours, plain);
	free(plain);
	free(ours);
}

static void
alone(void **state)
{
	(void)state;
	check_same("", TH_LIBRARY, "next_number behind the program: -1\n");
}

/*
 * The program's next definition is in the first library, whose next is in the second, which has
 * none.
 */
static void
before_the_libraries(void **state)
{
	(void)state;
	check_same(FIRST ":" SECOND, TH_LIBRARY ":" FIRST ":" SECOND,
		"next_number behind the program: 21\nnext_number by default: 21\n");
}

static void
between_the_libraries(void **state)
{
	(void)state;
	check_same(FIRST ":" SECOND, FIRST ":" TH_LIBRARY ":" SECOND,
		"next_number behind the program: 21\nnext_number by default: 21\n");
}

static void
behind_the_libraries(void **state)
{
	(void)state;
	check_same(SECOND ":" FIRST, SECOND ":" FIRST ":" TH_LIBRARY,
		"next_number behind the program: 12\n");
}

static void
errors_are_told_once(void **state)
{
	char *text = answers(TH_LIBRARY);

	(void)state;
	assert_non_null(strstr(text, "found: 1\nerror: none\n"
				     "found: 0\n"
				     "error: undefined symbol: no_such_function_anywhere\n"
				     "error: none\n"));
	free(text);
}

static void
no_java_vm_is_no_java_vm(void **state)
{
	static const char *const handles[] = {"by default", "of the program", "of libm"};
	char *text = answers(TH_LIBRARY);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *line = th_format(
			"VM %s: none\nerror: undefined symbol: JNI_CreateJavaVM\n", handles[i]);

		assert_non_null(strstr(text, line));
		free(line);
	}
	assert_non_null(
		strstr(text, "VM, next: none\nerror: undefined symbol: JNI_CreateJavaVM\n"));
	assert_non_null(strstr(text, "others: none none\n"));
	free(text);
}

/* RTLD_NEXT finds a definition between the caller and us. */
static void
another_that_stands_in_for_a_java_vm(void **state)
{
	(void)state;
	check_same(
		OTHER_VM, OTHER_VM ":" TH_LIBRARY, "VM, next: libother_vm.so\nerror: none\n");
}

/* After a lookup in two libraries, a call of each function reaches its own library. */
static void
two_libraries_with_a_java_vm(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(TWO_VMS, OTHER_VM, INNER_VM),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY),
			.directory = th_temporary_directory(),
		},
		&outcome);
	assert_string_equal(outcome.output, "same: 0\nfirst: -1\nsecond: 0\n");
	assert_string_equal(outcome.errors,
		"twinheap: this VM has no JVMTI 11: the Java heap is "
		"not recorded\n");
	th_outcome_deinit(&outcome);
}

/* If a VM creates another one during its start, the outer VM is recorded. */
static void
vm_within_the_start_of_a_vm(void **state)
{
	const char *agent = "-agentpath:" INNER_VM "=" INNER_VM;
	const struct th_jdk *jdks;
	size_t count = th_jdk_list(&jdks);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char *libjvm = th_format("%s/lib/server/libjvm.so", jdks[i].home);
		char *program = th_jdk_program(&jdks[i], TWO_VMS);
		struct th_recording recording;

		th_recording_run(
			&(struct th_recording_plan){
				.arguments = TH_WORDS(
					program, libjvm, OTHER_VM, "-Xmx64m", agent),
				.settings = TH_WORDS("TWINHEAP_INTERVAL=4k"),
			},
			&recording);
		th_recording_load(&recording);
		if (th_recording_counter(&recording, "java_samples") == 0)
			fail_msg("%s: no sample of the Java heap", jdks[i].home);
		th_recording_deinit(&recording);
		free(program);
		free(libjvm);
	}
}

/* A tool in front has a dlvsym that finds nothing. */
static void
threads_start_without_dlvsym(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(THREADS, "4", "2", "10"),
			.environment = TH_WORDS("LD_PRELOAD=" NO_DLVSYM ":" TH_LIBRARY),
			.directory = th_temporary_directory(),
		},
		&outcome);
	free(outcome.output);
	free(outcome.errors);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(before_the_libraries),
		cmocka_unit_test(between_the_libraries),
		cmocka_unit_test(behind_the_libraries),
		cmocka_unit_test(errors_are_told_once),
		cmocka_unit_test(no_java_vm_is_no_java_vm),
		cmocka_unit_test(another_that_stands_in_for_a_java_vm),
		cmocka_unit_test(two_libraries_with_a_java_vm),
		cmocka_unit_test(threads_start_without_dlvsym),
		cmocka_unit_test(vm_within_the_start_of_a_vm),
	};

	return cmocka_run_group_tests_name("dlsym", tests, NULL, NULL);
}
