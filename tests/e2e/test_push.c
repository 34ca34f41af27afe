/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `twinheap push` against a receiver on the loopback interface (receiver.py), which decodes each
 * request by the field numbers of the schemas, checks its form, and refuses, hangs or closes the
 * connection as told.  What it accepted must be what `export --format json` reports.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * In a new directory: the receiver with the answers $2, its port in $port.  $1 is the build
 * directory, $3 the source directory, $4 the kind of the receiver.
 */
#define PUSH                                                                                                                                              \
	"push() {\n"                                                                                                                                      \
	"  NODE_NAME=node-7 $1/twinheap push --to otlp+http://127.0.0.1:$port --window 0.4"                                                               \
	"  --state state --only test=$PWD &\n"                                                                                                            \
	"  push=$!\n"                                                                                                                                     \
	"}\n"                                                                                                                                             \
	"arrived() { grep -c '\"answer\": \"200\"' requests 2>/dev/null || true; }\n"                                                                     \
	"reach() { until [ \"$(arrived)\" -ge $1 ] 2>/dev/null; do sleep 0.05; done; }\n" /* A file of state lives as long as something is to be sent. */ \
	"finish() {\n"                                                                                                                                    \
	"  while compgen -G 'state/*/*.state' >/dev/null; do sleep 0.05; done\n"                                                                          \
	"  kill $push; wait $push || true\n"                                                                                                              \
	"}\n"

#define RECEIVER                                                                         \
	"set -e\n"                                                                       \
	"/usr/bin/python3 $3/tests/e2e/receiver.py . $2 $certificate 2>receiver.log &\n" \
	"receiver=$!\n"                                                                  \
	"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"                              \
	"while ! [ -s port ]; do sleep 0.02; done\n"                                     \
	"port=$(cat port)\n"                                                             \
	"unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_EXPORTER_OTLP_ENDPOINT\n" \
	"unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY\n"

/* The recording of the group, in $5. */
#define RECORDED "cp $5/work.thl $5/work.json .\n"

/* A directory with work.thl and its report work.json. */
static const char *recorded = "";

struct pushed {
	const char *directory;
	struct th_outcome outcome;
	json_t *requests; /* array; see receiver.py */
	json_t *findings; /* those of them with log records */
	json_t *report;   /* work.json; NULL if there is none */
};

static json_t *
load_lines(const char *path)
{
	json_t *lines = json_array();
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		json_t *value = json_loads(line, 0, NULL);

		assert_non_null(value);
		json_array_append_new(lines, value);
	}
	free(line);
	if (file)
		fclose(file);
	return lines;
}

/* Runs a script; every request that arrived must be well-formed. */
static struct pushed
run(const char *script, const char *answers, const char *kind)
{
	struct pushed pushed = {.directory = th_temporary_directory()};
	json_t *request;
	size_t i;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("bash", "-c", script, "bash", TH_TEST_BUILD,
				answers, TH_TEST_SOURCE, kind, recorded),
			.directory = pushed.directory,
			.timeout_seconds = 120,
		},
		&pushed.outcome);
	char *path = th_format("%s/requests", pushed.directory);

	pushed.requests = load_lines(path);
	free(path);
	path = th_format("%s/work.json", pushed.directory);
	pushed.report = json_load_file(path, 0, NULL);
	free(path);
	pushed.findings = json_array();
	json_array_foreach(pushed.requests, i, request)
	{
		json_t *problems = json_object_get(request, "problems");

		if (json_array_size(problems))
			print_message("%s\n", json_string_value(json_array_get(problems, 0)));
		assert_int_equal(json_array_size(problems), 0);
	}
	for (i = json_array_size(pushed.requests); i-- > 0;) {
		request = json_array_get(pushed.requests, i);
		if (!json_object_get(request, "records"))
			continue;
		json_array_append(pushed.findings, request);
		json_array_remove(pushed.requests, i);
	}
	return pushed;
}

