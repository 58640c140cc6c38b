/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a batch as its three requests, and decides the trace of each item.
 */
#include "sinks/otlp/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/attr.h"

const char *const signal_names[SIGNALS] = {
	[SIGNAL_TRACES] = "traces",
	[SIGNAL_METRICS] = "metrics",
	[SIGNAL_LOGS] = "logs",
};

int encoder_init(struct encoder *e, uint32_t most_groups, bool by_run, uint64_t interval_ns)
{
	int err = metrics_init(&e->metrics, most_groups, by_run, interval_ns);

	if (!err)
		err = runs_init(&e->runs);
	e->views = err ? NULL : views_new();
	return e->views ? 0 : -ENOMEM;
}

void encoder_free(struct encoder *e)
{
	for (int s = 0; s < SIGNALS; s++)
		pb_free(&e->out[s]);
	pb_free(&e->resource);
	pb_free(&e->writer);
	metrics_free(&e->metrics);
	runs_free(&e->runs);
	e->views = views_free(e->views);
	free(e->items);
	e->items = NULL;
	e->n_items = e->room_items = 0;
}

void request_error_type(const struct view *v, char ret[24])
{
	ret[0] = '\0';
	if (v->oom_killed)
		strcpy(ret, "oom");
	else if (v->signal)
		snprintf(ret, 24, "signal_%u", (unsigned)(v->signal & 0xff));
	else if (v->exit_code > 0)
		snprintf(ret, 24, "exit_%u", (unsigned)(v->exit_code & 0xff));
}

static void write_resource(const struct encoder *e, struct pb *p, const struct pb *host, struct skep_str pipeline,
			   struct skep_str run)
{
	size_t opened = pb_open(p);

	pb_raw(p, pb_data(host), pb_len(host));
	attr_str(p, 1, NAME_RUN_ID, run);
	attr_str(p, 1, NAME_PIPELINE, pipeline);
	if (pipeline.len)
		attr_str(p, 1, "service.name", pipeline);
	else
		attr_text(p, 1, "service.name", e->service);
	pb_close(p, 1, opened);
}

struct request_frame request_open(struct pb *p)
{
	struct request_frame f = { .resource = pb_open(p) };

	pb_text(p, 3, NAME_SCHEMA_URL);
	f.scope = pb_open(p);
	pb_text(p, 3, NAME_SCHEMA_URL);
	return f;
}

void request_close(const struct encoder *e, struct pb *p, const struct request_frame *f, struct skep_str pipeline,
		   struct skep_str run)
{
	size_t opened = pb_open(p);

	/* InstrumentationScope { name = 1, version = 2 } */
	pb_text(p, 2, SKEP_VERSION);
	pb_text(p, 1, "skep");
	pb_close(p, 1, opened);
	pb_close(p, 2, f->scope);
	write_resource(e, p, p == &e->out[SIGNAL_METRICS] ? &e->writer : &e->resource, pipeline, run);
	pb_close(p, 1, f->resource);
}

