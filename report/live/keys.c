/* SPDX-License-Identifier: Apache-2.0 */
/* What keys do in the live view. */
#include <ncurses.h>
#include <string.h>

#include "report/live/live.h"
#include "unify/shared/heaps.h"

#define ESCAPE 0x1b
#define FAR (1 << 30)

/* In the order of the keys; touched bytes exist only in snapshots of resident memory. */
static const enum th_view_value values[] = {TH_VALUE_LIVE_BYTES, TH_VALUE_LIVE_OBJECTS,
	TH_VALUE_ALLOC_BYTES, TH_VALUE_ALLOC_OBJECTS, TH_VALUE_TEMPORARY_BYTES};
#define VALUE_COUNT ((int)(sizeof(values) / sizeof(values[0])))

static bool
is_enter(int key)
{
	return key == '\r' || key == '\n' || key == KEY_ENTER;
}

static bool
is_backspace(int key)
{
	return key == KEY_BACKSPACE || key == '\b' || key == 0x7f;
}

/* Filters */

static void
begin_typing(struct th_live *live, enum th_live_filter field)
{
	live->is_typing = true;
	live->field = field;
	strcpy(live->typed, live->patterns[field]);
}

/* Removes all bytes of a UTF-8 character. */
static void
drop_character(char *text)
{
	size_t length = strlen(text);

	while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static void
type(struct th_live *live, int key)
{
	size_t length = strlen(live->typed);

	live->is_wrong = false;
	if (key == ESCAPE) {
		live->is_typing = false;
	} else if (is_enter(key)) {
		live->is_wrong = !th_live_filter(live, live->field, live->typed);
		live->is_typing = live->is_wrong;
		if (!live->is_wrong)
			th_live_show(live, true);
	} else if (is_backspace(key)) {
		drop_character(live->typed);
	} else if (key >= ' ' && key <= 0xff && length + 1 < sizeof(live->typed)) {
		live->typed[length] = (char)key;
		live->typed[length + 1] = '\0';
	}
}

/* Views */

static void
choose_view(struct th_live *live, enum th_live_view view)
{
	live->left_view = live->view;
	live->left_line = live->selected;
	live->view = view;
	live->selected = 0;
}

/* To the stacks of the selected line; whether it is about any. */
static bool
enter(struct th_live *live)
{
	if (live->selected >= live->lines_count || !live->lines[live->selected].is_marked)
		return false;
	memcpy(live->mark, live->lines[live->selected].mark, sizeof(live->mark));
	choose_view(live, TH_LIVE_STACKS);
	return true;
}

static void
leave(struct th_live *live)
{
	live->view = live->left_view;
	live->selected = live->left_line;
}

static void
drop_filters(struct th_live *live)
{
	for (int which = 0; which < TH_LIVE_FILTERS; which++)
		th_live_filter(live, (enum th_live_filter)which, "");
}

/* The view that many further right. */
static void
turn_view(struct th_live *live, int step)
{
	choose_view(live, (enum th_live_view)(
				  ((int)live->view + step + TH_LIVE_STACKS) % TH_LIVE_STACKS));
}

static void
turn_value(struct th_live *live, int step)
{
	int i = 0;

	while (values[i] != live->options.value)
		i++;
	live->options.value = values[(i + step + VALUE_COUNT) % VALUE_COUNT];
}

/* Cycles through: all heaps, then each recorded heap by itself. */
static void
turn_heaps(struct th_live *live)
{
	int heap = TH_HEAP_JAVA;

	while (heap < TH_HEAPS && live->options.heaps != 1u << heap)
		heap++;
	heap = heap < TH_HEAPS ? heap + 1 : TH_HEAP_JAVA;
	while (heap < TH_HEAPS && !live->profile->heaps[heap].is_recorded)
		heap++;
	live->options.heaps = heap < TH_HEAPS ? 1u << heap : TH_HEAPS_ALL;
}

/* Keys */

/* Whether the key moves the selection. */
static bool
move_selection(struct th_live *live, int key)
{
	const struct {
		int key;
		long lines;
	} moves[] = {{KEY_UP, -1}, {'k', -1}, {KEY_DOWN, 1}, {'j', 1}, {KEY_PPAGE, -live->rows},
		{KEY_NPAGE, live->rows}, {' ', live->rows}, {KEY_HOME, -FAR}, {KEY_END, FAR}};
	long last = (long)live->lines_count - 1;

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		long to = (long)live->selected + moves[i].lines;

		if (moves[i].key != key)
			continue;
		live->selected = to < 0 || last < 0 ? 0 : to > last ? (size_t)last : (size_t)to;
		return true;
	}
	return false;
}

/* Keys that change the selection of heaps and stacks; false: no such key. */
static bool
select_stacks(struct th_live *live, int key)
{
	if (key == ESCAPE || is_backspace(key))
		drop_filters(live);
	else if (key == '\t')
		turn_heaps(live);
	else
		return false;
	return true;
}

/* Keys that change what is shown of them. */
static bool
choose(struct th_live *live, int key)
{
	if (key == 's' || key == '>')
		turn_value(live, 1);
	else if (key == '<')
		turn_value(live, -1);
	else if (key == 'w')
		live->seconds = live->seconds == 600 ? 10 : live->seconds == 10 ? 60 : 600;
	else if (key == 'a')
		live->options.lists_all = !live->options.lists_all;
	else if (live->view == TH_LIVE_STACKS)
		return false;
	else if (is_enter(key))
		return enter(live);
	else if (key >= '1' && key < '1' + TH_LIVE_STACKS)
		choose_view(live, (enum th_live_view)(key - '1'));
	else if (key == KEY_LEFT || key == KEY_RIGHT)
		turn_view(live, key == KEY_LEFT ? -1 : 1);
	else if (key == 'h' || key == '?')
		choose_view(live, TH_LIVE_HELP);
	else
		return false;
	return true;
}

void
th_live_key(struct th_live *live, int key)
{
	bool is_back = live->view == TH_LIVE_HELP ||
		       (live->view == TH_LIVE_STACKS && (key == ESCAPE || is_backspace(key)));

	if (live->is_typing) {
		type(live, key);
	} else if (key == 'q') {
		live->is_done = true;
	} else if (key == 'p' || key == 'z') {
		live->is_paused = !live->is_paused;
	} else if (is_back) {
		leave(live);
		th_live_show(live, false);
	} else if (key == '/' || key == 'o') {
		begin_typing(live, TH_LIVE_FUNCTIONS);
	} else if (key == 'c') {
		begin_typing(live, TH_LIVE_CLASSES);
	} else if (key == 't') {
		begin_typing(live, TH_LIVE_THREADS);
	} else if (select_stacks(live, key)) {
		th_live_show(live, true);
	} else if (!move_selection(live, key) && choose(live, key)) {
		th_live_show(live, false);
	}
}
