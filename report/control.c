/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is written field by field and counted last, under a lock on the file that only tools
 * take.  With a JVM the agent thread looks at the page every 20 ms; without one a thread does that
 * has a sample due, at most every 10 ms.  A request to such a process that allocates next to
 * nothing waits, but comes before whatever is sampled next, and before the end.
 */
#include "report/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload/size.h"
#include "unify/heaps.h"
#include "report/format.h"
#include "report/running.h"
#include "report/text.h"
#include "unify/clock.h"
#include "unify/expression.h"

/* The answer is waited for this long, in steps; longer where it is certain to come. */
#define WAIT_MS 1000
#define SERVER_WAIT_MS 30000
#define STEP_MS 2

static const char help[] =
	"usage: twinheap ctl PID|LOG COMMAND [VALUE]\n"
	"\n"
	"Asks a recording that is under way for something.\n"
	"\n"
	"  status            what it does at present (the default)\n"
	"  pause             samples nothing; what is allocated meanwhile counts nowhere\n"
	"  resume            goes on\n"
	"  heaps " TH_HEAPS_WORDS "\n"
	"                    samples these heaps only; java,mapped for several\n"
	"  threads RE        samples only threads whose name matches; '' = all\n"
	"  interval BYTES    mean bytes between two samples, in each heap; 0 samples\n"
	"                    every allocation\n"
	"  rate N            samples a second to stay below, in all heaps together;\n"
	"                    0 = no cap\n"
	"  mark NAME         gives this moment a name, for --from mark:NAME\n"
	"  flush             writes to the log what is otherwise written once a second\n"
	"  buffers           counts the direct and mapped buffers that nobody reaches any\n"
	"                    more and that wait for their Cleaner; `rss` shows them.\n"
	"                    The VM stands still meanwhile, about a second for each\n"
	"                    10 million objects in use\n"
	"  stop              ends the recording for good; the process goes on\n"
	"\n"
	"Whoever may write the log may ask. What was asked for stands in the log.\n"
	"Exit status 4: the process cannot do it, as where malloc does not reach the\n"
	"library or there is no Java VM.\n";

static const char list_help[] = "usage: twinheap list\n"
				"\n"
				"Shows the recordings under way that this user may see.\n";

struct request {
	enum th_control_verb verb;
	uint64_t value;
	const char *name;
};

/* The recording that a command is about. */
struct target {
	char *path;
	int descriptor;
	struct th_log_header header;
	bool is_patient; /* a process that stands still is waited for */
};

/* Finding it */

static struct th_error *
open_target(const char *text, bool may_write, struct target *ret)
{
	struct th_error *error = th_running_find(text, &ret->path);

	ret->descriptor = -1;
	if (!error)
		error = th_running_open(ret->path, may_write, &ret->descriptor, &ret->header);
	if (!error && may_write && ret->header.state != TH_LOG_RECORDING)
		error = th_error_create(
			TH_ERROR_UNREADABLE, "%s: the recording has ended", ret->path);
	return error;
}

static void
close_target(struct target *target)
{
	if (target->descriptor >= 0)
		close(target->descriptor);
	free(target->path);
}

/* Asking */

static bool
write_field(const struct target *target, size_t offset, const void *bytes, size_t count)
{
	off_t at = (off_t)(offsetof(struct th_log_header, control) + offset);

	return pwrite(target->descriptor, bytes, count, at) == (ssize_t)count;
}

/* The count last, so that the process finds the rest written. */
static bool
write_request(const struct target *target, const struct request *request, uint32_t number)
{
	char name[TH_CONTROL_NAME_MAX] = "";
	uint32_t verb = request->verb;

	if (request->name)
		snprintf(name, sizeof(name), "%s", request->name);
	return write_field(
		       target, offsetof(struct th_log_control, verb), &verb, sizeof(verb)) &&
	       write_field(target, offsetof(struct th_log_control, value), &request->value,
		       sizeof(request->value)) &&
	       write_field(target, offsetof(struct th_log_control, name), name, sizeof(name)) &&
	       write_field(
		       target, offsetof(struct th_log_control, asked), &number, sizeof(number));
}

/*
 * Whether it makes sense to wait on.  For a process that is at it already: however long it takes.
 * For one with a thread that looks at the page: long, since a machine may be busy and a process
 * stopped.  Else who allocates nothing answers nothing.
 */
static bool
may_answer(const struct target *target, uint32_t number, int waited_ms)
{
	const struct th_log_header *header = &target->header;

	if (waited_ms < WAIT_MS)
		return true;
	return th_running_is_alive(header) &&
	       (header->control.begun == number || (header->has_server && target->is_patient &&
							   waited_ms < SERVER_WAIT_MS));
}

