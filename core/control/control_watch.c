/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_watch.c - the request `watch`: sends a client the processes of the table, then at each sample
 * the changed processes, and each image that ends.  For `skep top`.
 *
 * For each client skepd keeps the identities of the processes that it has yet to send, and at most ENDED_ROWS ended
 * images that it has not written.  It builds the next rows when the client has read the last ones, so a slow client
 * costs no memory: it skips samples, and then gets all processes anew.
 */
#include <stdlib.h>
#include <string.h>

#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"
#include "core/control/control_record.h"
#include "core/process/proctab.h"
#include "core/process/track.h"

#define PAGE_ROWS 128u  /* a line: about 1 ms of the loop */
#define ENDED_ROWS 128u
#define ARGV_MOST 1024u /* bytes of the arguments; the lake has all that the probe read */

struct listed {
	struct skep_upid upid;
	bool names;
};

struct control_watch {
	struct control_client *client;
	struct listed *list; /* to be sent; NULL: none */
	size_t n, at, room;
	json_t *ended, *gone; /* rows that are not sent yet; NULL: none */
	uint64_t dropped;    /* rows of ended images for which there was no room */
	uint64_t sampled_ns; /* time of the figures in the list */
	uint64_t begun_ns;
	bool closed;         /* all batches with images that ended before the watch began are closed: up to `emitted` */
	uint64_t emitted;
	char *sink;          /* the lake's; NULL: none, or the client knows that it has them */
	bool listing;        /* a list, or the line that ends it, is still to be sent */
	bool filling;        /* the pass under way fills the list */
	bool all;            /* the next pass lists every process */
	bool no_memory;      /* the list lacks processes */
};

/* The columns of other probes' figures; UINT32_MAX: no probe counts them. */
struct columns {
	uint32_t block, rx, tx;
};

static struct track *track_of(const struct control_client *client)
{
	return collector_track(client->control->collector);
}

/* ---- rights ------------------------------------------------------------------------------ */

/* A user outside group skep sees the processes of the user's own runs, as in a copy of the lake. */
static bool may_see(const struct control_client *client, const struct run *run)
{
	return client->peer.member || (run && run->uid == client->peer.uid);
}

/* Of another user's process in an own run (sudo) such a user sees the figures only. */
static bool may_see_texts(const struct control_client *client, const struct proc *p)
{
	return client->peer.member || p->uid == client->peer.uid;
}

/* ---- rows -------------------------------------------------------------------------------- */

static void set(json_t *row, const char *key, json_t *value)
{
	json_object_set_new_nocheck(row, key, value); /* a failure leaves the key out; the client then knows no value */
}

static void set_number(json_t *row, const char *key, uint64_t value)
{
	set(row, key, control_json_number(value));
}

static void set_text(json_t *row, const char *key, const char *ptr, size_t len)
{
	if (len > 0)
		set(row, key, control_json_text(ptr, len));
}

static void set_interned(json_t *row, const char *key, const struct interned *text)
{
	if (text)
		set_text(row, key, text->text, text->len);
}

static json_t *argv_of(const struct program *program)
{
	json_t *array = json_array();

	for (uint32_t at = 0; at < program->argv_len && at < ARGV_MOST;) {
		size_t len = strnlen(program->argv + at, program->argv_len - at);

		json_array_append_new(array, control_json_text(program->argv + at, len < ARGV_MOST ? len : ARGV_MOST));
		at += (uint32_t)len + 1;
	}
	return array;
}

static void add_names(const struct control_client *client, json_t *row, const struct proc *p)
{
	struct skep_context context;

	track_context(track_of(client), &p->upid, &context);
	set_number(row, "start_ns", p->image_start_ns);
	set_number(row, "ppid", p->parent.pid);
	set_number(row, "parent_start_boot_ns", p->parent.start_ns);
	set_number(row, "uid", p->uid);
	set_number(row, "gid", p->gid);
	set_number(row, "session", p->session);
	set_text(row, "run", context.run.ptr, context.run.len);
	set_text(row, "task", context.task.ptr, context.task.len);
	set_text(row, "tool", context.tool.ptr, context.tool.len);
	set_text(row, "container", context.container.ptr, context.container.len);
	set_interned(row, "comm", p->comm);
	if (!may_see_texts(client, p))
		return;
	set_text(row, "pipeline", context.pipeline.ptr, context.pipeline.len);
	set_interned(row, "cwd", p->cwd);
	set_interned(row, "cgroup", p->cgroup);
	if (!p->program)
		return;
	set(row, "wrapper", json_boolean(p->program->wrapper));
	set_interned(row, "exe", p->program->exe);
	set_interned(row, "filename", p->program->filename);
	set(row, "argv", argv_of(p->program));
	if (p->program->argv_len > ARGV_MOST || p->program->argv_total > p->program->argv_len)
		set(row, "argv_cut", json_true());
}