static void
forget(struct pushed *pushed)
{
	th_outcome_deinit(&pushed->outcome);
	json_decref(pushed->requests);
	json_decref(pushed->findings);
	json_decref(pushed->report);
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool
is_accepted(const json_t *request)
{
	return strcmp(text_of(request, "answer"), "200") == 0;
}

/* The profile of a request with values of this type; NULL if it has none. */
static json_t *
profile_of(const json_t *request, const char *type)
{
	json_t *profile;
	size_t i;

	json_array_foreach(json_object_get(request, "profiles"), i, profile)
	{
		if (strcmp(text_of(profile, "type"), type) == 0)
			return profile;
	}
	return NULL;
}

static double
value_of(const json_t *request, const char *type, const char *heap)
{
	json_t *heaps = json_object_get(profile_of(request, type), "heaps");

	return json_number_value(json_object_get(heaps, heap));
}

/*
 * What was sent in windows cannot be taken back: it may exceed an estimate that became smaller in the
 * end, after the last growth, by a small part of it.
 */
static void
assert_sent(double sum, double expected, double excess, const char *what)
{
	if (sum < expected - 0.51 || sum > expected * (1 + excess) + 1)
		fail_msg("%s: %.1f instead of %.1f", what, sum, expected);
}

/* The sum of the stacks of a report. */
static double
reported(const json_t *report, const char *heap, const char *value)
{
	double sum = 0;
	json_t *stack;
	size_t i;

	json_array_foreach(json_object_get(report, "stacks"), i, stack)
	{
		if (strcmp(text_of(stack, "heap"), heap) == 0)
			sum += json_number_value(
				json_object_get(json_object_get(stack, value), "estimate"));
	}
	return sum;
}

/* Equal but for rounding to an integer. */
static void
assert_same(double value, double expected, const char *what)
{
	if (fabs(value - expected) > 0.51 + 1e-12 * expected)
		fail_msg("%s: %.1f instead of %.1f", what, value, expected);
}

static const struct {
	const char *type; /* of the profile */
	const char *name; /* in the report */
} values[] = {
	{"alloc_space", "alloc_bytes"},
	{"alloc_objects", "alloc_objects"},
	{"inuse_space", "live_bytes"},
	{"inuse_objects", "live_objects"},
};

#define VALUES (sizeof(values) / sizeof(values[0]))

/* The four values of all requests together are those of the report. */
static void
check_figures(const struct pushed *pushed)
{
	for (size_t i = 0; i < VALUES; i++) {
		double sum = 0;
		json_t *request;
		size_t j;

		json_array_foreach(pushed->requests, j, request) if (is_accepted(request))
			sum += value_of(request, values[i].type, "native");
		assert_true(sum > 0);
		assert_same(sum, reported(pushed->report, "native", values[i].name),
			values[i].type);
	}
}

/* One recording, once */

static const char once[] = RECEIVER RECORDED
	"export OTEL_EXPORTER_OTLP_HEADERS='x-tenant=a%20b,x-second=2'\n"
	"OTEL_RESOURCE_ATTRIBUTES=service.name=shop,deployment.environment=test "
	"$1/twinheap push work.thl --to $4+http://127.0.0.1:$port/ --label team=x\n";

static const char *
header(const json_t *request, const char *name)
{
	return text_of(json_object_get(request, "headers"), name);
}

static void
otlp_request(void **state)
{
	struct pushed pushed = run(once, "200", "otlp");
	json_t *request = json_array_get(pushed.requests, 0);
	json_t *resource = json_object_get(request, "resource");
	json_t *alloc = profile_of(request, "alloc_space");

	(void)state;
	assert_int_equal(json_array_size(pushed.requests), 1);
	check_figures(&pushed);
	assert_string_equal(text_of(request, "path"), "/v1development/profiles");
	assert_string_equal(header(request, "Content-Type"), "application/x-protobuf");
	assert_string_equal(header(request, "Content-Encoding"), "gzip");
	assert_string_equal(header(request, "X-Tenant"), "a b");
	assert_string_equal(text_of(resource, "service.name"), "shop");
	assert_string_equal(text_of(resource, "deployment.environment"), "test");
	assert_string_equal(text_of(resource, "team"), "x");
	assert_string_equal(text_of(resource, "process.executable.name"), "native_windows");
	assert_true(strlen(text_of(resource, "host.name")) > 0);
	assert_string_equal(text_of(alloc, "unit"), "bytes");
	assert_int_equal(strlen(text_of(alloc, "id")), 32);
	/* Receivers add up what has a duration. */
	assert_true(json_integer_value(json_object_get(alloc, "duration")) > 0);
	assert_int_equal(json_integer_value(json_object_get(
				 profile_of(request, "inuse_space"), "duration")),
		0);
	assert_true(json_is_integer(json_object_get(json_object_get(alloc, "attributes"),
		"twinheap.alloc_space.native.ci95.high")));
	assert_true(json_number_value(json_object_get(
			    json_object_get(alloc, "functions"), "native allocate_kept")) > 0);
	assert_true(
		json_is_integer(json_object_get(json_object_get(alloc, "kinds"), "native")));
	assert_true(json_integer_value(json_object_get(request, "build_ids")) > 0);
	forget(&pushed);
}

/* A log record for each leak of the report. */
static void
leaks_are_log_records(void **state)
{
	struct pushed pushed = run(once, "200", "otlp");
	json_t *request = json_array_get(pushed.findings, 0);
	json_t *record = json_array_get(json_object_get(request, "records"), 0);
	json_t *attributes = json_object_get(record, "attributes");
	char *path = th_format("%s/leaks.json", recorded);
	json_t *report = json_load_file(path, 0, NULL);
	size_t leaks = 0;
	json_t *finding;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(report, "findings"), i, finding)
		leaks += strcmp(text_of(finding, "verdict"), "leak") == 0;
	assert_true(leaks > 0);
	assert_int_equal(json_array_size(pushed.findings), 1);
	assert_int_equal(json_array_size(json_object_get(request, "records")), leaks);
	assert_string_equal(text_of(request, "path"), "/v1/logs");
	assert_string_equal(header(request, "Content-Type"), "application/json");
	assert_string_equal(
		text_of(json_object_get(request, "resource"), "service.name"), "shop");
	assert_string_equal(text_of(record, "eventName"), "twinheap.leak");
	assert_string_equal(text_of(attributes, "twinheap.heap"), "native");
	assert_non_null(
		strstr(text_of(attributes, "code.stacktrace"), "allocate_kept\nmain\n"));
	assert_true(json_number_value(json_object_get(
			    attributes, "twinheap.growth_bytes_per_s.ci95.low")) > 0);
	json_decref(report);
	free(path);
	forget(&pushed);
}

