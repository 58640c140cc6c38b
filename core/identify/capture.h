/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/capture.h - patterns over paths that say what parts of a path mean: "docker-{id:hex64}.scope".
 *
 * A pattern is segments between '/', matched against as many successive segments of a path;
 * with a '/' in front only against the first ones.  In a segment:
 *
 *   text           itself; '\' takes the special meaning from the character behind it
 *   *              any text, also none, within the segment
 *   <class>        text of that class: any name digits hex hex32 hex64 uuid uid unit
 *   {NAME:class}   the same, and it is called NAME; {NAME} is {NAME:any}
 *   {NAME=...}     whatever the part in it matches is called NAME
 *   !...           as the last segment: the path goes on differently, or not at all
 *
 * any: one character or more; name: of letters, digits and ._:+@-; uid: a UUID or 32 hex digits, as
 * Kubernetes has them.  Of what is captured as uuid or uid '_' becomes '-' (unit names cannot have
 * it otherwise); unit is any, of which \xHH becomes the character (systemd escapes names so).
 */
#ifndef SKEP_CORE_CAPTURE_H
#define SKEP_CORE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#define CAPTURE_NAMES_MAX 8
#define CAPTURE_ERROR_SIZE 192

struct capture; /* a compiled pattern; immutable */

struct capture_span {
	const char *ptr; /* NULL: the pattern has no such name. Borrowed from the path. */
	size_t len;
	unsigned class;  /* for capture_copy */
};

struct capture_match {
	size_t end; /* how much of the path the matched segments and all before them take */
	struct capture_span spans[CAPTURE_NAMES_MAX]; /* by index in names */
};

/*
 * names: what may be captured, at most CAPTURE_NAMES_MAX, NULL-terminated.  0, -ENOMEM, or -EINVAL with
 * what is wrong, where, and what to write instead in why (CAPTURE_ERROR_SIZE bytes).
 */
int capture_new(const char *pattern, const char *const *names, struct capture **ret, char *why);
struct capture *capture_free(struct capture *);
bool capture_has(const struct capture *, unsigned name); /* does it capture that name? */

/* The deepest place in the path where the pattern matches. */
bool capture_find(const struct capture *, const char *path, size_t len, struct capture_match *ret);
/* What was captured, decoded as its class says. At most span->len bytes and a NUL; returns the length. */
size_t capture_copy(const struct capture_span *, char *to);

#endif
