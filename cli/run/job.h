/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/job.h - CMD as the job that the caller has started: its signals, its stops, its terminal, and the orphans
 * that come to skep.
 */
#ifndef SKEP_CLI_JOB_H
#define SKEP_CLI_JOB_H

#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "cli/run/terminal.h"
#include "cli/run/witness.h"

struct job {
	pid_t command; /* 0: none, or reaped */
	struct terminal terminal;
	bool stop_asked; /* skep got a SIGTSTP, and no SIGCONT since */
	bool stop_sent;  /* and passed it on: CMD may be about to stop */
	bool given;      /* CMD's group has got the terminal */
	struct witness witness;
};

/* Takes over the witness. */
void job_begin(struct job *, pid_t command, const struct witness *);
/*
 * Handles a signal while CMD runs: passes it on, continues CMD, or reaps an orphan.  0, or the signal that has stopped
 * CMD: the caller prepares the terminal and calls job_stop().
 */
int job_signal(struct job *, const struct signalfd_siginfo *);
/* Stops skep too, so that the caller's shell sees that its job has stopped. Returns when continued. */
void job_stop(const struct job *, int number);
/* Gives the terminal to a CMD that has left skep's group, if skep's group has it. True: given now. */
bool job_look(struct job *);
/* Reaps orphans that have ended. Where skep is process 1 or a subreaper, they become its children. */
void job_reap(const struct job *);
/* After CMD is reaped: takes the terminal back. */
void job_end(struct job *);

#endif
