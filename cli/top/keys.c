/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/keys.c - which key does what, as in htop where htop has such a key.
 */
#include "cli/top/keys.h"

#include <ncurses.h>

#define ESCAPE 27

static const struct {
	int key;
	enum top_action action;
} keys[] = {
	{ KEY_UP, TOP_UP },
	{ 'k', TOP_UP },
	{ KEY_DOWN, TOP_DOWN },
	{ 'j', TOP_DOWN },
	{ KEY_PPAGE, TOP_PAGE_UP },
	{ KEY_NPAGE, TOP_PAGE_DOWN },
	{ KEY_HOME, TOP_FIRST },
	{ KEY_END, TOP_LAST },
	{ '\n', TOP_ENTER },
	{ '\r', TOP_ENTER },
	{ KEY_ENTER, TOP_ENTER },
	{ KEY_BACKSPACE, TOP_LEAVE },
	{ '\b', TOP_LEAVE },
	{ 127, TOP_LEAVE },
	{ ESCAPE, TOP_LEAVE },
	{ '+', TOP_FOLD },
	{ '-', TOP_FOLD },
	{ 'f', TOP_FOLD },
	{ 'r', TOP_BY_RUN },
	{ 't', TOP_BY_TASK },
	{ 'o', TOP_BY_TOOL },
	{ 'c', TOP_BY_CONTAINER },
	{ 'u', TOP_BY_USER },
	{ 'p', TOP_BY_PROCESS },
	{ '\t', TOP_BY_NEXT },
	{ '>', TOP_SORT_NEXT },
	{ '.', TOP_SORT_NEXT },
	{ '<', TOP_SORT_BEFORE },
	{ ',', TOP_SORT_BEFORE },
	{ 'P', TOP_SORT_CORES },
	{ 'T', TOP_SORT_CPU },
	{ 'M', TOP_SORT_RSS },
	{ 'I', TOP_SORT_TURN },
	{ '/', TOP_FILTER },
	{ '\\', TOP_FILTER },
	{ ' ', TOP_FREEZE },
	{ KEY_LEFT, TOP_EARLIER },
	{ KEY_RIGHT, TOP_LATER },
	{ '[', TOP_MUCH_EARLIER },
	{ ']', TOP_MUCH_LATER },
	{ 'L' - '@', TOP_REDRAW },
	{ KEY_MOUSE, TOP_MOUSE },
	{ KEY_RESIZE, TOP_RESIZE },
	{ 'h', TOP_HELP },
	{ '?', TOP_HELP },
	{ 'q', TOP_QUIT },
};

const char *const top_function_keys[TOP_FUNCTION_KEYS] = { "Help",  "Group", NULL,     "Filter", "Fold",
							   "Sort",  "Turn",  "Freeze", NULL,     "Quit" };
const enum top_action top_function_actions[TOP_FUNCTION_KEYS] = {
	TOP_HELP,      TOP_BY_NEXT,   TOP_NOTHING, TOP_FILTER,  TOP_FOLD,
	TOP_SORT_NEXT, TOP_SORT_TURN, TOP_FREEZE,  TOP_NOTHING, TOP_QUIT,
};

const struct top_key_help top_keys_help[] = {
	{ "Up Down PgUp PgDn Home End", "choose a row; also j k, and the mouse's wheel" },
	{ "Enter, a second click", "go into the row: run, task, tool, process" },
	{ "Backspace, Esc", "go back" },
	{ "+ - f F5", "unfold or fold the row: the rows below it, in place" },
	{ "r t o c u p", "group by run, task, tool, container, user; p: every process" },
	{ "Tab F2", "the next of these groups" },
	{ "< > F6, click on a title", "sort by the column before, after, that one" },
	{ "P T M", "sort by CPU now, CPU in all, memory" },
	{ "I F7", "turn the order round" },
	{ "/ F4", "filter in the language of the rules: tool = 'cc1' and user != 'root'" },
	{ "Space F8", "freeze and go on; the figures wait meanwhile" },
	{ "Left Right [ ]", "with --at: an interval, or ten, earlier or later" },
	{ "h ? F1", "this help" },
	{ "q F10", "quit" },
	{ NULL, NULL },
};

enum top_action top_key_action(int key)
{
	if (key >= KEY_F(1) && key <= KEY_F(TOP_FUNCTION_KEYS))
		return top_function_actions[key - KEY_F(1)];
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key)
			return keys[i].action;
	return TOP_NOTHING;
}