/* Allocated and live values are in a profile each: the latter has no duration. */
static void
check_halves(const struct pushed *pushed, const char *path, const char *type)
{
	json_t *request;
	size_t i;

	assert_int_equal(json_array_size(pushed->requests), 2);
	check_figures(pushed);
	json_array_foreach(pushed->requests, i, request)
	{
		json_t *profiles = json_object_get(request, "profiles");
		json_t *first = json_array_get(profiles, 0);

		assert_string_equal(text_of(request, "path"), path);
		assert_string_equal(header(request, "Content-Type"), type);
		assert_int_equal(json_array_size(profiles), 2);
		assert_true((json_integer_value(json_object_get(first, "duration")) > 0) ==
			    (strncmp(text_of(first, "type"), "alloc", 5) == 0));
	}
}

static void
pyroscope_request(void **state)
{
	struct pushed pushed = run(once, "200", "pyroscope");
	json_t *query = json_object_get(json_array_get(pushed.requests, 0), "query");

	(void)state;
	check_halves(&pushed, "/ingest", "application/octet-stream");
	assert_int_equal(strncmp(text_of(query, "name"), "shop{service_name=shop,", 23), 0);
	assert_non_null(strstr(text_of(query, "name"), ",team=x}"));
	assert_string_equal(text_of(query, "format"), "pprof");
	assert_true(atol(text_of(query, "until")) > atol(text_of(query, "from")));
	forget(&pushed);
}

static void
pprof_request(void **state)
{
	struct pushed pushed = run(once, "200", "pprof");
	json_t *comments = json_object_get(json_array_get(pushed.requests, 0), "comments");
	json_t *comment;
	bool has_label = false;
	size_t i;

	(void)state;
	check_halves(&pushed, "/v1/pprof", "application/octet-stream");
	/* Without arguments, which may be secrets. */
	json_array_foreach(comments, i, comment)
	{
		assert_null(strstr(json_string_value(comment), " stop"));
		has_label |= strcmp(json_string_value(comment), "service.name=shop") == 0;
	}
	assert_true(has_label);
	forget(&pushed);
}

/* Faults */