/* null: no probe counts it, or it is not for this client. */
static json_t *facet(const struct control_client *client, const struct proc *p, uint32_t column)
{
	if (column == UINT32_MAX || !may_see_texts(client, p))
		return json_null();
	return control_json_number(facets_value(track_facets(track_of(client)), p->facets, column));
}

static struct columns columns_of(const struct track *track)
{
	const struct facets *f = track_facets(track);

	return (struct columns){ facets_find(f, "io.block_delay_ns"), facets_find(f, "net.rx_bytes"),
				 facets_find(f, "net.tx_bytes") };
}

static json_t *row_new(const struct control_client *client, const struct proc *p, const struct columns *c)
{
	json_t *row = json_object();

	set_number(row, "pid", p->upid.pid);
	set_number(row, "start_boot_ns", p->upid.start_ns);
	set_number(row, "image", p->image);
	set(row, "block_delay_ns", facet(client, p, c->block));
	set(row, "net_rx_bytes", facet(client, p, c->rx));
	set(row, "net_tx_bytes", facet(client, p, c->tx));
	return row;
}

static const char *state_of(const struct proc *p)
{
	if (p->flags & (PROC_EXITED | PROC_FINAL | PROC_ZOMBIE))
		return "zombie"; /* or its final figures have yet to arrive */
	return p->live & SKEP_LIVE_STATE_RUNNING ? "running" : p->live & SKEP_LIVE_STATE_BLOCKED ? "blocked" : "sleeping";
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

static json_t *live_row(const struct control_client *client, const struct proc *p, const struct columns *c, bool names)
{
	const struct skep_counters *now = &p->last, *base = &p->base;
	json_t *row = row_new(client, p, c);

	set_number(row, "cpu_ns", since(now->cpu_ns, base->cpu_ns));
	set_number(row, "run_delay_ns", since(now->run_delay_ns, base->run_delay_ns));
	set_number(row, "read_bytes", since(now->read_bytes, base->read_bytes));
	set_number(row, "write_bytes", since(now->write_bytes, base->write_bytes));
	set_number(row, "rss_bytes", p->rss_bytes);
	set_number(row, "rss_peak_bytes", p->rss_peak_bytes);
	set(row, "state", json_string(state_of(p)));
	if (names)
		add_names(client, row, p);
	return row;
}

static json_t *ended_row(const struct control_client *client, const struct proc *p, const struct record_process *r,
			 const struct columns *c)
{
	json_t *row = row_new(client, p, c);

	set_number(row, "cpu_ns", r->cpu_ns);
	set_number(row, "run_delay_ns", r->run_delay_ns);
	set_number(row, "read_bytes", r->read_bytes);
	set_number(row, "write_bytes", r->write_bytes);
	set_number(row, "rss_peak_bytes", r->rss_peak_bytes);
	set_text(row, "state", r->state.ptr, r->state.len);
	set(row, "last", json_boolean(r->last));
	set_number(row, "end_ns", r->end_ns);
	set(row, "exit_code", json_integer(r->exit_code));
	set_number(row, "signal", r->signal);
	add_names(client, row, p);
	return row;
}

/* ---- sent -------------------------------------------------------------------------------- */

static json_t *runs_of(const struct control_client *client)
{
	const struct runs *runs = track_runs(track_of(client));
	json_t *array = json_array();

	for (const struct run *run = runs->first; run; run = run->next)
		if (may_see(client, run))
			json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "id",
							       control_json_string(run->id), "name",
							       control_json_string(run->name), "engine",
							       control_json_string_or_null(run->engine), "uid",
							       control_json_number(run->uid), "start_ns",
							       control_json_number(run->start_ns), "ended",
							       (int)run->ended));
	return array;
}

/* The line that ends a list: from here on the client knows every process as of that sample. */
static void send_pass(struct control_watch *w)
{
	const struct collector *c = w->client->control->collector;

	w->listing = false;
	control_send(w->client, json_pack("{s:o, s:o, s:o, s:o, s:o}", "sampled_ns", control_json_number(w->sampled_ns),
					  "interval_ns", control_json_number(collector_interval_ns(c)),
					  "realtime_offset_ns", json_integer(clock_realtime_offset_ns()), "runs",
					  runs_of(w->client), "dropped", control_json_number(w->dropped)));
}

