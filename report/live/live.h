/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running recording in the views of the commands: the log is read on, its profile summed up
 * again, and the chosen view printed into lines, which screen.c draws. Updates take at most a tenth
 * of the time: the larger the log, the less frequent they are. The recorded process is not touched.
 */
#ifndef TH_REPORT_LIVE_LIVE_H
#define TH_REPORT_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"

/* Length of the curves. */
#define TH_LIVE_POINTS 60
/* Longest pattern, with its NUL. */
#define TH_LIVE_PATTERN_MAX 256

enum th_live_state {
	TH_LIVE_RUNNING,
	TH_LIVE_ENDED, /* the process ended and closed its log */
	TH_LIVE_GONE,  /* the process is gone, its log is open: killed, or on another machine */
};

enum th_live_view {
	TH_LIVE_SITES, /* of the summary */
	TH_LIVE_GROWTH,
	TH_LIVE_LEAKS,
	TH_LIVE_TREE,
	TH_LIVE_SUMMARY,
	TH_LIVE_STACKS, /* what a line of those above is about */
	TH_LIVE_HELP,
};

/* What patterns match. */
enum th_live_filter { TH_LIVE_FUNCTIONS, TH_LIVE_CLASSES, TH_LIVE_THREADS, TH_LIVE_FILTERS };

/* What is shown of a heap, over the last seconds. */
struct th_live_rate {
	struct th_estimator live;
	double allocated;             /* bytes per second */
	double growth;                /* of live bytes, the same */
	double samples;               /* per second */
	double curve[TH_LIVE_POINTS]; /* live bytes at the ends of equal parts of the time */
};

/* What a line is about: the numbers of th_terminal_mark(). */
enum { TH_LIVE_FUNCTION, TH_LIVE_CALLER, TH_LIVE_CLASS, TH_LIVE_MARK };

struct th_live_line {
	char *text; /* with color sequences */
	bool is_marked;
	uint32_t mark[TH_LIVE_MARK];
};

/* The environment outside the log; tests replace it. */
struct th_live_world {
	bool (*is_alive)(const struct th_log_header *header);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC, ns */
};

struct th_live {
	const struct th_live_world *world;
	struct th_recording *recording;
	struct th_options options; /* of all views */
	struct th_profile *profile;
	enum th_live_state state;
	uint64_t now;        /* ns of the recording's clock */
	uint64_t as_of;      /* the time that figures are valid for, same clock */
	uint64_t due;        /* earliest time of the next update */
	uint64_t judged_due; /* the same of looking for leaks */
	/* What the user chose. */
	enum th_live_view view;
	uint32_t seconds; /* over which rates are averaged */
	char patterns[TH_LIVE_FILTERS][TH_LIVE_PATTERN_MAX];
	size_t selected; /* line */
	bool is_paused;
	bool is_done;
	bool is_typing; /* the pattern of `field` */
	bool is_wrong;  /* it is not a regular expression */
	enum th_live_filter field;
	char typed[TH_LIVE_PATTERN_MAX];
	uint32_t mark[TH_LIVE_MARK]; /* of the stacks */
	enum th_live_view left_view; /* to return to from the stacks and the help */
	size_t left_line;
	/* What is shown. */
	int columns;         /* of a line; 0 = no limit */
	int rows;            /* lines of the screen below the head */
	uint64_t grows_from; /* start of growth, without that of the program; 0: too early */
	struct th_live_rate rates[TH_HEAPS];
	char *headline; /* leaks of the heaps shown, found last without a filter; NULL: none */
	char *warning;  /* the first one about recording quality; NULL: none */
	TH_ARRAY(struct th_live_line, lines);
};

/*
 * Reads the log at `path` so far. A log whose process has ended is shown as of its end. `options`
 * has the heaps and the name of the log; `world` may be NULL for the real environment.
 */
struct th_error *th_live_open(const char *path, const struct th_options *options,
	const struct th_live_world *world, struct th_live *live);
void th_live_close(struct th_live *live);

/*
 * Reads what was written since, sums up and prints, unless the last update was too recent for its
 * cost or the display is paused.
 */
void th_live_update(struct th_live *live);

/* Prints the view; first sums up again if the selection of heaps or stacks has changed. */
void th_live_show(struct th_live *live, bool is_changed);

/* Handles a key: a character or a KEY_ of ncurses. */
void th_live_key(struct th_live *live, int key);

/*
 * Selects stacks by a POSIX extended regular expression, ignoring case; "": all. False, and nothing
 * has changed, if it is invalid.
 */
bool th_live_filter(struct th_live *live, enum th_live_filter which, const char *text);

/* Whether a row is shown: among the stacks only if it is what the line was about. */
bool th_live_shows(const struct th_live *live, const struct th_row *row);

/* print.c: prints the view into `lines`; frees these. */
void th_live_print(struct th_live *live);
void th_live_forget_lines(struct th_live *live);

/*
 * The lines around the views; the caller frees them. The command; the state of the process; how it
 * ended (NULL: it runs); the rates of a heap (0: their heading); the keys available now.
 */
char *th_live_title(const struct th_live *live);
char *th_live_state(const struct th_live *live);
char *th_live_end(const struct th_live *live);
char *th_live_rates(const struct th_live *live, enum th_heap heap, bool is_ascii);
char *th_live_keys(const struct th_live *live);
const char *th_live_view_name(enum th_live_view view);

/*
 * screen.c: shows it on the terminal until the user quits. Without a terminal for the output, prints
 * the summary every ten seconds until the process has ended.
 */
struct th_error *th_live_run(const struct th_options *options);

#endif
