/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/entries.c - see cli/audit/entries.h.
 */
#include "cli/audit/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- one for each file and connection ------------------------------------------------ */

#define ORDER(x_, y_)                   \
	do {                            \
		if ((x_) != (y_))       \
			return (x_) < (y_) ? -1 : 1; \
	} while (0)
#define ORDER_TEXT(x_, y_)                     \
	do {                                   \
		const int order_ = strcmp(x_, y_); \
		if (order_)                    \
			return order_;         \
	} while (0)

/* first_ns: another attachment of the detail counts the same opens once more. */
static int open_order(const void *a, const void *b)
{
	const struct lake_open *x = a, *y = b;

	ORDER(x->first_ns, y->first_ns);
	ORDER_TEXT(x->upid, y->upid);
	ORDER_TEXT(x->path, y->path);
	return 0;
}

static void add_up_opens(struct lake_report *r)
{
	struct lake_open *o = r->opens;
	size_t n = 0;

	if (r->n_opens)
		qsort(o, r->n_opens, sizeof(*o), open_order);
	for (size_t i = 0; i < r->n_opens; i++) {
		if (n && open_order(&o[n - 1], &o[i]) == 0) {
			o[n - 1].opens += o[i].opens;
			o[n - 1].writes += o[i].writes;
			o[n - 1].created += o[i].created;
		} else {
			o[n++] = o[i];
		}
	}
	r->n_opens = n;
}

static int connection_order(const void *a, const void *b)
{
	const struct lake_connection *x = a, *y = b;

	ORDER(x->start_ns, y->start_ns);
	ORDER_TEXT(x->upid, y->upid);
	ORDER_TEXT(x->peer, y->peer);
	ORDER(x->peer_port, y->peer_port);
	ORDER_TEXT(x->local, y->local);
	ORDER(x->local_port, y->local_port);
	ORDER(x->netns, y->netns);
	ORDER_TEXT(x->direction, y->direction);
	return 0;
}

static int record_order(const void *a, const void *b)
{
	const struct lake_connection *x = a, *y = b;
	const int order = connection_order(a, b);

	if (order)
		return order;
	ORDER(x->time_ns, y->time_ns);
	ORDER_TEXT(x->state, y->state);
	ORDER_TEXT(x->error, y->error);
	return 0;
}

static void add_up_connections(struct lake_report *r)
{
	struct lake_connection *c = r->connections;
	size_t n = 0;

	if (r->n_connections)
		qsort(c, r->n_connections, sizeof(*c), record_order);
	for (size_t i = 0; i < r->n_connections; i++) {
		if (n && connection_order(&c[n - 1], &c[i]) == 0) {
			c[n - 1].rx_bytes += c[i].rx_bytes;
			c[n - 1].tx_bytes += c[i].tx_bytes;
			c[n - 1].time_ns = c[i].time_ns;
			c[n - 1].state = c[i].state;
			c[n - 1].error = c[i].error;
		} else {
			c[n++] = c[i];
		}
	}
	r->n_connections = n;
}

/* ---- the list ------------------------------------------------------------------------ */

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	ORDER(x->time_ns, y->time_ns);
	ORDER(x->kind, y->kind);
	ORDER(x->run, y->run);
	ORDER(x->at, y->at);
	return 0;
}

/* A fork that executes a program later is listed as that program. */
static bool is_fork(const struct lake_process *p)
{
	return !p->kind->execed && strcmp(p->kind->state, "replaced") != 0;
}

/* How a process ended is in the record of its last image, if it did end. */
static bool has_exit(const struct lake_process *p)
{
	return p->kind->last && p->end_ns && strcmp(p->kind->state, "running") != 0 &&
	       strcmp(p->kind->state, "replaced") != 0;
}

static enum entry_kind connection_kind(const struct lake_connection *c)
{
	return strcmp(c->direction, "in") == 0 ? ENTRY_ACCEPT : ENTRY_CONNECT;
}

static void add(struct entries *e, uint64_t time_ns, enum entry_kind kind, size_t run, size_t at)
{
	e->list[e->n++] = (struct entry){ time_ns, kind, run, at };
}

static void add_run(struct entries *e, size_t run)
{
	const struct lake_report *r = e->audit->runs[run];

	if (run)
		add(e, r->run.start_ns, ENTRY_RUN, run, 0);
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (p->kind->execed || is_fork(p))
			add(e, p->start_ns, p->kind->execed ? ENTRY_EXEC : ENTRY_FORK, run, i);
		if (has_exit(p))
			add(e, p->end_ns, ENTRY_EXIT, run, i);
	}
	for (size_t i = 0; i < r->n_opens; i++)
		if (r->opens[i].writes)
			add(e, r->opens[i].first_ns, ENTRY_OPEN, run, i);
	for (size_t i = 0; i < r->n_connections; i++)
		add(e, r->connections[i].start_ns, connection_kind(&r->connections[i]), run, i);
	for (size_t i = 0; i < r->n_losses; i++)
		add(e, r->losses[i].time_ns, ENTRY_LOSS, run, i);
}