/* Refused, broken, and repeated as it was: the receiver gets the values once. */
static void
faults_are_retried(void **state)
{
	struct pushed pushed = run(once, "429/1,503,reset,200", "otlp");
	json_t *reset = json_array_get(pushed.requests, 2);
	json_t *last = json_array_get(pushed.requests, 3);

	(void)state;
	assert_int_equal(json_array_size(pushed.requests), 4);
	check_figures(&pushed);
	assert_string_equal(text_of(profile_of(reset, "alloc_space"), "id"),
		text_of(profile_of(last, "alloc_space"), "id"));
	assert_true(json_equal(
		json_object_get(reset, "profiles"), json_object_get(last, "profiles")));
	/* One line at the beginning of the outage, one at its end. */
	assert_non_null(strstr(pushed.outcome.errors, "HTTP status 429; trying again"));
	assert_null(strstr(pushed.outcome.errors, "HTTP status 503"));
	assert_non_null(strstr(pushed.outcome.errors, "accepts again, after"));
	forget(&pushed);
}

/* $4 is the URL, with PORT for the port; the status must be 2. */
static const char failing[] = RECEIVER RECORDED
	"url=${4/PORT/$port}\n"
	"case $2 in silent | stalled) timeout=0.5 ;; *) timeout=30 ;; esac\n"
	"$1/twinheap push work.thl --to $url --timeout $timeout --patience 0.1 2>errors"
	" && exit 9\n"
	"[ $? = 2 ] && cat errors >&2\n";

static void
check_failure(const char *answers, const char *url, const char *expected)
{
	struct pushed pushed = run(failing, answers, url);

	if (!strstr(pushed.outcome.errors, expected))
		fail_msg("%s: %s", expected, pushed.outcome.errors);
	forget(&pushed);
}

static void
failures_are_told(void **state)
{
	(void)state;
	check_failure("503", "otlp+http://127.0.0.1:PORT", "was not accepted: HTTP status 503");
	check_failure("silent", "otlp+http://127.0.0.1:PORT", "was not accepted: ");
	check_failure("stalled", "pyroscope+http://127.0.0.1:PORT", "was not accepted: ");
	/* Nothing listens at a port that needs privileges. */
	check_failure("200", "otlp+http://127.0.0.1:1", "connect");
	/* These bytes will never be taken. */
	check_failure("400", "otlp+http://127.0.0.1:PORT", "rejects a window of process");
	check_failure("partial", "otlp+http://127.0.0.1:PORT", "which is lost: full");
	check_failure("200", "ftp://127.0.0.1", "is none of otlp+http://HOST:PORT");
}

/* A certificate that nobody signed is refused, and accepted as given by the variable. */
static const char certified[] =
	"openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1"
	" -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null\n"
	"cat key.pem cert.pem >both.pem\n"
	"certificate=both.pem\n" RECEIVER RECORDED "to=otlp+https://127.0.0.1:$port\n"
	"$1/twinheap push work.thl --to $to --patience 0.1 2>errors && exit 9\n"
	"grep -qi certificate errors\n"
	"! [ -e requests ]\n"
	"OTEL_EXPORTER_OTLP_CERTIFICATE=cert.pem $1/twinheap push work.thl --to $to\n"
	"OTEL_EXPORTER_OTLP_CERTIFICATE=cert.pem OTEL_EXPORTER_OTLP_ENDPOINT=https://127.0.0.1:"
	"$port $1/twinheap push work.thl\n";

static void
certificates_are_checked(void **state)
{
	(void)state;
	if (system("command -v openssl >/dev/null")) {
		puts("skipped: openssl is not installed");
		skip();
	}
	struct pushed pushed = run(certified, "200", "");
	json_t *request = json_array_get(pushed.requests, 0);

	assert_int_equal(json_array_size(pushed.requests), 2);
	assert_same(value_of(request, "alloc_space", "native"),
		reported(pushed.report, "native", "alloc_bytes"), "alloc_space");
	forget(&pushed);
}

