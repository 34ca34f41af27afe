/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody looks at: the table, the stacks of one site or the help, what is paused, chosen,
 * typed.  Keys change it; watch_screen.h draws it.
 */
#ifndef TH_REPORT_LIVE_WATCH_VIEW_H
#define TH_REPORT_LIVE_WATCH_VIEW_H

#include <stdbool.h>

#include "report/live/watch.h"
#include "report/live/watch_table.h"

#define TH_WATCH_FILTER_MAX 128

enum th_watch_page { TH_WATCH_TABLE, TH_WATCH_STACKS, TH_WATCH_HELP };

/* Keys that are no characters. */
enum th_watch_key {
	TH_WATCH_KEY_UP = 0x110000, /* behind the last character */
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
	enum th_watch_page behind; /* of the help */
	bool is_paused;
	bool is_done; /* somebody wants to leave */
	int rows;     /* that a page of the list has, written by who draws */
	/* The filter while it is typed, and the one in force. */
	bool is_typing;
	bool is_wrong; /* it is no regular expression */
	char typed[TH_WATCH_FILTER_MAX];
	char filter[TH_WATCH_FILTER_MAX];
	/* The page of stacks. */
	uint32_t site;
	struct th_watch_stacks stacks;
	uint32_t path; /* of the stack that is shown; UINT32_MAX: the largest */
	long scroll;   /* first frame shown */
};

void th_watch_view_init(struct th_watch_view *view, struct th_watch *watch);
void th_watch_view_deinit(struct th_watch_view *view);

/* Takes in what was written since, unless paused, and what keys changed. */
void th_watch_view_update(struct th_watch_view *view);

/* Takes a key: a character or an enum th_watch_key. */
void th_watch_view_key(struct th_watch_view *view, int key);

/* Index of the stack that is shown; 0 where there is none. */
size_t th_watch_view_stack(const struct th_watch_view *view);

#endif