/* Waits until the process has done request `number`; false: it has not taken it up, so far. */
static bool
wait_until_served(struct target *target, uint32_t number)
{
	const struct timespec step = {0, STEP_MS * 1000000};

	for (int waited_ms = 0; may_answer(target, number, waited_ms); waited_ms += STEP_MS) {
		if (!th_running_read(target->descriptor, &target->header))
			return false;
		if (target->header.control.served == number)
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}

static struct th_error *
no_vm(const struct target *target)
{
	return th_error_create(TH_ERROR_REFUSED,
		"%s: the process has no Java VM, or none that may be asked now", target->path);
}

static struct th_error *
check_answer(const struct target *target)
{
	switch (target->header.control.answer) {
	case TH_CONTROL_DONE:
		return NULL;
	case TH_CONTROL_NO_JAVA:
		puts("the C heap is sampled; another agent samples the Java heap, which "
		     "follows when that agent gives it back");
		return NULL;
	case TH_CONTROL_UNSEEN:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: malloc or mmap of this process does not reach the library, so "
			"such a heap cannot be sampled; start the program with twinheap run or "
			"LD_PRELOAD",
			target->path);
	case TH_CONTROL_NO_VM:
		return no_vm(target);
	case TH_CONTROL_FAILED:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: the Java VM cannot do that; a note in the log says why",
			target->path);
	case TH_CONTROL_UNKNOWN:
		return th_error_create(TH_ERROR_REFUSED,
			"%s: the process has an older library, which cannot do that",
			target->path);
	default:
		return th_error_create(TH_ERROR_REFUSED, "%s: refused", target->path);
	}
}

/* No agent thread looks at the page: there is no Java VM, or the process has ended or is stopped. */
static struct th_error *
explain_silence(const struct target *target, const struct request *request)
{
	if (!th_running_is_alive(&target->header))
		return th_error_create(
			TH_ERROR_UNREADABLE, "%s: the process has ended", target->path);
	if (target->header.has_server) {
		puts("asked; it is done as soon as the process runs again");
		return NULL;
	}
	if (request->verb == TH_CONTROL_BUFFERS)
		return no_vm(target);
	puts("asked; it is done before the next sample, the process allocates nothing now");
	return NULL;
}

static struct th_error *
explain_backlog(const struct target *target, const struct request *request)
{
	if (request->verb == TH_CONTROL_BUFFERS)
		return explain_silence(target, request);
	return th_error_create(TH_ERROR_UNREADABLE,
		"%s: the process has not taken up an earlier request: it allocates nothing, or "
		"has ended",
		target->path);
}

static struct th_error *
ask(struct target *target, const struct request *request)
{
	if (flock(target->descriptor, LOCK_EX) ||
		!th_running_read(target->descriptor, &target->header))
		return th_error_create_errno(TH_ERROR_UNREADABLE, "%s", target->path);
	target->is_patient = true;
	uint32_t number = target->header.control.asked;
	if (!wait_until_served(target, number))
		return explain_backlog(target, request);
	if (!write_request(target, request, ++number))
		return th_error_create_errno(TH_ERROR_OUTPUT, "%s", target->path);
	return wait_until_served(target, number) ? check_answer(target)
						 : explain_silence(target, request);
}

/* Showing */

static bool
is_over(const struct th_log_header *header)
{
	return header->state == TH_LOG_COMPLETE || !th_running_is_alive(header);
}

/* Of one that is over, as of the last time that the library looked after its log. */
static double
seconds_recorded(const struct th_log_header *header)
{
	uint64_t end = is_over(header) ? header->control.looked : th_clock_now();

	return end > header->start_monotonic ? (double)(end - header->start_monotonic) / 1e9
					     : 0;
}

static uint64_t
samples(const struct th_log_header *header)
{
	return header->counters[TH_COUNTER_NATIVE_SAMPLES] +
	       header->counters[TH_COUNTER_JAVA_SAMPLES] +
	       header->counters[TH_COUNTER_MAPPED_SAMPLES];
}

static const char *
state_of(const struct th_log_header *header)
{
	if (header->state == TH_LOG_COMPLETE)
		return "complete";
	if (!th_running_is_alive(header))
		return "ended";
	return header->paused ? "paused" : "recording";
}

static const char *
heaps_of(const struct th_log_header *header)
{
	/* By the bits of java, native and mapped. */
	static const char *const texts[] = {"no heap", "the Java heap", "the C heap",
		"the Java and the C heap", "mapped memory", "the Java heap and mapped memory",
		"the C heap and mapped memory", "all heaps"};

	return texts[header->heaps >> TH_HEAP_JAVA & 7];
}

