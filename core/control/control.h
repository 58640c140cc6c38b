/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control.h - the control socket of a running collector, for `skep status`, `skep attach` and other
 * clients.  A request is one line with a JSON object, the answer is one or more: docs/reference/control.md.  All
 * functions run on the loop thread.
 */
#ifndef SKEP_CORE_CONTROL_H
#define SKEP_CORE_CONTROL_H

#include "core/collect/collector.h"
#include "core/base/diag.h"

/* Bytes of a request's line; skepd refuses a longer line and disconnects its sender. */
#define CONTROL_LINE_MAX 8192u
#define CONTROL_CLIENTS_MAX 32u
/* root and skepd's user may use all connections; other users have these limits, together and each. */
#define CONTROL_CLIENTS_OTHERS 28u
#define CONTROL_CLIENTS_USER 16u
/*
 * Users who are not in group skep connect at a socket of their own, the path with this ending, for requests about their
 * own processes and runs.  However often they connect, the members' socket accepts its clients.
 */
#define CONTROL_OPEN_ENDING ".users"
/* Their limits, together and each.  A user with subordinate uids is many users. */
#define CONTROL_STRANGERS 12u
#define CONTROL_STRANGERS_USER 6u
#define CONTROL_STRANGERS_RUNS 64u
/*
 * Connections that have begun a run have limits of their own: of all users, and of each user except root and skepd's.
 */
#define CONTROL_RUNS_MAX 128u
#define CONTROL_RUNS_USER 64u
/*
 * The loop's time for one user in each second; further requests of that user wait for the next second.  Root and
 * skepd's user have no limit.
 */
#define CONTROL_SHARE_NS 100000000ull
#define CONTROL_STRANGERS_NS 150000000ull /* of all users who are not in group skep, together */
/* New connections in each second; more wait in the socket's backlog. */
#define CONTROL_ACCEPTS 1000u
#define CONTROL_STRANGERS_ACCEPTS 200u
#define CONTROL_ATTACHED_MAX 16u /* by one client */
/* Clients that watch processes: all, those of one user other than root and skepd's, of users outside group skep. */
#define CONTROL_WATCHES_MAX 12u
#define CONTROL_WATCHES_USER 4u
#define CONTROL_WATCHES_STRANGERS 6u
/* skepd disconnects a client with more unread bytes than this, or one that reads nothing for this long. */
#define CONTROL_WAITING_MAX (4u << 20)
#define CONTROL_STALLED_NS 30000000000ull
/*
 * Above this, skepd drops records of details for that client and counts them, so that the end of the attachment still
 * has room. One pass of the detail `opens` on a host that compiles has been more than 1 MiB.
 */
#define CONTROL_RECORDS_MAX (3u << 20)
/* skepd disconnects a client without a request, a detail or a run for this long. */
#define CONTROL_IDLE_NS 300000000000ull

struct control;
struct copier;
struct reloader;

/*
 * Listens at path; the loop serves the clients.  Borrows the collector until control_close.  0; -EADDRINUSE: another
 * skepd listens there; -errno.  On failure the reason is in why.
 */
int control_new(uv_loop_t *, const char *path, struct collector *, struct control **ret, char *why, size_t why_size);
/* Sets the reloader, borrowed until control_close. Without a reloader the request `reload` is refused. */
void control_reloader(struct control *, struct reloader *);
/* Sets the process that copies users' own runs, borrowed. Without it the request `lake_copy` is refused. */
void control_copier(struct control *, struct copier *);
/*
 * Stops listening, removes the file, detaches the clients' details and disconnects all clients.  The loop frees the
 * memory in its next iterations.  NULL is fine.
 */
void control_close(struct control *);

#endif
