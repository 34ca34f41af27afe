/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, frame by frame, on every JDK: the expected stack of each sample of examples/mixed is
 * known, however the VM runs the Java code and collects its garbage.
 */
#include "tests/e2e/harness.h"
#include "tests/e2e/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Share of the native samples below a Java frame that must have Java frames. */
#define JAVA_SHARE 0.99
/*
 * Up to 17, threads under Z are sampled between two states, in which their anchor must not be
 * modified: 3 to 8 % of the samples of this test.
 */
#define JAVA_SHARE_OF_OLD_Z 0.8
#define FIRST_WITHOUT_TRANSITIONS 21
#define OPTIONS_MAX 16

static const char *const standard_settings[] = {
	"TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", NULL};
static const char *const libunwind_settings[] = {
	"TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", "TWINHEAP_UNWINDER=libunwind", NULL};
static const char *const *settings = standard_settings;

/* From the launcher's call on; the VM's own frames in between are folded into one. */
#define MAIN_FRAMES                                                                           \
	"JavaMain", "[jvm] jni_CallStaticVoidMethod", "mixed.Main.main", "mixed.Main.runAll", \
		"mixed.Main.runScenario", "mixed.Scenarios$$Lambda.run"

static const char *const path_frames[] = {MAIN_FRAMES, "mixed.Scenarios.path",
	"mixed.Path.first", "mixed.Path.enterOne", "Java_mixed_Path_enterOne", "mixed_path_one",
	"[jvm] jni_CallStaticVoidMethod", "mixed.Path.second", "mixed.Path.enterTwo",
	"Java_mixed_Path_enterTwo", "mixed_path_two", "[jvm] jni_CallStaticVoidMethod",
	"mixed.Path.third", "mixed.Path.enterThree", "Java_mixed_Path_enterThree",
	"mixed_path_three", NULL};

/* The Java lane shows the JNI function through which C allocated. */
static const char *const path_array_frames[] = {MAIN_FRAMES, "mixed.Scenarios.path",
	"mixed.Path.first", "mixed.Path.enterOne", "Java_mixed_Path_enterOne", "mixed_path_one",
	"[jvm] jni_CallStaticVoidMethod", "mixed.Path.second", "mixed.Path.enterTwo",
	"Java_mixed_Path_enterTwo", "mixed_path_two", "[jvm] jni_CallStaticVoidMethod",
	"mixed.Path.third", "mixed.Path.enterThree", "Java_mixed_Path_enterThree",
	"mixed_path_three", "jni_NewByteArray", NULL};

static const char *const array_frames[] = {MAIN_FRAMES, "mixed.Scenarios.jni",
	"mixed.NativeSites.newByteArray", "Java_mixed_NativeSites_newByteArray",
	"mixed_new_byte_array", "jni_NewByteArray", NULL};

static const char *const string_frames[] = {MAIN_FRAMES, "mixed.Scenarios.jni",
	"mixed.NativeSites.stringChars", "Java_mixed_NativeSites_stringChars",
	"mixed_string_chars", "[jvm] jni_GetStringUTFChars", NULL};

static const char *const unsafe_frames[] = {MAIN_FRAMES, "mixed.Scenarios.jni",
	"mixed.NativeSites.unsafeBlock", "sun.misc.Unsafe.allocateMemory",
	"jdk.internal.misc.Unsafe.allocateMemory", "jdk.internal.misc.Unsafe.allocateMemory0",
	TH_ANY_VM_FRAME, NULL};

/* A class initializer has no C caller: the VM itself calls into Java. */
static const char *const initializer_frames[] = {MAIN_FRAMES, "mixed.Scenarios.initializer",
	TH_ANY_VM_FRAME, "mixed.Initializer.<clinit>", "mixed.Initializer.fill",
	"Java_mixed_Initializer_fill", "mixed_initializer_block", NULL};

/* NewByteArray allocates in both heaps, under some collectors. */
static const struct th_expected_stack path_stacks[] = {
	{"native", "main", "mixed_path_three", "[jvm] jni_NewByteArray", path_frames},
	{"java", "main", "mixed_path_three", NULL, path_array_frames},
	{NULL, NULL, NULL, NULL, NULL},
};

static const struct th_expected_stack jni_stacks[] = {
	{"java", "main", "mixed_new_byte_array", NULL, array_frames},
	{"native", "main", "mixed_string_chars", NULL, string_frames},
	{"native", "main", "mixed.NativeSites.unsafeBlock", NULL, unsafe_frames},
	{NULL, NULL, NULL, NULL, NULL},
};

