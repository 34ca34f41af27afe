/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the live view and how keys change it: which page is shown (table, stacks of a
 * site, help), sort order, filter, pause.  Nothing here draws.
 */
#include "report/live/watch_view.h"

#include <string.h>

#include "unify/shared/heaps.h"

#define LARGEST UINT32_MAX

void
th_watch_view_init(struct th_watch_view *view, struct th_watch *watch)
{
	*view = (struct th_watch_view){.watch = watch, .rows = 1, .path = LARGEST};
	th_watch_table_init(&view->table);
	th_watch_table_update(&view->table, watch);
}

void
th_watch_view_deinit(struct th_watch_view *view)
{
	th_watch_stacks_deinit(&view->stacks);
	th_watch_table_deinit(&view->table);
}

/* Updates the table or the stacks from the recording. */
static void
refresh(struct th_watch_view *view)
{
	th_watch_table_update(&view->table, view->watch);
	if (view->page != TH_WATCH_STACKS)
		return;
	th_watch_stacks_deinit(&view->stacks);
	th_watch_stacks_init(&view->stacks, view->watch, view->site);
}

void
th_watch_view_update(struct th_watch_view *view)
{
	if (view->is_paused)
		return;
	th_watch_update(view->watch);
	refresh(view);
}

size_t
th_watch_view_stack(const struct th_watch_view *view)
{
	for (size_t i = 0; i < view->stacks.items_count; i++) {
		if (view->stacks.items[i].path == view->path)
			return i;
	}
	return 0;
}

/* Typing a filter */

static void
drop_character(char *text)
{
	size_t length = strlen(text);

	/* Removes all bytes of a UTF-8 character. */
	while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static void
type(struct th_watch_view *view, int character)
{
	size_t length = strlen(view->typed);

	if (character < ' ' || character > 0xff || length + 1 >= sizeof(view->typed))
		return;
	view->typed[length] = (char)character;
	view->typed[length + 1] = '\0';
}

/* The filter applies while it is typed, if it is a valid expression. */
static void
apply(struct th_watch_view *view, const char *text)
{
	view->is_wrong = !th_watch_table_filter(&view->table, text);
	th_watch_table_update(&view->table, view->watch);
}

static void
type_key(struct th_watch_view *view, int key)
{
	switch (key) {
	case TH_WATCH_KEY_ENTER:
		if (view->is_wrong)
			return;
		strcpy(view->filter, view->typed);
		view->is_typing = false;
		return;
	case TH_WATCH_KEY_ESCAPE:
		view->is_typing = false;
		apply(view, view->filter);
		return;
	case TH_WATCH_KEY_BACKSPACE:
		drop_character(view->typed);
		break;
	default:
		type(view, key);
	}
	apply(view, view->typed);
}

static void
begin_typing(struct th_watch_view *view)
{
	view->is_typing = true;
	strcpy(view->typed, view->filter);
}

/* The table */

/* The sort column that is `step` columns further right. */
static void
turn_order(struct th_watch_view *view, int step)
{
	view->table.order = (enum th_watch_order)(
		((int)view->table.order + step) % TH_WATCH_ORDERS);
	refresh(view);
}

/* The heap if `heaps` contains only one; 0 if it contains several. */
static int
single_heap(unsigned heaps)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heaps == 1u << heap)
			return heap;
	}
	return 0;
}

/* Cycles through: all heaps, then each recorded heap by itself. */
static void
next_heaps(struct th_watch_view *view)
{
	int heap = single_heap(view->table.heaps) + 1;

	while (heap < TH_HEAPS && !view->watch->profile->heaps[heap].is_recorded)
		heap++;
	view->table.heaps = heap < TH_HEAPS ? 1u << heap : TH_HEAPS_ALL;
	refresh(view);
}

static void
enter(struct th_watch_view *view)
{
	const struct th_watch_table *table = &view->table;

	if (!table->rows_count)
		return;
	view->site = table->rows[th_watch_table_position(table)].site;
	view->path = LARGEST;
	view->scroll = 0;
	view->page = TH_WATCH_STACKS;
	refresh(view);
}

