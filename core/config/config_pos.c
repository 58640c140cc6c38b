/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_pos.c - a scanner that keeps positions and nothing else.  jansson has accepted the text, so the
 * scanner only follows brackets, strings and commas.  It does not recurse: depth costs no stack.
 */
#include "core/config/config_pos.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct config_pos pos; /* first: a pointer to pos is a pointer to its node */
	char *key;
	struct node *parent;
	struct node *last;      /* child */
	struct node *allocated; /* chain of all nodes, for free */
	bool object;
};

struct scanner {
	const char *p, *end;
	int line, column;
	struct node *root;
	struct node *tail; /* of the chain of all nodes */
};

/* Continuation bytes of UTF-8 have no column of their own. */
static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static void scanner_step(struct scanner *s)
{
	if (*s->p == '\n') {
		s->line++;
		s->column = 1;
	} else if (starts_character(*s->p)) {
		s->column++;
	}
	s->p++;
}

static void scanner_skip(struct scanner *s, const char *which)
{
	while (s->p < s->end && *s->p != '\0' && strchr(which, *s->p))
		scanner_step(s);
}

/* From the opening quote to behind the closing one. */
static int scanner_string(struct scanner *s)
{
	scanner_step(s);
	while (s->p < s->end && *s->p != '"') {
		if (*s->p == '\\' && s->p + 1 < s->end)
			scanner_step(s);
		scanner_step(s);
	}
	if (s->p >= s->end)
		return -EINVAL;
	scanner_step(s);
	return 0;
}

/* [begin, end) has the quotes. jansson decodes escapes: it knows surrogates. */
static int key_decode(const char *begin, const char *end, char **ret)
{
	json_t *string;
	char *key;

	if (!memchr(begin, '\\', (size_t)(end - begin))) {
		key = strndup(begin + 1, (size_t)(end - begin) - 2);
	} else {
		string = json_loadb(begin, (size_t)(end - begin), JSON_DECODE_ANY, NULL);
		if (!json_is_string(string)) {
			json_decref(string);
			return -EINVAL;
		}
		key = strdup(json_string_value(string));
		json_decref(string);
	}
	if (!key)
		return -ENOMEM;
	*ret = key;
	return 0;
}

static struct node *node_new(struct scanner *s, struct node *parent)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->parent = parent;
	if (s->tail)
		s->tail->allocated = node;
	else
		s->root = node;
	s->tail = node;
	if (parent) {
		if (parent->last)
			parent->last->pos.next = &node->pos;
		else
			parent->pos.first = &node->pos;
		parent->last = node;
	}
	return node;
}

static int scanner_key(struct scanner *s, struct node *node)
{
	const char *begin = s->p;
	int err;

	node->pos.key_line = s->line;
	node->pos.key_column = s->column;
	if (s->p >= s->end || *s->p != '"')
		return -EINVAL;
	err = scanner_string(s);
	if (err)
		return err;
	err = key_decode(begin, s->p, &node->key);
	if (err)
		return err;
	node->pos.key = node->key;
	scanner_skip(s, " \t\r\n");
	if (s->p >= s->end || *s->p != ':')
		return -EINVAL;
	scanner_step(s);
	scanner_skip(s, " \t\r\n");
	return s->p < s->end ? 0 : -EINVAL;
}

/* Scans one value; of an object or array only its opening bracket, and *open becomes that one. */
static int scanner_value(struct scanner *s, struct node **open)
{
	struct node *node = node_new(s, *open);
	int err;

	if (!node)
		return -ENOMEM;
	if (*open && (*open)->object) {
		err = scanner_key(s, node);
		if (err)
			return err;
	}
	node->pos.line = s->line;
	node->pos.column = s->column;
	switch (*s->p) {
	case '{':
	case '[':
		node->object = *s->p == '{';
		*open = node;
		scanner_step(s);
		return 0;
	case '"':
		return scanner_string(s);
	default:
		while (s->p < s->end && !(*s->p != '\0' && strchr(",]} \t\r\n", *s->p)))
			scanner_step(s);
		return 0;
	}
}

int config_pos_new(const char *text, size_t len, struct config_pos **ret)
{
	struct scanner s = { .p = text, .end = text + len, .line = 1, .column = 1 };
	struct node *open = NULL;
	int err;

	for (;;) {
		err = -EINVAL;
		scanner_skip(&s, " \t\r\n,");
		if (s.p >= s.end)
			goto out;
		if (*s.p == '}' || *s.p == ']') {
			if (!open || open->object != (*s.p == '}'))
				goto out;
			scanner_step(&s);
			open = open->parent;
		} else {
			err = scanner_value(&s, &open);
			if (err)
				goto out;
		}
		if (!open)
			break;
	}
	*ret = &s.root->pos;
	return 0;
out:
	if (s.root)
		config_pos_free(&s.root->pos);
	return err;
}

struct config_pos *config_pos_free(struct config_pos *root)
{
	struct node *next;

	for (struct node *node = (struct node *)root; node; node = next) {
		next = node->allocated;
		free(node->key);
		free(node);
	}
	return NULL;
}

const struct config_pos *config_pos_key(const struct config_pos *node, const char *key)
{
	for (node = node ? node->first : NULL; node; node = node->next)
		if (node->key && strcmp(node->key, key) == 0)
			return node;
	return NULL;
}

const struct config_pos *config_pos_at(const struct config_pos *node, size_t index)
{
	for (node = node ? node->first : NULL; node && index > 0; index--)
		node = node->next;
	return node;
}

void config_pos_offset(const char *text, size_t offset, int *ret_line, int *ret_column)
{
	struct scanner s = { .p = text, .end = text + offset, .line = 1, .column = 1 };

	while (s.p < s.end)
		scanner_step(&s);
	*ret_line = s.line;
	*ret_column = s.column;
}
