/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes events as log records (opentelemetry/proto/logs/v1): begin and end of runs, failed processes, findings, lost
 * records.
 */
#include <skep/upid.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sinks/otlp/attr.h"
#include "sinks/otlp/request.h"

enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13, SEVERITY_ERROR = 17 };

/* LogRecord { time = 1, severity_number = 2, severity_text = 3, body = 5, attributes = 6, flags = 8,
 * trace_id = 9, span_id = 10, observed_time = 11, event_name = 12 } */
#define ATTRIBUTES 6

bool logs_want(const struct view *v)
{
	switch (v->kind) {
	case VIEW_RUN:
		return v->run.len > 0;
	case VIEW_PROCESS:
		return v->last && (v->exit_code > 0 || v->signal || v->oom_killed);
	case VIEW_FINDING:
		return v->id.len > 0;
	case VIEW_LOSS:
		return v->count > 0;
	default:
		return false;
	}
}

struct event {
	const char *name;
	int severity;
	uint64_t time_ns;
	char body[512];
	int body_len;
};

static void __attribute__((format(printf, 2, 3))) say(struct event *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->body_len = vsnprintf(e->body, sizeof(e->body), fmt, ap);
	va_end(ap);
	if (e->body_len >= (int)sizeof(e->body))
		e->body_len = (int)sizeof(e->body) - 1;
	if (e->body_len < 0)
		e->body_len = 0;
}

#define STR(s_) (int)((s_).len < 200 ? (s_).len : 200), (s_).ptr ? (s_).ptr : ""

static void how_it_ended(const struct view *v, char ret[64])
{
	if (v->oom_killed)
		strcpy(ret, "killed: out of memory");
	else if (v->signal)
		snprintf(ret, 64, "killed by signal %u%s", (unsigned)(v->signal & 0xff),
			 v->core_dumped ? " (core dumped)" : "");
	else if (v->exit_code >= 0)
		snprintf(ret, 64, "exit code %u", (unsigned)(v->exit_code & 0xff));
	else
		strcpy(ret, "end not known");
}

static void run_event(const struct view *v, struct event *e)
{
	bool ended = str_is(v->state, "ended");
	struct skep_str name = v->name.len ? v->name : v->run;
	char how[64];

	how_it_ended(v, how);
	e->name = ended ? "skep.run.ended" : "skep.run.started";
	e->severity = ended && (v->exit_code != 0) ? SEVERITY_ERROR : SEVERITY_INFO;
	e->time_ns = ended ? v->end_ns : v->start_ns;
	if (ended)
		say(e, "run %.*s has ended: %s", STR(name), how);
	else
		say(e, "run %.*s has begun", STR(name));
}

static void process_event(const struct view *v, struct event *e)
{
	char how[64];

	how_it_ended(v, how);
	e->name = "skep.process.failed";
	e->severity = v->oom_killed ? SEVERITY_ERROR : SEVERITY_WARN;
	e->time_ns = v->end_ns;
	say(e, "%.*s: %s", STR(v->tool.len ? v->tool : v->comm), how);
}

static void finding_event(const struct view *v, const struct skep_record *r, struct event *e)
{
	bool closed = str_is(v->state, "closed");

	e->name = "skep.finding";
	e->severity = closed ? SEVERITY_INFO : str_is(v->severity, "error") ? SEVERITY_ERROR : SEVERITY_WARN;
	e->time_ns = r->time_ns;
	say(e, "%.*s%s: %.*s", STR(v->what), closed ? " is over" : "",
	    (int)(v->evidence.len < 400 ? v->evidence.len : 400), v->evidence.ptr ? v->evidence.ptr : "");
}

static void loss_event(const struct view *v, const struct skep_record *r, struct event *e)
{
	e->name = "skep.records.lost";
	e->severity = SEVERITY_WARN;
	e->time_ns = r->time_ns;
	say(e, "%llu records of %.*s were lost (%.*s, %.*s)", (unsigned long long)v->count, STR(v->stream),
	    STR(v->where), STR(v->instance));
}

static void process_attributes(const struct encoder *e, struct pb *p, const struct item *item)
{
	const struct view *v = &item->view;
	char text[SKEP_UPID_TEXT];

	skep_upid_text(e->boot_id, &item->record->upid, text);
	if (v->oom_killed && v->oom_limit_bytes)
		attr_int(p, ATTRIBUTES, "skep.process.oom.limit", (int64_t)v->oom_limit_bytes);
	attr_int(p, ATTRIBUTES, "skep.process.memory.peak", (int64_t)v->rss_peak_bytes);
	attr_text(p, ATTRIBUTES, NAME_UPID, text);
	attr_list(p, ATTRIBUTES, NAME_ARGS, v->argv);
	attr_str(p, ATTRIBUTES, NAME_CWD, v->cwd);
	attr_str(p, ATTRIBUTES, NAME_CGROUP, v->cgroup);
	attr_str(p, ATTRIBUTES, NAME_EXE_PATH, v->exe);
	attr_int(p, ATTRIBUTES, NAME_PID, item->record->upid.pid);
}

