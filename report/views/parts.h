/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that the outputs of several commands share: JSON (json_parts.c), findings and their stacks
 * (finding_parts.c), what native code holds of the Java VM (view_ledger.c), what holds Java objects
 * (view_holders.c).  Functions that return a json_t return a new reference.
 */
#ifndef TH_REPORT_VIEWS_PARTS_H
#define TH_REPORT_VIEWS_PARTS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/heap_names.h"
#include "report/holders/holders.h"
#include "report/leaks/leaks.h"
#include "report/profile/profile.h"
#include "report/profile/values.h"

/* JSON. */

/* A new object of `expression` for each `heap`. */
#define th_json_heaps(heap, expression)                                             \
	({                                                                          \
		json_t *heap##_object = json_object();                              \
		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)     \
			th_json_put(heap##_object, th_heap_word(heap), expression); \
		heap##_object;                                                      \
	})

/* ["java", "mapped"] for bits 1 << enum th_heap. */
json_t *th_json_heap_names(uint64_t heaps);

/* The frames of a path, root first; of a path of the profile, by its number. */
json_t *th_json_frames(const struct th_frames *frames, struct th_path path);
json_t *th_json_path(const struct th_profile *profile, uint32_t path);

/* {"class": "byte", "focus": "decode"}: the filters given in the options. */
json_t *th_json_filters(const struct th_options *options);

/*
 * The part of the process's life that was recorded: sampled heaps and threads, changes of both,
 * pauses, seconds for which each heap was sampled, and when recording was stopped.
 */
json_t *th_json_recorded(const struct th_recording *recording);

/*
 * The time at which live values are taken, in seconds since the start, and what the process's end
 * begins with after it; null: it is not the last time before the end.
 */
json_t *th_json_moment(const struct th_profile *profile);

/* Serializes `json` and drops the caller's reference; the caller frees the text. */
char *th_json_dump(json_t *json, size_t flags);

/* Prints `before` and the JSON, and drops the caller's reference. */
void th_json_write(FILE *file, const char *before, json_t *json, size_t flags);

/*
 * The JSON text of each frame, built once and reused: stacks refer to a frame about a hundred
 * times.
 */
struct th_frame_texts {
	const struct th_frames *frames; /* must outlive it; the others are 0 in the beginning */
	/* Frames are printed as these numbers; NULL: as objects. */
	uint32_t (*number_of)(void *data, uint32_t frame);
	void *data;              /* of number_of */
	TH_ARRAY(char *, items); /* by frame number; NULL: not built yet */
};

void th_frame_texts_deinit(struct th_frame_texts *texts);

/*
 * A string that stands for the frames of a path, separated by commas, until it is written; a new reference.
 * It begins with a control character, which no text of a log has.
 */
json_t *th_frame_texts_mark(const uint32_t *frames, uint32_t count);

/* Prints `before` and `json` with the frames of marks; drops the caller's reference. */
void th_frame_texts_write(
	struct th_frame_texts *texts, FILE *file, const char *before, json_t *json);

/* Titles. */

/* The word for a verdict, th_verdict_name_by(), in its color and a blank, nine columns. */
void th_view_verdict(FILE *file, enum th_verdict verdict, enum th_reason reason);
/* The line of a site: the nearest of the application, without one the allocating function. */
const char *
th_view_leaks_line(const struct th_leak_sites *places, const struct th_leak_site *place);
/* The same with the class of the objects in front: "byte[] in gw.Gateway.handle (Gateway.java:12)". */
const char *th_view_site_title(const struct th_leaks *leaks, const struct th_leak_site *place);
/* What a finding is about: a line, or a method above several. */
const char *
th_view_finding_title(const struct th_leaks *leaks, const struct th_finding *finding);

/*
 * Elision: what stays of a list that is too long for a text: what the caller names, then what comes
 * first, and beside these some of the program's code, but nothing more of libraries and of the Java
 * runtime.
 */

/* An item of the list. */
enum th_elision {
	TH_ELISION_OTHER,
	TH_ELISION_PROGRAM,
	TH_ELISION_NAMED, /* stays */
	TH_ELISION_OUT,   /* the result */
};