static void
without_libcurl(void **state)
{
	(void)state;
	struct pushed pushed = run(
		"printf '%s\\n' '#define _GNU_SOURCE' '#include <dlfcn.h>' '#include "
		"<string.h>'"
		" 'void *dlopen(const char *name, int flags) {'"
		" ' void *(*real)(const char *, int) = dlsym(RTLD_NEXT, \"dlopen\");'"
		" ' return name && strstr(name, \"libcurl\") ? 0 : real(name, flags); }'"
		" >missing.c\n"
		"gcc -shared -fPIC -o missing.so missing.c\n"
		"touch work.thl\n"
		"LD_PRELOAD=$PWD/missing.so $1/twinheap push work.thl --to "
		"otlp+http://127.0.0.1:1\n"
		"[ $? = 2 ]\n",
		"", "");

	assert_non_null(strstr(pushed.outcome.errors, "push requires libcurl"));
	forget(&pushed);
}

/* Windows */

/*
 * Two programs, found as `list` does, and a receiver that refuses some windows; push is ended in
 * between and goes on where it was.  Only programs of this test are sent: others run beside it.
 */
static const char windows[] = RECEIVER PUSH
	"record() {\n"
	"  OTEL_SERVICE_NAME=$2 OTEL_RESOURCE_ATTRIBUTES=test=$PWD"
	"  POD_NAME=pod-$2 POD_NAMESPACE=shop"
	"  LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all TWINHEAP_INTERVAL=4k"
	"  TWINHEAP_OUTPUT=$2.thl $1/tests/programs/native_windows stop-$2 &\n"
	"}\n"
	"record $1 first; first=$!\n"
	"record $1 second; second=$!\n"
	"push $1; reach 4; kill $push; wait $push || true\n"
	"push $1; reach 8\n"
	"touch stop-first; wait $first\n"
	"touch stop-second; wait $second\n"
	"finish\n"
	"for name in first second; do\n"
	"  $1/twinheap export --format json $name.thl >$name.json\n"
	"done\n";

/* Sums and last values of the accepted windows of a service. */
static void
check_service(const struct pushed *pushed, const char *name)
{
	char *path = th_format("%s/%s.json", pushed->directory, name);
	json_t *report = json_load_file(path, 0, NULL);
	char *pod = th_format("pod-%s", name);
	double sums[VALUES] = {0};
	size_t windows_count = 0;
	json_int_t until = 0;
	json_t *request;
	size_t i;

	json_array_foreach(pushed->requests, i, request)
	{
		json_t *resource = json_object_get(request, "resource");
		json_t *alloc = profile_of(request, "alloc_space");

		if (!is_accepted(request) ||
			strcmp(text_of(resource, "service.name"), name) != 0)
			continue;
		windows_count++;
		assert_string_equal(text_of(resource, "k8s.pod.name"), pod);
		assert_string_equal(text_of(resource, "k8s.namespace.name"), "shop");
		assert_string_equal(text_of(resource, "host.name"), "node-7");
		for (size_t j = 0; j < VALUES; j++) {
			double value = value_of(request, values[j].type, "native");

			sums[j] = values[j].type[0] == 'a' ? sums[j] + value : value;
		}
		/* Windows follow each other. */
		if (!alloc)
			continue;
		json_int_t start = json_integer_value(json_object_get(alloc, "start"));
		if (until)
			assert_true(start == until);
		until = start + json_integer_value(json_object_get(alloc, "duration"));
	}
	assert_true(windows_count >= 3);
	for (size_t j = 0; j < VALUES; j++) {
		double expected = reported(report, "native", values[j].name);

		if (values[j].type[0] == 'a')
			assert_sent(sums[j], expected, 1e-3, values[j].type);
		else
			assert_same(sums[j], expected, values[j].type);
	}
	json_decref(report);
	free(pod);
	free(path);
}

static void
windows_add_up(void **state)
{
	struct pushed pushed = run(windows, "200,503,200,200,reset,200", "");

	(void)state;
	check_service(&pushed, "first");
	check_service(&pushed, "second");
	forget(&pushed);
}

/* By which the values sent may differ from the report, as parts of it. */
struct tolerance {
	double bytes, objects; /* more in the sums of all windows */
	double live;           /* in either direction, in the last one */
};

