/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/datafile.h - tables that are data (tools, containers, secrets): reads the built-in text, then a user's
 * files or folders, in that order.  Checks that all such tables share; an error has file, line, column, value and
 * remedy.
 */
#ifndef SKEP_CORE_DATAFILE_H
#define SKEP_CORE_DATAFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config_pos.h"
#include "core/base/diag.h"

/* A value in a table's file and the path to it. Lives on the stack while fn reads the file. */
struct datanode {
	const struct datanode *up; /* NULL: the root */
	const char *key;           /* in an object; NULL in an array */
	size_t index;              /* in an array */
	json_t *json;
	const struct config_pos *pos; /* may be NULL */
	const char *file;
	struct diag *diag;
};

/* Adds errors to the diag; returns a negative errno only to end the reading (-ENOMEM). */
typedef int (*datafile_fn)(const struct datanode *root, void *arg);

/*
 * Calls fn for the text (NULL: none), then for each of `more`: a file, or a folder whose *.json it reads in byte order.
 * 0, -EINVAL
 * after an error in any of them, or the error of fn.
 */
int datafile_read(const char *text, size_t len, const char *name, const char *const *more, datafile_fn fn, void *arg,
		  struct diag *);

bool datanode_key(const struct datanode *, const char *key, struct datanode *ret); /* false: not there */
void datanode_at(const struct datanode *, size_t index, struct datanode *ret);

/* "programs[3].operand: TEXT" */
void datanode_error(const struct datanode *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Is it an object? If not, an error and false. Each unknown key is an error with a suggestion. */
bool datanode_object(const struct datanode *, const char *const *known);
/* Is it an array? If not, an error and false. */
bool datanode_array(const struct datanode *);
/* A string that is not empty; NULL after an error. Borrowed from the node. */
const char *datanode_string(const struct datanode *);
/* The same, of a well-formed pattern. */
const char *datanode_glob(const struct datanode *);
/* A whole number within bounds; false after an error. */
bool datanode_number(const struct datanode *, long min, long max, long *ret);
bool datanode_bool(const struct datanode *, bool *ret);

#endif
