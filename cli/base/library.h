/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/library.h - loads a library that only one command needs.  Linked, it would lengthen the start of every
 * command: libmicrohttpd brings GnuTLS, and with it 12 libraries.
 */
#ifndef SKEP_CLI_BASE_LIBRARY_H
#define SKEP_CLI_BASE_LIBRARY_H

#include <stddef.h>

struct library_symbol {
	const char *name;
	void *to; /* address of a pointer to a function */
};

/*
 * Loads the first of these names (NULL-terminated) for good, and finds the symbols (a NULL name ends them).  package:
 * Debian's, for the remedy.  0; -ENOENT with the reason in why.
 */
int library_load(const char *const *names, const char *package, const struct library_symbol *, char *why, size_t room);

#endif