static void send_rows(struct control_watch *w, const char *key, json_t **rows)
{
	json_t *taken = *rows;

	*rows = NULL;
	if (taken)
		control_send(w->client, json_pack("{s:o}", key, taken));
}

static void send_page(struct control_watch *w)
{
	const struct track *track = track_of(w->client);
	struct columns c = columns_of(track);
	json_t *rows = json_array();

	while (w->at < w->n && json_array_size(rows) < PAGE_ROWS) {
		const struct listed *l = &w->list[w->at++];
		const struct proc *p = proctab_find(track_table(track), &l->upid);

		if (p && rows)
			json_array_append_new(rows, live_row(w->client, p, &c, l->names));
	}
	send_rows(w, "live", &rows);
	if (w->at < w->n)
		return;
	free(w->list);
	w->list = NULL;
	w->n = w->at = w->room = 0;
}

static void send_stored(struct control_watch *w)
{
	const struct collector *c = w->client->control->collector;

	if (!w->sink)
		return;
	w->closed = w->closed || collector_emitted(c, w->begun_ns, &w->emitted);
	if (!w->closed || !collector_acknowledged(c, w->sink, w->emitted))
		return;
	free(w->sink);
	w->sink = NULL;
	control_send(w->client, json_pack("{s:b}", "stored", 1));
}

void control_watch_more(struct control_client *client)
{
	struct control_watch *w = client->watch;
	uint64_t begin_ns = clock_boot_ns();

	if (client->doomed || client->closing || client->writes > 0 || control_share_spent(client))
		return; /* control_watch_tick() goes on */
	send_rows(w, "gone", &w->gone);
	send_rows(w, "ended", &w->ended);
	if (w->list)
		send_page(w);
	else if (w->listing)
		send_pass(w);
	else
		send_stored(w);
	control_share_spend(client, clock_boot_ns() - begin_ns);
}

void control_watch_tick(struct control *control)
{
	for (struct control_client *client = control->clients; client; client = client->next)
		if (client->watch)
			control_watch_more(client);
}

/* ---- what the tracker and the collector report ------------------------------------------- */

/*
 * Room for one more row?  Sends the waiting ones where they are many, unless the client is far behind or its user has
 * spent the share of this second.
 */
static bool has_room(struct control_watch *w, const char *key, json_t **rows)
{
	if (json_array_size(*rows) < ENDED_ROWS)
		return true;
	if (uv_stream_get_write_queue_size((const uv_stream_t *)&w->client->pipe) > CONTROL_RECORDS_MAX ||
	    control_share_spent(w->client)) {
		w->dropped++;
		return false;
	}
	send_rows(w, key, rows);
	return true;
}

static void add_row(json_t **rows, json_t *row)
{
	if (!*rows)
		*rows = json_array();
	json_array_append_new(*rows, row); /* without memory the client lacks the row */
}

static void on_ended(void *arg, const struct proc *p, const struct record_process *r)
{
	struct control *control = arg;

	for (struct control_client *client = control->clients; client; client = client->next) {
		uint64_t begin_ns;

		if (!client->watch || client->doomed || !may_see(client, p->run))
			continue;
		begin_ns = clock_boot_ns();
		if (has_room(client->watch, "ended", &client->watch->ended)) {
			struct columns c = columns_of(track_of(client));

			add_row(&client->watch->ended, ended_row(client, p, r, &c));
		}
		control_share_spend(client, clock_boot_ns() - begin_ns);
	}
}

static void on_gone(void *arg, const struct proc *p)
{
	struct control *control = arg;

	for (struct control_client *client = control->clients; client; client = client->next) {
		uint64_t begin_ns;

		if (!client->watch || client->doomed || !may_see(client, p->run))
			continue;
		begin_ns = clock_boot_ns();
		if (has_room(client->watch, "gone", &client->watch->gone))
			add_row(&client->watch->gone, json_pack("{s:I, s:I}", "pid", (json_int_t)p->upid.pid,
								"start_boot_ns", (json_int_t)p->upid.start_ns));
		control_share_spend(client, clock_boot_ns() - begin_ns);
	}
}

struct pass {
	struct control *control;
	struct control_client *only; /* a new client; NULL: all */
};

static void list_add(struct control_watch *w, const struct proc *p, bool names)
{
	if (w->n == w->room) {
		size_t room = w->room ? 2 * w->room : 256;
		struct listed *list = realloc(w->list, room * sizeof(*list));

		if (!list) {
			w->no_memory = true;
			return;
		}
		w->list = list;
		w->room = room;
	}
	w->list[w->n++] = (struct listed){ p->upid, names };
}

