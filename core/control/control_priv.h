/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_priv.h - shared by the files of the control socket.  Each file calls only later files of this
 * list: control.c (listens, accepts clients), control_serve.c (calls the function of a request), control_reload.c,
 * control_stats.c, control_answer.c, control_audit.c, control_copy.c, control_run.c, control_attach.c,
 * control_rules.c, control_client.c (reads and writes lines), control_watch.c (which control_client.c calls when a
 * client has read), control_share.c.
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
#include "core/process/track.h"

#define MAGIC_control_attachment 0xa77ac4edu
struct control_attachment {
	uint32_t magic;
	struct control_attachment *next;
	struct control_client *client;
	uint64_t id;
	uint64_t dropped; /* records that the client did not read in time, or for which skepd had no memory */
};

struct control_run;
struct control_watch;

#define MAGIC_control_client 0xc11e2701u
struct control_client {
	uint32_t magic;
	struct control_client *next;
	struct control *control;
	uv_pipe_t pipe;
	struct control_peer peer;
	struct control_attachment *attachments;
	unsigned n_attachments;
	struct control_run *run; /* the run that the client has begun; NULL: none */
	struct control_watch *watch; /* NULL: the client does not watch processes */
	unsigned writes;       /* under way */
	uint64_t taken_ns;     /* when the client last read an answer or sent a request */
	bool reading;
	bool run_ends;         /* the client has sent run_end: skepd reads no further request before the answer */
	bool waiting;          /* its user has spent the share of this second: on_tick resumes the client */
	bool refused;          /* no place for it: it has none while its answer is written */
	bool ending;           /* skepd disconnects the client when all answers are written */
	bool doomed;           /* the reap timer disconnects the client; never from inside a probe's callback */
	bool closing;
	size_t len;            /* bytes in line */
	char line[CONTROL_LINE_MAX];
};

struct control_share {
	uint32_t uid;
	uint64_t ns; /* loop time that the user has spent in this second */
};

/* A socket at which clients connect. */
struct control_door {
	uv_pipe_t listener;
	struct control_file file;
	bool open;        /* for users who are not in group skep, too */
	bool pending;     /* a connection waits for on_tick: no memory, or CONTROL_ACCEPTS reached in this second */
	unsigned accepts; /* in this second */
};
enum { CONTROL_MEMBERS, CONTROL_OPEN, CONTROL_DOORS };

#define MAGIC_control 0xc0247201u
struct control {
	uint32_t magic;
	uv_loop_t *loop;
	struct collector *collector;
	struct reloader *reloader;   /* NULL: none */
	struct copier *copier;       /* NULL: none */
	struct control_client *waits; /* the client that waits for the end of its reload; NULL: none */
	char boot_id[CLOCK_BOOT_ID_SIZE];
	uint64_t start_ns;
	struct control_door doors[CONTROL_DOORS];
	unsigned n_doors; /* CONTROL_OPEN may be missing */
	uv_timer_t tick; /* each second: resumes waiting clients, dooms stalled and idle clients */
	uv_timer_t reap; /* runs once after a client is doomed */
	uv_timer_cb on_reap;
	void (*serve)(struct control_client *, const char *line, size_t len);
	unsigned handles;
	struct control_client *clients;
	unsigned n_clients, n_runs; /* n_runs: clients with a run */
	unsigned n_watches;         /* clients that watch processes */
	struct track_watch track_watch;         /* set while there is one */
	struct collector_watch collector_watch;
	uint64_t served, refused, dropped; /* clients, since the start */
	uint64_t waited; /* times that a client had to wait for its user's share */
	struct control_share shares[CONTROL_CLIENTS_MAX]; /* users that find no free entry share the last one */
	unsigned n_shares;
	uint64_t strangers_ns; /* loop time that users who are not in group skep have spent in this second */
	bool closing;
};

/* control_share.c: the users of the socket share each second of the loop. */
bool control_privileged(uint32_t uid);
/*
 * Does the client, already in the list, fit the limits of connections?  false: *ret_most is the limit exceeded.
 */
bool control_share_room(const struct control_client *, unsigned *ret_most);
void control_share_spend(struct control_client *, uint64_t ns);
bool control_share_spent(const struct control_client *);
/* Begins a new second: forgets the time spent in the last one. */
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
/* Sends the value as a line and owns its reference (NULL: no memory). Dooms a client that does not read. */
void control_send(struct control_client *, json_t *);

/* control_attach.c: attach and detach answer the client. */
void control_attach(struct control_client *, const struct control_request *);
void control_detach(struct control_client *, const struct control_request *);
void control_detach_all(struct control_client *);
/* "id", "detail", "instance", "scope", "left_ns" of the attached details of all clients. */
json_t *control_attached(const struct control *);

/* control_copy.c: gives the connection to the copier, which answers the client. */
void control_lake_copy(struct control_client *, const struct control_request *);

/*
 * control_audit.c: sends the head of a run's audit to all sinks; a new reference to the answer, NULL when memory runs
 * out.
 */
json_t *control_answer_audit_publish(const struct control_client *, const struct control_request *);

/* control_run.c: each answers the client, run_end when the run's records have been stored. */
void control_run_begin(struct control_client *, const struct control_request *);
/* The client's own process is a step from now on: `skep run --task`, before it executes its command. */
void control_task_begin(struct control_client *, const struct control_request *);
void control_run_resume(struct control_client *, const struct control_request *);
void control_run_end(struct control_client *, const struct control_request *);
void control_run_leave(struct control_client *); /* the client disconnects; the run continues until its root ends */
void control_runs_tick(struct control *, uint64_t now_ns); /* sends live figures to clients that asked for them */

/* control_child.c */
struct control_child {
	int pidfd;
	uint64_t ticks; /* start time of the process, field 22 of /proc/PID/stat */
};
/*
 * Opens a pidfd of the process if it is alive, a child of the peer, and of the peer's user.  0, and the caller closes
 * the pidfd; or -errno, with the reason in why.
 */
int control_child_open(const struct control_peer *, uint32_t pid, struct control_child *ret,
		       char why[CONTROL_WHY_SIZE]);
bool control_child_ended(int pidfd);

/* control_watch.c */
void control_watch(struct control_client *);
void control_watch_more(struct control_client *); /* the client has read all that was sent: sends the next lines */
void control_watch_tick(struct control *);        /* each second */
void control_watch_leave(struct control_client *);

/* control_reload.c: answers the client when the reload is done. */
void control_reload(struct control_client *, const struct control_request *);

/* control_stats.c: new reference, NULL when memory runs out. */
json_t *control_answer_stats(const struct control *);

/* control_rules.c: new references, NULL when memory runs out. */
json_t *control_answer_rules(const struct control *);
json_t *control_answer_recognize(const struct control_client *, const struct control_request *);
json_t *control_rules(const struct control *); /* JSON's null when the program evaluates no rules */

/* control_answer.c: new references, NULL when memory runs out. */
json_t *control_answer_status(const struct control *);
json_t *control_answer_version(const struct control_client *);
json_t *control_answer_details(const struct control *);
json_t *control_answer_runs(const struct control *);
json_t *control_losses(const uint64_t lost[DELIVERY_LOSSES]);
json_t *control_streams(const struct collector *);
json_t *control_clients(const struct control *);
json_t *control_self(const struct collector *);
json_t *control_spool(const struct collector *); /* JSON's null without a spool */
json_t *control_cost(void);
json_t *control_answer_loglevel(const struct control_request *);

#endif
