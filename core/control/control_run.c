/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_run.c - runs that a client begins: `skep run` with a skepd that collects.
 *
 * The client names a child of its own that waits before its exec.  skepd makes the run's id: a client that could choose
 * the id could write into another user's run.  A connected client reports when and how the root ended; without a client
 * the run ends with its root's own record.  A client that was disconnected, or whose skepd was restarted,
 * takes its run up again by run_resume.
 */
#include <errno.h>
#include <skep/pidns.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/base/log.h"
#include "core/base/intern.h"

struct control_run {
	struct control_client *client; /* NULL: the client disconnected while run_end is under way */
	char id[RUN_ID_SIZE];
	char *sink;      /* run_end waits for this sink; NULL: for all sinks */
	int pidfd;       /* of the run's root; -1: the root had ended before run_resume */
	uint64_t live_ns, lived_ns;
	bool ending;
};

static void run_drop(struct control_run *r)
{
	if (!r)
		return;
	if (r->pidfd >= 0)
		close(r->pidfd);
	free(r->sink);
	free(r);
}

/* A connection has one run. If it has one, sends the client the error. */
static bool has_none(struct control_client *client)
{
	char why[CONTROL_WHY_SIZE];

	if (!client->run)
		return true;
	snprintf(why, sizeof(why), "this connection already has run %s; begin another run on another connection",
		 client->run->id);
	control_send(client, control_error("busy", why));
	return false;
}

/*
 * Is there room for one more run, and for one more of this user?  If not, sends the client the error.  A run whose
 * client has left counts until it ends: it costs skepd the same.
 */
static bool room(struct control_client *client)
{
	struct collector_named named;
	char why[CONTROL_WHY_SIZE];

	collector_runs_named(client->control->collector, client->peer.uid, &named);
	if (named.all >= CONTROL_RUNS_MAX)
		snprintf(why, sizeof(why),
			 "clients have begun %u runs, the limit; try again when one has ended",
			 CONTROL_RUNS_MAX);
	else if (!client->peer.member && named.strangers >= CONTROL_STRANGERS_RUNS)
		snprintf(why, sizeof(why),
			 "users who are not in group " CONTROL_GROUP " have begun %u runs, the limit; try again when one "
			 "has ended", CONTROL_STRANGERS_RUNS);
	else if (named.own >= CONTROL_RUNS_USER && !control_privileged(client->peer.uid))
		snprintf(why, sizeof(why),
			 "uid %u has begun %u runs, the limit for one user; try again when one has ended",
			 client->peer.uid, CONTROL_RUNS_USER);
	else
		return true;
	control_send(client, control_error("busy", why));
	return false;
}

/* NULL: no memory; the client has got the error. */
static struct control_run *run_new_for(struct control_client *client, const struct control_request *request)
{
	struct control_run *r = calloc(1, sizeof(*r));

	if (r) {
		r->client = client;
		r->pidfd = -1;
		r->live_ns = request->live_ns;
		r->sink = request->sink ? strdup(request->sink) : NULL;
	}
	if (r && (r->sink || !request->sink))
		return r;
	run_drop(r);
	control_send(client, control_error("failed", "out of memory"));
	return NULL;
}

static void run_take(struct control_client *client, struct control_run *r)
{
	client->run = r;
	client->control->n_runs++;
}

static json_t *done(const char *request, const char *id)
{
	return json_pack("{s:b, s:s, s:o}", "ok", 1, "request", request, "run", control_json_string(id));
}

static const char *words_of(int err)
{
	switch (err) {
	case -EBUSY:
		return "this process belongs to a run that another skep run began: "
		       "leave the inner skep run out, or give it a lake of its own (--lake FOLDER)";
	case -EINVAL:
		return "this process leads a session, which is a run already, or it has ended: "
		       "begin a run with a child that has not executed a program";
	default:
		return strerror(-err);
	}
}

static int begin(struct control_client *client, const struct control_request *request,
		 const struct control_child *child, struct control_run *r)
{
	size_t n = json_array_size(request->argv);
	const char **argv = calloc(n + 1, sizeof(*argv));
	struct run_spec spec = {
		.id = r->id,
		.name = request->run_name,
		.pipeline = request->pipeline,
		.argv = argv,
		.argv_total = request->argv_bytes,
		.cwd = request->cwd,
		.root = (pid_t)request->pid,
		.root_ticks = child->ticks,
		.uid = client->peer.uid,
		.gid = client->peer.gid,
		.stranger = !client->peer.member,
		.traceparent = request->traceparent,
	};
	int err = argv ? -EEXIST : -ENOMEM;

	for (size_t i = 0; argv && i < n; i++)
		argv[i] = json_string_value(json_array_get(request->argv, i));
	for (int tries = 0; err == -EEXIST && tries < 8; tries++) {
		run_id_new(r->id);
		err = collector_run_begin(client->control->collector, &spec);
	}
	free(argv);
	return err;
}

/* Clients name processes by pids of our namespace, the kernel's records by those of the initial one. */
static bool pids_agree(struct control_client *client)
{
	if (skep_initial_pid_ns("/proc"))
		return true;
	control_send(client,
		     control_error("failed", "skepd runs in a pid namespace of its own, and cannot tell this process in "
					     "the kernel's records: start it in the host's (hostPID: true, --pid=host)"));
	return false;
}