static void
print_samples_of(const struct th_log_header *header)
{
	char threads[sizeof(header->threads) + 1] = "";

	memcpy(threads, header->threads, sizeof(header->threads));
	printf("%s %s", is_over(header) ? "sampled" : "samples", heaps_of(header));
	if (threads[0]) {
		char *text = th_text_clean(
			(struct th_text){threads, (uint32_t)strlen(threads)});
		printf(" of threads matching %s", text);
		free(text);
	}
	if (header->java_elsewhere)
		fputs("; another agent samples the Java heap", stdout);
	putchar('\n');
}

static void
print_bytes_setting(const char *label, uint64_t interval)
{
	if (interval)
		printf("%s one sample per %s", label,
			th_format_number((double)interval, TH_UNIT_BYTES).text);
	else
		printf("%s every allocation", label);
}

static void
print_status(const struct target *target)
{
	const struct th_log_header *header = &target->header;
	const struct th_log_control *control = &header->control;

	printf("pid %u, %s, log %s\n", header->pid, state_of(header), target->path);
	printf("recorded %s, %s samples, %s\n",
		th_format_seconds(seconds_recorded(header)).text,
		th_format_count(samples(header)).text,
		th_format_number((double)header->tail, TH_UNIT_BYTES).text);
	print_samples_of(header);
	print_bytes_setting("interval", header->interval);
	if (control->looked && control->interval != header->interval)
		print_bytes_setting("; at this load", control->interval);
	if (header->rate)
		printf("\nrate at most %s samples a second",
			th_format_count(header->rate).text);
	else
		printf("\nrate without a cap");
	if (is_over(header)) {
		printf("\nnext:  twinheap summary %s\n", target->path);
		return;
	}
	/* What is older says nothing of the present. */
	bool is_fresh = control->looked + TH_NS_PER_S > th_clock_now();
	printf("; in the last second %s due, %s kept\n",
		th_format_count(is_fresh ? control->due : 0).text,
		th_format_count(is_fresh ? control->kept : 0).text);
}

/* The command line */

static struct th_error *
bad_value(const char *command, const char *value, const char *expected)
{
	return th_error_create(
		TH_ERROR_USAGE, "ctl: %s %s: expected %s", command, value, expected);
}

/* Each reads the value of a command; false: it does not read. */

static bool
read_interval(const char *value, struct request *request)
{
	return th_size_parse(value, &request->value) && request->value <= INT32_MAX;
}

/* So many digits never overflow. */
static bool
is_number(const char *text)
{
	return text[0] && strlen(text) < 10 && text[strspn(text, "0123456789")] == '\0';
}

static bool
read_rate(const char *value, struct request *request)
{
	request->value = strtoull(value, NULL, 10);
	return is_number(value) && request->value <= 1000000;
}

static bool
read_name(const char *value, struct request *request)
{
	request->name = value;
	return value[0] && strlen(value) < TH_CONTROL_NAME_MAX;
}

static bool
read_heaps(const char *value, struct request *request)
{
	unsigned heaps;

	if (!th_heaps_parse(value, &heaps))
		return false;
	request->value = heaps;
	return true;
}

static bool
read_threads(const char *value, struct request *request)
{
	struct th_expression expression;
	const char *problem;

	request->name = value;
	return th_expression_compile(&expression, value, &problem);
}

struct command {
	const char *name;
	enum th_control_verb verb;
	bool (*read)(const char *value, struct request *request); /* NULL: it takes no value */
	const char *expected;
};

static const struct command commands[] = {
	{"interval", TH_CONTROL_INTERVAL, read_interval, "a size up to 2147483647"},
	{"rate", TH_CONTROL_RATE, read_rate, "a number up to 1000000"},
	{"mark", TH_CONTROL_MARK, read_name, "a name of 1 to 63 bytes"},
	{"flush", TH_CONTROL_FLUSH, NULL, ""},
	{"buffers", TH_CONTROL_BUFFERS, NULL, ""},
	{"pause", TH_CONTROL_PAUSE, NULL, ""},
	{"resume", TH_CONTROL_RESUME, NULL, ""},
	{"heaps", TH_CONTROL_HEAPS, read_heaps,
		"all, both, java, native, mapped, or several with commas"},
	{"threads", TH_CONTROL_THREADS, read_threads,
		"an extended regular expression of at most 63 bytes"},
	{"stop", TH_CONTROL_STOP, NULL, ""},
};

