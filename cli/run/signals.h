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
 * Blocks the signals that would end or disturb this process and makes a non-blocking signalfd for them.  Call it before
 * a thread starts (threads inherit the mask).  stops: also SIGTSTP, to clear the live line before skep stops.  0 or
 * -errno.
 */
int signals_take(bool stops, int *ret_fd);
/*
 * Returns a pending signal that by default would have ended this process, or 0.  For the time before CMD runs, when
 * skep cannot yet pass the signal on.
 */
int signals_waiting(const struct signals_inherited *);
/* Do users end a program by this signal (TERM, INT, HUP, QUIT)? */
bool signals_ends(int number);
/* Restores the inherited state in the child of fork(), before exec. Async-signal-safe. */
void signals_give_back(const struct signals_inherited *);

/*
 * Must skep send this signal to `command` (our child, not reaped)?  No if the terminal sent it: the kernel signals the
 * whole foreground group, and CMD is in it.  No if CMD or a descendant of CMD sent it (`kill 0`).  No if the signal is
 * meant for skep (SIGWINCH by the terminal, SIGPIPE of a write of skep).
 */
bool signals_concern(const struct signalfd_siginfo *, pid_t command);
/* Sends the signal to the command, with the value of a queued signal. 0 or -errno. */
int signals_forward(const struct signalfd_siginfo *, pid_t command);

/* Stops as SIGTSTP does by default: returns when continued, or at once if no process could continue this one. */
void signals_stop(void);

#endif
