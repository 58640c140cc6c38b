/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_pos.h - the positions of keys and values of a JSON text, which jansson does not keep: a tree of
 * the same shape as the text.  Any thread; nothing is shared.
 */
#ifndef SKEP_CORE_CONFIG_POS_H
#define SKEP_CORE_CONFIG_POS_H

#include <stddef.h>

struct config_pos {
	const char *key; /* decoded; NULL for array elements and the root */
	int key_line, key_column; /* 1-based, columns in characters; 0 where there is no key */
	int line, column;         /* of the value's first character */
	const struct config_pos *next;  /* the next of the same object or array */
	const struct config_pos *first; /* the first inside; NULL: empty, or a scalar */
};

/*
 * text: JSON that jansson has accepted, comments blanked; duplicate keys are fine
 * (each has its own node).  0, -EINVAL (not JSON after all) or -ENOMEM.
 */
int config_pos_new(const char *text, size_t len, struct config_pos **ret);
struct config_pos *config_pos_free(struct config_pos *); /* the root; NULL is fine; returns NULL */

/* The first child of that key or index, borrowed; NULL: none, or node is NULL. */
const struct config_pos *config_pos_key(const struct config_pos *, const char *key);
const struct config_pos *config_pos_at(const struct config_pos *, size_t index);

/* Line and column (in characters, as jansson and editors count) of a byte of any text. */
void config_pos_offset(const char *text, size_t offset, int *ret_line, int *ret_column);

#endif
