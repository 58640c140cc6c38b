/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/child.h - what a process that the program forks for one job does first.  The process ends with the program,
 * ignores the signals that are meant for the program, and closes the program's files.
 *
 * Between child_signals() and child_keep_files() the caller drops privileges (core/base/confine.h): a warning about
 * that still reaches stderr.
 */
#ifndef SKEP_CORE_CHILD_H
#define SKEP_CORE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The kernel kills this process when its parent ends.  Ends this process when the parent has ended already. */
void child_end_with(pid_t parent);
/*
 * Begins a new process group, and ignores what terminals and service managers send.
 * ends_by_term: SIGTERM ends this process, as in a unit of its own.
 */
void child_signals(bool ends_by_term);
/*
 * Closes all files but these n, and opens /dev/null as stdin, stdout and stderr.  The n files get new numbers.  Ends
 * this process when that fails.
 */
void child_keep_files(int *files, size_t n);
/* Sets the title of this process that ps and top show: "PROGRAM: ROLE". */
void child_set_title(const char *program, const char *role);

#endif