static void on_process(void *arg, const struct proc *p, unsigned changed)
{
	const struct pass *pass = arg;

	for (struct control_client *client = pass->control->clients; client; client = client->next) {
		struct control_watch *w = client->watch;

		if (!w || (pass->only && pass->only != client) || !may_see(client, p->run))
			continue;
		if (!w->filling)
			w->all |= changed != 0; /* it still reads an earlier list: it gets all at a later pass */
		else if (w->all || changed)
			list_add(w, p, w->all || (changed & TRACK_NAMES));
	}
}

static void pass_begin(struct control *control, struct control_client *only)
{
	struct pass pass = { control, only };
	struct track *track = collector_track(control->collector);
	uint64_t begin_ns = clock_boot_ns(), each_ns;

	for (struct control_client *client = control->clients; client; client = client->next)
		if (client->watch)
			client->watch->filling = !client->watch->listing;
	track_watch_pass(track, only != NULL, on_process, &pass);
	each_ns = only ? 0 : (clock_boot_ns() - begin_ns) / control->n_watches; /* serving a request has charged it */
	for (struct control_client *client = control->clients; client; client = client->next) {
		struct control_watch *w = client->watch;

		if (!w || (only && only != client))
			continue;
		control_share_spend(client, each_ns);
		if (!w->filling)
			continue;
		w->listing = true;
		w->all = w->no_memory; /* the next pass tries again */
		w->no_memory = false;
		w->sampled_ns = track_swept_ns(track);
		control_watch_more(client);
	}
}

static void on_sampled(void *arg)
{
	pass_begin(arg, NULL);
}

/* ---- begun and ended --------------------------------------------------------------------- */

static bool room(struct control_client *client)
{
	unsigned own = 0, strangers = 0;
	const char *why = NULL;

	for (const struct control_client *c = client->control->clients; c; c = c->next) {
		own += c->watch && c->peer.uid == client->peer.uid;
		strangers += c->watch && !c->peer.member;
	}
	if (!track_of(client))
		why = "skepd is starting; try again";
	else if (client->watch)
		why = "this connection watches processes already";
	else if (client->control->n_watches >= CONTROL_WATCHES_MAX ||
		 (!client->peer.member && strangers >= CONTROL_WATCHES_STRANGERS))
		why = "too many clients watch processes; end a `skep top`, or try again later";
	else if (own >= CONTROL_WATCHES_USER && !control_privileged(client->peer.uid))
		why = "this user watches processes with 4 clients, the limit; end a `skep top`";
	if (why)
		control_send(client, control_error("busy", why));
	return !why;
}

void control_watch(struct control_client *client)
{
	struct control *control = client->control;
	const struct skep_instance *lake = control_lake(control->collector);
	struct control_watch *w;

	if (!room(client))
		return;
	w = calloc(1, sizeof(*w));
	if (!w || (lake && !(w->sink = strdup(lake->name)))) {
		free(w);
		control_send(client, control_error("failed", "out of memory"));
		return;
	}
	w->client = client;
	w->all = true;
	w->begun_ns = clock_boot_ns();
	client->watch = w;
	if (control->n_watches++ == 0) {
		control->track_watch = (struct track_watch){ on_ended, on_gone, control };
		control->collector_watch = (struct collector_watch){ on_sampled, control };
		track_watch(track_of(client), &control->track_watch);
		collector_watch(control->collector, &control->collector_watch);
	}
	control_send(client, json_pack("{s:b, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "ok", 1, "request", "watch", "member",
				       (int)client->peer.member, "boot_id", control_json_string(control->boot_id),
				       "interval_ns", control_json_number(collector_interval_ns(control->collector)),
				       "lake", lake ? control_location(lake) : json_null(), "start_ns",
				       control_json_number(clock_boot_ns()), "realtime_offset_ns",
				       json_integer(clock_realtime_offset_ns())));
	pass_begin(control, client);
}

void control_watch_leave(struct control_client *client)
{
	struct control_watch *w = client->watch;
	struct control *control = client->control;

	if (!w)
		return;
	client->watch = NULL;
	if (--control->n_watches == 0) {
		collector_watch(control->collector, NULL);
		if (track_of(client))
			track_watch(track_of(client), NULL);
	}
	json_decref(w->ended);
	json_decref(w->gone);
	free(w->list);
	free(w->sink);
	free(w);
}
