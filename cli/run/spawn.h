/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/spawn.h - starts a command behind a gate: it is there, and known by its pid,
 * before it runs a line of its own program.
 */
#ifndef SKEP_CLI_SPAWN_H
#define SKEP_CLI_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/run/signals.h"

/* What the command must find as if skep were not there. */
struct spawn_inherited {
	struct signals_inherited signals;
	struct rlimit memlock; /* libbpf raises it on kernels before 5.11 */
};

struct spawn {
	pid_t pid;  /* 0: none, or reaped */
	int pidfd;  /* readable when the command has ended; -1: none */
	int gate;   /* write end; closed without a byte: the child leaves */
	int report; /* read end: errno of an exec that failed */
};

/*
 * First of all in the process.  Also opens /dev/null (close-on-exec) on those of
 * descriptors 0..2 that are closed, so that no file of ours lands there, where
 * messages are written; the command finds them closed again.  0 or -errno.
 */
int spawn_inherit(struct spawn_inherited *ret);
/*
 * The environment this process was started with, with these variables set: name, value, ..., NULL.  One array
 * to free().  Its strings live as long as the array.  0 or -errno.
 */
int spawn_environment(const char *const *set, char ***ret);

/* Forks.  The child waits for spawn_release(), in our process group and session. 0 or -errno. */
int spawn_start(const struct spawn_inherited *, char *const argv[], char *const envp[], struct spawn *ret);
/*
 * Lets it go: exec, searched in PATH as a shell does.  run_id: takes the place of the value, of the same length, that
 * SKEP_RUN has in the child's environment, for an id that is known only after the fork; NULL: that stays.  0 or -errno.
 */
int spawn_release(struct spawn *, const char *run_id);
/*
 * Blocks until it has ended, and reaps it.  ret_exec_error: 0, or the (positive)
 * errno for which it never became the command.
 */
int spawn_wait(struct spawn *, int *ret_status, struct rusage *ret_usage, int *ret_exec_error);
/* A child that still waits at the gate leaves and is reaped; one that was released runs on. */
void spawn_close(struct spawn *);

/* What a shell would make of wait4's status: the exit code, or 128 + signal. */
int spawn_exit_code(int status);

#endif
