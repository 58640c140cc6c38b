/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_priv.h - between the control socket's files, each above those that it calls: control.c
 * (listening, the clients' lives), control_serve.c (requests to functions), control_reload.c, control_stats.c,
 * control_answer.c, control_run.c, control_attach.c, control_rules.c, control_client.c (lines in and out),
 * control_share.c.
 */
#ifndef SKEP_CORE_CONTROL_PRIV_H
#define SKEP_CORE_CONTROL_PRIV_H

#include <jansson.h>

#include "core/base/magic.h"
#include "core/base/clock.h"
#include "core/collect/collector.h"
#include "core/control/control.h"
#include "core/control/control_request.h"
#include "core/control/control_socket.h"

#define MAGIC_control_attachment 0xa77ac4edu
struct control_attachment {
	uint32_t magic;
	struct control_attachment *next;
	struct control_client *client;
	uint64_t id;
	uint64_t dropped; /* records that the client did not read in time, or for which skepd had no memory */
};

struct control_run;

#define MAGIC_control_client 0xc11e2701u
struct control_client {
	uint32_t magic;
	struct control_client *next;
	struct control *control;
	uv_pipe_t pipe;
	struct control_peer peer;
	struct control_attachment *attachments;
	unsigned n_attachments;
	struct control_run *run; /* that it has begun; NULL: none */
	unsigned writes;       /* under way */
	uint64_t taken_ns;     /* when it last took something, or asked */
	bool reading;
	bool run_ends;         /* it has asked for its run\'s end: nothing more is read until that is answered */
	bool waiting;          /* its user has had a share of this second: control_share_renew() goes on */
	bool ending;           /* to be disconnected when all is written */
	bool doomed;           /* to be disconnected now: by control_reap, never from inside a probe's callback */
	bool closing;
	size_t len;            /* bytes in line */
	char line[CONTROL_LINE_MAX];
};

struct control_share {
	uint32_t uid;
	uint64_t ns; /* of the loop's time, in this second */
};

#define MAGIC_control 0xc0247201u
struct control {
	uint32_t magic;
	uv_loop_t *loop;
	struct collector *collector;
	struct reloader *reloader;   /* NULL: none */
	struct control_client *waits; /* for the end of its reload; NULL: no client */
	struct control_file file;
	char boot_id[CLOCK_BOOT_ID_SIZE];
	uint64_t start_ns;
	uv_pipe_t listener;
	uv_timer_t tick; /* looks for clients that are stalled or idle */
	uv_timer_t reap; /* once, when a client is doomed */
	uv_timer_cb on_reap;
	void (*serve)(struct control_client *, const char *line, size_t len);
	unsigned handles;
	struct control_client *clients;
	unsigned n_clients, n_runs; /* n_runs: those of them with a run */
	uint64_t served, refused, dropped; /* clients, since the start */
	uint64_t waited; /* times that a client had to wait for its user's share */
	struct control_share shares[CONTROL_CLIENTS_MAX]; /* the last is for all users that find no other */
	unsigned n_shares;
	unsigned accepts; /* in this second */
	bool pending; /* a client that there was no memory for, or one connection too many in this second */
	bool closing;
};

/* control_share.c: each second of the loop belongs to all users of the socket. */
bool control_privileged(uint32_t uid);
/*
 * Is there room for this client beside the others of its user?  false: *ret_most is the number that may be connected.
 */
bool control_share_room(const struct control_client *, unsigned *ret_most);
void control_share_spend(struct control *, uint32_t uid, uint64_t ns);
bool control_share_spent(const struct control *, uint32_t uid);
/* A new second begins. */
void control_share_renew(struct control *);

/* control_serve.c */
void control_serve(struct control_client *, const char *line, size_t len);

/* control_client.c */
void control_doom(struct control_client *);
void control_refuse(struct control_client *, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
json_t *control_error(const char *code, const char *why); /* new reference; NULL: no memory */
void control_client_start(struct control_client *);
/* Serves the requests that the client sent while it had to wait. */
void control_client_resume(struct control_client *);
/* Takes the value (NULL: no memory), a line to the client. A client that does not read is doomed. */
void control_send(struct control_client *, json_t *);

/* control_attach.c: each answers the client. */
void control_attach(struct control_client *, const struct control_request *);
void control_detach(struct control_client *, const struct control_request *);
void control_detach_all(struct control_client *);
/* "id", "detail", "instance", "scope", "left_ns" of all that is attached, by whomever. */
json_t *control_attached(const struct control *);

/* control_run.c: each answers the client, run_end when the run's records have been stored. */
void control_run_begin(struct control_client *, const struct control_request *);
void control_run_resume(struct control_client *, const struct control_request *);
void control_run_end(struct control_client *, const struct control_request *);
void control_run_leave(struct control_client *);        /* it disconnects: its run goes on, until its root ends */
void control_runs_tick(struct control *, uint64_t now_ns); /* live figures, to those who want them */

/* control_child.c */
struct control_child {
	int pidfd;
	uint64_t ticks; /* its start, as in /proc/PID/stat */
};
/*
 * The process with that pid, where it is alive, and a child of the peer and its user's.  0 and a pidfd for the caller
 * to close; or -errno, with the reason in why.
 */
int control_child_open(const struct control_peer *, uint32_t pid, struct control_child *ret,
		       char why[CONTROL_WHY_SIZE]);
bool control_child_ended(int pidfd);

/* control_reload.c: answers the client, when it is done. */
void control_reload(struct control_client *, const struct control_request *);

/* control_stats.c: new reference, NULL when memory runs out. */
json_t *control_answer_stats(const struct control *);

/* control_rules.c: the same. */
json_t *control_answer_rules(const struct control *);
json_t *control_rules(const struct control *); /* JSON's null where there are none */

/* control_answer.c: new references, NULL when memory runs out. */
json_t *control_answer_status(const struct control *);
json_t *control_answer_details(const struct control *);
json_t *control_answer_runs(const struct control *);
json_t *control_losses(const uint64_t lost[DELIVERY_LOSSES]);
json_t *control_streams(const struct collector *);
json_t *control_clients(const struct control *);
json_t *control_self(const struct collector *);
json_t *control_spool(const struct collector *); /* null: there is none */
json_t *control_cost(void);
json_t *control_answer_loglevel(const struct control_request *);

#endif
