/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the live view: the table, the stacks of one site or the help; what is paused,
 * selected and typed.  Keys change it; watch_screen.h draws it.
 */
#ifndef TH_REPORT_LIVE_WATCH_VIEW_H
#define TH_REPORT_LIVE_WATCH_VIEW_H

#include <stdbool.h>

#include "report/live/watch.h"
#include "report/live/watch_table.h"

#define TH_WATCH_FILTER_MAX 128

enum th_watch_page { TH_WATCH_TABLE, TH_WATCH_STACKS, TH_WATCH_HELP };

/* Keys that are not characters. */
enum th_watch_key {
	TH_WATCH_KEY_UP = 0x110000, /* after the last Unicode character */
	TH_WATCH_KEY_DOWN,
	TH_WATCH_KEY_LEFT,
	TH_WATCH_KEY_RIGHT,
	TH_WATCH_KEY_PAGE_UP,
	TH_WATCH_KEY_PAGE_DOWN,
	TH_WATCH_KEY_HOME,
	TH_WATCH_KEY_END,
	TH_WATCH_KEY_ENTER,
	TH_WATCH_KEY_BACKSPACE,
	TH_WATCH_KEY_ESCAPE,
};

struct th_watch_view {
	struct th_watch *watch;
	struct th_watch_table table;
	enum th_watch_page page;
	enum th_watch_page behind; /* page to return to from the help */
	bool is_paused;
	bool is_done; /* the user wants to quit */
	int rows;     /* lines of the list per page, set by watch_screen.c */
	/* The filter being typed, and the one applied. */
	bool is_typing;
	bool is_wrong; /* it is not a valid regular expression */
	char typed[TH_WATCH_FILTER_MAX];
	char filter[TH_WATCH_FILTER_MAX];
	/* The page of stacks. */
	uint32_t site;
	struct th_watch_stacks stacks;
	uint32_t path; /* of the stack shown; UINT32_MAX: the largest */
	long scroll;   /* index of the first frame shown */
};

void th_watch_view_init(struct th_watch_view *view, struct th_watch *watch);
void th_watch_view_deinit(struct th_watch_view *view);

/* Updates the recording, unless paused, and the lists. */
void th_watch_view_update(struct th_watch_view *view);

/* Handles a key: a character or an enum th_watch_key. */
void th_watch_view_key(struct th_watch_view *view, int key);

/* Index of the stack shown; 0 if there is none. */
size_t th_watch_view_stack(const struct th_watch_view *view);

#endif