int entries_new(struct lake_audit *audit, struct entries *ret)
{
	struct entries e = { .audit = audit };
	size_t most = 1;

	for (size_t i = 0; i < audit->n; i++) {
		struct lake_report *r = audit->runs[i];

		add_up_opens(r);
		add_up_connections(r);
		most += 1 + 2 * r->n_processes + r->n_opens + r->n_connections + r->n_losses;
	}
	e.list = calloc(most, sizeof(*e.list));
	if (!e.list)
		return -ENOMEM;
	for (size_t i = 0; i < audit->n; i++)
		add_run(&e, i);
	qsort(e.list, e.n, sizeof(*e.list), entry_order);
	*ret = e;
	return 0;
}

void entries_free(struct entries *e)
{
	free(e->list);
	*e = (struct entries){ 0 };
}

const char *entry_kind_name(enum entry_kind kind)
{
	static const char *const names[] = {
		[ENTRY_RUN] = "run",         [ENTRY_EXEC] = "exec",     [ENTRY_FORK] = "fork",
		[ENTRY_OPEN] = "open-for-write", [ENTRY_CONNECT] = "connect", [ENTRY_ACCEPT] = "accept",
		[ENTRY_EXIT] = "exit",       [ENTRY_LOSS] = "loss",
	};

	return names[kind];
}

const struct lake_report *entry_run(const struct entries *e, const struct entry *entry)
{
	return e->audit->runs[entry->run];
}

const struct lake_process *entry_process(const struct entries *e, const struct entry *entry)
{
	const struct lake_report *r = entry_run(e, entry);
	size_t at = SIZE_MAX;

	switch (entry->kind) {
	case ENTRY_EXEC:
	case ENTRY_FORK:
	case ENTRY_EXIT:
		at = entry->at;
		break;
	case ENTRY_OPEN:
		at = r->opens[entry->at].process;
		break;
	case ENTRY_CONNECT:
	case ENTRY_ACCEPT:
		at = r->connections[entry->at].process;
		break;
	case ENTRY_RUN:
	case ENTRY_LOSS:
		break;
	}
	return at == SIZE_MAX ? NULL : &r->processes[at];
}

/* ---- the chain: members in the order of their names ------------------------------------ */

/* head: in the header, which also has the members that all runs of the audit share. */
static void chain_run(struct chain *c, const struct lake_run *r, bool head)
{
	chain_list(c, "argv", r->argv);
	if (head)
		chain_text(c, "audit", CHAIN_FORMAT);
	chain_text(c, "boot_id", head ? r->boot_id : NULL);
	chain_text(c, "container", r->in.container);
	chain_text(c, "cwd", r->cwd);
	chain_time(c, "end", r->end_ns);
	chain_text(c, "engine", r->engine);
	if (r->exit_code >= 0 && r->end_ns)
		chain_number(c, "exit_code", (uint64_t)r->exit_code);
	chain_text(c, "host", head ? r->host : NULL);
	chain_text(c, "job", r->job);
	chain_text(c, "kernel", head ? r->kernel : NULL);
	chain_text(c, "kind", head ? "audit" : "run");
	if (r->lost_kernel)
		chain_number(c, "lost_kernel", r->lost_kernel);
	if (r->lost_queue)
		chain_number(c, "lost_queue", r->lost_queue);
	if (r->lost_sink)
		chain_number(c, "lost_sink", r->lost_sink);
	if (r->lost_spool)
		chain_number(c, "lost_spool", r->lost_spool);
	chain_text(c, "name", r->name);
	chain_text(c, "origin", r->origin);
	chain_text(c, "parent_run", r->parent_run);
	chain_text(c, "pipeline", r->pipeline);
	chain_text(c, "root_upid", r->root_upid);
	chain_text(c, "run", r->id);
	if (r->signal)
		chain_number(c, "signal", r->signal);
	if (head)
		chain_text(c, "skep", r->version);
	chain_time(c, "start", r->start_ns);
	chain_text(c, "state", r->state);
	if (!head)
		chain_time(c, "time", r->start_ns);
	chain_number(c, "uid", r->uid);
}

static void chain_image(struct chain *c, const struct entry *e, const struct lake_process *p, const char *run)
{
	if (p->kind->approx)
		chain_number(c, "approx", p->kind->approx);
	chain_list(c, "argv", p->argv);
	chain_true(c, "argv_cut", p->argv_cut);
	chain_text(c, "container", p->kind->container);
	chain_text(c, "cwd", p->kind->cwd);
	chain_text(c, "exe", p->kind->exe);
	chain_text(c, "filename", p->kind->filename);
	chain_number(c, "gid", p->kind->gid);
	chain_number(c, "image", p->image);
	chain_text(c, "kind", entry_kind_name(e->kind));
	chain_text(c, "parent_upid", p->parent_upid);
	chain_text(c, "run", run);
	chain_text(c, "step", p->kind->step);
	chain_text(c, "task", p->task);
	chain_text(c, "task_id", p->kind->task_id);
	chain_time(c, "time", e->time_ns);
	chain_text(c, "tool", p->kind->tool);
	chain_number(c, "uid", p->kind->uid);
	chain_text(c, "upid", p->upid);
}

