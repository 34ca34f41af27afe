/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running recording in the views of the commands: the log is read again, and the chosen view
 * printed into lines, which screen.c draws. Updates take at most a tenth of the time: the larger the
 * log, the less frequent they are. The recorded process is not touched.
 */
#ifndef TH_REPORT_LIVE_LIVE_H
#define TH_REPORT_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"

enum th_live_state {
	TH_LIVE_RUNNING,
	TH_LIVE_ENDED, /* the process ended and closed its log */
	TH_LIVE_GONE,  /* the process is gone, its log is open: killed, or on another machine */
};

enum th_live_view { TH_LIVE_SUMMARY, TH_LIVE_LEAKS, TH_LIVE_TREE, TH_LIVE_VIEWS };

/* The bytes of each heap at an update. */
struct th_live_point {
	uint64_t time; /* of the recording's clock, ns */
	double live[TH_HEAPS];
	double allocated[TH_HEAPS];
};

/* The environment outside the log; tests replace it. */
struct th_live_world {
	bool (*is_alive)(const struct th_log_header *header);
	uint64_t (*now)(void); /* CLOCK_MONOTONIC, ns */
};

struct th_live {
	const struct th_live_world *world;
	int descriptor; /* of the log, which may be out of reach once its process has ended */
	struct th_log_header header; /* when it was read last */
	struct th_recording *recording;
	struct th_symbols *symbols; /* of all updates */
	struct th_options options;  /* of all views */
	struct th_profile *profile;
	enum th_live_state state;
	uint64_t now;        /* ns of the recording's clock */
	uint64_t as_of;      /* the time that figures are valid for, same clock */
	uint64_t due;        /* earliest time of the next update */
	uint64_t judged_due; /* the same of looking for leaks */
	/* What the user chose. */
	enum th_live_view view;
	size_t first; /* line that is shown at the top */
	bool is_help;
	bool is_paused;
	bool is_done;
	/* What is shown. */
	int columns;    /* of a line; 0 = no limit */
	int rows;       /* lines of the screen below the head */
	char *headline; /* leaks of the heaps shown, if no stacks are left out; NULL: none */
	TH_ARRAY(struct th_live_point, points); /* of the last minute, with this selection */
	TH_ARRAY(char *, lines);                /* with color sequences */
};

/*
 * Reads the log at `path` so far. A log whose process has ended is shown as of its end. `options`
 * select stacks and have the name of the log; they outlive it; `world` may be NULL for the real environment.
 */
struct th_error *th_live_open(const char *path, const struct th_options *options,
	const struct th_live_world *world, struct th_live *live);
void th_live_close(struct th_live *live);

/*
 * Reads the log again and prints, unless nothing was written, the last update was too recent for
 * its cost, or the display is paused.
 */
void th_live_update(struct th_live *live);

/* Prints the view into `lines`. */
void th_live_print(struct th_live *live);

/* Handles a key: a character or a KEY_ of ncurses. */
void th_live_key(struct th_live *live, int key);

/*
 * The lines around the views. The command; the state of the process; how it
 * ended (NULL: it runs); the rates of a heap (0: their heading); the keys available now.
 */
const char *th_live_title(const struct th_live *live);
const char *th_live_state(const struct th_live *live);
const char *th_live_end(const struct th_live *live);
const char *th_live_rates(const struct th_live *live, enum th_heap heap);
const char *th_live_keys(const struct th_live *live);
extern const char *const th_live_view_names[TH_LIVE_VIEWS];

/*
 * screen.c: shows it on the terminal until the user quits. Without a terminal for the output, prints
 * the summary every ten seconds until the process has ended.
 */
struct th_error *th_live_run(const struct th_options *options);

#endif
