/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/push_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/clock.h"

#define WINDOW_SECONDS 60
#define TIMEOUT_SECONDS 10
#define PATIENCE_SECONDS 60

static const char help[] =
	"usage: twinheap push [OPTIONS] [LOG|PID] --to URL\n"
	"\n"
	"Sends allocated and live memory to a receiver of profiles: of one recording,\n"
	"once, or, without LOG and PID, of every process that is recorded, also in other\n"
	"containers, in windows, until SIGTERM.\n"
	"\n"
	"Receivers:\n"
	"  otlp+http://HOST:4318       OpenTelemetry, /v1development/profiles\n"
	"  pyroscope+http://HOST:4040  Pyroscope, /ingest\n"
	"  parca+http://HOST:7070      Parca, /api/profiles/writeraw\n"
	"  pprof+http://HOST:PORT      the collector's pprof receiver, /v1/pprof\n"
	"or these with https.\n"
	"\n"
	"Options:\n"
	"  --to URL            receiver (default: $OTEL_EXPORTER_OTLP_ENDPOINT, by OTLP)\n"
	"  --window SECONDS    length of a window (default: 60)\n"
	"  --label KEY=VALUE   label of everything that is sent; repeatable\n"
	"  --only KEY=VALUE    only processes that have this label; repeatable: all\n"
	"  --state DIR|none    where a restart finds what was sent (default:\n"
	"                      $XDG_STATE_HOME/twinheap/push)\n"
	"  --timeout SECONDS   patience with one request (default: 10)\n"
	"  --patience SECONDS  how long LOG or PID is tried (default: 60)\n"
	"  -h, --help          this text\n"
	"\n"
	"Windows that a receiver does not take are merged with the next. Of the\n"
	"environment, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME (of the recorded\n"
	"process, else of push), OTEL_EXPORTER_OTLP_HEADERS and\n"
	"OTEL_EXPORTER_OTLP_CERTIFICATE are used.\n";

void
th_push_options_help(void)
{
	fputs(help, stdout);
}

static struct th_error *
read_seconds(const char *name, const char *text, uint64_t *ret)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "s") != 0) || !(seconds >= 0.1) ||
		seconds > 86400)
		return th_error_create(TH_ERROR_USAGE,
			"push: --%s: %s: is not a number of seconds between 0.1 and 86400",
			name, text);
	*ret = (uint64_t)(seconds * (double)TH_NS_PER_S);
	return NULL;
}

static struct th_error *
read_label(const char *name, const char *text, struct th_labels *labels)
{
	if (!strchr(text, '=') || text[0] == '=')
		return th_error_create(
			TH_ERROR_USAGE, "push: --%s: %s: is not KEY=VALUE", name, text);
	th_labels_parse(labels, text);
	return NULL;
}

static struct th_error *
read_option(struct th_push_options *options, int option, char **argv)
{
	switch (option) {
	case 't':
		options->to = optarg;
		return NULL;
	case 'w':
		return read_seconds("window", optarg, &options->window);
	case 'l':
		return read_label("label", optarg, &options->labels);
	case 'o':
		return read_label("only", optarg, &options->only);
	case 's':
		options->state = optarg;
		return NULL;
	case 'T':
		return read_seconds("timeout", optarg, &options->timeout);
	case 'p':
		return read_seconds("patience", optarg, &options->patience);
	case 'h':
		options->wants_help = true;
		return NULL;
	case ':':
		return th_error_create(
			TH_ERROR_USAGE, "push: %s: requires a value", argv[optind - 1]);
	default:
		return th_error_create(TH_ERROR_USAGE,
			"push: %s: unknown option, see twinheap push --help", argv[optind - 1]);
	}
}

struct th_error *
th_push_options_read(struct th_push_options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{"to", required_argument, NULL, 't'},
		{"window", required_argument, NULL, 'w'},
		{"label", required_argument, NULL, 'l'},
		{"only", required_argument, NULL, 'o'},
		{"state", required_argument, NULL, 's'},
		{"timeout", required_argument, NULL, 'T'},
		{"patience", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct th_error *error = NULL;
	int option;

	*options = (struct th_push_options){
		.window = WINDOW_SECONDS * TH_NS_PER_S,
		.timeout = TIMEOUT_SECONDS * TH_NS_PER_S,
		.patience = PATIENCE_SECONDS * TH_NS_PER_S,
	};
	opterr = 0;
	while (!error && (option = getopt_long(argc, argv, ":h", names, NULL)) >= 0)
		error = read_option(options, option, argv);
	if (!error && argc - optind > 1)
		error = th_error_create(
			TH_ERROR_USAGE, "push: %s: unexpected argument", argv[optind + 1]);
	if (!error && optind < argc)
		options->log = argv[optind];
	return error;
}