static const struct th_expected_stack initializer_stacks[] = {
	{"native", "main", "mixed_initializer_block", NULL, initializer_frames},
	{NULL, NULL, NULL, NULL, NULL},
};

static void
record(const struct th_jdk *jdk, const char *const *options, const char *const *arguments,
	struct th_recording *ret)
{
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = options,
			.arguments = arguments,
			.settings = settings,
		},
		ret);
	th_recording_load(ret);
}

/* Execution modes of Java code, combined with collectors */

/* The last feature release with the option, for options that were removed. */
#define NEVER_ENDED 1000

struct collector {
	const char *option;
	const char *further_option; /* NULL: none */
	int since;
	int until;
};

static const struct collector collectors[] = {
	{"-XX:+UseSerialGC", NULL, 11, NEVER_ENDED},
	{"-XX:+UseParallelGC", NULL, 11, NEVER_ENDED},
	{"-XX:+UseG1GC", NULL, 11, NEVER_ENDED},
	{"-XX:+UseZGC", NULL, 11, NEVER_ENDED},
	{"-XX:+UseZGC", "-XX:+ZGenerational", 21, 23},
};

static bool
has_collector(const struct th_jdk *jdk, const struct collector *collector)
{
	return jdk->feature >= collector->since && jdk->feature <= collector->until &&
	       th_jdk_has_collector(jdk, collector->option);
}

/* Walks the path in one execution mode, under one collector. */
static void
walk_path_under(
	const struct th_jdk *jdk, const char *const *mode, const struct collector *collector)
{
	const char *options[OPTIONS_MAX] = {
		"-XX:+UnlockExperimentalVMOptions", "-Xmx512m", collector->option};
	size_t count = 3;
	struct th_recording recording;

	if (collector->further_option)
		options[count++] = collector->further_option;
	for (; *mode; mode++) {
		assert_true(count + 1 < OPTIONS_MAX);
		options[count++] = *mode;
	}
	print_message("%s:\n", collector->option);
	record(jdk, options, TH_WORDS("--volume", "4M", "path"), &recording);
	th_recording_check_stacks(&recording, path_stacks);
	th_recording_deinit(&recording);
}

static void
walk_path(const struct th_jdk *jdk, const char *const *mode)
{
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		if (has_collector(jdk, &collectors[i]))
			walk_path_under(jdk, mode, &collectors[i]);
	}
}

static void
path_as_it_comes(const struct th_jdk *jdk)
{
	walk_path(jdk, TH_WORDS(NULL));
}

static void
path_interpreted(const struct th_jdk *jdk)
{
	walk_path(jdk, TH_WORDS("-Xint"));
}

static void
path_by_the_client_compiler(const struct th_jdk *jdk)
{
	walk_path(jdk, TH_WORDS("-XX:TieredStopAtLevel=1", "-XX:Tier3InvocationThreshold=20"));
}

/* All code of the example compiled by C2 before it first runs, with methods inlined. */
static void
path_compiled(const struct th_jdk *jdk)
{
	walk_path(jdk, TH_WORDS("-Xcomp", "-XX:-TieredCompilation", "-XX:CompileCommand=quiet",
			       "-XX:CompileCommand=compileonly,mixed.*::*"));
}

/* Other transitions to C and back */

/* Allocations by JNI and Unsafe for their callers, and C called by a class initializer. */
static void
ways_into_c(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, NULL, TH_WORDS("--volume", "8M", "jni", "initializer"), &recording);
	th_recording_check_stacks(&recording, jni_stacks);
	th_recording_check_stacks(&recording, initializer_stacks);
	th_recording_deinit(&recording);
}

/* Share of native samples with Java frames */

/*
 * All native samples of a program in a steady state, not only those of known sites, also while a
 * collection stops the world.
 */
static void
native_samples_carry_java_frames(const struct th_jdk *jdk)
{
	struct th_recording recording;
	double below;
	double found;

	record(jdk, NULL,
		TH_WORDS("--volume", "32M", "--threads", "2", "sizes", "functions", "jni",
			"path", "twins"),
		&recording);
	below = th_recording_counter(&recording, "java_stack_below");
	found = th_recording_counter(&recording, "java_stack_found");
	print_message("%.0f of %.0f native samples below Java carry their Java frames\n", found,
		below);
	assert_true(below >= 1000);
	assert_true(found >= JAVA_SHARE * below && found <= below);
	assert_true(
		th_recording_counter(&recording, "java_walks_cut") <= (1 - JAVA_SHARE) * below);
	th_recording_deinit(&recording);
}