void control_task_begin(struct control_client *client, const struct control_request *request)
{
	struct skep_str name = text_str(request->task);
	int err;

	if (!pids_agree(client))
		return;
	err = collector_task_begin(client->control->collector, (uint32_t)client->peer.pid, client->peer.uid, &name);
	if (err < 0)
		control_send(client, control_error("not_found", "skepd does not record this process: it has not seen "
						   "it yet, or a rule excludes it"));
	else
		control_send(client, json_pack("{s:b, s:s}", "ok", 1, "request", "task_begin"));
}

void control_run_begin(struct control_client *client, const struct control_request *request)
{
	struct control_child child = { .pidfd = -1 };
	struct control_run *r = NULL;
	char why[CONTROL_WHY_SIZE];
	int err;

	if (!has_none(client) || !room(client) || !pids_agree(client))
		return;
	err = control_child_open(&client->peer, request->pid, &child, why);
	if (err < 0) {
		control_send(client, control_error(err == -EACCES ? "permission" : "not_found", why));
		return;
	}
	r = run_new_for(client, request);
	if (!r) {
		close(child.pidfd);
		return;
	}
	r->pidfd = child.pidfd;
	err = begin(client, request, &child, r);
	if (err < 0) {
		control_send(client,
			     control_error(err == -EBUSY || err == -EINVAL ? "bad_request" : "failed", words_of(err)));
		run_drop(r);
		return;
	}
	run_take(client, r);
	log_info("control: run %s begun with process %u by pid %d (uid %u)", r->id, request->pid, client->peer.pid,
		 client->peer.uid);
	control_send(client, done(request->name, r->id));
}

void control_run_resume(struct control_client *client, const struct control_request *request)
{
	struct collector *c = client->control->collector;
	struct control_child child = { .pidfd = -1 };
	struct control_run *r;
	char why[CONTROL_WHY_SIZE];

	if (!has_none(client)) /* at the limit, too: the run is there already */
		return;
	r = run_new_for(client, request);
	if (!r)
		return;
	if (strlen(request->run) >= sizeof(r->id) ||
	    collector_run_resume(c, request->run, (pid_t)request->pid, client->peer.uid,
				 control_privileged(client->peer.uid)) < 0) {
		run_drop(r);
		control_send(client,
			     control_error("not_found",
					   "no such run: it has ended, is another user's, or belongs to another "
					   "connection"));
		return;
	}
	memcpy(r->id, request->run, strlen(request->run) + 1);
	/* The root may have ended in the meantime, and another process may have its pid. */
	if (control_child_open(&client->peer, request->pid, &child, why) == 0)
		r->pidfd = child.pidfd;
	run_take(client, r);
	control_send(client, done(request->name, r->id));
}

static void on_ended(void *arg)
{
	struct control_run *r = arg;
	struct control_client *client = r->client;

	if (client) {
		client->run = NULL;
		client->run_ends = false;
		client->control->n_runs--;
		client->taken_ns = clock_boot_ns();
		control_send(client, done("run_end", r->id)); /* on_written reads further requests */
	}
	run_drop(r);
}

void control_run_end(struct control_client *client, const struct control_request *request)
{
	struct control_run *r = client->run;
	struct rusage usage = {
		.ru_utime = { .tv_sec = (time_t)(request->cpu_ns / 1000000000u),
			      .tv_usec = (suseconds_t)(request->cpu_ns % 1000000000u / 1000u) },
	};

	if (!r || strcmp(r->id, request->run) != 0) {
		control_send(client, control_error("not_found", "this connection has not begun a run of that id"));
		return;
	}
	if (r->pidfd >= 0 && !control_child_ended(r->pidfd)) {
		control_send(client, control_error("bad_request", "the run's root has not ended: wait for it first"));
		return;
	}
	r->ending = client->run_ends = true;
	collector_run_end(client->control->collector, r->id, (int)request->status, &usage, r->sink, on_ended, r);
}

void control_run_leave(struct control_client *client)
{
	struct control_run *r = client->run;

	if (!r)
		return;
	client->run = NULL;
	client->control->n_runs--;
	if (r->ending) {
		r->client = NULL;
		return;
	}
	collector_run_leave(client->control->collector, r->id);
	run_drop(r);
}

static json_t *live(const char *id, const struct collector_live *l)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:f, s:o, s:f, s:f, s:o, s:f, s:o}", "live",
			 control_json_string(id), "elapsed_ns", control_json_number(l->elapsed_ns),
			 "processes_alive", control_json_number(l->processes_alive), "processes_total",
			 control_json_number(l->processes_total), "cores_busy", l->cores_busy, "rss_bytes",
			 control_json_number(l->rss_bytes), "read_bytes_per_s", l->read_bytes_per_s,
			 "write_bytes_per_s", l->write_bytes_per_s, "busiest",
			 control_json_string(l->busiest), "busiest_cores", l->busiest_cores, "lost",
			 control_json_number(l->lost));
}

void control_runs_tick(struct control *control, uint64_t now_ns)
{
	struct collector_live figures;

	for (struct control_client *client = control->clients; client; client = client->next) {
		struct control_run *r = client->run;

		/* A client that has not read the last figures gets no more: old figures are of no use. */
		if (!r || r->live_ns == 0 || r->ending || client->writes > 0 || now_ns - r->lived_ns < r->live_ns)
			continue;
		r->lived_ns = now_ns;
		if (collector_live(control->collector, r->id, &figures) == 0)
			control_send(client, live(r->id, &figures));
	}
}
