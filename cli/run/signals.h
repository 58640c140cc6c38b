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
	sigset_t ignored; /* these had SIG_IGN: nohup, a shell's `cmd &` without job control */
};

/* Before anything else changes a disposition or the mask. */
void signals_inherit(struct signals_inherited *ret);
/*
 * Blocks what would end or disturb this process and makes a non-blocking signalfd of
 * it, before a thread is started (threads inherit the mask).  stops: SIGTSTP as well,
 * for who has something to tidy up before it stops.  0 or -errno.
 */
int signals_take(bool stops, int *ret_fd);
/*
 * A taken signal that waits and by default would have ended us, or 0: for the time
 * before CMD runs, when there is no process yet to pass it on to.
 */
int signals_waiting(const struct signals_inherited *);
/* Whether people use this signal to end a program (TERM, INT, HUP, QUIT). */
bool signals_ends(int number);
/* In the child of fork(), before exec: as inherited. Async-signal-safe. */
void signals_give_back(const struct signals_inherited *);

/*
 * Whether `command` (our child, not reaped) has to be sent this signal: not when the
 * terminal sent it (the kernel signals the whole foreground group, CMD is in it), not
 * when CMD itself or a descendant of it sent it (`kill 0`), not when it is our own
 * business (SIGWINCH by the terminal, SIGPIPE of a write of ours).
 */
bool signals_concern(const struct signalfd_siginfo *, pid_t command);
/* Sends it on, the value of a queued one included. 0 or -errno. */
int signals_forward(const struct signalfd_siginfo *, pid_t command);

/* Stops as SIGTSTP does by default: returns when continued, or at once where no process could continue us. */
void signals_stop(void);

#endif