/* Allocations that compiled code leaves to the VM */

/*
 * C allocations of the VM for a Java allocation, below a stub of the compiler.  The thread is
 * sometimes between two states, for example after it was blocked for a collection.
 */
static void
slow_paths_with(const struct th_jdk *jdk, const char *collector, const char *compiler,
	const char *threshold)
{
	struct th_recording recording;
	double below;
	double found;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:+UnlockExperimentalVMOptions",
				"-Xmx256m", collector, compiler, threshold, "-cp",
				TH_TEST_BUILD "/tests/programs/programs.jar", "SlowPaths",
				"1000"),
			.settings = TH_WORDS(
				"TWINHEAP_INTERVAL=4k", "TWINHEAP_RATE=0", "TWINHEAP_SEED=1"),
		},
		&recording);
	below = th_recording_counter(&recording, "java_stack_below");
	found = th_recording_counter(&recording, "java_stack_found");
	print_message("%s %s: %.0f of %.0f native samples carry their Java frames, %.0f could "
		      "not be walked\n",
		collector, compiler, found, below,
		th_recording_counter(&recording, "java_stack_failed"));
	assert_true(below >= TH_SITE_SAMPLES_MIN);
	bool is_old_z = jdk->feature < FIRST_WITHOUT_TRANSITIONS && strstr(collector, "UseZGC");
	double share = is_old_z ? JAVA_SHARE_OF_OLD_Z : JAVA_SHARE;
	assert_true(
		th_recording_counter(&recording, "java_stack_failed") <= (1 - share) * below);
	assert_true(th_recording_site(&recording, "native", "SlowPaths.run", "alloc_bytes")
			    .samples >= TH_SITE_SAMPLES_MIN);
	th_recording_deinit(&recording);
}

static void
slow_paths(const struct th_jdk *jdk)
{
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		const struct collector *collector = &collectors[i];

		if (collector->further_option || !has_collector(jdk, collector))
			continue;
		slow_paths_with(jdk, collector->option, "-XX:-TieredCompilation",
			"-XX:CompileThreshold=100");
	}
	slow_paths_with(jdk, "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1",
		"-XX:Tier3InvocationThreshold=20");
}

/* Depth */

/* Frames of the recursion: 400 levels and the allocating one. */
#define DEEP_FRAMES 401
#define DEEP_LIMIT "1024"
#define SHALLOW_LIMIT 64

static size_t
count_frames(const json_t *stack, const char *name)
{
	const json_t *list = json_object_get(stack, "frames");
	size_t found = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		found += strcmp(th_text_of(json_array_get(list, i), "name"), name) == 0;
	return found;
}

static void
print_stack(const json_t *stack)
{
	char *text = json_dumps(stack, JSON_COMPACT);

	print_message("%s\n", text);
	free(text);
}

/*
 * The scenario `deep` in full: `recursive` is the function of that heap, and `site` allocates
 * at its end.  When the VM decides to compile the recursion at some level, it first makes
 * Strings of the constants of its class (CompileBroker::compile_method()), a few objects that
 * are sampled occasionally: their shorter stacks are correct.
 */
static void
check_deep(const struct th_recording *recording, const char *heap, const char *recursive,
	const char *site, const char *const *path, size_t count)
{
	const json_t *stacks = json_object_get(recording->report, "stacks");
	double samples = 0;

	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);

		if (strcmp(th_text_of(stack, "heap"), heap) != 0 ||
			!th_stack_has_path(stack, TH_WORDS(recursive, site)))
			continue;
		if (count_frames(stack, recursive) != count)
			print_stack(stack);
		assert_true(th_stack_has_path(stack, path));
		assert_int_equal(count_frames(stack, recursive), count);
		samples += th_figure_read(stack, "alloc_bytes").samples;
	}
	print_message("%s: %.0f samples\n", recursive, samples);
	assert_true(samples >= TH_SITE_SAMPLES_MIN);
}