/* The sums of the accepted windows of a heap, or their last values, are those of the report. */
static void
check_windows(const struct pushed *pushed, const char *heap, struct tolerance tolerance)
{
	for (size_t i = 0; i < VALUES; i++) {
		const char *type = values[i].type;
		double expected = reported(pushed->report, heap, values[i].name);
		double sum = 0;
		json_t *request;
		size_t j;

		json_array_foreach(pushed->requests, j, request)
		{
			double value = value_of(request, type, heap);

			if (is_accepted(request))
				sum = type[0] == 'a' ? sum + value : value;
		}
		print_message("%s %s: sent %.0f, report %.1f\n", heap, type, sum, expected);
		assert_true(sum > 0);
		if (strcmp(type, "alloc_space") == 0)
			assert_sent(sum, expected, tolerance.bytes, type);
		else if (strcmp(type, "alloc_objects") == 0)
			assert_sent(sum, expected, tolerance.objects, type);
		else
			assert_true(fabs(sum - expected) <= 0.51 + tolerance.live * expected);
	}
}

/* A Java program: its names, and the ends of its objects, become known after their samples. */
static const char java_windows[] = RECEIVER PUSH
	"OTEL_RESOURCE_ATTRIBUTES=test=$PWD,service.name=mixed"
	" LD_PRELOAD=$1/libtwinheap.so TWINHEAP_INTERVAL=64k TWINHEAP_OUTPUT=work.thl"
	" $4 -Djava.library.path=$1/examples/mixed -jar $1/examples/mixed/mixed.jar"
	" --volume 64m >/dev/null &\n"
	"java=$!\n"
	"push $1; reach 2; kill $push; wait $push || true\n"
	"push $1; wait $java\n"
	"finish\n"
	"$1/twinheap export --format json work.thl >work.json\n";

static void
windows_of_java_add_up(void **state)
{
	struct pushed pushed = run(java_windows, "200,reset,503,200", th_jdk_newest()->java);

	(void)state;
	/* Numbers of objects, from few samples at first, become smaller by up to 7 %. */
	check_windows(&pushed, "java", (struct tolerance){0.01, 0.25, 0});
	check_windows(&pushed, "native", (struct tolerance){0.01, 0.25, 0});
	forget(&pushed);
}

/*
 * The disk of the state is full, as by a limit of the file size: windows are sent all the same, and
 * one line says what this means.  The last window is that of the program's end.
 */
static const char full_state[] = RECEIVER
	"OTEL_RESOURCE_ATTRIBUTES=test=$PWD LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all"
	" TWINHEAP_INTERVAL=4k TWINHEAP_OUTPUT=work.thl"
	" $1/tests/programs/native_windows stop & work=$!\n"
	"(trap '' XFSZ; ulimit -f 0; exec $1/twinheap push --to otlp+http://127.0.0.1:$port"
	" --window 0.4 --state state --only test=$PWD) & push=$!\n"
	"until [ \"$(grep -c alloc_space requests)\" -ge 4 ] 2>/dev/null; do sleep 0.05; done\n"
	"touch stop; wait $work\n"
	"until [ $(($(date +%s) - $(stat -c %Y requests))) -ge 3 ]; do sleep 0.2; done\n"
	"kill $push; wait $push || true\n"
	"! compgen -G 'state/*/*'\n"
	"$1/twinheap export --format json work.thl >work.json\n";

static void
state_disk_is_full(void **state)
{
	struct pushed pushed = run(full_state, "200", "");
	const char *told = strstr(pushed.outcome.errors, "cannot be written");

	(void)state;
	assert_non_null(told);
	assert_null(strstr(told + 1, "cannot be written"));
	check_windows(&pushed, "native", (struct tolerance){1e-3, 1e-3, 0});
	forget(&pushed);
}

/* A program that ends while push does not run: the next push sends what was missing. */
static const char ended_before[] = RECEIVER PUSH
	"OTEL_RESOURCE_ATTRIBUTES=test=$PWD LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all"
	" TWINHEAP_INTERVAL=4k TWINHEAP_OUTPUT=work.thl"
	" $1/tests/programs/native_windows stop & work=$!\n"
	"push $1; reach 2; kill $push; wait $push || true\n"
	"sleep 0.3; touch stop; wait $work\n"
	"push $1; finish\n"
	"$1/twinheap export --format json work.thl >work.json\n"
	/* Without the log nothing can be sent, and the state is of no use. */
	"state=$(echo state/*)\n"
	"echo \"twinheap push 3 1 0 0 0 0 0 0 0 $PWD/gone.thl\" >$state/0-1-0.state\n"
	"push $1; finish\n";

