/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger, as text and as JSON: what native code holds of the Java VM, by kind, call stack and class.
 */
#include "report/views/view.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/views/json_parts.h"
#include "report/views/ledger_parts.h"

static void
print_window(FILE *file, const struct th_ledger *ledger)
{
	const struct th_profile *profile = ledger->profile;

	fprintf(file, "followed from %s s to %s s, %s\n",
		th_format_time(th_profile_seconds(profile, ledger->begin)).text,
		th_format_time(th_profile_seconds(profile, ledger->end)).text,
		ledger->is_exact ? "every call was recorded"
				 : "the first calls of each caller and a part of the others");
}

/* The exact counts of a kind, which contain what was taken in earlier times of following. */
static void
print_kind(FILE *file, const struct th_decoded_ledger_count *count)
{
	/* Most local references end with their frame, and all kinds can be given back by hand. */
	bool is_local = count->kind == TH_LEDGER_LOCAL;

	fprintf(file, "%-16s %14s %14s", th_ledger_kind_name((enum th_ledger_kind)count->kind),
		th_format_count(count->taken).text,
		is_local ? "-" : th_format_count(count->given).text);
	if (th_ledger_is_critical((enum th_ledger_kind)count->kind))
		fprintf(file, "  %s in critical sections, the longest %.0f ms",
			th_format_seconds((double)count->duration / 1e9).text,
			(double)count->longest / 1e6);
	fputc('\n', file);
}

static void
print_counts(FILE *file, const struct th_recording *recording)
{
	fprintf(file, "\n%s%-16s %14s %14s%s\n", th_terminal_code(file, TH_STYLE_HEADING),
		"exact counts", "taken", "given back", th_terminal_code(file, TH_STYLE_PLAIN));
	for (int kind = 1; kind < TH_LEDGER_KINDS; kind++)
		if (recording->ledger_counts[kind].kind)
			print_kind(file, &recording->ledger_counts[kind]);
}

static void
print_losses(FILE *file, const struct th_recording *recording)
{
	uint64_t full = th_recording_counter(recording, "ledger_full");
	uint64_t lost = th_recording_counter(recording, "ledger_lost");

	if (full)
		fprintf(file,
			"warning: the end of %s samples is not known, the table was full\n",
			th_format_count(full).text);
	if (lost)
		fprintf(file, "warning: %s samples were lost\n", th_format_count(lost).text);
}

void
th_view_ledger(FILE *file, const struct th_ledger *ledger)
{
	const struct th_recording *recording = ledger->profile->recording;
	uint64_t top = ledger->profile->options->top;

	print_window(file, ledger);
	print_losses(file, recording);
	print_counts(file, recording);
	for (size_t i = 0; i < ledger->items_count && i < top; i++) {
		fputc('\n', file);
		th_ledger_parts_entry(file, ledger, &ledger->items[i]);
	}
	if (ledger->items_count > top)
		fprintf(file, "\nand %s more\n",
			th_format_count(ledger->items_count - top).text);
}

void
th_view_ledger_json(FILE *file, const struct th_ledger *ledger)
{
	struct th_references references = th_references_find(
		ledger->profile->recording, ledger->profile->at.time);
	json_t *json = json_pack("{s:i, s:o, s:o}", "twinheap", 1, "counts",
		th_ledger_parts_counts_json(&references), "entries",
		th_ledger_parts_json(ledger, ledger->items_count));
	char *text = th_json_dump(json, JSON_INDENT(1));

	fprintf(file, "%s\n", text);
	free(text);
}