static void finding_attributes(const struct encoder *e, struct pb *p, const struct item *item)
{
	const struct view *v = &item->view;
	char text[SKEP_UPID_TEXT];

	attr_str(p, ATTRIBUTES, "skep.finding.advice", v->advice);
	attr_str(p, ATTRIBUTES, "skep.finding.unit", v->measure);
	attr_double(p, ATTRIBUTES, "skep.finding.threshold", v->threshold);
	attr_double(p, ATTRIBUTES, "skep.finding.value", v->value);
	attr_int(p, ATTRIBUTES, "skep.finding.window", (int64_t)v->window_ns);
	attr_str(p, ATTRIBUTES, "skep.finding.state", v->state);
	attr_str(p, ATTRIBUTES, "skep.finding.kind", v->what);
	attr_str(p, ATTRIBUTES, "skep.finding.id", v->id);
	attr_str(p, ATTRIBUTES, NAME_CGROUP, v->cgroup);
	if (!item->record->upid.pid)
		return;
	skep_upid_text(e->boot_id, &item->record->upid, text);
	attr_text(p, ATTRIBUTES, NAME_UPID, text);
	attr_int(p, ATTRIBUTES, NAME_PID, item->record->upid.pid);
}

static void write_event(const struct encoder *e, const struct skep_batch *b, struct pb *p, const struct item *item)
{
	const struct view *v = &item->view;
	int64_t offset = skep_record_realtime_offset(b, item->record);
	size_t opened = pb_open(p), body;
	struct event event = { 0 };
	uint8_t span[SKEP_SPAN_ID];
	char error_type[24];

	if (v->kind == VIEW_RUN)
		run_event(v, &event);
	else if (v->kind == VIEW_PROCESS)
		process_event(v, &event);
	else if (v->kind == VIEW_FINDING)
		finding_event(v, item->record, &event);
	else
		loss_event(v, item->record, &event);
	request_error_type(v, error_type);
	pb_text(p, 12, event.name);
	pb_fixed64(p, 11, request_time(event.time_ns, offset));
	if (item->traced) {
		/* The sink may have omitted the process's span; the trace is right in any case. */
		memcpy(span, item->run_span, sizeof(span));
		if (v->kind == VIEW_PROCESS && traces_want(e, v))
			skep_trace_process_span(item->trace, e->boot_id, &item->record->upid, v->image, span);
		pb_bytes(p, 10, span, SKEP_SPAN_ID);
		pb_bytes(p, 9, item->trace, SKEP_TRACE_ID);
		pb_fixed32(p, 8, item->flags);
	}
	if (v->kind == VIEW_LOSS) {
		attr_int(p, ATTRIBUTES, "skep.records", (int64_t)v->count);
		attr_str(p, ATTRIBUTES, "skep.instance", v->instance);
		attr_str(p, ATTRIBUTES, "skep.where", v->where);
		attr_str(p, ATTRIBUTES, "skep.stream", v->stream);
	} else {
		if (v->kind == VIEW_PROCESS)
			process_attributes(e, p, item);
		else if (v->kind == VIEW_FINDING)
			finding_attributes(e, p, item);
		else
			attr_list(p, ATTRIBUTES, NAME_ARGS, v->argv);
		if (v->exit_code >= 0)
			attr_int(p, ATTRIBUTES, NAME_EXIT_CODE, v->exit_code);
		if (*error_type)
			attr_text(p, ATTRIBUTES, NAME_ERROR_TYPE, error_type);
		view_attributes(p, ATTRIBUTES, v);
		attr_str(p, ATTRIBUTES, NAME_TOOL, v->tool);
		attr_str(p, ATTRIBUTES, NAME_TASK, v->task);
		attr_str(p, ATTRIBUTES, NAME_RUN_ID, v->run);
		attr_str(p, ATTRIBUTES, NAME_PIPELINE, v->pipeline);
	}
	body = pb_open(p);
	pb_string(p, 1, event.body, (size_t)event.body_len);
	pb_close(p, 5, body);
	pb_text(p, 3, event.severity == SEVERITY_ERROR ? "ERROR" : event.severity == SEVERITY_WARN ? "WARN" : "INFO");
	pb_u64(p, 2, (uint64_t)event.severity);
	pb_fixed64(p, 1, request_time(event.time_ns, offset));
	pb_close(p, 2, opened);
}

void logs_write(struct encoder *e, const struct skep_batch *b)
{
	struct pb *p = &e->out[SIGNAL_LOGS];
	struct request_frame frame = request_open(p);

	for (size_t i = e->n_items; i > 0; i--)
		if (e->items[i - 1].event) {
			write_event(e, b, p, &e->items[i - 1]);
			e->n_out[SIGNAL_LOGS]++;
		}
	if (e->n_out[SIGNAL_LOGS] == 0) {
		pb_reset(p);
		return;
	}
	request_close(e, p, &frame, (struct skep_str){ 0 }, (struct skep_str){ 0 });
}
