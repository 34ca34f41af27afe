/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields are read instead of calling methods, which may be the program's.
 */
#include "jvmti/names/code_sources.h"

#include <stdbool.h>
#include <string.h>

#include "jvmti/vm/vm_exports.h"
#include "unify/base/atomic.h"
#include "unify/base/hash_set.h"
#include "unify/log/log.h"
#include "unify/sample/in_flight.h"

/* What is longer is not logged. */
#define TEXT_BYTES 1024
/* Local references to the objects between a class and the texts of its location. */
#define REFERENCES 8

static struct {
	jfieldID domain, source, location, protocol, path;
	struct th_hash_set packages; /* hashes of those that are known */
	uint32_t is_on;              /* atomic */
	/* The program: its jar, if that is all of its class path, else the name of its main class */
	bool is_jar;
	char program[TEXT_BYTES];
} sources;

/* The program */

/* The last component of "java -jar lib/app.jar", or "com/acme" of "java com.acme.Main". */
static void
set_program(const char *command, const char *class_path)
{
	size_t length = strlen(class_path);
	const char *start = command;

	sources.is_jar = length && !strncmp(command, class_path, length) &&
			 (command[length] == ' ' || !command[length]);
	if (!sources.is_jar)
		length = strcspn(command, " ");
	/* "module/com.acme.Main" */
	const char *slash = memrchr(command, '/', length);
	start = slash ? slash + 1 : command;
	length -= (size_t)(start - command);
	if (!sources.is_jar) {
		const char *dot = memrchr(start, '.', length);

		length = dot ? (size_t)(dot - start) : 0;
	}
	if (length >= TEXT_BYTES)
		return;
	memcpy(sources.program, start, length);
	sources.program[length] = '\0';
	for (char *at = sources.program; !sources.is_jar && *at; at++)
		*at = *at == '.' ? '/' : *at;
}

/* Without a launcher (sun.java.command) the program is not known, and has no such package. */
static void
find_program(jvmtiEnv *jvmti)
{
	char *command = NULL, *class_path = NULL;

	strcpy(sources.program, "?");
	sources.is_jar = false;
	if (!(*jvmti)->GetSystemProperty(jvmti, "sun.java.command", &command) &&
		!(*jvmti)->GetSystemProperty(jvmti, "java.class.path", &class_path))
		set_program(command, class_path);
	th_vm_free(jvmti, command);
	th_vm_free(jvmti, class_path);
}

static bool
is_program(const char *package, const char *location)
{
	size_t length = strlen(location), end = strlen(sources.program);

	if (!sources.is_jar)
		return !strcmp(package, sources.program);
	return length > end && location[length - end - 1] == '/' &&
	       !strcmp(location + length - end, sources.program);
}

/* Locations */

static jobject
get(JNIEnv *env, jobject object, jfieldID field)
{
	return object && field ? (*env)->GetObjectField(env, object, field) : NULL;
}

/* Appends a text to `to`; false: it is too long. */
static bool
append(JNIEnv *env, jstring text, char to[TEXT_BYTES])
{
	size_t length = strlen(to);
	jsize bytes = text ? (*env)->GetStringUTFLength(env, text) : 0;

	if ((size_t)bytes >= TEXT_BYTES - length)
		return false;
	if (bytes)
		(*env)->GetStringUTFRegion(
			env, text, 0, (*env)->GetStringLength(env, text), to + length);
	to[length + (size_t)bytes] = '\0';
	return true;
}

/* "file:/srv/app.jar", empty if it has none; false: too long. */
static bool
read_location(JNIEnv *env, jclass type, char ret[TEXT_BYTES])
{
	jobject domain = th_vm_functions.domain_of ? th_vm_functions.domain_of(env, type)
						   : get(env, type, sources.domain);
	jobject url = get(env, get(env, domain, sources.source), sources.location);

	ret[0] = '\0';
	if (!url)
		return true;
	if (!append(env, get(env, url, sources.protocol), ret) || strlen(ret) + 2 > TEXT_BYTES)
		return false;
	strcat(ret, ":");
	return append(env, get(env, url, sources.path), ret);
}

