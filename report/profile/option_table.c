/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/option_table.h"

#include <math.h>
#include <regex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"
#include "unify/shared/size.h"

#define PAUSE_MAX_MS 3600000.0

/* NULL, or the error of an argument that is not valid. */
static struct th_error *
expect(bool is_valid, const struct th_option_entry *entry, const char *argument,
	const char *expected)
{
	return is_valid ? NULL
			: th_error_create(TH_ERROR_USAGE, "--%s %s: expected %s", entry->name,
				  argument, expected);
}

/* Sets what a name stands for, the number of it in an array, which may have gaps; false: nothing. */
#define choose(names, name, field)                                               \
	({                                                                       \
		size_t count_ = sizeof(names) / sizeof((names)[0]), number_ = 0; \
		while (number_ < count_ &&                                       \
			!((names)[number_] && !strcmp(name, (names)[number_])))  \
			number_++;                                               \
		if (number_ < count_)                                            \
			(field) = (__typeof__(field))number_;                    \
		number_ < count_;                                                \
	})

/* Setters of a plain field, named by the offset in the entry. */

static struct th_error *
set_flag(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	(void)argument;
	*(bool *)((char *)options + entry->field) = true;
	return NULL;
}

static struct th_error *
set_text(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	*(const char **)(void *)((char *)options + entry->field) = argument;
	return NULL;
}

static struct th_error *
set_setting(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->settings[entry->field] = argument ? argument : "1";
	return NULL;
}

static struct th_error *
set_pattern(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	struct th_pattern *pattern = (void *)((char *)options + entry->field);
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

/* A finite, non-negative number without trailing text, but for `unit` if it is not NULL. */
static bool
parse_number(const char *text, const char *unit, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || (*end && (!unit || strcmp(end, unit) != 0)) || !isfinite(value) ||
		value < 0)
		return false;
	*ret = value;
	return true;
}

static struct th_error *
set_seconds(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	double seconds;

	if (!parse_number(argument, "s", &seconds) || seconds < 0.1 || seconds > 86400)
		return expect(
			false, entry, argument, "a number of seconds between 0.1 and 86400");
	*(uint64_t *)(void *)((char *)options +
			      entry->field) = (uint64_t)(seconds * (double)TH_NS_PER_S);
	return NULL;
}

static struct th_error *
set_label(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	if (!strchr(argument, '=') || argument[0] == '=')
		return expect(false, entry, argument, "KEY=VALUE");
	th_labels_parse((void *)((char *)options + entry->field), argument);
	return NULL;
}

/* Setters of their own */

/* clang-format off */
const struct th_value_kind th_values[TH_VALUES] = {
	[TH_VALUE_ALLOC_BYTES] = {"alloc-bytes", "bytes", "allocated bytes", TH_MEASURE_ALLOC, TH_UNIT_BYTES},
	[TH_VALUE_ALLOC_OBJECTS] = {"alloc-objects", "objects", "allocated objects", TH_MEASURE_ALLOC, TH_UNIT_OBJECTS},
	[TH_VALUE_LIVE_BYTES] = {"live-bytes", "live", "live bytes", TH_MEASURE_LIVE, TH_UNIT_BYTES},
	[TH_VALUE_LIVE_OBJECTS] = {"live-objects", "live objs", "live objects", TH_MEASURE_LIVE, TH_UNIT_OBJECTS},
	[TH_VALUE_TEMPORARY_BYTES] = {"temp-bytes", "temporary", "temporary bytes", TH_MEASURE_TEMPORARY, TH_UNIT_BYTES},
	[TH_VALUE_TOUCHED_BYTES] = {"touched-bytes", "touched", "touched bytes", TH_MEASURE_TOUCHED, TH_UNIT_BYTES},
};
/* clang-format on */

static struct th_error *
set_value(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	for (size_t i = 0; i < TH_VALUES; i++) {
		if (!strcmp(argument, th_values[i].name)) {
			options->value = (enum th_view_value)i;
			options->has_value = true;
			return NULL;
		}
	}
	return expect(false, entry, argument,
		"alloc-bytes, alloc-objects, live-bytes, live-objects, temp-bytes or "
		"touched-bytes");
}

static struct th_error *
set_heaps(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	return expect(th_heaps_parse(argument, &options->heaps), entry, argument,
		"all, both, java, native, mapped, or several as java,mapped");
}

