/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/option_table.h"

#include <math.h>
#include <regex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unify/shared/heaps.h"
#include "unify/shared/size.h"

#define LONGEST_SECONDS 1e9

static struct th_error *
bad_argument(const struct th_option_entry *entry, const char *argument, const char *expected)
{
	return th_error_create(
		TH_ERROR_USAGE, "--%s %s: expected %s", entry->name, argument, expected);
}

/* Setters of the member that the entry names */

static void *
member_of(struct th_options *options, const struct th_option_entry *entry)
{
	return (char *)options + entry->member;
}

static struct th_error *
set_flag(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	(void)argument;
	*(bool *)member_of(options, entry) = true;
	return NULL;
}

static struct th_error *
set_text(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	*(const char **)member_of(options, entry) = argument;
	return NULL;
}

static struct th_error *
set_pattern(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	struct th_pattern *pattern = member_of(options, entry);
	char reason[128];

	if (pattern->is_given)
		regfree(&pattern->regex);
	int result = regcomp(&pattern->regex, argument, REG_EXTENDED | REG_NOSUB);
	pattern->is_given = !result;
	pattern->text = argument;
	if (!result)
		return NULL;
	regerror(result, &pattern->regex, reason, sizeof(reason));
	return th_error_create(TH_ERROR_USAGE, "--%s %s: %s", entry->name, argument, reason);
}

/* One of several words, by the value of an enumeration; NULL: the value has no word. */
struct choice {
	const char *expected;
	const char *names[TH_OUTPUT_TEXT + 1];
};

static struct th_error *
set_choice(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	const struct choice *choice = entry->choice;

	for (unsigned i = 0; i < sizeof(choice->names) / sizeof(choice->names[0]); i++) {
		if (choice->names[i] && !strcmp(argument, choice->names[i])) {
			memcpy(member_of(options, entry), &i, sizeof(i));
			return NULL;
		}
	}
	return bad_argument(entry, argument, choice->expected);
}

#define FLAG(name) set_flag, offsetof(struct th_options, name), NULL
#define TEXT(name) set_text, offsetof(struct th_options, name), NULL
#define PATTERN(name) set_pattern, offsetof(struct th_options, name), NULL
#define CHOICE(name, choice) set_choice, offsetof(struct th_options, name), &(choice)
#define OWN(setter) setter, 0, NULL

/* Other setters */

/* clang-format off: keeps one entry per line */
static const struct {
	const char *name;
	const char *heading;
	enum th_measure measure;
	bool counts_objects;
} values[] = {
	[TH_VALUE_ALLOC_BYTES] = {"alloc-bytes", "bytes", TH_MEASURE_ALLOC, false},
	[TH_VALUE_ALLOC_OBJECTS] = {"alloc-objects", "objects", TH_MEASURE_ALLOC, true},
	[TH_VALUE_LIVE_BYTES] = {"live-bytes", "live", TH_MEASURE_LIVE, false},
	[TH_VALUE_LIVE_OBJECTS] = {"live-objects", "live objs", TH_MEASURE_LIVE, true},
	[TH_VALUE_TEMPORARY_BYTES] = {"temp-bytes", "temporary", TH_MEASURE_TEMPORARY, false},
	[TH_VALUE_TOUCHED_BYTES] = {"touched-bytes", "touched", TH_MEASURE_TOUCHED, false},
};
/* clang-format on */
#define VALUE_COUNT (sizeof(values) / sizeof(values[0]))

enum th_measure
th_value_measure(enum th_view_value value)
{
	return values[value].measure;
}

bool
th_value_counts_objects(enum th_view_value value)
{
	return values[value].counts_objects;
}

const char *
th_value_name(enum th_view_value value)
{
	return values[value].name;
}

const char *
th_value_heading(enum th_view_value value)
{
	return values[value].heading;
}

static struct th_error *
set_value(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		if (!strcmp(argument, values[i].name)) {
			options->value = (enum th_view_value)i;
			options->has_value = true;
			return NULL;
		}
	}
	return bad_argument(entry, argument,
		"alloc-bytes, alloc-objects, live-bytes, live-objects, temp-bytes or "
		"touched-bytes");
}

static struct th_error *
set_heaps(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	if (th_heaps_parse(argument, &options->heaps))
		return NULL;
	return bad_argument(
		entry, argument, "all, both, java, native, mapped, or several as java,mapped");
}

/* A finite, non-negative number without trailing text. */
static bool
parse_number(const char *text, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value) || value < 0)
		return false;
	*ret = value;
	return true;
}

