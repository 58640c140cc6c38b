/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/capture.h - patterns over cgroup paths that name parts of a path: "docker-{id:hex64}.scope".
 * For the container table.
 *
 * A pattern is a list of segments between '/'. It matches the same number of successive segments anywhere in a
 * path. A pattern that begins with '/' matches only the path's first segments. In a segment:
 *
 *   text           itself; '\' removes the special meaning of the next character
 *   *              any text, also none, within the segment
 *   <class>        text of that class: any name digits hex hex32 hex64 uuid uid unit sluid
 *   {NAME:class}   text of that class, captured as NAME; {NAME} is {NAME:any}
 *   {NAME=...}     the text that the inner part matches, captured as NAME
 *   !...           as the last segment: the next segment of the path does not match it, or the path ends
 *
 * any: one character or more; name: letters, digits and ._:+@-; uid: a UUID or 32 hex digits, as in Kubernetes;
 * sluid: 's' and 13 base-32 digits, Slurm's id of one execution of a job.
 * In a captured uuid or uid '_' becomes '-', because unit names cannot contain these '-'. unit is like any, and a
 * captured \xHH becomes the character, because systemd escapes names in this form.
 */
#ifndef SKEP_CORE_CAPTURE_H
#define SKEP_CORE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#define CAPTURE_NAMES_MAX 8
#define CAPTURE_ERROR_SIZE 192

struct capture; /* a compiled pattern; immutable */

struct capture_span {
	const char *ptr; /* NULL: the pattern does not capture this name. Borrowed from the path. */
	size_t len;
	unsigned class;  /* for capture_copy */
};

struct capture_match {
	size_t end; /* length of the path up to the end of the matched segments */
	struct capture_span spans[CAPTURE_NAMES_MAX]; /* by index in names */
};

/*
 * Compiles a pattern. names: the names that it may capture, at most CAPTURE_NAMES_MAX, NULL-terminated. 0,
 * -ENOMEM, or -EINVAL with the error, its position and the remedy in why (CAPTURE_ERROR_SIZE bytes).
 */
int capture_new(const char *pattern, const char *const *names, struct capture **ret, char *why);
struct capture *capture_free(struct capture *);
bool capture_has(const struct capture *, unsigned name); /* true: the pattern captures the name */

/* Finds the deepest position in the path where the pattern matches. */
bool capture_find(const struct capture *, const char *path, size_t len, struct capture_match *ret);
/*
 * Copies a captured text and decodes it by its class. Writes at most span->len bytes and a NUL; returns the
 * length.
 */
size_t capture_copy(const struct capture_span *, char *to);

#endif
