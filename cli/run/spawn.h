/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/spawn.h - starts a command behind a gate: the child exists, and skep knows its pid,
 * before it executes the command's program.
 */
#ifndef SKEP_CLI_SPAWN_H
#define SKEP_CLI_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/run/limits.h"
#include "cli/run/signals.h"

/* State that the command must find as if skep were not there. */
struct spawn_inherited {
	struct signals_inherited signals;
	struct limits limits; /* skep raises its own, and libbpf RLIMIT_MEMLOCK on kernels before 5.11 */
	int death_signal;     /* sent when the parent dies (PR_SET_PDEATHSIG); 0: none */
};

struct spawn {
	pid_t pid;  /* 0: none, or reaped */
	pid_t root; /* the pid by which the kernel reports it: in a pid namespace of our own spawn_root() asks for it */
	int pidfd;  /* readable when the command has ended; -1: none */
	int gate;   /* write end; closed without a byte: the child leaves */
	int report; /* read end: errno of a failed exec */
};

/*
 * Saves the state and raises skep's own limits; call it first in the process.  Also opens /dev/null (close-on-exec) on
 * each closed descriptor of 0..2, so that no file of skep gets such a number and receives messages.  The command finds
 * them closed again.  0 or -errno.
 */
int spawn_inherit(struct spawn_inherited *ret);
/*
 * Returns the original environment of this process, with these variables set: name, value, ..., NULL.  The caller frees
 * the array, and its strings with it.  0 or -errno.
 */
int spawn_environment(const char *const *set, char ***ret);

/*
 * Forks.  The child waits for spawn_release(), in our process group and session.  pidns: of pidns_open(); -1: our
 * pids are the kernel's.  0 or -errno.
 */
int spawn_start(const struct spawn_inherited *, char *const argv[], char *const envp[], int pidns, struct spawn *ret);
/* Call this once where pidns is not -1: sets `root`.  0, -ESRCH if the child has ended, or -errno of pidns_self(). */
int spawn_root(struct spawn *);
/*
 * Releases the child: it execs the command, searched in PATH as a shell does.  run_id: an id that is known only after
 * the fork; it replaces the value, of the same length, of SKEP_RUN in the child's environment.  NULL: the value stays.
 * 0 or -errno.
 */
int spawn_release(struct spawn *, const char *run_id);
/*
 * Blocks until the child has ended, and reaps it.  ret_exec_error: 0, or the positive
 * errno of its failed exec.
 */
int spawn_wait(struct spawn *, int *ret_status, struct rusage *ret_usage, int *ret_exec_error);
/* Ends and reaps a child that still waits at the gate; a released child runs on. */
void spawn_close(struct spawn *);

/* Turns wait4's status into a shell's exit status: the exit code, or 128 + signal. */
int spawn_exit_code(int status);

#endif