/* Keeps `most` items, named ones included, and up to eight of the program; sets the others to _OUT. */
void th_elide(enum th_elision *items, size_t count, size_t most);

/*
 * The number of items that are left out from this one on; 0: it is printed.  A line that says what is
 * left out takes the place of two items at least.
 */
size_t th_elision_gap(const enum th_elision *items, size_t count, size_t item);

/*
 * Stacks: from the allocation towards the root, in some twenty lines at most: the innermost frames and
 * those of the program.  What is left out is of libraries and of the Java runtime.
 */

/* `label` is printed before the first line, in 6 columns at most. */
void th_stack_lines_print(
	FILE *file, const struct th_profile *profile, struct th_path path, const char *label);

/*
 * The stack of a leak, by its number (leaks.h), and the one that started its thread if only that
 * contains the line of the application.  None for memory of the VM.
 */
void th_stack_lines_of_leak(FILE *file, const struct th_leaks *leaks,
	const struct th_leak_site *place, uint32_t number);

/* What native code holds: references, threads that ended while attached, entries of the ledger. */

/* One line of the summary; nothing if the recording contains no counts. */
void th_ledger_parts_summary(FILE *file, const struct th_profile *profile);

/* The findings of `leaks`: references that grow, undetached threads, entries of the ledger. */
void th_ledger_parts_findings(FILE *file, const struct th_leaks *leaks);

/* The objects of the JSON output; new references.  The first `count` entries. */
json_t *th_ledger_parts_counts_json(const struct th_references *references);
json_t *th_ledger_parts_json(const struct th_ledger *ledger, size_t count);

/*
 * What is missing in a program whose memory was allocated below a JNI function of the VM: "...
 * without Release..."; NULL: the stack of the site contains none that is known.
 */
const char *
th_ledger_parts_advice(const struct th_leaks *leaks, const struct th_leak_site *site);

/* What holds Java objects. */

/*
 * The lines of a finding in `leaks`: its largest holders, each in one line; without a walk, for a
 * leak, the command that finds them.  `number` of the finding, from 1.  Nothing if it has no Java
 * objects.
 */
void th_holder_parts_lines(FILE *file, const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, size_t number);

/* The same of a finding that is of class loaders; nothing if it is not. */
void th_holder_parts_tallied_lines(
	FILE *file, const struct th_held_samples *held, const struct th_tallied *tallied);

/*
 * The holders with all elements of their paths, at most `top`; what a path shares with the one above
 * is printed once.
 */
void th_holder_parts_print(FILE *file, const struct th_held_samples *held,
	const struct th_holders *holders, uint64_t top);

/* One line: "static gw.Gateway.SESSIONS -> java.util.HashMap.table -> ...". */
const char *th_holder_parts_path(struct th_frames *frames, const struct th_holder *holder);

/*
 * The holders of a finding: [{"path", "objects", "bytes", "root_frames"}], or the largest ones as
 * lines of text, ["99 % by static gw.Gateway.SESSIONS -> ..."].  NULL: there was no walk, or it has no
 * Java objects.  A new reference.
 */
json_t *th_holder_parts_finding_json(const struct th_held_samples *held,
	const struct th_listed *listed, const struct th_finding *finding, bool as_lines);

/* The same of class loaders. */
json_t *th_holder_parts_tallied_json(
	const struct th_held_samples *held, const struct th_tallied *tallied, bool as_lines);

/* Leaks of threads and class loaders. */

/* A site with the stack of what makes the threads or classes. */
struct th_leak_site
th_tallied_site(const struct th_leaks *leaks, const struct th_tallied *tallied);

/* Its line and figures; `between` the two. */
const char *th_tallied_headline(
	const struct th_leaks *leaks, const struct th_tallied *tallied, const char *between);

/* One line for each leak, in a report about resident memory; `leaks` may be NULL. */
void th_tallied_print_causes(FILE *file, const struct th_leaks *leaks);

/* The stack of what makes the threads or classes, as the options show it. */
struct th_path th_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied);

/* One leak with the members of other findings; a new reference. */
json_t *th_tallied_json(const struct th_leaks *leaks, const struct th_tallied *tallied);

#endif
