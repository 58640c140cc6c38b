/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/program.h - what a user, or skep itself, starts to have this program again.
 */
#ifndef SKEP_CLI_PROGRAM_H
#define SKEP_CLI_PROGRAM_H

#include <stdbool.h>

/*
 * First in main(): takes SKEP_PROGRAM, which the wrapper of the tarball sets, out of the environment, so that no
 * command inherits it.  Where ld.so was started by name, as that wrapper may, the process would be called by that.
 */
void program_begin(void);
/* Absolute; "" if it cannot be told. */
const char *program_path(void);
/* That is a script, without which the program does not find its libraries and plugins. */
bool program_wrapped(void);

#endif
