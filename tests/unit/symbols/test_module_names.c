/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of modules without what is random in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/symbols/names.h"

static void
expect(const char *path, const char *expected)
{
	char *stable = th_module_stable_path(path);

	assert_string_equal(stable, expected);
	free(stable);
}

/* As JNI libraries name the files that they unpack themselves into. */
static void
test_random_parts(void **state)
{
	(void)state;
	expect("/tmp/libzstd-jni-1.5.5-56374239847.so", "/tmp/libzstd-jni-1.5.5-*.so");
	expect("/tmp/libzstd-jni-1.5.6-107434532345982349587.so",
		"/tmp/libzstd-jni-1.5.6-*.so");
	expect("/tmp/libnetty_tcnative_linux_x86_649034985.so",
		"/tmp/libnetty_tcnative_linux_x86_*.so");
	expect("/tmp/snappy-1.1.10-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0-libsnappyjava.so",
		"/tmp/snappy-1.1.10-*-libsnappyjava.so");
	expect("/tmp/onnxruntime-java1234567890123456789/libonnxruntime.so",
		"/tmp/onnxruntime-java*/libonnxruntime.so");
	expect("/tmp/jna-3506402/jna8291027384756102938.tmp", "/tmp/jna-3506402/jna*.tmp");
	expect("/cache/0123456789abcdef0123456789abcdef/libx.so", "/cache/*/libx.so");
	expect("/tmp/liblz4-java-12345678901.so (deleted)", "/tmp/liblz4-java-*.so");
}

static void
test_other_paths_stay(void **state)
{
	static const char *const paths[] = {"", "[vdso]", "/",
		"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/libfoo-20240131.so",
		"/opt/libstdc++.so.6.0.30", "/opt/feedfacecafebeefdead.so",
		"/opt/deadbeef12345678nothex/lib.so", "/opt/0f1e2d3c-4b5a-6978/lib.so",
		"/opt/ (deleted)/lib.so"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		expect(paths[i], paths[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_parts),
		cmocka_unit_test(test_other_paths_stay),
	};

	return cmocka_run_group_tests_name("module names", tests, NULL, NULL);
}
