/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code a method is, by the location of its package. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/symbols/code_sources.h"
#include "unify/shared/log_format.h"

#define SOURCES_MAX 16

static struct fixture {
	struct th_decoded_code_source items[SOURCES_MAX];
	struct th_recording recording;
	struct th_strings strings;
} fixture;

static int
begin(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fixture.recording.code_sources = fixture.items;
	th_strings_init(&fixture.strings);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	th_strings_deinit(&fixture.strings);
	return 0;
}

static void
add(uint32_t flags, const char *package, const char *location)
{
	fixture.items[fixture.recording.code_sources_count++] = (struct th_decoded_code_source){
		.flags = flags,
		.package = th_text_of(package),
		.location = th_text_of(location)};
}

enum owner { RUNTIME, LIBRARY, PROGRAM };

static void
expect(const char *method, enum owner expected, const char *library)
{
	struct th_code_sources sources;

	th_code_sources_init(&sources, &fixture.recording, &fixture.strings);
	struct th_code_owner owner = th_code_sources_owner(&sources, method);
	th_code_sources_deinit(&sources);
	assert_int_equal(owner.is_runtime   ? RUNTIME
			 : owner.is_program ? PROGRAM
					    : LIBRARY,
		expected);
	assert_string_equal(th_strings_get(&fixture.strings, owner.library), library);
}

/* Older logs have no code sources. */
static void
without_sources(void **state)
{
	(void)state;
	expect("java.util.HashMap.put", RUNTIME, "java.util");
	expect("com.sun.jna.Memory.<init>", RUNTIME, "com.sun.jna");
	expect("org.apache.kafka.clients.Client.poll", PROGRAM, "org.apache");
	expect("Main.main", PROGRAM, "");
}

/* Two prefixes of a jar are one library; names that the runtime has, too, in jars are not its. */
static void
with_a_directory(void **state)
{
	const char *groovy = "file:/lib/groovy-3.jar";

	(void)state;
	add(TH_CODE_SOURCE_PROGRAM, "", "file:/srv/classes/");
	add(0, "groovy/lang", groovy);
	add(0, "org/codehaus/groovy/control", groovy);
	add(0, "com/sun/jna", "file:/lib/jna.jar");
	add(0, "java/sql", "jrt:/java.sql");
	add(0, "jdk/proxy1", "");
	add(0, "app/plugin", "");
	expect("Main.main", PROGRAM, "");
	expect("groovy.lang.Shell.parse", LIBRARY, groovy);
	expect("org.codehaus.groovy.control.Unit.compile", LIBRARY, groovy);
	expect("com.sun.jna.Memory.<init>", LIBRARY, "file:/lib/jna.jar");
	expect("java.sql.DriverManager.getConnection", RUNTIME, "java.sql");
	expect("java.util.HashMap.put", RUNTIME, "java.util");
	expect("jdk.proxy1.$Proxy2.get", RUNTIME, "jdk.proxy1");
	expect("app.plugin.Filter.run", PROGRAM, "app.plugin");
	/* Of the boot loader, but no name of the Java runtime: of an agent. */
	expect("io.agent.bootstrap.Hook.enter", LIBRARY, "io.agent");
}

/* The jar of the main class is the program's; its packages may be of several libraries. */
static void
with_a_jar(void **state)
{
	(void)state;
	add(0, "com/lib", "file:/srv/lib/lib.jar");
	add(0, "com/acme/model", "file:/srv/app.jar");
	add(TH_CODE_SOURCE_PROGRAM, "com/acme", "file:/srv/app.jar");
	add(0, "shaded/json", "file:/srv/app.jar");
	expect("com.acme.Main.main", PROGRAM, "com.acme");
	expect("com.acme.model.Order.add", PROGRAM, "com.acme");
	expect("shaded.json.Parser.parse", PROGRAM, "shaded.json");
	expect("com.lib.Pool.get", LIBRARY, "file:/srv/lib/lib.jar");
}

/* A jar of jars, as of Spring Boot before and since 3.2: only its classes are the program's. */
static void
with_nested_jars(void **state)
{
	(void)state;
	add(TH_CODE_SOURCE_PROGRAM, "org/boot/loader", "file:/srv/app.jar");
	add(0, "com/acme", "jar:file:/srv/app.jar!/BOOT-INF/classes!/");
	add(0, "com/lib", "jar:file:/srv/app.jar!/BOOT-INF/lib/lib.jar!/");
	add(0, "com/acme3", "jar:nested:/srv/app.jar/!BOOT-INF/classes/!/");
	add(0, "com/lib3", "jar:nested:/srv/app.jar/!BOOT-INF/lib/lib3.jar!/");
	expect("com.acme.Main.main", PROGRAM, "com.acme");
	expect("com.acme3.Main.main", PROGRAM, "com.acme3");
	expect("com.lib.Pool.get", LIBRARY, "jar:file:/srv/app.jar!/BOOT-INF/lib/lib.jar!/");
	expect("com.lib3.Pool.get", LIBRARY,
		"jar:nested:/srv/app.jar/!BOOT-INF/lib/lib3.jar!/");
	expect("org.boot.loader.Launcher.main", LIBRARY, "file:/srv/app.jar");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_sources, begin, end),
		cmocka_unit_test_setup_teardown(with_a_directory, begin, end),
		cmocka_unit_test_setup_teardown(with_a_jar, begin, end),
		cmocka_unit_test_setup_teardown(with_nested_jars, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
