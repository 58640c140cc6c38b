/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/terminal.h - which process group owns the terminal while `skep run` stands in front of a command.
 */
#ifndef SKEP_CLI_TERMINAL_H
#define SKEP_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
	int fd;      /* the controlling terminal; -1: none */
	pid_t group; /* skep's */
	pid_t ours;  /* see terminal_open() */
	bool leads;  /* skep leads its group: without skep, CMD would lead it */
};

/* ours: another process of skep in this group; 0: none */
void terminal_open(struct terminal *ret, pid_t ours);
void terminal_close(struct terminal *);
/* Can terminal_follow() ever have something to do? */
bool terminal_may_follow(const struct terminal *);
/*
 * Gives the terminal to the group that the command has made for itself, if skep's group has the terminal and no
 * other process of that group needs it.  True: given now.
 */
bool terminal_follow(const struct terminal *, pid_t command);
/* After the command's end: takes the terminal back from the command's group. */
void terminal_take_back(const struct terminal *, pid_t command);
/* Has this process group the terminal? */
bool terminal_is_of(const struct terminal *, pid_t group);

#endif