static const struct command *
find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* The words of a command as a request; `value` is NULL where there is none. */
static struct th_error *
parse_request(const char *name, const char *value, struct request *ret)
{
	const struct command *command = find_command(name);

	if (!command)
		return th_error_create(TH_ERROR_USAGE,
			"ctl: %s: no such command, see twinheap ctl --help", name);
	*ret = (struct request){.verb = command->verb};
	if (!command->read)
		return value ? th_error_create(TH_ERROR_USAGE, "ctl: %s takes no value", name)
			     : NULL;
	if (!value)
		return th_error_create(
			TH_ERROR_USAGE, "ctl: %s: expected %s", name, command->expected);
	return command->read(value, ret) ? NULL : bad_value(name, value, command->expected);
}

static struct th_error *
control(int argc, char **argv)
{
	bool is_status = argc == 2 || (argc == 3 && !strcmp(argv[2], "status"));
	struct request request;
	struct target target = {.descriptor = -1};
	struct th_error *error = NULL;

	if (argc > 4)
		return th_error_create(TH_ERROR_USAGE,
			"ctl: expected PID|LOG and a command with its value, see twinheap ctl "
			"--help");
	if (!is_status)
		error = parse_request(argv[2], argv[3], &request);
	if (!error)
		error = open_target(argv[1], !is_status, &target);
	if (!error && is_status)
		print_status(&target);
	else if (!error)
		error = ask(&target, &request);
	if (!error && !is_status && request.verb == TH_CONTROL_BUFFERS)
		printf("counted; twinheap rss %s shows it\n", argv[1]);
	close_target(&target);
	return error;
}

static bool
wants_help(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

struct th_error *
th_control_current_log(const char *text, char **path_ret)
{
	const struct request request = {.verb = TH_CONTROL_FLUSH};
	struct target target;
	struct th_error *error = th_running_find(text, path_ret);

	if (error)
		return error;
	error = open_target(*path_ret, true, &target);
	if (!error && th_running_is_alive(&target.header) &&
		!flock(target.descriptor, LOCK_EX) &&
		th_running_read(target.descriptor, &target.header)) {
		uint32_t number = target.header.control.asked + 1;

		if (wait_until_served(&target, number - 1) &&
			write_request(&target, &request, number))
			wait_until_served(&target, number);
	}
	th_error_destroy(error);
	close_target(&target);
	return NULL;
}

struct th_error *
th_control_count_buffers(const char *text, char **path_ret)
{
	const struct request request = {.verb = TH_CONTROL_BUFFERS};
	struct target target;
	struct th_error *error = th_running_find(text, path_ret);

	if (error)
		return error;
	error = open_target(*path_ret, true, &target);
	if (!error)
		error = ask(&target, &request);
	close_target(&target);
	return error;
}

int
th_control_main(int argc, char **argv)
{
	if (wants_help(argc, argv)) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 2)
		return th_error_report(th_error_create(
			TH_ERROR_USAGE, "ctl: which recording? see twinheap ctl --help"));
	return th_error_report(control(argc, argv));
}

/* List */

static void
print_row(pid_t pid, const char *path)
{
	struct target target = {.descriptor = -1};
	struct th_error *error = th_running_open(
		path, false, &target.descriptor, &target.header);

	if (error) {
		th_error_destroy(error);
		return;
	}
	char *command = th_running_command(pid);
	printf("%7d  %-9s  %12s  %9s  %9s  ", (int)pid, state_of(&target.header),
		th_format_seconds(seconds_recorded(&target.header)).text,
		th_format_count(samples(&target.header)).text,
		th_format_number((double)target.header.tail, TH_UNIT_BYTES).text);
	th_format_cut(stdout, command, 60);
	printf("\n%9s%s\n", "", path);
	free(command);
	close(target.descriptor);
}

static void
list(void)
{
	struct th_running_pids all;
	bool any = false;

	th_running_find_pids(&all);
	for (size_t i = 0; i < all.pids_count; i++) {
		char *path = th_running_log(all.pids[i]);

		if (path && !any)
			printf("%7s  %-9s  %12s  %9s  %9s  %s\n", "PID", "STATE", "DURATION",
				"SAMPLES", "LOG", "COMMAND");
		if (path)
			print_row(all.pids[i], path);
		any |= path != NULL;
		free(path);
	}
	if (!any)
		puts("nothing is being recorded");
	free(all.pids);
}

int
th_list_main(int argc, char **argv)
{
	if (wants_help(argc, argv)) {
		fputs(list_help, stdout);
		return 0;
	}
	if (argc > 1)
		return th_error_report(th_error_create(
			TH_ERROR_USAGE, "list: %s: unexpected argument", argv[1]));
	list();
	return 0;
}