static void
log_source(JNIEnv *env, jclass type, const char *package)
{
	char location[TEXT_BYTES];
	struct th_event_code_source event = {0};
	struct th_log_part parts[] = {th_log_text(package), {location, 0}};

	if ((*env)->PushLocalFrame(env, REFERENCES)) {
		(*env)->ExceptionClear(env);
		return;
	}
	if (read_location(env, type, location) && th_in_flight_begin()) {
		event.flags = is_program(package, location) ? TH_CODE_SOURCE_PROGRAM : 0;
		parts[1].length = (uint32_t)strlen(location);
		th_log_append(TH_EVENT_CODE_SOURCE, &event, parts, 2);
		th_in_flight_end();
	}
	(*env)->PopLocalFrame(env, NULL);
}

/* Packages */

/* Whether the package is new, which is then known. */
static bool
claim(const char *package)
{
	struct th_hash_entry entry = th_hash_set_add(
		&sources.packages, th_hash_set_text(package));

	if (!entry.word)
		th_log_count(TH_COUNTER_PACKAGES_FULL, 1);
	return entry.is_new;
}

/*
 * "com/acme" of "Lcom/acme/Main;", in place; NULL: of a VM-anonymous class (before JDK 15), "Lapp/Main/123;".
 */
static const char *
package_of(char *signature)
{
	char *slash = strrchr(signature, '/');

	if (signature[0] != 'L' || (slash && slash[1] >= '0' && slash[1] <= '9'))
		return NULL;
	*(slash ? slash : signature + 1) = '\0';
	return signature + 1;
}

void
th_code_sources_defined(jvmtiEnv *jvmti, JNIEnv *env, jclass type, jobject loader)
{
	char *signature;

	if (!loader || !th_load_acquire(&sources.is_on) ||
		(*jvmti)->GetClassSignature(jvmti, type, &signature, NULL))
		return;
	const char *package = package_of(signature);
	if (package && claim(package))
		log_source(env, type, package);
	th_vm_free(jvmti, signature);
}

/* Start */

static void
find_fields(JNIEnv *env)
{
	const char *const domain = "java/security/ProtectionDomain";
	const char *const source = "java/security/CodeSource";

	if (!th_vm_functions.domain_of)
		sources.domain = th_vm_field(env, "java/lang/Class", "protectionDomain",
			"Ljava/security/ProtectionDomain;");
	sources.source = th_vm_field(env, domain, "codesource", "Ljava/security/CodeSource;");
	sources.location = th_vm_field(env, source, "location", "Ljava/net/URL;");
	sources.protocol = th_vm_field(env, "java/net/URL", "protocol", "Ljava/lang/String;");
	sources.path = th_vm_field(env, "java/net/URL", "path", "Ljava/lang/String;");
}

static void
meet_loaded(jvmtiEnv *jvmti, JNIEnv *env)
{
	jclass *types;
	jint count;

	if ((*env)->PushLocalFrame(env, REFERENCES)) {
		(*env)->ExceptionClear(env);
		return;
	}
	if (!(*jvmti)->GetLoadedClasses(jvmti, &count, &types)) {
		for (jint i = 0; i < count; i++) {
			jobject loader = NULL;

			(*jvmti)->GetClassLoader(jvmti, types[i], &loader);
			th_code_sources_defined(jvmti, env, types[i], loader);
		}
		th_vm_free(jvmti, types);
	}
	(*env)->PopLocalFrame(env, NULL);
}

void
th_code_sources_start(jvmtiEnv *jvmti, JNIEnv *env)
{
	/* A callback of the last recording may be in progress. */
	th_hash_set_clear(&sources.packages);
	find_fields(env);
	find_program(jvmti);
	th_store_release(&sources.is_on, 1);
	meet_loaded(jvmti, env);
}

void
th_code_sources_stop(void)
{
	th_store_release(&sources.is_on, 0);
}