/* The name after "mark:"; NULL if the argument does not begin with that. */
static const char *
parse_mark(const char *argument)
{
	static const char prefix[] = "mark:";

	return strncmp(argument, prefix, sizeof(prefix) - 1) ? NULL
							     : argument + sizeof(prefix) - 1;
}

static struct th_error *
set_from(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->from_mark = parse_mark(argument);
	if (options->from_mark || parse_number(argument, &options->from))
		return NULL;
	return bad_argument(
		entry, argument, "seconds since the start of the recording or mark:NAME");
}

static struct th_error *
set_to(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->to_mark = parse_mark(argument);
	if (options->to_mark || parse_number(argument, &options->to))
		return NULL;
	return bad_argument(
		entry, argument, "seconds since the start of the recording or mark:NAME");
}

static bool
parse_named_moment(const char *text, struct th_options *options)
{
	static const char *const names[] = {
		[TH_AT_END] = "end", [TH_AT_EXIT] = "exit", [TH_AT_PEAK] = "peak"};

	for (size_t i = TH_AT_END; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			options->at = (enum th_at)i;
			return true;
		}
	}
	return false;
}

bool
th_option_parse_moment(const char *text, struct th_options *options)
{
	char number[32];
	size_t length = strlen(text);

	if (parse_named_moment(text, options))
		return true;
	options->at_mark = parse_mark(text);
	if (options->at_mark) {
		options->at = TH_AT_SECONDS;
		return true;
	}
	if (length && text[length - 1] == 's')
		length--;
	if (length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	if (!parse_number(number, &options->at_seconds))
		return false;
	options->at = TH_AT_SECONDS;
	return true;
}

static struct th_error *
set_at(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	if (th_option_parse_moment(argument, options))
		return NULL;
	return bad_argument(entry, argument,
		"end, exit, peak, seconds since the start of the recording or mark:NAME");
}

static struct th_error *
set_temporary_within(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	if (parse_number(argument, &options->temporary_within) &&
		options->temporary_within <= LONGEST_SECONDS)
		return NULL;
	return bad_argument(entry, argument, "seconds");
}

static const struct choice groupings = {
	"package, library, class or thread",
	{
		[TH_GROUP_PACKAGE] = "package",
		[TH_GROUP_LIBRARY] = "library",
		[TH_GROUP_CLASS] = "class",
		[TH_GROUP_THREAD] = "thread",
	},
};

const char *
th_group_by_name(enum th_group_by group_by)
{
	return groupings.names[group_by];
}

static struct th_error *
set_min(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->has_min = true;
	if (parse_number(argument, &options->min_share) && options->min_share <= 100)
		return NULL;
	return bad_argument(entry, argument, "a percentage");
}

static struct th_error *
set_top(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	double value;

	if (!parse_number(argument, &value) || value != floor(value) || value > 1e9)
		return bad_argument(entry, argument, "a number of lines");
	options->top = (uint64_t)value;
	options->has_top = true;
	return NULL;
}

static struct th_error *
set_finding(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	double value;

	if (!parse_number(argument, &value) || value != floor(value) || value < 1 ||
		value > 1e9)
		return bad_argument(entry, argument, "the number of a finding, from 1");
	options->finding = (uint64_t)value;
	return NULL;
}

static const struct choice formats = {
	"pprof, otlp, jfr, speedscope, collapsed or json",
	{
		[TH_OUTPUT_COLLAPSED] = "collapsed",
		[TH_OUTPUT_JSON] = "json",
		[TH_OUTPUT_PPROF] = "pprof",
		[TH_OUTPUT_SPEEDSCOPE] = "speedscope",
		[TH_OUTPUT_OTLP] = "otlp",
		[TH_OUTPUT_JFR] = "jfr",
	},
};

static const struct choice list_formats = {
	"text or json",
	{[TH_OUTPUT_TEXT] = "text", [TH_OUTPUT_JSON] = "json"},
};

static const struct choice colors = {
	"auto, always or never",
	{
		[TH_COLORS_AUTO] = "auto",
		[TH_COLORS_ALWAYS] = "always",
		[TH_COLORS_NEVER] = "never",
	},
};

static struct th_error *
set_json(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	(void)entry;
	(void)argument;
	options->format = TH_OUTPUT_JSON;
	return NULL;
}

static struct th_error *
set_fail_on(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	if (!strcmp(argument, "leak"))
		options->fail_on = TH_FAIL_LEAK;
	else if (th_size_parse(argument, &options->fail_bytes))
		options->fail_on = TH_FAIL_BYTES;
	else
		return bad_argument(entry, argument, "leak or a size such as 64M");
	return NULL;
}

/* A size, with "/s" or without. */
static struct th_error *
set_limit(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	size_t length = strlen(argument);
	char *size = strndup(argument,
		length > 2 && !strcmp(argument + length - 2, "/s") ? length - 2 : length);
	bool is_size = size && th_size_parse(size, &options->limit) && options->limit;

	free(size);
	return is_size ? NULL : bad_argument(entry, argument, "bytes per second such as 1M/s");
}

static struct th_error *
set_by(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->by = argument;
	return *argument ? NULL : bad_argument(entry, argument, "the name of a label");
}

static struct th_error *
set_source(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	struct stat status;

	if (stat(argument, &status))
		return th_error_create_errno(TH_ERROR_USAGE, "--%s %s", entry->name, argument);
	if (!S_ISDIR(status.st_mode))
		return th_error_create(
			TH_ERROR_USAGE, "--%s %s: is not a directory", entry->name, argument);
	options->source = argument;
	return NULL;
}

/* clang-format off: keeps one entry per line */
const struct th_option_entry th_option_entries[] = {
	{"format", 0, "FORMAT", TH_OPTIONS_EXPORT, CHOICE(format, formats),
		"pprof (for `go tool pprof`), otlp (for\n"
		"OpenTelemetry's collector), jfr (a flight\n"
		"recording), speedscope (for speedscope.app),\n"
		"collapsed (one line per stack, for flame graphs)\n"
		"or json (every number with its interval)"},
	{"output", 'o', "FILE", TH_OPTIONS_OUTPUT, TEXT(output),
		"write to FILE instead of standard output; - is\n"
		"standard output"},
	{"source", 0, "DIR", TH_OPTIONS_PAGE, OWN(set_source),
		"show the lines around the frames of findings, from\n"
		"the source files below DIR"},
	{"output", 'o', "FILE", TH_OPTIONS_BUNDLE, TEXT(output),
		"write to FILE; compressed if its name ends in .gz\n"
		"(every command reads that); - is standard output.\n"
		"Default: the log's name with .bundle inserted"},
	{"all", 0, NULL, TH_OPTIONS_LEAKS, FLAG(lists_all),
		"also plateaus, churn, and what is unclear below the\n"
		"detection limit"},
	{"annotate", 0, NULL, TH_OPTIONS_EXPORT, FLAG(annotate),
		"collapsed: prefix each stack with its heap"},
	{"brief", 0, NULL, TH_OPTIONS_SUMMARY, FLAG(brief),
		"the short form that `run` prints at its end"},
	{"format", 0, "FORMAT", TH_OPTIONS_JSON, CHOICE(format, list_formats),
		"text (default) or json"},
	{"json", 0, NULL, TH_OPTIONS_JSON | TH_OPTIONS_EXPORT, OWN(set_json),
		"same as --format json"},
	{"fail-on", 0, "WHAT", TH_OPTIONS_LEAKS, OWN(set_fail_on),
		"exit with status 1 if there is a leak (leak), or if\n"
		"the lower bound of all leaks is at least this size\n"
		"(64M); with 6 if there is none, but the result is\n"
		"inconclusive"},
	{"limit", 0, "RATE", TH_OPTIONS_LEAKS, OWN(set_limit),
		"with --fail-on: exit with status 5 if there is no\n"
		"leak, but one of RATE bytes per second (1M/s) could\n"
		"have been missed"},
	{"by", 0, "LABEL", TH_OPTIONS_MANY, OWN(set_by),
		"many logs: group their processes by this label of\n"
		"the recordings: version, service, host, pod,\n"
		"directory, or any other (run --labels,\n"
		"OTEL_RESOURCE_ATTRIBUTES)"},
	{"old", 0, "VALUE", TH_OPTIONS_DIFF, TEXT(old_group),
		"with --by: the group to compare with (default: the\n"
		"one before the new one)"},
	{"new", 0, "VALUE", TH_OPTIONS_DIFF, TEXT(new_group),
		"with --by: the group to compare (default: the last\n"
		"one)"},
	{"top", 0, "N", TH_OPTIONS_SUMMARY, OWN(set_top), "sites to list for each heap (10)"},
	{"top", 0, "N", TH_OPTIONS_TREE, OWN(set_top),
		"lines of each heap, those with the largest shares\n"
		"(20; no limit if --min is given)"},
	{"top", 0, "N", TH_OPTIONS_LEAKS, OWN(set_top),
		"findings of each verdict to list as text (10)"},
	{"top", 0, "N", TH_OPTIONS_DIFF, OWN(set_top), "stacks to list as text (10)"},
	{"top", 0, "N", TH_OPTIONS_LEDGER, OWN(set_top), "entries to list as text (10)"},
	{"finding", 0, "N", TH_OPTIONS_HOLDERS, OWN(set_finding),
		"objects of finding N of `leaks`"},
	{"top", 0, "N", TH_OPTIONS_HOLDERS, OWN(set_top), "findings, and holders of each (10)"},
	{"top", 0, "N", TH_OPTIONS_RSS, OWN(set_top), "parts of a line to list as text (3)"},
	{"at", 0, "TIME", TH_OPTIONS_RSS, OWN(set_at),
		"snapshot at: end (default: the last one before the\n"
		"process began to end), exit (the last one), peak\n"
		"(most memory resident), seconds since the start of\n"
		"the recording or mark:NAME"},
	{"count-buffers", 0, NULL, TH_OPTIONS_RSS, FLAG(counts_buffers),
		"first have the process count its unreachable direct\n"
		"and mapped buffers; this pauses its Java threads\n"
		"while the VM walks its heap, about a second per\n"
		"10 million objects in use"},
	{"min", 0, "PERCENT", TH_OPTIONS_TREE, OWN(set_min),
		"omit branches below this share of every heap (1)"},
	{"threads", 0, NULL, TH_OPTIONS_TREE, FLAG(per_thread),
		"a tree for each thread instead of all together"},
	{"value", 0, "VALUE", TH_OPTIONS_VIEW | TH_OPTIONS_VALUE, OWN(set_value),
		"alloc-bytes (default; diff: live-bytes),\n"
		"alloc-objects, live-bytes, live-objects,\n"
		"temp-bytes (see --temp-within) or touched-bytes\n"
		"(resident part of live C blocks)"},
	{"at", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_at),
		"time at which live values are taken: end (before the\n"
		"process began to end), exit (the end of the\n"
		"recording), peak (most live bytes in the chosen\n"
		"heaps), seconds since the start of the recording or\n"
		"mark:NAME. Default: end, or --to if that is earlier"},
	{"temp-within", 0, "SECONDS", TH_OPTIONS_VIEW | TH_OPTIONS_VALUE,
		OWN(set_temporary_within),
		"a native block is temporary if freed within this\n"
		"time (0.1); a Java object, if the first GC after\n"
		"its allocation finds it dead"},
	{"heaps", 0, "HEAPS", TH_OPTIONS_SELECT | TH_OPTIONS_LIVE, OWN(set_heaps),
		"all (default), both (java,native), java, native,\n"
		"mapped, or several separated by commas"},
	{"from", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_from),
		"only allocations from this time on: seconds since\n"
		"the start of the recording, or mark:NAME (see ctl)"},
	{"to", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_to),
		"only allocations before this time"},
	{"thread", 0, "RE", TH_OPTIONS_SELECT, PATTERN(thread),
		"only threads whose name matches the extended\n"
		"regular expression"},
	{"class", 0, "RE", TH_OPTIONS_SELECT, PATTERN(class_name),
		"only objects whose class matches; excludes native\n"
		"memory"},
	{"class", 0, "NAME", TH_OPTIONS_HOLDERS, TEXT(held_class),
		"all objects of this class: java.lang.String, byte[]"},
	{"include", 0, "RE", TH_OPTIONS_SELECT, PATTERN(include),
		"only stacks with a frame whose name matches"},
	{"exclude", 0, "RE", TH_OPTIONS_SELECT, PATTERN(exclude),
		"only stacks without such a frame"},
	{"focus", 0, "RE", TH_OPTIONS_SELECT, PATTERN(focus),
		"like --include, and start stacks at the matching\n"
		"frame nearest to the root"},
	{"hide", 0, "RE", TH_OPTIONS_SELECT, PATTERN(hide),
		"remove matching frames from the stacks; figures do\n"
		"not change"},
	{"group-by", 0, "WHAT", TH_OPTIONS_SELECT, CHOICE(group_by, groupings),
		"group stacks by package, library, class or thread"},
	{"vm-frames", 0, NULL, TH_OPTIONS_SELECT, FLAG(all_vm_frames),
		"show every frame inside the Java VM"},
	{"no-command", 0, NULL, TH_OPTIONS_COMMAND, FLAG(no_command),
		"omit the command line, which may contain\n"
		"passwords; show the program's path instead"},
	{"color", 0, "WHEN", TH_OPTIONS_COLOR, CHOICE(colors, colors),
		"auto (default: on a terminal, unless NO_COLOR is\n"
		"set), always or never"},
	{"help", 'h', NULL, ~0u, FLAG(help), "print this help"},
};
/* clang-format on */
const size_t th_option_count = sizeof(th_option_entries) / sizeof(th_option_entries[0]);
_Static_assert(
	sizeof(th_option_entries) / sizeof(th_option_entries[0]) <= TH_OPTION_ENTRIES_MAX,
	"room for getopt's table");
