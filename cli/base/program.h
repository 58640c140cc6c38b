/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/program.h - the name and path by which a user, or skep itself, starts this program again.
 */
#ifndef SKEP_CLI_PROGRAM_H
#define SKEP_CLI_PROGRAM_H

#include <stdbool.h>

/*
 * First in main(): removes SKEP_PROGRAM, which the wrapper of the tarball sets, from the environment, so that no
 * command inherits it.  Sets the process's name: the wrapper may start ld.so, and the kernel would show that name.
 */
void program_begin(const char *name);
const char *program_name(void); /* "skep" */
/* Absolute; "" if it is unknown. */
const char *program_path(void);
/* Is the path the tarball's wrapper script?  Without this script the program finds no libraries and plugins. */
bool program_wrapped(void);

#endif
