/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views: each prints a profile in one format.  Views compute no figures.  The caller checks
 * the stream for errors.
 */
#ifndef TH_REPORT_VIEWS_VIEW_H
#define TH_REPORT_VIEWS_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "report/fleet/fleet.h"
#include "report/leaks/leaks.h"
#include "report/profile/diff.h"
#include "report/profile/profile.h"

/* Recording quality: what the recording reports about itself and what reading it found. */

struct th_health_line {
	bool is_warning;  /* the figures or stacks are incomplete or imprecise */
	const char *text; /* without newline */
};

struct th_health {
	TH_ARRAY(struct th_health_line, lines);
};

/* Checks the recording and fills the lines. */
void th_health_init(struct th_health *health, const struct th_recording *recording);
void th_health_deinit(struct th_health *health);

/* Adds lines about what figures of a profile leave out, if anything. */
void th_health_add_profile(struct th_health *health, const struct th_profile *profile);

/* Adds a line, a text of the output. */
void th_health_add(struct th_health *health, bool is_warning, const char *text);

/*
 * One line each, NULL if there is nothing to say. Of a log that was not closed:
 * what is missing. Of records that could not be read: how many; those that a killed process did not
 * finish are not among them.
 */
const char *th_health_end(const struct th_recording *recording);
const char *th_health_damage(const struct th_recording *recording);

/*
 * The options that select stacks, by time or heap, or shape them, as on a command line,
 * "--class byte --focus decode", in printable UTF-8.
 */
const char *th_view_filters_text(const struct th_options *options);
/* Prints one line with them; nothing without filters. */
void th_view_filters(FILE *file, const struct th_options *options);

/*
 * Totals, top sites, recording quality and next steps; `program` is the name to call this tool
 * by.
 */
void th_view_summary(FILE *file, const struct th_profile *profile,
	const struct th_health *health, const char *program);

/* The time of live values and its reason, if they are taken before the end of the process. */
void th_view_live_moment(FILE *file, const struct th_profile *profile);

/*
 * How densely was sampled: "one sample per ...", by heap where a budget or a rate has changed the
 * configured interval.
 */
const char *th_view_sampling_text(const struct th_recording *recording);

/* About ten lines: fewer figures than the summary, with the same caveats. */
void th_view_brief(FILE *file, const struct th_profile *profile, const struct th_health *health,
	const char *program);

/* The call tree, with the heaps side by side. */
void th_view_tree(FILE *file, const struct th_profile *profile);

/* "root;...;leaf value", one line per stack, sorted. */
void th_view_collapsed(FILE *file, const struct th_profile *profile);

/* One JSON object with every row. */
void th_view_json(FILE *file, const struct th_profile *profile);

/* The sentences of `leaks`. */

/* The numbers behind a verdict. */
const char *th_evidence_explain(const struct th_evidence *evidence);
const char *th_tallied_explain(const struct th_tallied *tallied);

/*
 * "released only at exit: 98 % of it was freed after 14.2 s"; NULL if nothing notable was freed
 * later.
 */
const char *
th_released_text(const struct th_profile *profile, const struct th_evidence *evidence);

/* "app.Main.run (Main.java:7)": a frame by its number. */
const char *th_view_line_text(const struct th_frames *frames, uint32_t number);

/*
 * Why it is inconclusive, and what would make it conclusive; for a limit that is not reached,
 * what would reach it. NULL: nothing to say.
 */
const char *th_outcome_reason(const struct th_leaks *leaks);
const char *th_outcome_advice(const struct th_leaks *leaks);

/* The first line without its end. */
const char *th_outcome_headline(const struct th_leaks *leaks);

/* Findings, as text and as JSON. */
void th_view_leaks(FILE *file, const struct th_leaks *leaks);
void th_view_leaks_json(FILE *file, const struct th_leaks *leaks);
/*
 * The same for a page: with the headline, at most `most` findings of samples, holders as lines of
 * text, the remark about memory that was freed later, and frames as numbers of the page; without
 * parts, and with heaps only if there are several.
 */