static void
ended_while_push_was_away(void **state)
{
	struct pushed pushed = run(ended_before, "200", "");

	(void)state;
	check_windows(&pushed, "native", (struct tolerance){1e-3, 1e-3, 0});
	assert_non_null(strstr(pushed.outcome.errors, "gone.thl is gone"));
	forget(&pushed);
}

/* A program that ends while a window is repeated whose fate is unknown: it is not the last one. */
static const char ended_in_doubt[] = RECEIVER PUSH
	"OTEL_RESOURCE_ATTRIBUTES=test=$PWD LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all"
	" TWINHEAP_INTERVAL=4k TWINHEAP_OUTPUT=work.thl"
	" $1/tests/programs/native_windows stop & work=$!\n"
	"push $1\n"
	"until grep -q '\"answer\": \"reset\"' requests 2>/dev/null; do sleep 0.05; done\n"
	"touch stop; wait $work\n"
	"finish\n"
	"$1/twinheap export --format json work.thl >work.json\n";

static void
ended_while_a_window_is_in_doubt(void **state)
{
	struct pushed pushed = run(ended_in_doubt, "200,reset,reset,200", "");

	(void)state;
	check_windows(&pushed, "native", (struct tolerance){1e-3, 1e-3, 0});
	forget(&pushed);
}

/*
 * A ring that turns while it is read: what it thins out has been sent, and is not sent again.  push has
 * read samples that the report does not have any more: live bytes differ by the error of theirs.
 */
static const char ring_windows[] = RECEIVER PUSH
	"OTEL_RESOURCE_ATTRIBUTES=test=$PWD LD_PRELOAD=$1/libtwinheap.so TWINHEAP_INTERVAL=2k"
	" TWINHEAP_LOG_RING=8M TWINHEAP_OUTPUT=work.thl"
	/* Longer than the first push runs, some 3 s on a quick machine. */
	" $1/tests/programs/native_ring 12000000 exit >out & work=$!\n"
	"push $1; reach 2; kill $push; wait $push || true\n"
	"push $1; wait $work\n"
	"finish\n"
	"[ $(stat -c %s work.thl) -gt $((24 << 20)) ]\n"
	"$1/twinheap export --format json work.thl >work.json\n";

static void
windows_of_a_ring_add_up(void **state)
{
	struct pushed pushed = run(ring_windows, "200,503,200", "");

	(void)state;
	check_windows(&pushed, "native", (struct tolerance){1e-3, 0.25, 0.02});
	forget(&pushed);
}

static int
record(void **state)
{
	static const char script[] =
		"set -e\n"
		/* On a busy machine three seconds are not enough for a leak. */
		"(sleep 3; until $1/twinheap leaks work.thl | grep -q '^[1-9].* leak';"
		" do sleep 0.5; done; touch stop) &\n"
		"LD_PRELOAD=$1/libtwinheap.so TWINHEAP_FOLLOW=all TWINHEAP_INTERVAL=4k"
		" TWINHEAP_OUTPUT=work.thl $1/tests/programs/native_windows stop\n"
		"$1/twinheap export --format json work.thl >work.json\n"
		"$1/twinheap leaks --format json work.thl >leaks.json\n";

	(void)state;
	struct pushed pushed = run(script, "", "");
	recorded = pushed.directory;
	forget(&pushed);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(otlp_request),
		cmocka_unit_test(leaks_are_log_records),
		cmocka_unit_test(pyroscope_request),
		cmocka_unit_test(pprof_request),
		cmocka_unit_test(faults_are_retried),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(certificates_are_checked),
		cmocka_unit_test(without_libcurl),
		cmocka_unit_test(windows_add_up),
		cmocka_unit_test(windows_of_java_add_up),
		cmocka_unit_test(state_disk_is_full),
		cmocka_unit_test(ended_while_push_was_away),
		cmocka_unit_test(ended_while_a_window_is_in_doubt),
		cmocka_unit_test(windows_of_a_ring_add_up),
	};

	if (system("/sbin/ldconfig -p | grep -q 'libcurl.*\\.so\\.4'")) {
		puts("skipped: libcurl is not installed");
		return 0;
	}
	return cmocka_run_group_tests(tests, record, NULL);
}
