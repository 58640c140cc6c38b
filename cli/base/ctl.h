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
 * path: as given by --socket; NULL: $SKEP_SOCKET, else the default one.  SKEP_EXIT_OK, or
 * another exit status after a message on stderr: the cause and what to do.
 */
int ctl_open(const char *command, const char *path, struct ctl **ret);
/* The same, silent: false where no daemon answers at all (none runs, or this user may not ask). */
bool ctl_try(const char *path, struct ctl **ret);
void ctl_close(struct ctl *); /* NULL is fine */
/* Whose pid it is, as the kernel says; 0 where it does not. */
int ctl_peer_pid(const struct ctl *);
int ctl_fd(const struct ctl *); /* to poll for lines that come unasked */

/* Sends a request, takes it (NULL: no memory). 0 or -errno. */
int ctl_send(struct ctl *, json_t *request);
/*
 * The next line, a new reference.  0; -EAGAIN: none within timeout_ms (-1: no limit);
 * -EINTR: a signal came; -EPIPE: the daemon closed the connection; -EBADMSG: not JSON; -errno.
 */
int ctl_receive(struct ctl *, int timeout_ms, json_t **ret);
/*
 * A question with one answer.  SKEP_EXIT_OK and the answer, "ok": true; or another exit
 * status after saying why on stderr.  Takes the request.
 */
int ctl_ask(const char *command, struct ctl *, json_t *request, json_t **ret);
/* What an answer with "ok": false says, to stderr; its exit status. */
int ctl_refused(const char *command, const json_t *answer);

#endif