/* A whole number. */
static bool
parse_count(const char *text, uint64_t *ret)
{
	double value;

	if (!parse_number(text, NULL, &value) || value != floor(value) || value > 1e9)
		return false;
	*ret = (uint64_t)value;
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
set_range(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	bool is_from = !strcmp(entry->name, "from");
	const char **mark = is_from ? &options->from_mark : &options->to_mark;

	*mark = parse_mark(argument);
	return expect(
		*mark || parse_number(argument, NULL, is_from ? &options->from : &options->to),
		entry, argument, "seconds since the start of the recording or mark:NAME");
}

bool
th_option_parse_moment(const char *text, struct th_options *options)
{
	static const char *const names[] = {
		[TH_AT_END] = "end", [TH_AT_EXIT] = "exit", [TH_AT_PEAK] = "peak"};

	if (choose(names, text, options->at))
		return true;
	options->at_mark = parse_mark(text);
	if (!options->at_mark && !parse_number(text, "s", &options->at_seconds))
		return false;
	options->at = TH_AT_SECONDS;
	return true;
}

static struct th_error *
set_at(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	return expect(th_option_parse_moment(argument, options), entry, argument,
		"end, exit, peak, seconds since the start of the recording or mark:NAME");
}

const char *const th_group_by_names[] = {
	[TH_GROUP_PACKAGE] = "package",
	[TH_GROUP_LIBRARY] = "library",
	[TH_GROUP_CLASS] = "class",
	[TH_GROUP_THREAD] = "thread",
};

static struct th_error *
set_group_by(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	return expect(choose(th_group_by_names, argument, options->group_by), entry, argument,
		"package, library, class or thread");
}

static struct th_error *
set_min(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->has_min = true;
	return expect(
		parse_number(argument, NULL, &options->min_share) && options->min_share <= 100,
		entry, argument, "a percentage");
}

static struct th_error *
set_top(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->has_top = true;
	return expect(
		parse_count(argument, &options->top), entry, argument, "a number of lines");
}

static struct th_error *
set_finding(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	return expect(parse_count(argument, &options->finding) && options->finding, entry,
		argument, "the number of a finding, from 1");
}

static struct th_error *
set_duration(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	return expect(th_seconds_parse(argument, &options->duration) && options->duration,
		entry, argument, "a duration such as 60s or 5m");
}

/* "1.5", "1.5s" or "300ms" */
static struct th_error *
set_pause(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	double value = 0;

	if (parse_number(argument, "s", &value))
		value *= 1000;
	else
		parse_number(argument, "ms", &value);
	options->max_pause_ms = (uint32_t)fmin(value, UINT32_MAX);
	return expect(value >= 1 && value <= PAUSE_MAX_MS, entry, argument,
		"a time such as 500ms or 2s");
}

static struct th_error *
set_memory(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	uint64_t bytes;

	if (!th_size_parse(argument, &bytes) || bytes < 1 << 20 || bytes >> 20 > UINT32_MAX)
		return expect(false, entry, argument, "a size of at least 1M");
	options->max_memory_mib = (uint32_t)(bytes >> 20);
	return NULL;
}

static struct th_error *
set_format(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	static const char *const names[] = {
		[TH_OUTPUT_COLLAPSED] = "collapsed",
		[TH_OUTPUT_JSON] = "json",
		[TH_OUTPUT_PPROF] = "pprof",
		[TH_OUTPUT_SPEEDSCOPE] = "speedscope",
		[TH_OUTPUT_OTLP] = "otlp",
		[TH_OUTPUT_JFR] = "jfr",
	};

	return expect(choose(names, argument, options->format), entry, argument,
		"pprof, otlp, jfr, speedscope, collapsed or json");
}

/* --format, and --json without an argument. */
static struct th_error *
set_list_format(
	struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	static const char *const names[] = {
		[TH_OUTPUT_TEXT] = "text", [TH_OUTPUT_JSON] = "json"};

	return expect(choose(names, argument ? argument : "json", options->format), entry,
		argument, "text or json");
}

static struct th_error *
set_color(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	static const char *const names[] = {
		[TH_COLORS_AUTO] = "auto",
		[TH_COLORS_ALWAYS] = "always",
		[TH_COLORS_NEVER] = "never",
	};

	return expect(choose(names, argument, options->colors), entry, argument,
		"auto, always or never");
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
		return expect(false, entry, argument, "leak or a size such as 64M");
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
	return expect(is_size, entry, argument, "bytes per second such as 1M/s");
}

static struct th_error *
set_by(struct th_options *options, const struct th_option_entry *entry, const char *argument)
{
	options->by = argument;
	return expect(*argument, entry, argument, "the name of a label");
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

#define FLAG(name) set_flag, offsetof(struct th_options, name), NULL
#define TEXT(name) set_text, offsetof(struct th_options, name), NULL
#define PATTERN(name) set_pattern, offsetof(struct th_options, name), NULL
#define SECONDS(name) set_seconds, offsetof(struct th_options, name), NULL
#define LABEL(name) set_label, offsetof(struct th_options, name), NULL
#define OWN(setter) setter, 0, NULL

/* The value of the variable is an option without an argument. */
#define IS_SWITCH(access, kind) ((access) == TH_SETTING_OPTION && (kind) == TH_SETTING_FLAG)
/* Of a process that runs already, the allocator is loaded, and no child is followed. */
#define IS_OF_START(setting) \
	((setting) == TH_SETTING_NAME_ALLOCATOR || (setting) == TH_SETTING_NAME_FOLLOW)
#define SETTING_GROUPS(access, setting)                                  \
	((access) == TH_SETTING_VARIABLE          ? TH_OPTIONS_VARIABLES \
		: (access) == TH_SETTING_RESERVED ? 0                    \
		: IS_OF_START(setting)            ? TH_OPTIONS_RUN       \
						  : TH_OPTIONS_RUN | TH_OPTIONS_ATTACH)

/* clang-format off */
const struct th_option_entry th_option_entries[] = {
	{"for", 0, "TIME", TH_OPTIONS_ATTACH, OWN(set_duration),
		"records for this long, e.g. 60s, detaches, and\n"
		"prints a summary"},
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, standard, minimum, maximum, help) \
	{TH_SETTING_##ACCESS == TH_SETTING_OPTION ? option : variable, letter, \
		IS_SWITCH(TH_SETTING_##ACCESS, TH_SETTING_##KIND) ? NULL : argument, \
		SETTING_GROUPS(TH_SETTING_##ACCESS, TH_SETTING_NAME_##NAME), set_setting, \
		TH_SETTING_NAME_##NAME, standard, help},
	TH_SETTINGS(S)
#undef S
	{"quiet", 'q', NULL, TH_OPTIONS_RUN, FLAG(is_quiet), "print no summary after the run"},
	{"quiet", 'q', NULL, TH_OPTIONS_ATTACH, FLAG(is_quiet),
		"print no messages and no summary"},
	{"format", 0, "FORMAT", TH_OPTIONS_EXPORT, OWN(set_format),
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
	{"format", 0, "FORMAT", TH_OPTIONS_JSON, OWN(set_list_format),
		"text (default) or json"},
	{"json", 0, NULL, TH_OPTIONS_JSON | TH_OPTIONS_EXPORT, OWN(set_list_format),
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
	{"max-pause", 0, "TIME", TH_OPTIONS_CTL, OWN(set_pause),
		"holders: not for longer than 500ms, 2s, ... (2s)"},
	{"max-memory", 0, "SIZE", TH_OPTIONS_CTL, OWN(set_memory),
		"holders: own memory during the walk (1G)"},
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
		"temp-bytes (native blocks freed within 0.1 s, Java\n"
		"objects that the first GC after their allocation\n"
		"found dead) or touched-bytes (resident part of live\n"
		"C blocks)"},
	{"at", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_at),
		"time at which live values are taken: end (before the\n"
		"process began to end), exit (the end of the\n"
		"recording), peak (most live bytes in the chosen\n"
		"heaps), seconds since the start of the recording or\n"
		"mark:NAME. Default: end, or --to if that is earlier"},
	{"heaps", 0, "HEAPS", TH_OPTIONS_SELECT, OWN(set_heaps),
		"all (default), both (java,native), java, native,\n"
		"mapped, or several separated by commas"},
	{"from", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_range),
		"only allocations from this time on: seconds since\n"
		"the start of the recording, or mark:NAME (see ctl)"},
	{"to", 0, "TIME", TH_OPTIONS_VIEW | TH_OPTIONS_TIME, OWN(set_range),
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
	{"group-by", 0, "WHAT", TH_OPTIONS_SELECT, OWN(set_group_by),
		"group stacks by package, library, class or thread"},
	{"vm-frames", 0, NULL, TH_OPTIONS_SELECT, FLAG(all_vm_frames),
		"show every frame inside the Java VM"},
	{"no-command", 0, NULL, TH_OPTIONS_COMMAND, FLAG(no_command),
		"omit the command line, which may contain\n"
		"passwords; show the program's path instead"},
	{"color", 0, "WHEN", TH_OPTIONS_COLOR, OWN(set_color),
		"auto (default: on a terminal, unless NO_COLOR is\n"
		"set), always or never"},
	{"to", 0, "URL", TH_OPTIONS_PUSH, TEXT(receiver),
		"receiver (default: $OTEL_EXPORTER_OTLP_ENDPOINT, by\n"
		"OTLP)"},
	{"window", 0, "SECONDS", TH_OPTIONS_PUSH, SECONDS(window), "length of a window (60)"},
	{"label", 0, "KEY=VALUE", TH_OPTIONS_PUSH, LABEL(label),
		"label of everything that is sent; repeatable"},
	{"only", 0, "KEY=VALUE", TH_OPTIONS_PUSH, LABEL(only),
		"only processes that have this label; repeatable: all"},
	{"state", 0, "DIR|none", TH_OPTIONS_PUSH, TEXT(state),
		"where a restart finds what was sent (default:\n"
		"$XDG_STATE_HOME/twinheap/push)"},
	{"timeout", 0, "SECONDS", TH_OPTIONS_PUSH, SECONDS(timeout),
		"patience with one request (10)"},
	{"patience", 0, "SECONDS", TH_OPTIONS_PUSH, SECONDS(patience),
		"how long LOG or PID is tried (60)"},
	{"help", 'h', NULL, ~(unsigned)TH_OPTIONS_VARIABLES, FLAG(help), "print this help"},
};
/* clang-format on */
const size_t th_option_count = sizeof(th_option_entries) / sizeof(th_option_entries[0]);
_Static_assert(
	sizeof(th_option_entries) / sizeof(th_option_entries[0]) <= TH_OPTION_ENTRIES_MAX,
	"room for getopt's table");