/* How many TCP connections the process opened: more than are listed if net had no room for a record of each. */
static uint64_t connects_of(const struct lake_process *p)
{
	for (size_t i = 0; i < p->n_facets; i++)
		if (strcmp(p->facets[i].name, "net.connects") == 0 && p->facets[i].value > 0)
			return (uint64_t)p->facets[i].value;
	return 0;
}

static void chain_exit(struct chain *c, const struct entry *e, const struct lake_process *p, const char *run)
{
	const uint64_t connects = connects_of(p);

	if (connects)
		chain_number(c, "connects", connects);
	chain_true(c, "core_dumped", p->kind->core_dumped);
	if (p->kind->exit_code >= 0)
		chain_number(c, "exit_code", (uint64_t)p->kind->exit_code);
	chain_number(c, "image", p->image);
	chain_text(c, "kind", entry_kind_name(e->kind));
	chain_true(c, "oom_killed", p->kind->oom_killed);
	chain_text(c, "run", run);
	if (p->kind->signal)
		chain_number(c, "signal", p->kind->signal);
	chain_text(c, "state", strcmp(p->kind->state, "exited") == 0 ? NULL : p->kind->state);
	chain_text(c, "task", p->task);
	chain_time(c, "time", e->time_ns);
	chain_text(c, "tool", p->kind->tool);
	chain_text(c, "upid", p->upid);
}

static void chain_open(struct chain *c, const struct entry *e, const struct lake_open *o, const struct lake_process *p,
		       const char *run)
{
	chain_true(c, "created", o->created > 0);
	chain_text(c, "kind", entry_kind_name(e->kind));
	chain_text(c, "path", o->path);
	chain_text(c, "run", run);
	chain_text(c, "task", p ? p->task : NULL);
	chain_time(c, "time", e->time_ns);
	chain_text(c, "tool", p ? p->kind->tool : NULL);
	chain_text(c, "upid", o->upid);
	chain_number(c, "writes", o->writes);
}

static void chain_connection(struct chain *c, const struct entry *e, const struct lake_connection *o,
			     const struct lake_process *p, const char *run)
{
	chain_text(c, "error", o->error);
	chain_text(c, "kind", entry_kind_name(e->kind));
	chain_text(c, "local_address", o->local);
	chain_number(c, "local_port", o->local_port);
	chain_text(c, "peer_address", o->peer);
	chain_number(c, "peer_port", o->peer_port);
	chain_text(c, "run", run);
	chain_number(c, "rx_bytes", o->rx_bytes);
	chain_text(c, "state", o->state);
	chain_text(c, "task", p ? p->task : NULL);
	chain_time(c, "time", e->time_ns);
	chain_text(c, "tool", p ? p->kind->tool : NULL);
	chain_number(c, "tx_bytes", o->tx_bytes);
	chain_text(c, "upid", o->upid);
}

static void chain_loss(struct chain *c, const struct entry *e, const struct lake_loss *l)
{
	chain_number(c, "count", l->count);
	chain_text(c, "instance", l->instance);
	chain_text(c, "kind", entry_kind_name(e->kind));
	chain_text(c, "place", l->where);
	chain_text(c, "stream", l->stream);
	chain_time(c, "time", e->time_ns);
}

static void chain_entry(const struct entries *entries, const struct entry *e, struct chain *c)
{
	const struct lake_report *r = entry_run(entries, e);
	const struct lake_process *p = entry_process(entries, e);
	const char *run = e->run ? r->run.id : NULL; /* of the header's run the entry need not say it */

	chain_begin(c);
	switch (e->kind) {
	case ENTRY_RUN:
		chain_run(c, &r->run, false);
		break;
	case ENTRY_EXEC:
	case ENTRY_FORK:
		chain_image(c, e, p, run);
		break;
	case ENTRY_OPEN:
		chain_open(c, e, &r->opens[e->at], p, run);
		break;
	case ENTRY_CONNECT:
	case ENTRY_ACCEPT:
		chain_connection(c, e, &r->connections[e->at], p, run);
		break;
	case ENTRY_EXIT:
		chain_exit(c, e, p, run);
		break;
	case ENTRY_LOSS:
		chain_loss(c, e, &r->losses[e->at]);
		break;
	}
	chain_end(c);
}

int entries_chain(const struct entries *e, struct chain *c)
{
	chain_begin(c);
	chain_run(c, &e->audit->runs[0]->run, true);
	chain_end(c);
	for (size_t i = 0; i < e->n && !c->err; i++)
		chain_entry(e, &e->list[i], c);
	chain_begin(c);
	chain_number(c, "entries", e->n);
	chain_text(c, "kind", "end");
	chain_end(c);
	return chain_close(c);
}
