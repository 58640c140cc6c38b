/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/witness.h - did a signal that skep got go to CMD as well?
 *
 * A shell's `kill %1` signals each process of a group; scancel and systemd, each process of a cgroup.  CMD has such a
 * signal already.  If skep passed it on, CMD would have it twice, and at the second many programs stop to clean up and
 * end at once.  The signal itself does not say for whom else it was.  So a child of skep, in skep's group and cgroup,
 * blocks all signals and does nothing: a signal that waits there too, from the same sender, went to all.
 */
#ifndef SKEP_CLI_WITNESS_H
#define SKEP_CLI_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
	int fd; /* negative: none */
	pid_t pid;
};

/* Forks the witness, which ends with this process.  Call this while skep is small, before CMD is forked. */
void witness_start(struct witness *ret);
void witness_end(struct witness *);
/*
 * Takes that signal from the witness.  True if the witness had it from that sender.  Call this for each signal that
 * skep gets, so that none is left for a later answer.  False without a witness.
 */
bool witness_saw(const struct witness *, int number, pid_t sender);

#endif