static void
table_key(struct th_watch_view *view, int key)
{
	struct th_watch_table *table = &view->table;

	switch (key) {
	case TH_WATCH_KEY_UP:
	case 'k':
		th_watch_table_move(table, -1);
		break;
	case TH_WATCH_KEY_DOWN:
	case 'j':
		th_watch_table_move(table, 1);
		break;
	case TH_WATCH_KEY_PAGE_UP:
		th_watch_table_move(table, -view->rows);
		break;
	case TH_WATCH_KEY_PAGE_DOWN:
	case ' ':
		th_watch_table_move(table, view->rows);
		break;
	case TH_WATCH_KEY_HOME:
		th_watch_table_move(table, -(long)table->rows_count);
		break;
	case TH_WATCH_KEY_END:
		th_watch_table_move(table, (long)table->rows_count);
		break;
	case TH_WATCH_KEY_ENTER:
	case TH_WATCH_KEY_RIGHT:
		enter(view);
		break;
	case TH_WATCH_KEY_ESCAPE:
		view->filter[0] = '\0';
		apply(view, "");
		break;
	case '/':
	case 'o':
		begin_typing(view);
		break;
	default:
		break;
	}
}

/* The stacks of a site */

static void
show_stack(struct th_watch_view *view, long step)
{
	long index = (long)th_watch_view_stack(view) + step;

	if (index < 0 || index >= (long)view->stacks.items_count)
		return;
	view->path = view->stacks.items[index].path;
	view->scroll = 0;
}

static void
scroll(struct th_watch_view *view, long frames)
{
	view->scroll += frames;
	if (view->scroll < 0)
		view->scroll = 0;
}

static void
stacks_key(struct th_watch_view *view, int key)
{
	switch (key) {
	case TH_WATCH_KEY_UP:
	case 'k':
		scroll(view, -1);
		break;
	case TH_WATCH_KEY_DOWN:
	case 'j':
		scroll(view, 1);
		break;
	case TH_WATCH_KEY_PAGE_UP:
		scroll(view, -view->rows);
		break;
	case TH_WATCH_KEY_PAGE_DOWN:
	case ' ':
		scroll(view, view->rows);
		break;
	case TH_WATCH_KEY_HOME:
		view->scroll = 0;
		break;
	case TH_WATCH_KEY_RIGHT:
	case 'n':
		show_stack(view, 1);
		break;
	case TH_WATCH_KEY_LEFT:
		show_stack(view, -1);
		break;
	case TH_WATCH_KEY_ENTER:
	case TH_WATCH_KEY_ESCAPE:
	case TH_WATCH_KEY_BACKSPACE:
		view->page = TH_WATCH_TABLE;
		break;
	default:
		break;
	}
}

/* Everywhere */

static void
show_help(struct th_watch_view *view)
{
	view->behind = view->page;
	view->page = TH_WATCH_HELP;
}

static void
page_key(struct th_watch_view *view, int key)
{
	if (view->page == TH_WATCH_STACKS)
		stacks_key(view, key);
	else
		table_key(view, key);
}

void
th_watch_view_key(struct th_watch_view *view, int key)
{
	if (view->is_typing) {
		type_key(view, key);
		return;
	}
	if (view->page == TH_WATCH_HELP) {
		view->page = view->behind;
		view->is_done = key == 'q';
		return;
	}
	switch (key) {
	case 'q':
		view->is_done = true;
		break;
	case 'p':
	case 'z':
		view->is_paused = !view->is_paused;
		break;
	case 's':
	case '>':
		turn_order(view, 1);
		break;
	case '<':
		turn_order(view, TH_WATCH_ORDERS - 1);
		break;
	case 'R':
		view->table.is_reversed = !view->table.is_reversed;
		refresh(view);
		break;
	case '\t':
		next_heaps(view);
		break;
	case 'h':
	case '?':
		show_help(view);
		break;
	default:
		page_key(view, key);
	}
}