static int add_item(struct encoder *e, const struct item *item)
{
	if (e->n_items == e->room_items) {
		size_t room = e->room_items ? 2 * e->room_items : 64;
		struct item *more = reallocarray(e->items, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		e->items = more;
		e->room_items = room;
	}
	e->items[e->n_items++] = *item;
	return 0;
}

/* Finds the parent of a process's or a task's span: the span of its TRACEPARENT, else its task, else its run. */
static void find_parent(const struct encoder *e, struct item *item)
{
	const struct view *v = &item->view;
	struct skep_trace carried;

	memcpy(item->parent, item->run_span, SKEP_SPAN_ID);
	if (v->kind == VIEW_PROCESS && v->task_id.len)
		skep_trace_task_span(item->trace, e->boot_id, v->task_id.ptr, v->task_id.len, item->parent);
	if (!v->traceparent.len || !skep_traceparent_read(v->traceparent.ptr, v->traceparent.len, &carried))
		return;
	if (memcmp(carried.trace, item->trace, SKEP_TRACE_ID) != 0) {
		item->linked = true;
		item->link = carried;
		return;
	}
	/*
	 * skep run gives the run's own span to its command, and takes the run's parent from its caller: neither span
	 * adds to the run's span.
	 */
	if (memcmp(carried.parent, item->run_span, SKEP_SPAN_ID) != 0 &&
	    memcmp(carried.parent, item->run_parent, SKEP_SPAN_ID) != 0)
		memcpy(item->parent, carried.parent, SKEP_SPAN_ID);
}

/* Counts a span of the run; true when the run has too many. A second offer of the batch gets the same result. */
static bool is_over(const struct encoder *e, struct run_trace *t, uint64_t time_ns, bool count)
{
	if (!count)
		return t->spans > e->spans_most && time_ns >= t->full_ns;
	if (t->spans++ < e->spans_most)
		return false;
	if (t->spans == e->spans_most + 1)
		t->full_ns = time_ns;
	return true;
}

/* Decides whether an item becomes a span or an event. A begun run has no span, but may carry the adopted trace. */
static int sort_out(struct encoder *e, struct item *item, bool count)
{
	const struct view *v = &item->view;
	const char *boot_id = v->kind == VIEW_RUN && v->boot_id.len == 36 ? v->boot_id.ptr : e->boot_id;
	struct run_trace *t = NULL;
	char boot[40];

	if (v->kind == VIEW_OTHER)
		return 0;
	item->event = e->wanted[SIGNAL_LOGS] && logs_want(v);
	item->span = e->wanted[SIGNAL_TRACES] && traces_want(e, v);
	if (v->run.len && (item->event || item->span || v->kind == VIEW_RUN)) {
		snprintf(boot, sizeof(boot), "%.36s", boot_id);
		t = runs_get(&e->runs, boot, v->run, v->kind == VIEW_RUN ? v->traceparent : (struct skep_str){ 0 });
		if (!t)
			return -ENOMEM;
		t->ended = t->ended || (v->kind == VIEW_RUN && str_is(v->state, "ended"));
		item->traced = true;
		item->flags = t->trace.flags;
		memcpy(item->trace, t->trace.trace, SKEP_TRACE_ID);
		memcpy(item->run_parent, t->trace.parent, SKEP_SPAN_ID);
		memcpy(item->run_span, t->span, SKEP_SPAN_ID);
		find_parent(e, item);
	}
	item->span = item->span && t;
	if (item->span && v->kind != VIEW_RUN && is_over(e, t, item->record->time_ns, count)) {
		item->span = false;
		e->spans_left_out += count;
	}
	return item->span || item->event ? add_item(e, item) : 0;
}

static void write_metrics(struct encoder *e)
{
	struct pb *p = &e->out[SIGNAL_METRICS];
	struct request_frame frame = request_open(p);

	e->n_out[SIGNAL_METRICS] = metrics_write(&e->metrics, p);
	if (e->n_out[SIGNAL_METRICS] == 0) {
		pb_reset(p);
		return;
	}
	request_close(e, p, &frame, (struct skep_str){ 0 }, (struct skep_str){ 0 });
}

int encoder_batch(struct encoder *e, const struct skep_batch *b, bool count)
{
	int err = 0;

	for (int s = 0; s < SIGNALS; s++) {
		pb_reset(&e->out[s]);
		e->n_out[s] = 0;
	}
	memset(e->n_records, 0, sizeof(e->n_records));
	e->n_items = 0;
	e->spans_left_out = 0;
	e->boot_id = b->boot_id;
	metrics_clock(&e->metrics, b->boot_id, b->realtime_offset_ns);
	for (uint32_t i = 0; i < b->n && !err; i++) {
		struct item item = { .record = b->records[i], .order = i };
		const uint64_t added = e->metrics.added;

		if (!view_of(e->views, b->records[i], &item.view))
			return -ENOMEM;
		if (e->wanted[SIGNAL_METRICS])
			err = metrics_add(&e->metrics, b->records[i], &item.view, b->realtime_offset_ns, count);
		if (!err)
			err = sort_out(e, &item, count);
		e->n_records[(item.span ? 1u << SIGNAL_TRACES : 0) | (item.event ? 1u << SIGNAL_LOGS : 0) |
			     (e->metrics.added > added ? 1u << SIGNAL_METRICS : 0)]++;
	}
	if (err)
		return err;
	if (e->wanted[SIGNAL_METRICS])
		write_metrics(e);
	logs_write(e, b);
	traces_write(e, b); /* last, because it sorts the items */
	for (int s = 0; s < SIGNALS && !err; s++)
		err = e->out[s].err;
	return err;
}
