/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_daemon.h - `skep run` where a skepd collects: finds the skepd, begins and ends the run by its control
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
 * The skepd that answers at the control socket, that this user may ask, and that writes the lake in that folder (NULL:
 * any), which this user can read.  NULL, silently: there is none.
 */
struct run_daemon *run_daemon_find(const char *lake);
const char *run_daemon_lake(const struct run_daemon *); /* as skepd names it */
int run_daemon_pid(const struct run_daemon *);

/*
 * The run begins: its root waits at its gate.  spec->id is not used: skepd makes one.  The details are attached.
 * SKEP_EXIT_OK and the id; or another exit status, after saying why.
 */
int run_daemon_begin(struct run_daemon *, const struct run_spec *spec, bool live, struct run_detail *details,
		     char ret_id[RUN_ID_SIZE]);

/* Reads what skepd sends while the loop runs; calls live with new figures.  0 or a libuv error. */
int run_daemon_watch(struct run_daemon *, uv_loop_t *, void (*live)(void *arg, const struct collector_live *),
		     void *arg);
/*
 * The root has ended. Calls done when the run's records are in the lake, or will not be soon; then its handles are
 * closed.
 */
void run_daemon_end(struct run_daemon *, int status, const struct rusage *, void (*done)(void *arg), void *arg);
/* What the reader of the report has to know: that skepd was away, or is. */
void run_daemon_note(const struct run_daemon *, FILE *);
/* Before the loop ends its last turn. */
void run_daemon_close(struct run_daemon *);
struct run_daemon *run_daemon_free(struct run_daemon *);

#endif
