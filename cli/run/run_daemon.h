/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_daemon.h - `skep run` when a skepd collects: finds the skepd, begins and ends the run by its control
 * socket (docs/reference/control.md), and resumes the run after a restart of skepd.
 */
#ifndef SKEP_CLI_RUN_DAEMON_H
#define SKEP_CLI_RUN_DAEMON_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <uv.h>

#include "cli/run/run_detail.h"
#include "core/collect/collector.h"

struct run_daemon;

/*
 * Finds the skepd at the control socket, if it writes the lake in that folder (NULL: any lake), and this user may read
 * the lake or gets copies from it (run_daemon_is_closed()).  Otherwise NULL, without a message.
 */
struct run_daemon *run_daemon_find(const char *lake);
const char *run_daemon_lake(const struct run_daemon *); /* the lake's path, from skepd */
/* May this user not read that lake? Then own_runs_open() opens a copy of the run. */
bool run_daemon_is_closed(const struct run_daemon *);
int run_daemon_pid(const struct run_daemon *);

/*
 * Begins the run and attaches the details while the root waits at its gate.  Ignores spec->id: skepd makes the id.
 * SKEP_EXIT_OK and the id; or another exit status after a message.
 */
int run_daemon_begin(struct run_daemon *, const struct run_spec *spec, bool live, struct run_detail *details,
		     char ret_id[RUN_ID_SIZE]);

/* Reads the lines that skepd sends while the loop runs; calls live with new figures.  0 or a libuv error. */
int run_daemon_watch(struct run_daemon *, uv_loop_t *, void (*live)(void *arg, const struct collector_live *),
		     void *arg);
/*
 * Ends the run after its root has ended. Calls done when the run's records are in the lake, or skepd does not answer in
 * time; the handles are then closed.
 */
void run_daemon_end(struct run_daemon *, int status, const struct rusage *, void (*done)(void *arg), void *arg);
/* Prints a note for the reader of the report if skepd was away or has not confirmed the run. */
void run_daemon_note(const struct run_daemon *, FILE *);
/* Call it before the last iteration of the loop. */
void run_daemon_close(struct run_daemon *);
struct run_daemon *run_daemon_free(struct run_daemon *);

#endif