void th_view_leaks_json_page(FILE *file, const struct th_leaks *leaks, size_t most,
	uint32_t (*number_of)(void *data, uint32_t frame), void *data);
/* A word as a shell takes it; unprintable characters are replaced. */
const char *th_view_quoted(const char *word);

/* What native code holds of the Java VM, as text and as JSON. */
void th_view_ledger(FILE *file, const struct th_ledger *ledger);
void th_view_ledger_json(FILE *file, const struct th_ledger *ledger);

/* What holds Java objects, as text and as JSON; the recording must contain a walk of the heap. */
void th_view_holders(FILE *file, const struct th_leaks *leaks);
void th_view_holders_json(FILE *file, const struct th_leaks *leaks);

/* Changes between two snapshots, as text and as JSON. */
void th_view_diff(FILE *file, const struct th_diff *diff);
void th_view_diff_json(FILE *file, const struct th_diff *diff);

/* "CLASS in FUNCTION < METHOD": what allocated, and the application's method that called it. */
const char *
th_view_diff_site(const struct th_leak_sites *places, const struct th_leak_site *place);
/* For example "+1.23 MiB". */
struct th_number th_view_signed_number(double value, enum th_unit unit);

/* Many recordings: leaks by group, as text and as JSON; changes between two groups. */
void th_view_fleet_leaks(FILE *file, const struct th_fleet *fleet);
void th_view_fleet_leaks_json(FILE *file, const struct th_fleet *fleet);
void th_view_fleet_diff(FILE *file, const struct th_fleet *fleet);
void th_view_fleet_diff_json(FILE *file, const struct th_fleet *fleet);

/* The gzipped protocol buffer of pprof; values are rounded so that they add up. */
void th_view_pprof(FILE *file, const struct th_profile *profile);

/* OpenTelemetry's ProfilesData, a protocol buffer: one profile for each value. */
void th_view_otlp(FILE *file, const struct th_profile *profile);

/* A flight recording of OpenJDK, of one chunk: each sample is an event. */
void th_view_jfr(FILE *file, const struct th_profile *profile);

/* The JSON of speedscope: one profile per heap and value; the value of the options comes first. */
void th_view_speedscope(FILE *file, const struct th_profile *profile);

/* A self-contained HTML page. */
void th_view_flamegraph(FILE *file, const struct th_profile *profile);

/* The same with the changes since an older snapshot; NULL: without. */
void th_view_flamegraph_diff(
	FILE *file, const struct th_profile *old_profile, const struct th_profile *profile);

/*
 * The breakdown of resident memory, as text and as JSON. The profile must not be filtered, and
 * its recording must contain a breakdown. `leaks`: its findings; NULL: not known.
 */
void th_view_rss(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks);
void
th_view_rss_json(FILE *file, const struct th_profile *profile, const struct th_leaks *leaks);
/* The JSON; its lines may be without their parts and stacks.  A new reference. */
json_t *th_view_rss_document(
	const struct th_profile *profile, const struct th_leaks *leaks, bool has_parts);

/* A bundle: the log with the names of its native frames, and its size. */
struct th_bundle_size {
	uint64_t bytes;     /* before compression */
	uint64_t addresses; /* native addresses in stacks */
};

/*
 * Writes the bundle of `recording`, which must not be a bundle itself.  `compressed` selects gzip;
 * `without_command` overwrites the command line with zeros.  `warn` is called for modules without
 * symbols.
 */
void th_bundle_write(FILE *file, const struct th_recording *recording, bool compressed,
	bool without_command, th_symbols_warn *warn, void *warn_data,
	struct th_bundle_size *size_ret);

/* Every record of a log, decoded by the descriptions in the log. */
void th_view_dump(FILE *file, const struct th_reader *reader, bool without_command);

#endif
