/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/keys.h - the keys of `skep top`: one table for their actions and for the help.
 */
#ifndef SKEP_CLI_TOP_KEYS_H
#define SKEP_CLI_TOP_KEYS_H

#include <stddef.h>

enum top_action {
	TOP_NOTHING,
	TOP_UP,
	TOP_DOWN,
	TOP_PAGE_UP,
	TOP_PAGE_DOWN,
	TOP_FIRST,
	TOP_LAST,
	TOP_ENTER,
	TOP_LEAVE,
	TOP_FOLD,
	TOP_BY_RUN,
	TOP_BY_TASK,
	TOP_BY_TOOL,
	TOP_BY_CONTAINER,
	TOP_BY_USER,
	TOP_BY_PROCESS,
	TOP_BY_NEXT,
	TOP_SORT_NEXT,
	TOP_SORT_BEFORE,
	TOP_SORT_CORES,
	TOP_SORT_CPU,
	TOP_SORT_RSS,
	TOP_SORT_TURN,
	TOP_FILTER,
	TOP_FREEZE,
	TOP_EARLIER,
	TOP_LATER,
	TOP_MUCH_EARLIER,
	TOP_MUCH_LATER,
	TOP_REDRAW,
	TOP_MOUSE,
	TOP_RESIZE,
	TOP_HELP,
	TOP_QUIT,
};

enum top_action top_key_action(int key); /* of getch() */

/* A line of the help; NULL keys: the end. */
struct top_key_help {
	const char *keys, *what;
};
extern const struct top_key_help top_keys_help[];
/* The function keys of the last line: [i] is F(i+1); NULL: that key does nothing. */
#define TOP_FUNCTION_KEYS 10
extern const char *const top_function_keys[TOP_FUNCTION_KEYS];
extern const enum top_action top_function_actions[TOP_FUNCTION_KEYS];

#endif
