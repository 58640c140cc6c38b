/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/signals.h - the signals of `skep run`: CMD gets the inherited dispositions unchanged; skep
 * handles some signals itself and passes others on to CMD.
 */
#ifndef SKEP_CLI_SIGNALS_H
#define SKEP_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct signals_inherited {
	sigset_t mask;
	sigset_t ignored; /* signals with SIG_IGN: nohup, a shell's `cmd &` without job control */
};

/* Reads the inherited state. Call it before anything changes a disposition or the mask. */
void signals_inherit(struct signals_inherited *ret);
/*
 * Blocks the signals that would end, stop or disturb this process, and SIGCHLD and SIGCONT, and makes a non-blocking
 * signalfd for them.  Call it before a thread starts (threads inherit the mask).  0 or -errno.
 */
int signals_take(int *ret_fd);
/*
 * Returns a pending signal that by default would have ended this process, or 0.  For the time before CMD runs, when
 * skep cannot yet pass the signal on.
 */
int signals_waiting(const struct signals_inherited *);
/* Do users end a program by this signal (TERM, INT, HUP, QUIT)? */
bool signals_ends(int number);
/* Restores the inherited state in the child of fork(), before exec. Async-signal-safe. */
void signals_give_back(const struct signals_inherited *);

enum signals_to {
	SIGNALS_TO_NOBODY,
	SIGNALS_TO_COMMAND,
	SIGNALS_TO_GROUP, /* the group that the command leads */
};

/*
 * Which process must skep send this signal to? `command`: our child, not reaped.  A signal of the terminal: none while
 * CMD is in our group, as the kernel signals the whole foreground group; else CMD's group.  A signal of CMD or of a
 * descendant (`kill 0`): none.  A signal that is meant for skep (SIGPIPE of a write of skep): none.  Any other: CMD.
 */
enum signals_to signals_concern(const struct signalfd_siginfo *, pid_t command);
/* Sends the signal, with the value of a queued signal. 0 or -errno. */
int signals_forward(const struct signalfd_siginfo *, enum signals_to, pid_t command);

/*
 * Stops as SIGTSTP, SIGTTIN or SIGTTOU does by default: returns when continued, or at once if no process could continue
 * this one.
 */
void signals_stop(int number);
/* Does the signal wait for the signalfd? */
bool signals_is_pending(int number);
/*
 * Ends this process by that signal, without a core dump: the caller sees how CMD ended.  Returns where the signal
 * cannot end it: in process 1 of a pid namespace.
 */
void signals_die(int number);

#endif
