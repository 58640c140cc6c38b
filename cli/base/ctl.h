/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/ctl.h - the client's side of a running skepd's control socket (docs/reference/control.md).
 */
#ifndef SKEP_CLI_CTL_H
#define SKEP_CLI_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ctl;

/*
 * Connects.  path: of --socket; NULL: $SKEP_SOCKET, else the default path.  SKEP_EXIT_OK, or another exit status after
 * a message on stderr with the cause and the remedy.
 */
int ctl_open(const char *command, const char *path, struct ctl **ret);
/*
 * Connects without a message: false when no daemon listens, or this user is not in group skep.  The second one connects
 * such a user, too: skepd answers requests about the user's own processes and runs.  So does ctl_open().
 */
bool ctl_try(const char *path, struct ctl **ret);
bool ctl_try_own(const char *path, struct ctl **ret);
void ctl_close(struct ctl *); /* NULL is fine */
/* The daemon's pid, by SO_PEERCRED; 0: unknown, or the daemon is outside of our pid namespace. */
int ctl_peer_pid(const struct ctl *);
int ctl_fd(const struct ctl *); /* to poll for lines that skepd sends without a request */

/* Sends a request and owns its reference (NULL: no memory). 0 or -errno. */
int ctl_send(struct ctl *, json_t *request);
/*
 * The next line, a new reference.  0; -EAGAIN: none within timeout_ms (-1: no limit);
 * -EINTR: a signal came; -EPIPE: the daemon closed the connection; -EBADMSG: not JSON; -errno.
 */
int ctl_receive(struct ctl *, int timeout_ms, json_t **ret);
/* Writes the n bytes after the last line into a file. 0; -EPIPE: skepd sent fewer; -EAGAIN: none in time; -errno. */
int ctl_receive_file(struct ctl *, uint64_t n, int timeout_ms, int to);
/*
 * Sends a request with one answer, and owns the request.  SKEP_EXIT_OK and the answer, "ok": true; or another exit
 * status after a message on stderr.
 */
int ctl_ask(const char *command, struct ctl *, json_t *request, json_t **ret);
/* Prints the error of an answer with "ok": false to stderr; returns the exit status. */
int ctl_refused(const char *command, const json_t *answer);

#endif
