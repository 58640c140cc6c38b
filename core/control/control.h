/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control.h - the control socket of a running collector: `skep status`, `skep
 * attach` and what else asks a daemon.  One JSON object a line in, one or more out:
 * docs/reference/control.md.  Everything on the loop thread.
 */
#ifndef SKEP_CORE_CONTROL_H
#define SKEP_CORE_CONTROL_H

#include "core/collect/collector.h"
#include "core/base/diag.h"

/* A request's line; longer ones are refused and their sender is disconnected. */
#define CONTROL_LINE_MAX 8192u
#define CONTROL_CLIENTS_MAX 32u
/* root and the user that skepd runs as may use all places; other users fewer, all together and each. */
#define CONTROL_CLIENTS_OTHERS 28u
#define CONTROL_CLIENTS_USER 16u
/*
 * Connections that have begun a run do not take those places: so many of them, all together and of a user other than
 * root.
 */
#define CONTROL_RUNS_MAX 128u
#define CONTROL_RUNS_USER 64u
/*
 * Of the loop's time, in each second; what a user asks for above that waits for the next second.  Not root, as above.
 */
#define CONTROL_SHARE_NS 100000000ull
/* New connections in each second; more wait in the socket's backlog. */
#define CONTROL_ACCEPTS 1000u
#define CONTROL_ATTACHED_MAX 16u /* by one client */
/* What may wait for a client that reads slowly; more, or nothing taken for so long, and it is disconnected. */
#define CONTROL_WAITING_MAX (4u << 20)
/*
 * Above this, skepd drops records of details for that client and counts them, so that the end of the attachment still
 * has room. One pass of the detail `opens` on a host that compiles has been more than 1 MiB.
 */
#define CONTROL_RECORDS_MAX (3u << 20)
#define CONTROL_STALLED_NS 30000000000ull
/* A client that asks for nothing and has nothing attached is disconnected after that. */
#define CONTROL_IDLE_NS 300000000000ull

struct control;
struct reloader;

/*
 * Listens at path; clients are served when the loop runs.  The collector is borrowed
 * until control_close.  0; -EADDRINUSE when a live daemon listens there; -errno; the
 * reason is in why.
 */
int control_new(uv_loop_t *, const char *path, struct collector *, struct control **ret, char *why, size_t why_size);
/* Who reloads; borrowed until control_close. Without one `reload` is refused. */
void control_reloader(struct control *, struct reloader *);
/*
 * Stops listening, removes the file, ends what clients have attached, disconnects them.
 * Its memory goes by itself in the loop's next turns.  NULL is fine.
 */
void control_close(struct control *);

#endif