static void
deep_stacks(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.arguments = TH_WORDS("--volume", "4M", "deep"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1",
				"TWINHEAP_DEPTH=" DEEP_LIMIT),
		},
		&recording);
	th_recording_load(&recording);
	check_deep(&recording, "java", "mixed.JavaSites.deep", "mixed.JavaSites.deepest",
		TH_WORDS("JavaMain", "mixed.Main.main", "mixed.Scenarios.deep"), DEEP_FRAMES);
	check_deep(&recording, "native", "recurse", "recurse",
		TH_WORDS("JavaMain", "mixed.Main.main", "mixed.Scenarios.deep",
			"mixed.NativeSites.runSites", "Java_mixed_NativeSites_runSites",
			"mixed_deep"),
		DEEP_FRAMES);
	th_recording_deinit(&recording);
}

/* Beyond the limit the root end is cut off, which the report states; the leaf end is kept. */
static void
cut_stacks(const struct th_jdk *jdk)
{
	struct th_recording recording;
	const json_t *stacks;

	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.arguments = TH_WORDS("--volume", "4M", "deep"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1",
				"TWINHEAP_DEPTH=64"),
		},
		&recording);
	th_recording_load(&recording);
	check_deep(&recording, "native", "recurse", "recurse",
		TH_WORDS("[deeper frames cut]", "recurse"), SHALLOW_LIMIT);
	stacks = json_object_get(recording.report, "stacks");
	for (size_t i = 0; i < json_array_size(stacks); i++)
		assert_true(json_array_size(json_object_get(
				    json_array_get(stacks, i), "frames")) <= SHALLOW_LIMIT + 2);
	th_recording_deinit(&recording);
}

/* A VM without a symbol table */

static void
run(const char *const *arguments)
{
	free(th_command_output(arguments));
}

/*
 * A copy of the JDK with a stripped libjvm.so: links to all of its files, and copies of those
 * that find their home by their own location.
 */
static struct th_jdk
strip_jdk(const struct th_jdk *jdk)
{
	static const char *const own[] = {
		"bin/java", "lib/libjli.so", "lib/jli/libjli.so", "lib/server/libjvm.so"};
	const char *directory = th_temporary_directory();
	struct th_jdk stripped = {
		.feature = jdk->feature,
		.version = jdk->version,
		.home = th_format("%s/jdk", directory),
		.java = th_format("%s/jdk/bin/java", directory),
	};
	char *libjvm = th_format("%s/lib/server/libjvm.so", stripped.home);

	run(TH_WORDS("cp", "-rs", jdk->home, stripped.home));
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		char *from = th_format("%s/%s", jdk->home, own[i]);
		char *to = th_format("%s/%s", stripped.home, own[i]);

		if (access(from, R_OK) == 0)
			run(TH_WORDS("cp", "-L", "--remove-destination", from, to));
		free(from);
		free(to);
	}
	run(TH_WORDS(th_is_emulated() ? "aarch64-linux-gnu-strip" : "strip", libjvm));
	free(libjvm);
	return stripped;
}

/* The VM's own functions have no names there, but those that C calls are known from JNI. */
static void
stripped_vm(const struct th_jdk *jdk)
{
	struct th_jdk stripped = strip_jdk(jdk);
	struct th_recording recording;

	record(&stripped, NULL, TH_WORDS("--volume", "4M", "path"), &recording);
	th_recording_check_stacks(&recording, path_stacks);
	th_recording_deinit(&recording);
	free(stripped.home);
	free(stripped.java);
}

/* With libunwind */

/*
 * The same stacks.  All other tests here also pass with TWINHEAP_UNWINDER in their environment.
 */
static void
by_libunwind(const struct th_jdk *jdk)
{
#if defined(__x86_64__)
	settings = libunwind_settings;
	walk_path_under(jdk, TH_WORDS("-Xint"), &collectors[2]);
	walk_path_under(jdk, TH_WORDS(NULL), &collectors[2]);
	ways_into_c(jdk);
	settings = standard_settings;
#else
	(void)jdk;
	skip();
#endif
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"path, as it comes", path_as_it_comes, 0},
		{"path, interpreted", path_interpreted, 0},
		{"path, by the client compiler", path_by_the_client_compiler, 0},
		{"path, compiled", path_compiled, 0},
		{"ways into C", ways_into_c, 0},
		{"native samples carry Java frames", native_samples_carry_java_frames, 0},
		{"allocations left to the VM", slow_paths, 0},
		{"deep stacks", deep_stacks, 0},
		{"cut stacks", cut_stacks, 0},
		{"stripped VM", stripped_vm, 0},
		{"by libunwind", by_libunwind, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("stacks", tests);
}
